import Tabella

@testable import TabellaRemote

/// Fuzzes the decoder of a worker's answers, one answer at a time, and the checks after it.
///
/// An input is one record: the operation, its form, and the message of the answer.
final class AnswerTarget: FuzzTarget {
  static let name = "answers"
  static let inputLimit = 1024
  static let shape = InputShape.records

  private let seed = SeedSource()
  private let relay: Asked
  private let description: SourceDescription
  /// The host's form of the relay. It is created once, because creating it takes longer than decoding an answer.
  private let source: any TableDataSource

  init() {
    relay = Asked(seed)
    description = SourceDescription(seed, number: 1)
    guard
      let source = try? CheckedSource(relay, provider: "fuzz", edits: .passedOn)
    else { fail("the checks refuse the fuzzer's source") }
    self.source = source
  }

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    guard let record = Record.all(in: input).first, let operation = record.operation else {
      return 0
    }
    let session = RemoteSession(
      transport: OneAnswer(record.bytes), limit: 1 << 20, supervisor: Watcher())
    let taken = Steps(session)
    if operation == .open {
      guard let remote = try? session.open(OpenRequest(location: [])) else { return 0 }
      let opened = try? CheckedSource(remote, provider: "fuzz")
      return opened == nil ? 0 : 1
    }
    relay.operation = operation
    relay.base = RemoteSource(description, in: session)
    // A released value asks the worker once more; the answer comes from the input.
    defer { relay.base = seed }
    taken.take(operation, record.argument, on: source)
    if operation == .listen { try? source.changes?.listen(nil) }
    return taken.answered
  }

  func seeds() -> [Seed] { SessionSeeds.answers }
}

/// A source that passes on only the intended call, without the additional calls that the checks make.
private final class Asked: Relay {
  var operation = Operation.version

  override func sectionIndexTitles() throws(TableError) -> [String] {
    operation == .indexPathForTitle ? ["F", "Z"] : try super.sectionIndexTitles()
  }
}

/// A worker that has one answer.
private final class OneAnswer: Transport {
  private let answer: UnsafeRawBufferPointer
  private var isRelease = false

  init(_ answer: UnsafeRawBufferPointer) { self.answer = answer }

  func send(_ message: OutgoingMessage, number: UInt64) throws(TableError) {
    isRelease = message.operation == .release
  }

  func receive(
    _ expected: UInt64?, limit: Int, arrived: (UnsafeRawBufferPointer) -> Void
  ) throws(TableError) -> (number: UInt64, message: IncomingMessage) {
    (expected ?? 0, isRelease ? incoming(bytes(of: 1 as UInt64)) : incoming(answer))
  }
}

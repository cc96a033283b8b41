import Tabella
import TabellaBridge

@testable import TabellaRemote

/// The decoder of a worker's answers, one answer at a time, and behind it what the bridge checks of one.
///
/// An input is one record: what was asked, in which form, and the answer's message.
final class AnswerTarget: FuzzTarget {
  static let name = "answers"
  static let inputLimit = 1024
  static let shape = InputShape.records

  private let seed = SeedSource()
  private let relay: Asked
  private let description: SourceDescription
  /// The host's form of the relay, made once: making it anew takes longer than an answer.
  private let source: any TableDataSource

  init() {
    relay = Asked(seed)
    description = SourceDescription(seed, number: 1)
    guard
      let source = try? importSource(exportSource(relay), provider: "fuzz", edits: .passedOn)
    else { fail("the bridge refuses the fuzzer's source") }
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
      let opened = try? importSource(exportSource(remote), provider: "fuzz")
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

/// Asks a source, but for what the contract asks besides what is meant.
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

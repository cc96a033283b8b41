import Tabella

@testable import TabellaRemote

/// Fuzzes whole sessions with a worker: the decoder of its answers, and all checks of its source from call to call.
///
/// An input is a sequence of records. Each record is an answer, a step of the host, or both; its bytes are the message
/// of the answer. The steps run in order. The worker's reply to a request is the next answer to the same operation. If
/// there is none left, the last one is repeated, so that a change to one answer leaves the others valid.
struct SessionTarget: FuzzTarget {
  static let name = "sessions"
  static let inputLimit = 4096
  static let shape = InputShape.records

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    let records = Record.all(in: input)
    return playSession(
      ScriptedWorker(records),
      steps: records.compactMap { record in
        record.tag & SessionRecord.isAnswerOnly == 0
          ? record.operation.map { ($0, record.argument) } : nil
      })
  }

  func seeds() -> [Seed] { SessionSeeds.all }
}

/// The kinds of a session's records, besides answers to the operation in the tag.
enum SessionRecord {
  /// The record is only an answer to a request during another step.
  static let isAnswerOnly: UInt8 = 0x80
  /// The record is only a step. The worker does not answer it.
  static let isStepOnly: UInt8 = 0x40
}

extension Record {
  /// The subject of a session's record.
  var operation: Operation? { Operation(rawValue: Int32(tag & 0x3F)) }
}

/// Plays a host with a worker. Returns the number of answered steps.
func playSession(_ worker: any Transport, steps: [(Operation, UInt8)]) -> Int {
  let limit = 1 << 20
  let session = RemoteSession(transport: worker, limit: limit, supervisor: Watcher())
  let taken = Steps(session)
  let source: any TableDataSource
  do throws(TableError) {
    source = try CheckedSource(
      session.open(OpenRequest(location: [])), provider: "fuzz",
      edits: .judgedAlsoByReopening { () throws(TableError) in
        let again = RemoteSession(transport: worker, limit: limit, supervisor: Watcher())
        return try CheckedSource(again.open(OpenRequest(location: [])), provider: "fuzz")
      })
  } catch {
    return 0
  }
  for (operation, argument) in steps where operation != .open {
    taken.take(operation, argument, on: source)
  }
  if session.ended != nil {
    require((try? session.statistics()) == nil, "an answer behind the end")
  }
  return taken.answered
}

/// A worker's supervisor, without a worker.
final class Watcher: WorkerSupervisor, @unchecked Sendable {
  private var operation = Operation.load

  func callBegan(_ operation: Operation, number: UInt64) { self.operation = operation }
  func callEnded() {}
  func waitForPacket() throws(TableError) {}
  func explain(_ error: TableError) -> TableError { error }
  func cancel(_ number: UInt64) {}

  func end(because error: TableError) -> TableError {
    var told = error
    told.provider = "fuzz"
    told.providerEnd = .byItself
    if operation.edits { told.aftermath = .unknown }
    return told
  }
}

/// A worker that answers from records.
private final class ScriptedWorker: Transport {
  private var answers: [Operation: [UnsafeRawBufferPointer]] = [:]
  private var given: [Operation: Int] = [:]
  private var asked: [UInt64: Operation] = [:]

  init(_ records: [Record]) {
    for record in records where record.tag & SessionRecord.isStepOnly == 0 {
      if let operation = record.operation { answers[operation, default: []].append(record.bytes) }
    }
  }

  func send(_ message: OutgoingMessage, number: UInt64) throws(TableError) {
    asked[number] = message.operation
  }

  func receive(
    _ expected: UInt64?, limit: Int, arrived: (UnsafeRawBufferPointer) -> Void
  ) throws(TableError) -> (number: UInt64, message: IncomingMessage) {
    guard let expected, let operation = asked.removeValue(forKey: expected) else { throw .closed }
    // The worker does not decide whether a source is released.
    if operation == .release { return (expected, incoming(bytes(of: 1 as UInt64))) }
    guard let list = answers[operation] else { throw .closed }
    let place = given[operation] ?? 0
    given[operation] = min(place + 1, list.count - 1)
    return (expected, incoming(list[place]))
  }
}

extension OutgoingMessage {
  /// The requested operation.
  var operation: Operation? {
    head.withUnsafeBytes { bytes in
      var reader = WireReader(bytes)
      return try? reader.get(Operation.self)
    }
  }

  /// All bytes in the order of arrival.
  var flat: [UInt8] {
    var all: [UInt8] = []
    try? forEachPart { bytes, _ throws(TableError) in all += bytes }
    return all
  }
}

/// A message that arrived, in memory without spare bytes at its end.
func incoming(_ bytes: some Collection<UInt8>) -> IncomingMessage {
  let message = IncomingMessage(count: bytes.count)
  message.storage.copyBytes(from: bytes)
  return message
}

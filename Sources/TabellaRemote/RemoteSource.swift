import Tabella

/// A source in a worker. Each call is a message and its answer.
///
/// Answers are checked for their format only. Their content is a provider's claim, which a ``CheckedSource`` checks.
final class RemoteSource: ForwardingSource {
  private let session: RemoteSession
  private let number: Int
  let abilities: AbilitySet
  private let canCancel: Bool
  private(set) var columns: [Column]
  let hasVolatileOrder: Bool
  /// The last requested rows, to detect sequential reading.
  private var lastRows: (request: RowRequest, end: Int)?

  init(_ description: SourceDescription, in session: RemoteSession) {
    self.session = session
    number = description.number
    abilities = description.abilities
    canCancel = description.canCancel
    columns = description.columns
    hasVolatileOrder = description.hasVolatileOrder
  }

  deinit {
    session.setListener(nil, of: number)
    session.notify(.release, of: number, [])
  }

  func call<Answer, each Argument>(
    _ call: Call<Answer, repeat each Argument>, _ argument: repeat each Argument
  ) throws(TableError) -> Answer {
    if call.mayChangeColumns { lastRows = nil }
    let values = call.values(repeat each argument)
    let (make, columns) = try session.call(call.operation, of: number, values) {
      reader, message throws(TableError) -> ((RemoteSession) -> Answer, [Column]?) in
      let make = try call.readAnswer(&reader, message)
      return (make, call.mayChangeColumns ? try reader.get([Column].self) : nil)
    }
    if let columns { self.columns = columns }
    return make(session)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    // A second consecutive batch makes a third one likely.
    var follows = false
    if let last = lastRows {
      var expected = last.request
      expected.first = last.end
      follows = expected == request
    }
    lastRows = nil
    let batch = try session.rows(request, of: number, following: follows)
    if batch.rowCount > 0, request.first <= Int.max - batch.rowCount {
      lastRows = (request, request.first + batch.rowCount)
    }
    return batch
  }

  var cancellation: (@Sendable () -> Void)? {
    guard canCancel else { return nil }
    return { [session, number] in session.cancel(number) }
  }

  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    session.setListener(nil, of: number)
    _ = try session.call(.listen, of: number, [notify != nil]) { reader, _ throws(TableError) in
      try reader.get(Bool.self)
    }
    session.setListener(notify, of: number)
  }

  /// If the provider ends during this call, the end is reported as a diagnostic, because the call cannot throw.
  func nextDiagnostic() -> Diagnostic? {
    guard session.ended == nil else { return nil }
    do throws(TableError) {
      return try call(Calls.nextDiagnostic)
    } catch {
      return error.isProviderGone ? Diagnostic(.warning, error.message) : nil
    }
  }
}

/// A supplementary element in a message. A table becomes a separate source.
enum WireElement: WireValue {
  case text(StyledText)
  case table(SourceDescription)

  func write(to writer: inout WireWriter) {
    switch self {
    case .text(let text):
      writer.put(0)
      writer.put(text)
    case .table(let description):
      writer.put(1)
      writer.put(description)
    }
  }

  static func read(_ reader: inout WireReader) throws(TableError) -> WireElement {
    switch try reader.get(Int.self) {
    case 0: return .text(try reader.get(StyledText.self))
    case 1: return .table(try reader.get(SourceDescription.self))
    case let form: throw .malformed("an element has the form \(form)")
    }
  }
}

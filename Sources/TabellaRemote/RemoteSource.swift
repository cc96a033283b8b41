import Tabella

/// A source in a worker. Each call is a message and its answer.
///
/// Answers are checked for their format only. Their content is a provider's claim like any other, and the bridge
/// performs the same checks as for other providers.
final class RemoteSource: TableDataSource {
  private let session: RemoteSession
  private let number: Int
  private let abilities: SourceDescription.Abilities
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

  private func call<R: WireValue>(
    _ operation: Operation, for _: R.Type, _ arguments: [any WireValue] = []
  ) throws(TableError) -> R {
    try session.call(operation, of: number, arguments) { reader, _ throws(TableError) in
      try reader.get(R.self)
    }
  }

  // The core.

  func version() throws(TableError) -> Version? { try call(.version, for: Version?.self) }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try call(.numberOfRows, for: Count.self, [section, minimum]).checked(limit: TableLimits.rows)
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

  var sections: (any TableSections)? { abilities.contains(.sections) ? self : nil }
  var sectionIndex: (any TableSectionIndex)? { abilities.contains(.sectionIndex) ? self : nil }
  var identity: (any TableIdentity)? { abilities.contains(.identity) ? self : nil }
  var gathering: (any TableGathering)? { abilities.contains(.gathering) ? self : nil }
  var changes: (any TableChanges)? { abilities.contains(.changes) ? self : nil }
  var editing: (any TableEditing)? { abilities.contains(.editing) ? self : nil }
  var sectionEditing: (any TableSectionEditing)? {
    abilities.contains(.sectionEditing) ? self : nil
  }
  var moving: (any TableMoving)? { abilities.contains(.moving) ? self : nil }
  var undoing: (any TableUndoing)? { abilities.contains(.undoing) ? self : nil }
  var supplementary: (any TableSupplementary)? { abilities.contains(.supplementary) ? self : nil }
  var accessories: (any TableAccessories)? { abilities.contains(.accessories) ? self : nil }
  var display: (any TableDisplay)? { abilities.contains(.display) ? self : nil }
  var prefetching: (any TablePrefetching)? { abilities.contains(.prefetching) ? self : nil }
  var diagnostics: (any TableDiagnostics)? { abilities.contains(.diagnostics) ? self : nil }
}

extension RemoteSource: TableSections, TableSectionIndex, TableIdentity, TableGathering {
  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try call(.numberOfSections, for: Count.self, [minimum]).checked(limit: TableLimits.sections)
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try call(.title, for: String?.self, [place, section])
  }

  func sectionIndexTitles() throws(TableError) -> [String] {
    try call(.sectionIndexTitles, for: [String].self)
  }

  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    try call(.indexPathForTitle, for: IndexPath.self, [title, index]).checked(mayBeSection: true)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try call(.indexPathForID, for: IndexPath.self, [id]).checked()
  }

  func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try session.call(
      .gather, of: number, [paths, columns, includesIDs]
    ) { reader, message throws(TableError) in try incomingBatch(&reader, in: message) }
  }
}

extension RemoteSource: TableChanges, TableEditing, TableSectionEditing, TableMoving, TableUndoing {
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    session.setListener(nil, of: number)
    _ = try call(.listen, for: Bool.self, [notify != nil])
    session.setListener(notify, of: number)
  }

  func pull() throws(TableError) -> ChangeBatch {
    try edited(.pull, for: ChangeBatch.self, [])
  }

  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try answers(.editability, [section], rows).map { RowEditability(rawValue: $0) }
  }

  func editableColumns() throws(TableError) -> [Bool]? {
    try call(.editableColumns, for: [Bool]?.self)
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    try edited(.commit, for: EditResult.self, [batch])
  }

  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability] {
    try answers(.sectionEditability, [], sections).map { SectionEditability(rawValue: $0) }
  }

  func canInsertSections() throws(TableError) -> Bool {
    try call(.canInsertSections, for: Bool.self)
  }

  func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    try answers(.movability, [section], rows).map { $0 != 0 }
  }

  func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    try call(.target, for: IndexPath.self, [source, proposed])
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try edited(.undo, for: EditResult.self, [WireBytes(receipt), isDryRun])
  }

  /// A call that can move the source to another version. The answer contains the columns.
  private func edited<R: WireValue>(
    _ operation: Operation, for _: R.Type, _ arguments: [any WireValue]
  ) throws(TableError) -> R {
    lastRows = nil
    let (result, columns) = try session.call(operation, of: number, arguments) {
      reader, _ throws(TableError) in
      (try reader.get(R.self), try reader.get([Column].self))
    }
    self.columns = columns
    return result
  }

  /// Requests one byte for each element of a range: rows of the section `section`, or sections if it is empty.
  private func answers(
    _ operation: Operation, _ section: [Int], _ range: Range<Int>
  ) throws(TableError) -> [UInt8] {
    try session.call(
      operation, of: number, section + [range.lowerBound, range.count]
    ) { reader, _ throws(TableError) in
      let bytes = try reader.get(WireBytes.self).bytes
      guard bytes.count == range.count else {
        throw .malformed("\(bytes.count) answers arrived; \(range.count) were requested")
      }
      return bytes
    }
  }
}

extension RemoteSource: TableSupplementary, TableAccessories {
  func supplementaryKinds() throws(TableError) -> [String] {
    try call(.supplementaryKinds, for: [String].self)
  }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    let element = try call(.supplementaryElement, for: WireElement?.self, [kind, path])
    return switch element {
    case nil: nil
    case .text(let text): .text(text)
    case .table(let description): .table(RemoteSource(description, in: session))
    }
  }

  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    let location = try call(.location, for: WireBytes?.self, [path])
    return location?.bytes
  }
}

extension RemoteSource: TableDisplay, TablePrefetching, TableDiagnostics {
  func willDisplay(rows: Range<Int>, inSection section: Int) {
    notice(.willDisplay, rows, section)
  }

  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    notice(.didEndDisplaying, rows, section)
  }

  func prefetch(rows: Range<Int>, inSection section: Int) { notice(.prefetch, rows, section) }

  func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    notice(.cancelPrefetching, rows, section)
  }

  private func notice(_ operation: Operation, _ rows: Range<Int>, _ section: Int) {
    session.notify(operation, of: number, [section, rows.lowerBound, rows.count])
  }

  /// If the provider ends during this call, the end is reported as a diagnostic, because the call cannot throw.
  func nextDiagnostic() -> Diagnostic? {
    guard session.ended == nil else { return nil }
    do throws(TableError) {
      return try call(.nextDiagnostic, for: Diagnostic?.self)
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

import CTabella
import Tabella

/// Makes a Swift source from a C source. The Swift source owns and releases the C source.
///
/// Everything that the C source returns is checked before use: codes, counts, strings, Arrow arrays. A breach of
/// the contract is a ``TableError`` with `.misbehaved` that names the provider and the function.
public func importSource(
  _ raw: tabella_source, provider: String, edits: EditJudgement = .judged
) throws(TableError) -> any TableDataSource {
  try ImportedSource(ForeignSource(raw, provider: provider), edits)
}

/// The treatment of a provider's reports about edits.
public enum EditJudgement {
  /// Verified: the report must fit the state of the source before and after the edit.
  case judged
  /// Verified. If the provider ends during an edit, the closure opens the location again, to find out whether the
  /// edit was applied.
  case judgedAlsoByReopening(() throws(TableError) -> any TableDataSource)
  /// Passed on: another component verifies the report.
  case passedOn
}

final class ImportedSource: TableDataSource {
  let foreign: ForeignSource
  let judgement: EditJudgement
  private(set) var gatherer: tabella_gathering?
  private(set) var columns: [Column]
  let hasVolatileOrder: Bool
  let cancellation: (@Sendable () -> Void)?
  private(set) var sections: (any TableSections)?
  private(set) var sectionIndex: (any TableSectionIndex)?
  private(set) var identity: (any TableIdentity)?
  var gathering: (any TableGathering)? { gatherer == nil ? nil : self }
  private(set) var changes: (any TableChanges)?
  private(set) var editor: tabella_editing?
  var editing: (any TableEditing)? { editor == nil ? nil : self }
  private(set) var sectionEditing: (any TableSectionEditing)?
  private(set) var moving: (any TableMoving)?
  private(set) var undoer: tabella_undo?
  var undoing: (any TableUndoing)? { undoer == nil ? nil : self }
  private(set) var supplementary: (any TableSupplementary)?
  private(set) var accessories: (any TableAccessories)?
  private(set) var display: (any TableDisplay)?
  private(set) var prefetching: (any TablePrefetching)?
  private(set) var diagnostics: (any TableDiagnostics)?

  init(_ foreign: ForeignSource, _ judgement: EditJudgement = .judged) throws(TableError) {
    self.foreign = foreign
    self.judgement = judgement
    columns = try readColumns(foreign)
    hasVolatileOrder = foreign.table.flags!(foreign.source) & TABELLA_SOURCE_VOLATILE_ORDER != 0
    if let canceller = foreign.canceller {
      cancellation = { canceller.cancel() }
    } else {
      cancellation = nil
    }
    sections = try importSections(foreign)
    sectionIndex = try importSectionIndex(foreign)
    identity = try importIdentity(foreign)
    gatherer = try importGathering(foreign)
    supplementary = try importSupplementary(foreign)
    accessories = try importAccessories(foreign)
    display = try importDisplay(foreign)
    prefetching = try importPrefetching(foreign)
    diagnostics = try importDiagnostics(foreign)
    let moved: (ChangeBatch) throws(TableError) -> Void = { [weak self] change throws(TableError) in
      try self?.follow(change)
    }
    changes = try importChanges(foreign, moved)
    editor = try importEditing(foreign)
    sectionEditing = try importSectionEditing(foreign)
    moving = try importMoving(foreign)
    undoer = try importUndo(foreign)
  }

  /// Reads everything that can differ in a new version.
  func follow(_ change: ChangeBatch) throws(TableError) {
    if change.changes == nil { columns = try readColumns(foreign) }
  }

  func version() throws(TableError) -> Version? {
    var raw = tabella_string()
    try foreign.call("version") { foreign.table.version!(foreign.source, &raw, $0) }
    return try foreign.checking("version") { () throws(TableError) in try importVersion(raw) }
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    var raw = tabella_count()
    try foreign.call("row_count") {
      foreign.table.row_count!(foreign.source, Int64(section), Int64(minimum), &raw, $0)
    }
    return try foreign.checking("row_count") { () throws(TableError) in
      try Count(raw, knowing: minimum, limit: TableLimits.rows)
    }
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    // Requests that are invalid for every source are refused here, so that the answer can be checked.
    try check(request)
    var raw = tabella_batch()
    let columnNumbers = request.columns.map { Int64($0) }
    try foreign.call("rows") { error in
      columnNumbers.withUnsafeBufferPointer { numbers in
        var asked = tabella_row_request(
          section: Int64(request.section), first: Int64(request.first), count: Int64(request.count),
          columns: numbers.baseAddress, column_count: Int64(numbers.count),
          flags: request.includesIDs ? TABELLA_ROWS_IDS : 0, reserved: 0)
        return foreign.table.rows!(foreign.source, &asked, &raw, error)
      }
    }
    return try foreign.checking("rows") { () throws(TableError) in
      try importBatch(raw, answering: request, of: columns, foreign.witness)
    }
  }
}

private func readColumns(_ foreign: ForeignSource) throws(TableError) -> [Column] {
  var schema = ArrowSchema()
  try foreign.call("schema") { foreign.table.schema!(foreign.source, &schema, $0) }
  return try foreign.checking("schema") { () throws(TableError) in
    try importSchema(&schema, foreign.witness)
  }
}

/// The Swift form of a version; nil if it is absent or empty.
func importVersion(_ raw: tabella_string) throws(TableError) -> Version? {
  guard let bytes = try raw.copied("the version"), !bytes.isEmpty else { return nil }
  guard bytes.count <= Version.maximumLength, bytes.allSatisfy({ 0x21...0x7E ~= $0 }) else {
    throw TableError(
      .misbehaved, "the version is not 0 to \(Version.maximumLength) printable ASCII bytes")
  }
  return Version(String(decoding: bytes, as: UTF8.self))
}

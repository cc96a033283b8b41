import CTabella
import Tabella

/// Makes a Swift source from a C source. The Swift source owns and releases the C source.
///
/// Everything that the C source returns is checked before use. The bridge checks the memory: pointers, lengths,
/// Arrow arrays. A ``CheckedSource`` checks the content. A breach of the contract is a ``TableError`` with
/// `.misbehaved` that names the provider and the function.
package func importSource(
  _ raw: tabella_source, provider: String, edits: EditJudgement = .judged
) throws(TableError) -> any TableDataSource {
  let source = try ImportedSource(ForeignSource(raw, provider: provider))
  return try CheckedSource(
    source, provider: provider, edits: edits, searcher: ImportedSearching(source),
    sharer: ImportedSharing(source), digester: ImportedDigesting(source))
}

/// A C source as a Swift source, with conversions and checks of memory only.
final class ImportedSource: TableDataSource {
  let foreign: ForeignSource
  private(set) var columns: [Column]
  /// Whether the source moved to a version whose columns were not read.
  private var hasStaleColumns = false
  let hasVolatileOrder: Bool
  let cancellation: (@Sendable () -> Void)?
  // The abilities, which `CrossingAbility` sets. The source has some of them itself: then this is its table.
  fileprivate(set) var sections: (any TableSections)?
  fileprivate(set) var sectionIndex: (any TableSectionIndex)?
  fileprivate(set) var identity: (any TableIdentity)?
  fileprivate(set) var gatherer: tabella_gathering?
  var gathering: (any TableGathering)? { gatherer == nil ? nil : self }
  fileprivate(set) var editor: tabella_editing?
  var editing: (any TableEditing)? { editor == nil ? nil : self }
  fileprivate(set) var sectionEditing: (any TableSectionEditing)?
  fileprivate(set) var moving: (any TableMoving)?
  fileprivate(set) var undoer: tabella_undo?
  var undoing: (any TableUndoing)? { undoer == nil ? nil : self }
  fileprivate(set) var changes: (any TableChanges)?
  fileprivate(set) var supplementary: (any TableSupplementary)?
  fileprivate(set) var accessories: (any TableAccessories)?
  fileprivate(set) var display: (any TableDisplay)?
  fileprivate(set) var prefetching: (any TablePrefetching)?
  fileprivate(set) var diagnostics: (any TableDiagnostics)?

  init(_ foreign: ForeignSource) throws(TableError) {
    self.foreign = foreign
    columns = try readColumns(foreign)
    hasVolatileOrder = foreign.table.flags!(foreign.source) & TABELLA_SOURCE_VOLATILE_ORDER != 0
    if let canceller = foreign.canceller {
      cancellation = { canceller.cancel() }
    } else {
      cancellation = nil
    }
    for crossing in CrossingAbility.all { try crossing.take(self) }
  }

  /// Creates a share of a source with these columns; see ``RowShares``. There are many of them, so it asks for nothing that
  /// no share has or that all shares have in common.
  init(share foreign: ForeignSource, _ columns: [Column]) throws(TableError) {
    self.foreign = foreign
    self.columns = columns
    (hasVolatileOrder, cancellation) = (false, nil)
    gatherer = try importGathering(foreign)
  }

  /// Reads everything that can differ in a new version.
  func follow(_ change: ChangeBatch) throws(TableError) {
    guard change.changes == nil else { return }
    hasStaleColumns = true
    columns = try readColumns(foreign)
    hasStaleColumns = false
  }

  /// Reads the columns if an earlier attempt failed. Throws ``TableError`` with `.conflict` if they are not those that the
  /// callers know.
  func refreshColumns() throws(TableError) {
    guard hasStaleColumns else { return }
    guard try readColumns(foreign) == columns else { throw .changedColumns }
    hasStaleColumns = false
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
      try Count(raw)
    }
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try refreshColumns()
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

extension TableError {
  /// The error for a table whose columns changed when they could not be read.
  static let changedColumns = TableError(
    .conflict, "the columns of the table have changed; open the table again")
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
  guard let token = try raw.text("the version"), !token.isEmpty else { return nil }
  return Version(token)
}

/// How one ability crosses the contract, in both directions.
struct CrossingAbility {
  let ability: Ability
  /// The id of the C table.
  let id: String
  /// The C table of exported sources.
  let table: UnsafeRawPointer
  /// Gives an imported source the ability, if the C source has it.
  let take: (ImportedSource) throws(TableError) -> Void

  private init(
    _ ability: Ability, _ id: String, _ table: UnsafeRawPointer,
    _ take: @escaping (ImportedSource) throws(TableError) -> Void
  ) {
    self.ability = ability
    self.id = id
    self.table = table
    self.take = take
  }

  nonisolated(unsafe) static let all = Ability.allCases.map { CrossingAbility($0) }

  private init(_ ability: Ability) {
    switch ability {
    case .sections:
      self.init(ability, TABELLA_SECTIONS_ID, sectionsTable) { source throws(TableError) in
        source.sections = try importSections(source.foreign)
      }
    case .sectionIndex:
      self.init(ability, TABELLA_SECTION_INDEX_ID, sectionIndexTable) { source throws(TableError) in
        source.sectionIndex = try importSectionIndex(source.foreign)
      }
    case .identity:
      self.init(ability, TABELLA_IDENTITY_ID, identityTable) { source throws(TableError) in
        source.identity = try importIdentity(source.foreign)
      }
    case .gathering:
      self.init(ability, TABELLA_GATHERING_ID, gatheringTable) { source throws(TableError) in
        source.gatherer = try importGathering(source.foreign)
      }
    case .editing:
      self.init(ability, TABELLA_EDITING_ID, editingTable) { source throws(TableError) in
        source.editor = try importEditing(source.foreign)
      }
    case .sectionEditing:
      self.init(ability, TABELLA_SECTION_EDITING_ID, sectionEditingTable) {
        source throws(TableError) in
        source.sectionEditing = try importSectionEditing(source.foreign)
      }
    case .moving:
      self.init(ability, TABELLA_MOVING_ID, movingTable) { source throws(TableError) in
        source.moving = try importMoving(source.foreign)
      }
    case .undoing:
      self.init(ability, TABELLA_UNDO_ID, undoTable) { source throws(TableError) in
        source.undoer = try importUndo(source.foreign)
      }
    case .changes:
      self.init(ability, TABELLA_CHANGES_ID, changesTable) { source throws(TableError) in
        source.changes = try importChanges(source.foreign) {
          [weak source] change throws(TableError) in try source?.follow(change)
        }
      }
    case .supplementary:
      self.init(ability, TABELLA_SUPPLEMENTARY_ID, supplementaryTable) {
        source throws(TableError) in
        source.supplementary = try importSupplementary(source.foreign)
      }
    case .accessories:
      self.init(ability, TABELLA_ACCESSORIES_ID, accessoriesTable) { source throws(TableError) in
        source.accessories = try importAccessories(source.foreign)
      }
    case .display:
      self.init(ability, TABELLA_DISPLAY_ID, displayTable) { source throws(TableError) in
        source.display = try importDisplay(source.foreign)
      }
    case .prefetching:
      self.init(ability, TABELLA_PREFETCHING_ID, prefetchingTable) { source throws(TableError) in
        source.prefetching = try importPrefetching(source.foreign)
      }
    case .diagnostics:
      self.init(ability, TABELLA_DIAGNOSTICS_ID, diagnosticsTable) { source throws(TableError) in
        source.diagnostics = try importDiagnostics(source.foreign)
      }
    }
  }
}

import Tabella

/// A source with every ability that passes all calls to another source. Calls that the other source lacks fail.
class Relay: TableDataSource {
  var base: any TableDataSource

  init(_ base: any TableDataSource) { self.base = base }

  private func its<A>(_ ability: A?) throws(TableError) -> A {
    guard let ability else { throw TableError(.notSupported, "there is no such ability") }
    return ability
  }

  var columns: [Column] { base.columns }
  var cancellation: (@Sendable () -> Void)? { {} }
  var sections: (any TableSections)? { self }
  var sectionIndex: (any TableSectionIndex)? { self }
  var identity: (any TableIdentity)? { self }
  var gathering: (any TableGathering)? { self }
  var changes: (any TableChanges)? { self }
  var editing: (any TableEditing)? { self }
  var sectionEditing: (any TableSectionEditing)? { self }
  var moving: (any TableMoving)? { self }
  var undoing: (any TableUndoing)? { self }
  var supplementary: (any TableSupplementary)? { self }
  var accessories: (any TableAccessories)? { self }
  var display: (any TableDisplay)? { self }
  var prefetching: (any TablePrefetching)? { self }
  var diagnostics: (any TableDiagnostics)? { self }

  func version() throws(TableError) -> Version? { try base.version() }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch { try base.rows(request) }

  // Hooks for subclasses

  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try its(base.changes).listen(notify)
  }

  func pull() throws(TableError) -> ChangeBatch { try its(base.changes).pull() }

  func sectionIndexTitles() throws(TableError) -> [String] {
    try its(base.sectionIndex).sectionIndexTitles()
  }
}

extension Relay: TableSections, TableSectionIndex, TableIdentity, TableGathering {
  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try its(base.sections).numberOfSections(knowing: minimum)
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try its(base.sections).title(place, ofSection: section)
  }

  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    try its(base.sectionIndex).indexPath(forIndexTitle: title, at: index)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try its(base.identity).indexPath(forID: id)
  }

  func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try its(base.gathering).rows(at: paths, columns: columns, includesIDs: includesIDs)
  }
}

extension Relay: TableChanges, TableEditing, TableSectionEditing, TableMoving, TableUndoing {
  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try its(base.editing).editability(ofRows: rows, inSection: section)
  }

  func editableColumns() throws(TableError) -> [Bool]? { try its(base.editing).editableColumns() }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    try its(base.editing).commit(batch)
  }

  func editability(ofSections sections: Range<Int>) throws(TableError) -> [SectionEditability] {
    try its(base.sectionEditing).editability(ofSections: sections)
  }

  func canInsertSections() throws(TableError) -> Bool {
    try its(base.sectionEditing).canInsertSections()
  }

  func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    try its(base.moving).movability(ofRows: rows, inSection: section)
  }

  func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    try its(base.moving).target(ofMoveFrom: source, to: proposed)
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try its(base.undoing).undo(receipt, isDryRun: isDryRun)
  }
}

extension Relay: TableSupplementary, TableAccessories, TableDiagnostics {
  func supplementaryKinds() throws(TableError) -> [String] {
    try its(base.supplementary).supplementaryKinds()
  }

  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    try its(base.supplementary).supplementaryElement(ofKind: kind, at: path)
  }

  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    try its(base.accessories).location(forRowAt: path)
  }

  func nextDiagnostic() -> Diagnostic? { base.diagnostics?.nextDiagnostic() }
}

extension Relay: TableDisplay, TablePrefetching {
  func willDisplay(rows: Range<Int>, inSection section: Int) {
    base.display?.willDisplay(rows: rows, inSection: section)
  }

  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    base.display?.didEndDisplaying(rows: rows, inSection: section)
  }

  func prefetch(rows: Range<Int>, inSection section: Int) {
    base.prefetching?.prefetch(rows: rows, inSection: section)
  }

  func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    base.prefetching?.cancelPrefetching(rows: rows, inSection: section)
  }
}

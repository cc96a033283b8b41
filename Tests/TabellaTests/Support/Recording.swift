import Tabella

/// A table in memory that records its calls, limits its batches, and runs hooks of the test.
final class Recording: TableDataSource, TableSections, TableGathering, TableDisplay,
  TablePrefetching, TableChanges, TableMoving, TableSupplementary
{
  /// The calls of a viewer.
  enum Asked: Hashable {
    case sections
    case count(Int)
    case title(TitlePlace, Int)
    case rows(Int, Range<Int>)
    case gathered([IndexPath])
    case element(String, IndexPath)
    case will(Int, Range<Int>)
    case did(Int, Range<Int>)
    case fetch(Int, Range<Int>)
    case cancel(Int, Range<Int>)
  }

  let base: InMemorySource
  var gathers = false
  var batchLimit = Int.max
  var countsAtLeast = false
  /// Called before rows are returned.
  var onRows: ((RowRequest) throws(TableError) -> Void)?
  /// The result of a pull. Its edits are already made in ``base``.
  var pulled: ChangeBatch?
  /// The real target of moves; nil if it is the proposed one.
  var redirection: IndexPath?
  private var known: [Int: Int] = [:]
  private(set) var requests: [RowRequest] = []
  private(set) var gathered: [[IndexPath]] = []
  private(set) var log: [String] = []
  private(set) var asked: [Asked] = []
  private(set) var versionCalls = 0
  var hasPrefetching = true

  init(_ base: InMemorySource) { self.base = base }

  var columns: [Column] { base.columns }
  var sections: (any TableSections)? { self }
  var sectionIndex: (any TableSectionIndex)? { base.sectionIndex }
  var identity: (any TableIdentity)? { base.identity }
  var gathering: (any TableGathering)? { gathers ? self : nil }
  var changes: (any TableChanges)? { self }
  var editing: (any TableEditing)? { base.editing }
  var sectionEditing: (any TableSectionEditing)? { base.sectionEditing }
  var moving: (any TableMoving)? { self }
  var undoing: (any TableUndoing)? { base.undoing }
  var supplementary: (any TableSupplementary)? { base.supplementary.map { _ in self } }
  var accessories: (any TableAccessories)? { base.accessories }
  var display: (any TableDisplay)? { self }
  var prefetching: (any TablePrefetching)? { hasPrefetching ? self : nil }
  var diagnostics: (any TableDiagnostics)? { base.diagnostics }

  func version() -> Version? {
    versionCalls += 1
    return base.version()
  }

  func numberOfSections(knowing minimum: Int) -> Count {
    asked.append(.sections)
    return base.numberOfSections(knowing: minimum)
  }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    asked.append(.title(place, section))
    return try base.title(place, ofSection: section)
  }

  func supplementaryKinds() -> [String] { base.supplementaryKinds() }

  func supplementaryElement(ofKind kind: String, at path: IndexPath) -> SupplementaryElement? {
    asked.append(.element(kind, path))
    return base.supplementaryElement(ofKind: kind, at: path)
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    asked.append(.count(section))
    let count = try base.numberOfRows(inSection: section, knowing: minimum)
    let known = max(known[section] ?? 0, minimum)
    self.known[section] = known
    return countsAtLeast && known < count.value ? .atLeast(known) : count
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    requests.append(request)
    asked.append(
      .rows(request.section, request.first..<request.first.advancedUp(by: request.count)))
    try onRows?(request)
    var request = request
    request.count = min(request.count, batchLimit)
    return try base.rows(request)
  }

  func rows(at paths: [IndexPath], columns: [Int], includesIDs: Bool) throws(TableError) -> Batch {
    gathered.append(paths)
    asked.append(.gathered(paths))
    return try base.rows(
      at: Array(paths.prefix(batchLimit)), columns: columns, includesIDs: includesIDs)
  }

  func willDisplay(rows: Range<Int>, inSection section: Int) {
    asked.append(.will(section, rows))
    log.append("will \(section) \(rows)")
  }
  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
    asked.append(.did(section, rows))
    log.append("did \(section) \(rows)")
  }
  func prefetch(rows: Range<Int>, inSection section: Int) {
    asked.append(.fetch(section, rows))
    log.append("fetch \(section) \(rows)")
  }
  func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
    asked.append(.cancel(section, rows))
    log.append("cancel \(section) \(rows)")
  }

  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool] {
    try base.movability(ofRows: rows, inSection: section)
  }

  func target(ofMoveFrom source: IndexPath, to proposed: IndexPath) -> IndexPath {
    redirection ?? proposed
  }

  func listen(_ notify: (@Sendable () -> Void)?) {}

  func pull() -> ChangeBatch {
    pulled ?? ChangeBatch(from: base.version(), to: base.version(), changes: [])
  }
}

/// A source that shows the rows of another, its base, in other places: what the views of one base have
/// in common.
///
/// Columns and cells are the base's. Whatever names a row (an index path, an id, an edit, a notice) is
/// mapped to the base and back, and an ability is there exactly when the base has it. When the base
/// moves to another version by an edit or ``TableChanges/pull()`` through the view, the view answers
/// that everything must be read again and maps anew. A version's token is the base's with a digest of
/// what the view does; where the base's order is volatile, also of which row stands where.
public class MappedSource: TableDataSource {
  /// The source whose rows are shown; to be edited and moved on through the view only.
  public let base: any TableDataSource

  /// Called with the number of rows read so far while a call reads many, about once a batch and on
  /// the calling thread.
  public var onProgress: ((_ rowsDone: Int) -> Void)?

  /// At most this many rows are mapped and given at once.
  static let batchSize = 8192
  /// At most this many rows are asked for at once: many, because a base reads rows from everywhere the
  /// faster the more it is asked for.
  static let gatherSize = 1 << 20

  /// The rows that were asked for last and not given. A base may have read them all and give them in parts;
  /// so it is asked for these before more.
  private var rest = (section: 0, rows: 0..<0)
  /// The most rows that the base gave at once: it is not asked for many more than it gives.
  private var mostGiven = 0

  let flag = CancelFlag()
  private let digest: String
  /// The base's version that was mapped; nil if nothing is mapped yet or the base has no versions.
  private(set) var pin: Version?
  var shown = ShownRuns<[RunPlan.Run]>()

  /// `description` says what the view does, for the digest in versions.
  init(_ base: any TableDataSource, description: String) {
    self.base = base
    digest = fingerprint(description, digits: 8)
  }

  deinit {
    // The base is told the end of whatever is still on show.
    for (_, runs) in shown.all { tellEnd(runs) }
  }

  // What a view is: these are called while a call runs, so they do not begin one.

  /// What ``numberOfRows(inSection:knowing:)`` answers.
  func count(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  /// Makes what mapping a section's rows takes.
  func prepare(section: Int) throws(TableError) {}

  /// Where the base has a row; throws `.notFound` if the view has no such row.
  func basePath(of path: IndexPath) throws(TableError) -> IndexPath { path }

  /// Where the base has rows that are in a section; they are there.
  func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    var paths: [IndexPath] = []
    paths.reserveCapacity(rows.count)
    for row in rows { paths.append(try basePath(of: IndexPath(section: section, row: row))) }
    return paths
  }

  /// Where the view shows a row of the base; nil if it does not.
  func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? { path }

  /// Where a title of the base's index leads that leads to this place of the base.
  func jump(toBase path: IndexPath) throws(TableError) -> IndexPath {
    guard !path.isSection else { return path }
    return try self.path(ofBase: path) ?? .section(path.section)
  }

  /// Whether sections are the base's, with the same numbers.
  var hasBaseSections: Bool { true }

  /// Why its sections cannot be edited; nil if they are edited as the base's.
  var sectionRefusal: TableError? { (base as? MappedSource)?.sectionRefusal }

  /// Throws unless a section of the base can be deleted through the view: every row in it is shown.
  func checkShowsAll(ofSection section: Int) throws(TableError) {
    try (base as? MappedSource)?.checkShowsAll(ofSection: section)
  }

  /// Whether every row of the base is shown.
  var showsEveryRow: Bool { true }
  /// Whether rows stand in the base's order.
  var hasBaseOrder: Bool { false }

  /// Whether sections are groups by value, so that a move to another sets a cell of the base.
  var hasGroups: Bool { (base as? MappedSource)?.hasGroups ?? false }

  /// The target in the base of a row that is inserted into the view, or moved within it.
  enum BaseTarget {
    /// Before this row of the base, as numbered before the batch, or at this end of a section.
    case before(IndexPath)
    /// Where it is, with these cells set.
    case stays([Int: Cell])

    var base: IndexPath? {
      if case .before(let path) = self { path } else { nil }
    }

    var cells: [Int: Cell]? {
      if case .stays(let cells) = self { cells } else { nil }
    }
  }

  /// Where an arrival of a plan for a section of the view lands in the base.
  ///
  /// The default is the end of the base's section.
  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget {
    .before(IndexPath(section: section, row: try base.exactNumberOfRows(inSection: section)))
  }

  /// Where a row is shown once it has moved to a place of the base.
  func path(
    ofBaseTarget target: IndexPath, from source: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath { proposed }

  /// Where a row is shown that stays where it is in the base and is moved to a place of the view.
  func path(
    ofBase path: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath { proposed }

  /// Whether rows, which are there, may be moved; `elsewhere` means to other sections.
  func movable(
    _ rows: Range<Int>, _ section: Int, elsewhere: Bool
  ) throws(TableError) -> [Bool] {
    try answers(for: rows, section, false) { rows, section throws(TableError) in
      if elsewhere, let base = base as? MappedSource {
        return try base.movable(rows, section, elsewhere: true)
      }
      return try base.moving?.movability(ofRows: rows, inSection: section) ?? []
    }
  }

  /// Whether rows can be mapped without reading the base.
  func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool { true }

  /// The cells of a row that is inserted at a place of the view.
  func baseCells(
    _ cells: [Int: Cell], insertedAt target: IndexPath
  ) throws(TableError) -> [Int: Cell] { cells }

  /// Forgets what was mapped, because the base shows another version now.
  func forget() { pin = nil }

  /// What ``rows(_:)`` answers to a request that passed ``check(_:)``.
  func read(_ request: RowRequest) throws(TableError) -> Batch {
    try prepare(section: request.section)
    let isRest = request.section == rest.section && rest.rows.contains(request.first)
    let most =
      isRest
      ? min(max(mostGiven * 2, MappedSource.batchSize), rest.rows.upperBound - request.first)
      : MappedSource.gatherSize
    let end = request.first.advancedUp(by: min(request.count, most))
    let count = try count(inSection: request.section, knowing: end).value
    guard request.first <= count else {
      throw .noRow(request.first, inSection: request.section, of: count)
    }
    let paths = try basePaths(
      of: request.first..<min(end, count), inSection: request.section)
    let last = isRest ? rest.rows.upperBound : request.first + paths.count
    let batch = try base.gather(
      paths, columns: request.columns, includesIDs: request.includesIDs)
    mostGiven = max(mostGiven, batch.rowCount)
    rest = (request.section, request.first + batch.rowCount..<last)
    return batch
  }

  // The data source

  public var columns: [Column] { base.columns }

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    flag.begin()
    return try count(inSection: section, knowing: minimum)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    flag.begin()
    try check(request)
    return try read(request)
  }

  /// The base's token with 8 hexadecimal digits that say what the view does.
  ///
  /// Throws ``TableError`` with `.conflict` if the base is no longer at the version that was mapped.
  /// - Complexity: as the base's; where its order is volatile, all rows are mapped.
  public func version() throws(TableError) -> Version? {
    flag.begin()
    return try token(try baseVersion())
  }

  public var hasVolatileOrder: Bool { base.hasVolatileOrder }
  public var storesEdits: Bool { base.storesEdits }

  public var cancellation: (@Sendable () -> Void)? {
    let (flag, cancelBase) = (flag, base.cancellation)
    return {
      flag.raise()
      cancelBase?()
    }
  }

  public var sections: (any TableSections)? { base.sections }
  public var sectionIndex: (any TableSectionIndex)? { base.sectionIndex.map { _ in self } }
  public var identity: (any TableIdentity)? { base.identity.map { _ in self } }
  public var gathering: (any TableGathering)? { self }
  public var changes: (any TableChanges)? { base.changes.map { _ in self } }
  public var editing: (any TableEditing)? { base.editing.map { _ in self } }
  public var sectionEditing: (any TableSectionEditing)? {
    sectionRefusal == nil ? base.sectionEditing : nil
  }
  public var moving: (any TableMoving)? { hasBaseOrder ? base.moving.map { _ in self } : nil }
  public var undoing: (any TableUndoing)? { base.undoing.map { _ in self } }
  public var supplementary: (any TableSupplementary)? { base.supplementary.map { _ in self } }
  public var accessories: (any TableAccessories)? { base.accessories.map { _ in self } }
  public var display: (any TableDisplay)? { base.display.map { _ in self } }
  public var prefetching: (any TablePrefetching)? { base.prefetching.map { _ in self } }
  public var diagnostics: (any TableDiagnostics)? { base.diagnostics }

  /// The base's titles, if the view has a section index.
  public func sectionIndexTitles() throws(TableError) -> [String] {
    try base.sectionIndex?.sectionIndexTitles() ?? []
  }

  public func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
  {
    flag.begin()
    guard let sectionIndex = base.sectionIndex else {
      throw TableError(.notFound, "there is no section index")
    }
    return try jump(toBase: sectionIndex.indexPath(forIndexTitle: title, at: index))
  }
}

extension MappedSource {
  // Versions

  /// The base's version, which is still the one that was mapped.
  func baseVersion() throws(TableError) -> Version? {
    let version = try base.version()
    guard pin == nil || pin == version else { throw moved(to: version) }
    return version
  }

  private func moved(to version: Version?) -> TableError {
    let was = pin
    forget()
    return TableError(
      .conflict,
      "the table went from version \(was?.token ?? "none") to "
        + "\(version?.token ?? "none"); read it again")
  }

  /// The token of the view's version as it is mapped now, at this version of the base.
  func token(_ version: Version?) throws(TableError) -> Version? {
    version == nil ? nil : token(version, mark: try mark())
  }

  func token(_ version: Version?, mark: String) -> Version? {
    guard let version else { return nil }
    let token = "\(version.token).\(mark)"
    if token.utf8.count <= Version.maximumLength { return Version(token) }
    return Version("\(fingerprint(version.token, digits: 16)).\(mark)")
  }

  /// What a version says of the view, as it is now, in 8 digits.
  func mark() throws(TableError) -> String {
    // What a condition or an order means depends on the types of columns.
    let types = base.columns.map { $0.valueType.name + ($0.hasDecimalComma ? "," : "") }
      .joined(separator: " ")
    let places = base.hasVolatileOrder ? try places() : ""
    return fingerprint("\(digest) \(types) \(places)", digits: 8)
  }

  /// A digest of which row of the base stands where.
  ///
  /// Volatile tables are known by their rows, whose cells change without a new version: what chooses
  /// rows and puts them in order may have changed.
  private func places() throws(TableError) -> String {
    var text = ""
    var section = 0
    while try (sections?.numberOfSections(knowing: section + 1) ?? .exact(1)).value > section {
      let count = try count(inSection: section, knowing: .max).value
      text += ";\(count)"
      for rows in (0..<count).chunks {
        try flag.check()
        let paths = try basePaths(of: rows, inSection: section)
        text = paths.withUnsafeBytes {
          fingerprint(text + String(digest64($0), radix: 16), digits: 16)
        }
      }
      section += 1
    }
    return text
  }

  /// Pins the base's version, for what is mapped little by little.
  func pinBase() throws(TableError) { pin = try baseVersion() }

  /// Runs what maps the base, at one version of it: throws `.conflict` if the base moves meanwhile.
  func mapping<R>(_ body: () throws(TableError) -> R) throws(TableError) -> R {
    let before = try baseVersion()
    let result = try body()
    let after = try base.version()
    guard before == after else {
      pin = before
      throw moved(to: after)
    }
    pin = before
    return result
  }

  /// Reads a section of the base to its end, in large batches; returns how many rows it has.
  ///
  /// `done` is how many rows were read before. All of them must have 32-bit numbers, as which views
  /// remember them.
  func readBase(
    section: Int, columns: [Int], done: Int = 0, _ body: (Batch) throws(TableError) -> Void
  ) throws(TableError) -> Int {
    var count = 0
    while true {
      let batch = try base.rows(
        RowRequest(
          section: section, first: count, count: MappedSource.batchSize, columns: columns))
      try flag.check()
      if batch.rowCount == 0 { return count }
      count += batch.rowCount
      guard done + count < Int(UInt32.max) else {
        throw TableError(.notSupported, "more than \(UInt32.max) rows cannot be put in order")
      }
      try body(batch)
      onProgress?(done + count)
    }
  }
}

extension MappedSource: TableGathering {
  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    flag.begin()
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    var basePaths: [IndexPath] = []
    for path in paths.prefix(MappedSource.gatherSize) { basePaths.append(try basePath(of: path)) }
    return try base.gather(basePaths, columns: columns, includesIDs: includesIDs)
  }
}

extension MappedSource: TableIdentity, TableSectionIndex {
  public func indexPath(forID id: String) throws(TableError) -> IndexPath {
    flag.begin()
    return try shownPath(forID: id)
  }

  func shownPath(forID id: String) throws(TableError) -> IndexPath {
    guard let identity = base.identity else { throw TableError(.notSupported, "rows have no ids") }
    guard let path = try path(ofBase: identity.indexPath(forID: id)) else {
      throw TableError(.notFound, "there is no row with the id \(id) in this view")
    }
    return path
  }
}

extension Int {
  /// The sum, or the largest number there is.
  public func advancedUp(by count: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(count)
    return overflow ? .max : sum
  }
}

extension Range<Int> {
  /// The range in pieces of which each can be mapped at once.
  var chunks: some Sequence<Range<Int>> {
    stride(from: lowerBound, to: upperBound, by: MappedSource.batchSize).lazy.map {
      $0..<Swift.min($0 + MappedSource.batchSize, upperBound)
    }
  }
}

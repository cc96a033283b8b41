/// The base class of views over one base. A view shows the rows of its `base` at other index paths.
///
/// Columns and cells are those of the base. The view translates index paths, ids, edits and notices to the base and
/// back. By default, it has an ability exactly if the base has it. An edit or ``TableChanges/pull()`` through the
/// view can move the base to another version. The view then translates the changes of its base and keeps the rest of
/// its mapping. If the base lists no changes, or cannot be read, the caller must read everything again.
///
/// The token of a version is the base's token plus a digest of the view. If the order of the base is volatile, the
/// digest includes the positions of all rows.
public class MappedSource: TableDataSource {
  /// The source whose rows the view shows. Edit it and move it on only through the view.
  public let base: any TableDataSource

  /// A function that receives the number of rows read so far, while a call reads many rows.
  ///
  /// It is called about once per batch, on the thread of the call. It must not use the source, from which a thread may
  /// read the next batch meanwhile.
  public var onProgress: ((_ rowsDone: Int) -> Void)?

  /// The maximum number of rows that are mapped and returned at once.
  static let batchSize = 8192
  /// The maximum number of rows per gather request. Large requests are faster, because the base reads its data once
  /// per request.
  static let gatherSize = 1 << 20

  /// The rows that the base was asked for last and did not return. The base may have read all of them and return
  /// them in several batches. The next request therefore asks for these rows first.
  var unreturnedRows = (section: 0, rows: 0..<0)
  /// The maximum number of rows that the base has returned at once. It limits the size of later requests.
  private var mostGiven = 0

  let flag = CancelFlag()
  private let digest: String
  /// The base's version that the view has mapped; nil if nothing is mapped, or if the base has no versions.
  var pin: Version?
  /// The number of mappings at the version ``pin``.
  private var mappings = 0
  /// Whether the view has lost its mapping, so that the next change must be a reload.
  var owesReload = false
  var shown = ShownRuns<[RunPlan.Run]>()
  private let usedColumns: UsedColumns
  /// Whether the base has moved on to a version that lacks some of ``usedColumns``.
  private var lacksColumns = false

  /// `description` describes the view, for the digest in its versions. Views that differ have different texts. `columns`
  /// are the numbers of the columns that the mapping depends on.
  init(_ base: any TableDataSource, description: [String], columns: [Int]) {
    self.base = base
    usedColumns = UsedColumns(columns, of: base.columns)
    digest = fingerprint(of: description, digits: 8)
  }

  deinit {
    // Tells the base that the rows on display are gone.
    for (_, runs) in shown.all { notifyEndOfDisplay(runs) }
  }

  /// Begins a public call. Throws ``TableError`` with `.conflict` if the base has lost columns of the view.
  func begin() throws(TableError) {
    flag.begin()
    if lacksColumns { try usedColumns.check(base.columns) }
  }

  /// Notes whether the base, which has moved on, still has the columns of the view.
  func noteColumns() {
    lacksColumns = (try? usedColumns.check(base.columns)) == nil
    if lacksColumns { lose() }
  }

  // Hooks for subclasses. They run inside a public call and must not start another one.

  /// The result of ``numberOfRows(inSection:knowing:)``.
  func count(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  /// Computes the data that the mapping of rows of a section needs. The section can end earlier.
  func prepare(_ rows: Range<Int>, inSection section: Int) throws(TableError) {}

  /// The base path of a row. Throws ``TableError`` with `.notFound` if the view has no such row.
  func basePath(of path: IndexPath) throws(TableError) -> IndexPath { path }

  /// The base paths of existing rows of a section.
  func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    var paths: [IndexPath] = []
    paths.reserveCapacity(rows.count)
    for row in rows { paths.append(try basePath(of: IndexPath(section: section, row: row))) }
    return paths
  }

  /// The path of a base row in the view; nil if the view does not show the row.
  func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? { path }

  /// The target in the view of an index title that leads to this path in the base.
  func indexTitleTarget(forBase path: IndexPath) throws(TableError) -> IndexPath {
    guard !path.isSection else { return path }
    return try self.path(ofBase: path) ?? .section(path.section)
  }

  /// The number in the base of a section; nil if it is no section of the base.
  func baseSection(of section: Int) throws(TableError) -> Int? { section }

  /// Whether rows can be mapped without reading the base.
  func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool { true }

  /// The rules for edits through the view.
  var editPolicy: any EditPolicy { DefaultEditPolicy(view: self) }

  /// Forgets the mapping, because the base shows another version.
  func forget() { (pin, mappings) = (nil, 0) }

  /// Completes a mapping of which only a part was needed so far, because the base may move on.
  func completeMapping() {}

  /// Moves the mapping on with the base. Returns the changes of the view; nil if the caller must read everything again.
  /// After an error, or after nil, the mapping is unusable.
  ///
  /// The base already shows the version after `changes`.
  func translate(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? { nil }

  /// The number of the base's sections, if the view has mapped all of them.
  var mappedSectionCount: Count { BaseChanges.unknownCount }

  /// The number of rows of a base section, if the view has mapped all of them.
  func mappedCount(ofBaseSection section: Int) -> Count { BaseChanges.unknownCount }

  /// Answers a request that has passed ``check(_:)``; the body of ``rows(_:)``.
  func read(_ request: RowRequest) throws(TableError) -> Batch {
    try prepare(
      request.first..<request.first.advancedUp(by: request.count), inSection: request.section)
    let isRest =
      request.section == unreturnedRows.section && unreturnedRows.rows.contains(request.first)
    let most =
      isRest
      ? min(
        max(mostGiven * 2, MappedSource.batchSize), unreturnedRows.rows.upperBound - request.first)
      : MappedSource.gatherSize
    let end = request.first.advancedUp(by: min(request.count, most))
    let count = try count(inSection: request.section, knowing: end).value
    guard request.first <= count else {
      throw .noRow(request.first, inSection: request.section, of: count)
    }
    let paths = try basePaths(
      of: request.first..<min(end, count), inSection: request.section)
    let last = isRest ? unreturnedRows.rows.upperBound : request.first + paths.count
    let batch = try base.gather(
      paths, columns: request.columns, includesIDs: request.includesIDs)
    mostGiven = max(mostGiven, batch.rowCount)
    unreturnedRows = (request.section, request.first + batch.rowCount..<last)
    return batch
  }

  // The data source.

  public var columns: [Column] { base.columns }

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    try begin()
    return try count(inSection: section, knowing: minimum)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try begin()
    try check(request)
    return try read(request)
  }

  /// The base's token followed by 8 hexadecimal digits that identify the view.
  ///
  /// Throws ``TableError`` with `.conflict` if the base no longer has the version that was mapped.
  /// - Complexity: that of the base's method. If the base's order is volatile, the method maps all rows.
  public func version() throws(TableError) -> Version? {
    try begin()
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
    editPolicy.sectionRefusal == nil ? base.sectionEditing : nil
  }
  public var moving: (any TableMoving)? { editPolicy.allowsMoves ? self : nil }
  public var undoing: (any TableUndoing)? { base.undoing.map { _ in self } }
  public var supplementary: (any TableSupplementary)? { base.supplementary.map { _ in self } }
  public var accessories: (any TableAccessories)? { base.accessories.map { _ in self } }
  public var display: (any TableDisplay)? { base.display.map { _ in self } }
  public var prefetching: (any TablePrefetching)? { base.prefetching.map { _ in self } }
  public var diagnostics: (any TableDiagnostics)? { base.diagnostics }

  /// The base's titles, if the base has a section index.
  public func sectionIndexTitles() throws(TableError) -> [String] {
    try base.sectionIndex?.sectionIndexTitles() ?? []
  }

  public func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
  {
    try begin()
    guard let sectionIndex = base.sectionIndex else {
      throw TableError(.notFound, "there is no section index")
    }
    return try indexTitleTarget(forBase: sectionIndex.indexPath(forIndexTitle: title, at: index))
  }
}

extension MappedSource {
  // Versions.

  /// The base's version. Throws ``TableError`` with `.conflict` if it is not the mapped one.
  func baseVersion() throws(TableError) -> Version? {
    let version = try base.version()
    guard pin == nil || pin == version else { throw moved(to: version) }
    return version
  }

  /// Forgets the mapping although the caller has not received a change that says so.
  func lose() {
    forget()
    owesReload = true
  }

  private func moved(to version: Version?) -> TableError {
    let was = pin
    lose()
    return TableError(
      .conflict,
      "the table went from version \(was?.token ?? "none") to "
        + "\(version?.token ?? "none"); read it again")
  }

  /// The token of the view, as it is mapped now, at this version of the base.
  func token(_ version: Version?) throws(TableError) -> Version? {
    version == nil ? nil : token(version, viewDigest: try viewDigest())
  }

  func token(_ version: Version?, viewDigest: String) -> Version? {
    guard let version else { return nil }
    let token = "\(version.token).\(viewDigest)"
    if token.utf8.count <= Version.maximumLength { return Version(token) }
    return Version("\(fingerprint(version.token, digits: 16)).\(viewDigest)")
  }

  /// A digest of the view's description and columns, in 8 digits.
  func viewDigest() throws(TableError) -> String {
    // The meaning of conditions and orders depends on the types of columns.
    let types = base.columns.map { $0.valueType.name + ($0.hasDecimalComma ? "," : "") }
      .joined(separator: " ")
    let order = base.hasVolatileOrder ? try orderDigest() : ""
    return fingerprint("\(digest) \(types) \(order)", digits: 8)
  }

  /// A digest of the base paths of all rows of the view.
  ///
  /// The cells of volatile tables change without a new version. The rows that satisfy a condition, and their order,
  /// can thus change within a version.
  private func orderDigest() throws(TableError) -> String {
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

  /// Whether the version of the base is compared for one more mapping.
  ///
  /// Views map each section alone, and a joined table asks all its tables for their versions. With a comparison per
  /// section, the time would grow with the square of the number of files. So after the fourth mapping, only the 16th, the
  /// 64th, the 256th and so on compare. A table whose file has changed also says so when its rows are read.
  private func comparesVersion() -> Bool {
    mappings += 1
    return mappings <= 4
      || mappings.nonzeroBitCount == 1 && mappings.trailingZeroBitCount.isMultiple(of: 2)
  }

  /// Pins the base's version, for views that map rows step by step. Throws ``TableError`` with `.conflict` if the base
  /// has moved on; see ``comparesVersion()``.
  func pinBase() throws(TableError) {
    if comparesVersion() { pin = try baseVersion() }
  }

  /// Runs `body`, which maps the base at one version. Throws ``TableError`` with `.conflict` if the base moves on
  /// during the call. If `isWhole` is false, `body` maps one section; see ``comparesVersion()``.
  func mapping<R>(
    isWhole: Bool = false, _ body: () throws(TableError) -> R
  ) throws(TableError) -> R {
    guard comparesVersion() || isWhole else { return try body() }
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

  /// Reads a section of the base to its end, into a collector. Returns the number of its rows.
  ///
  /// `done` is the number of rows that were read before. The total must fit into 32 bits, because views store row
  /// numbers in 32 bits. ``onProgress`` must not use the base, because other threads may read it.
  func readBase<Collector: RowCollector>(
    section: Int, columns: [Int], done: Int = 0, into collector: inout Collector
  ) throws(TableError) -> Int {
    try collect(base, section: section, columns: columns, into: &collector, flag) {
      count throws(TableError) in
      guard done + count < Int(UInt32.max) else {
        throw TableError(.notSupported, "more than \(UInt32.max) rows cannot be sorted")
      }
      onProgress?(done + count)
    }
  }
}

extension MappedSource: TableGathering {
  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try begin()
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    let paths = try basePaths(of: paths.prefix(MappedSource.gatherSize))
    return try base.gather(paths, columns: columns, includesIDs: includesIDs)
  }
}

extension MappedSource {
  /// The base paths of existing rows of any sections.
  func basePaths(of paths: some RandomAccessCollection<IndexPath>) throws(TableError)
    -> [IndexPath]
  {
    try prepare(paths)
    var basePaths: [IndexPath] = []
    basePaths.reserveCapacity(paths.count)
    for path in paths { basePaths.append(try basePath(of: path)) }
    return basePaths
  }

  /// Computes the data that the mapping of rows needs, because a view may need less for the first rows of a section than
  /// for all of them.
  private func prepare(_ paths: some RandomAccessCollection<IndexPath>) throws(TableError) {
    var rest = paths[...]
    while let first = rest.first {
      let run = rest.prefix { $0.section == first.section }
      let last = run.reduce(0) { max($0, $1.row) }
      try prepare(0..<last.advancedUp(by: 1), inSection: first.section)
      rest = rest.dropFirst(run.count)
    }
  }
}

extension MappedSource: TableIdentity, TableSectionIndex {
  public func indexPath(forID id: String) throws(TableError) -> IndexPath {
    try begin()
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
  /// The sum, or `Int.max` if it overflows.
  public func advancedUp(by count: Int) -> Int {
    let (sum, overflow) = addingReportingOverflow(count)
    return overflow ? .max : sum
  }
}

extension Range<Int> {
  /// Subranges of a size that can be mapped at once.
  var chunks: some Sequence<Range<Int>> {
    stride(from: lowerBound, to: upperBound, by: MappedSource.batchSize).lazy.map {
      $0..<Swift.min($0 + MappedSource.batchSize, upperBound)
    }
  }
}

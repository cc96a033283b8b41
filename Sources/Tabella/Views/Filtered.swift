/// A view of the rows that satisfy conditions. Rows stay in their sections; sections can become empty.
///
/// The view reads its base only as far as necessary. Its counts are at-least until it has read a section to its
/// end. It stores the numbers of shown rows, in 2 bytes per row or less unless such rows are rare.
public final class FilteredSource: MappedSource {
  /// The shown rows of a section, as far as the section has been read.
  final class Section {
    var passing = RowNumbers()
    var read = 0
    var isComplete = false

    /// Adds the rows that follow, which have their own numbers.
    func append(_ next: Section) {
      passing.append(next.passing, from: read)
      read += next.read
    }
  }

  /// The rows that were read last. They can have more columns than the conditions need.
  private struct Window {
    var section: Int
    var rows: Rows
    var columns: [Int]
    var batch: Batch

    /// The numbers of the rows in the base.
    enum Rows {
      case run(Range<Int>)
      /// In ascending order.
      case found([Int])
    }

    /// The number behind that of the last row.
    var end: Int {
      switch rows {
      case .run(let rows): rows.upperBound
      case .found(let numbers): (numbers.last ?? -1) + 1
      }
    }

    /// The position of a row in the batch; nil if the batch does not contain the row.
    func position(of row: Int) -> Int? {
      switch rows {
      case .run(let rows): return rows.contains(row) ? row - rows.lowerBound : nil
      case .found(let numbers):
        let position = numbers.partitioningIndex { $0 >= row }
        return position < numbers.count && numbers[position] == row ? position : nil
      }
    }
  }

  /// If the base is a share of a section: the numbers of shown and of read rows in front of all shares.
  var earlier: (passing: Int, read: Int)?
  let conditions: [Condition]
  let search: [UInt8]?
  let dates: DateContext
  /// The compiled conditions, for the columns of the base's current version.
  var filter: RowFilter?
  var known: [Int: Section] = [:]
  private var window: Window?
  /// The request that was read last.
  private var lastRequest: RowRequest?
  /// The part of the base that skips rows.
  private lazy var searching = base.searching

  /// Creates a view. `filter` is a filter with these conditions, if there is one.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a condition that makes no sense for its column.
  init(
    _ base: any TableDataSource, by conditions: [Condition], search: [UInt8]?, dates: DateContext,
    filter: RowFilter? = nil
  ) throws(TableError) {
    self.conditions = conditions
    self.search = search
    self.dates = dates
    self.filter =
      if let filter { filter } else {
        try RowFilter(conditions, search: search, in: base.columns, dates: dates)
      }
    let texts = conditions.map {
      "\($0.column) \($0.comparison.rawValue) "
        + ($0.otherColumn.map { "column \($0)" }
          ?? ($0.isExact ? "text \(described($0.value))" : dates.meaning(of: $0.value)))
    }
    super.init(
      base, description: ["filtered"] + texts + (search.map { ["search", described($0)] } ?? []),
      columns: conditions.flatMap { [$0.column] + ($0.otherColumn.map { [$0] } ?? []) })
  }

  override var editPolicy: any EditPolicy { FilteredEditPolicy(view: self) }

  override func forget() {
    super.forget()
    (filter, window, lastRequest) = (nil, nil, nil)
    known = [:]
  }

  override func mappedCount(ofBaseSection section: Int) -> Count {
    guard let known = known[section], known.isComplete else { return BaseChanges.unknownCount }
    return .exact(known.read)
  }

  override func translate(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    window = nil
    return try follow(changes)
  }

  override func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool {
    rows.upperBound <= known[section]?.passing.count ?? 0
  }

  override func count(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    // A caller that asks whether there is another row usually reads it next.
    let isNext = minimum == (known[section]?.passing.count).map { $0 + 1 }
    let known = try self.known(
      section, reading: isNext ? lastRequest : nil, toEnd: minimum == .max
    ) { $0.passing.count >= minimum }
    return known.isComplete ? .exact(known.passing.count) : .atLeast(known.passing.count)
  }

  override func basePath(of path: IndexPath) throws(TableError) -> IndexPath {
    let known = try self.known(path.section) { $0.passing.count > path.row }
    guard path.row >= 0, path.row < known.passing.count else {
      throw .noRow(path.row, inSection: path.section, of: known.passing.count)
    }
    return IndexPath(section: path.section, row: known.passing[path.row])
  }

  override func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    let passing = try known(section) { $0.passing.count >= rows.upperBound }.passing
    return passing[rows].map { IndexPath(section: section, row: $0) }
  }

  override func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? {
    let passing = try known(path.section) { $0.read > path.row }.passing
    let row = passing.firstIndex(from: path.row)
    guard row < passing.count, passing[row] == path.row else { return nil }
    return IndexPath(section: path.section, row: row)
  }

  /// The path of the row itself or, if the view hides it, of the next shown row.
  override func indexTitleTarget(forBase path: IndexPath) throws(TableError) -> IndexPath {
    guard !path.isSection else { return path }
    let row = try shownCount(before: path)
    let count = try count(inSection: path.section, knowing: row + 1).value
    return row < count ? IndexPath(section: path.section, row: row) : .section(path.section)
  }

  /// The number of shown rows in front of a base row.
  func shownCount(before path: IndexPath) throws(TableError) -> Int {
    try known(path.section) { $0.read >= path.row }.passing.firstIndex(from: path.row)
  }

  /// The base path of a row; nil behind the last row of the section.
  func shownBasePath(of path: IndexPath) throws(TableError) -> IndexPath? {
    let passing = try known(path.section) { $0.passing.count > path.row }.passing
    guard path.row < passing.count else { return nil }
    return IndexPath(section: path.section, row: passing[path.row])
  }

  /// Whether the conditions hide a row of a section. Reads the section up to its first hidden row.
  func hidesRows(ofSection section: Int) throws(TableError) -> Bool {
    let known = try known(section) { $0.passing.count < $0.read }
    return known.passing.count < known.read
  }

  override func read(_ request: RowRequest) throws(TableError) -> Batch {
    lastRequest = request
    let passing = try known(request.section, reading: request) {
      $0.passing.count > request.first
    }.passing
    guard request.first <= passing.count else {
      throw .noRow(request.first, inSection: request.section, of: passing.count)
    }
    let count = min(request.count, MappedSource.gatherSize, passing.count - request.first)
    let rows = request.first..<request.first + count
    if let batch = pickFromWindow(request, rows, passing) { return batch }
    let paths = passing[rows].map { IndexPath(section: request.section, row: $0) }
    return try base.gather(paths, columns: request.columns, includesIDs: request.includesIDs)
  }

  /// The requested rows that the window contains, from the first one on; nil if it does not contain the first one.
  private func pickFromWindow(
    _ request: RowRequest, _ rows: Range<Int>, _ passing: RowNumbers
  ) -> Batch? {
    guard let window, window.section == request.section,
      !request.includesIDs || window.batch.ids != nil
    else { return nil }
    let columns = request.columns.compactMap { window.columns.firstIndex(of: $0) }
    let end = min(rows.upperBound, passing.firstIndex(from: window.end))
    guard columns.count == request.columns.count, rows.lowerBound < end else { return nil }
    var picks: [RowSelection] = []
    picks.reserveCapacity(end - rows.lowerBound)
    for row in passing[rows.lowerBound..<end] {
      guard let position = window.position(of: row) else { break }
      picks.append(RowSelection(batch: 0, row: Int32(truncatingIfNeeded: position)))
    }
    guard !picks.isEmpty else { return nil }
    let part = Batch(
      rowCount: window.batch.rowCount, columns: columns.map { window.batch.columns[$0] },
      ids: request.includesIDs ? window.batch.ids : nil, isUTF8: window.batch.isUTF8)
    return picks.count == part.rowCount ? part : Batch(picking: picks, from: [part])
  }

  /// The shown rows of a section, read until `isEnough` is true or the section ends.
  ///
  /// If many rows pass, the columns of the request are read too, because the caller needs them next.
  private func known(
    _ section: Int, reading request: RowRequest? = nil, toEnd: Bool = false,
    until isEnough: (Section) -> Bool
  ) throws(TableError) -> Section {
    let state = try state(of: section)
    let begin = state.read
    // Threads share long sections that are read to their end. If only some rows are needed, threads can read further than
    // necessary, so they begin only where rows that pass are rare.
    var (alone, batches) = (toEnd ? 1 : FilteredSource.aloneForSome, 0)
    while !state.isComplete, !isEnough(state) {
      if batches >= alone, toEnd || fewPass(state) {
        let isShared = try shareRest(of: state, section, until: isEnough) {
          onProgress?($0 - begin)
        }
        (alone, batches) = (isShared ? alone * 8 : .max, 0)
        continue
      }
      try readOn(state, section, request)
      batches += 1
      onProgress?(state.read - begin)
      try flag.check()
    }
    return state
  }

  /// Whether so many rows pass that reading the cells of all rows takes less time than gathering those that pass.
  private func manyPass(_ state: Section) -> Bool {
    let earlier = earlier ?? (0, 0)
    return (state.passing.count + earlier.passing) * 8 >= state.read + earlier.read
  }

  /// The number of batches that one thread reads before threads look for some rows.
  private static let aloneForSome = 2

  /// Whether so few rows pass that their cells can be read again. Threads find rows, and do not keep their cells.
  private func fewPass(_ state: Section) -> Bool { state.passing.count * 1000 <= state.read }

  /// Reads the rest of a section with all processors until `isEnough` is true, and then the shares that have begun.
  /// Returns false if that is not possible.
  private func shareRest(
    of state: Section, _ section: Int, until isEnough: (Section) -> Bool,
    _ onProgress: (Int) -> Void
  ) throws(TableError) -> Bool {
    let earlier = (state.passing.count, state.read)
    let filters = SpareFilters(of: self)
    let end = try base.readShares(
      ofSection: section, from: state.read, size: ShareSize.results, keepsStarted: true
    ) {
      [flag] share throws(TableError) in
      let view = try filters.view(of: share)
      view.earlier = earlier
      let found = try view.section(0, flag)
      filters.add(view)
      return found
    } _: { (found: Section) throws(TableError) in
      state.append(found)
      onProgress(state.read)
      return !isEnough(state)
    }
    if end == .complete { state.isComplete = true }
    return end != .unshared
  }

  /// The shown rows of a whole section. Another thread may cancel the call by the flag.
  func section(_ section: Int, _ flag: CancelFlag) throws(TableError) -> Section {
    let state = try state(of: section)
    while !state.isComplete {
      try readOn(state, section, nil)
      try flag.check()
    }
    return state
  }

  /// The state of a section after a row that the caller reached by reading; nil if the section is read to its end. Forgets
  /// the rows after it.
  func reached(_ row: Int, inSection section: Int) throws(TableError) -> Section? {
    let state = try state(of: section)
    guard row <= state.passing.count else { return nil }
    if row < state.passing.count {
      state.read = state.passing[row]
      state.isComplete = false
      _ = state.passing.cut(from: row)
    }
    return state.isComplete ? nil : state
  }

  private func state(of section: Int) throws(TableError) -> Section {
    if let state = known[section] { return state }
    // The stored rows are valid for one version only.
    try pinBase()
    // Throws if the section does not exist.
    _ = try base.numberOfRows(inSection: section, knowing: 0)
    let state = Section()
    known[section] = state
    return state
  }

  private func compile() throws(TableError) {
    guard filter == nil else { return }
    filter = try RowFilter(conditions, search: search, in: base.columns, dates: dates)
  }

  /// The indices of those of these ascending base paths whose rows satisfy the conditions.
  func passing(_ paths: [IndexPath]) throws(TableError) -> [Int] {
    var result: [Int] = []
    try compile()
    try readBase(at: paths, columns: filter?.columns ?? []) { batch, first in
      for row in filter?.passing(batch) ?? [] { result.append(first + Int(row)) }
    }
    return result
  }

  /// Reads the next batch of a section.
  private func readOn(
    _ state: Section, _ section: Int, _ request: RowRequest?
  ) throws(TableError) {
    try compile()
    if let terms = filter?.terms, !terms.isEmpty, let searching {
      return try searchOn(searching, terms, state, section, request)
    }
    let needed = filter?.columns ?? []
    let paysOff = manyPass(state)
    let columns =
      needed + (paysOff ? request?.columns.filter { !needed.contains($0) } ?? [] : [])
    let first = state.read
    let batch = try base.rows(
      RowRequest(
        section: section, first: first, count: MappedSource.batchSize, columns: columns,
        includesIDs: paysOff && request?.includesIDs == true))
    let tested = Batch(
      rowCount: batch.rowCount, columns: Array(batch.columns.prefix(needed.count)),
      isUTF8: batch.isUTF8)
    let passing = filter?.passing(tested) ?? []
    state.passing.append(contentsOf: passing.lazy.map { first + Int($0) })
    state.read += batch.rowCount
    state.isComplete = try batch.rowCount == 0 ? true : isShareRead(state)
    if request != nil, batch.rowCount > 0 {
      window = Window(
        section: section, rows: .run(first..<first + batch.rowCount), columns: columns, batch: batch
      )
    }
  }

  /// Whether the base is a share that has been read to its end. To read on until there are no rows would cost as much as
  /// a small share.
  private func isShareRead(_ state: Section) throws(TableError) -> Bool {
    guard earlier != nil,
      try base.numberOfRows(inSection: 0, knowing: 0) == .exact(state.read)
    else { return false }
    // The share now knows it, too.
    return try base.numberOfRows(inSection: 0, knowing: state.read + 1).isExact
  }

  /// Lets the base find the next rows of a section that may satisfy the conditions.
  private func searchOn(
    _ searching: any RowSearching, _ terms: [SearchTerm], _ state: Section, _ section: Int,
    _ request: RowRequest?
  ) throws(TableError) {
    let needed = filter?.columns ?? []
    // Most found rows pass, so the columns of the request are read with them.
    let columns = needed + (request?.columns.filter { !needed.contains($0) } ?? [])
    let first = state.read
    let found = try searching.rows(
      RowRequest(
        section: section, first: first, count: MappedSource.batchSize, columns: columns,
        includesIDs: request?.includesIDs == true), containing: terms)
    let (batch, numbers) = (found.batch, found.numbers)
    let tested = Batch(
      rowCount: batch.rowCount, columns: Array(batch.columns.prefix(needed.count)),
      isUTF8: batch.isUTF8)
    let passing = filter?.passing(tested) ?? []
    state.passing.append(contentsOf: passing.lazy.map { numbers[Int($0)] })
    state.read = found.next
    state.isComplete = try found.next == first ? true : isShareRead(state)
    if request != nil, batch.rowCount > 0 {
      window = Window(section: section, rows: .found(numbers), columns: columns, batch: batch)
    }
  }
}

extension TableDataSource {
  /// A view of the rows that satisfy all conditions. With a search, rows must also contain its text in some column.
  ///
  /// `dates` fixes the meaning of dates in the conditions for the life of the view. Throws ``TableError`` with
  /// `.invalidArgument` for a condition that makes no sense for its column.
  public func filtered(
    by conditions: [Condition], search: [UInt8]? = nil, dates: DateContext = .utc
  ) throws(TableError) -> FilteredSource {
    try FilteredSource(self, by: conditions, search: search, dates: dates)
  }
}

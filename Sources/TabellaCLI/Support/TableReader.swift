import Tabella

/// Walks through the sections and rows of a table as UIKit asks a data source, and never further than
/// what is shown: the number of sections, then for each that comes on show the number of its rows (as
/// far as they are shown), its titles, its cells; a notice before and after each run of rows is on show;
/// and advice on the run that comes next while one is shown.
///
/// Small sections are read together where the source can gather their rows.
struct TableReader {
  /// Rows of the first batch, which should come at once, and of each later one: many, because a view may
  /// read its whole base for each; and cells at most.
  private static let batchSizes = (first: 1024, later: 1 << 20, cells: 7_800_000)

  let source: any TableDataSource
  let columns: [Int]
  let includesIDs: Bool
  /// The only section to walk through; nil means all.
  let section: Int?
  /// Where the walk starts.
  let start: IndexPath

  /// How many rows are asked for next: few, then many.
  private var size: Int
  private let laterSize: Int
  private var ahead = ReadAhead()
  /// How many rows were asked for by gathering and not given yet, and the most that were given at once. A
  /// source may have read them all: it is asked for no more than it gives until it has given these.
  private var (rest, given) = (0, 0)
  /// The rows that the source was advised of, and that were not read yet.
  private var advised: (section: Int, rows: Range<Int>)?

  /// `cells` is how many a batch has at most; fewer only in tests.
  init(
    source: any TableDataSource, columns: [Int], includesIDs: Bool = false, section: Int? = nil,
    start: IndexPath = IndexPath(section: 0, row: 0), cells: Int = TableReader.batchSizes.cells
  ) {
    self.source = source
    self.columns = columns
    self.includesIDs = includesIDs
    self.section = section
    self.start = start
    let most = max(1, cells / max(1, columns.count))
    laterSize = min(most, TableReader.batchSizes.later)
    size = min(most, TableReader.batchSizes.first)
  }

  /// Calls `section` when a section comes on show, with the number of its rows as far as it is known,
  /// then `rows` with its batches and where the first row of each is, then `end`, when the number may be
  /// known better.
  ///
  /// `range` counts rows through the sections walked, from the start. A section without rows is shown
  /// if the range reaches it. What `rows` throws ends the walk.
  mutating func walk(
    _ range: Range<Int>,
    section: (Int, Count) throws -> Void, rows: (Batch, IndexPath) throws -> Void,
    end: (Int, Count) throws -> Void
  ) throws {
    defer { cancelAdvice() }
    if range.isEmpty { return }
    var position = 0
    for number in (self.section ?? start.section)... {
      guard try source.numberOfSections(knowing: number + 1).value > number else { return }
      // The last section that the range reaches is the one that its last row stands in.
      if position >= range.upperBound { return }
      let skipped = number == start.section ? start.row : 0
      let left = range.upperBound - max(position, range.lowerBound)
      let first = skipped + max(0, range.lowerBound - position)
      // One more than is shown says whether that is all.
      let shown = first + min(size, left) + 1
      let count = try source.numberOfRows(inSection: number, knowing: shown)
      let isReached = position >= range.lowerBound || count.value > first
      if isReached {
        try section(number, count)
        let next = try walk(number, from: first, limit: left, count, rows, position: position)
        position += next.row - skipped
        try end(number, next.isEnd ? .exact(next.row) : count)
      } else {
        position += max(0, count.value - skipped)
      }
      if number == self.section { return }
    }
  }

  /// The rows of one section; returns the row behind the last one given, and whether the section ends
  /// there.
  private mutating func walk(
    _ section: Int, from first: Int, limit: Int, _ count: Count,
    _ rows: (Batch, IndexPath) throws -> Void, position: Int
  ) throws -> (row: Int, isEnd: Bool) {
    var next = first
    while next - first < limit {
      if count.isExact, next >= count.value { return (max(next, count.value), true) }
      let path = IndexPath(section: section, row: next)
      let (batch, endsSection) = try read(
        at: path, limit: limit - (next - first), end: count.isExact ? count.value : .max)
      if batch.rowCount == 0 {
        try checkEnd(section, next)
        return (next, true)
      }
      let shown = next..<next + batch.rowCount
      next = shown.upperBound
      if !endsSection { try advise(section, from: next, limit: limit - (next - first), count) }
      source.display?.willDisplay(rows: shown, inSection: section)
      defer { source.display?.didEndDisplaying(rows: shown, inSection: section) }
      try rows(batch, path)
      Progress.written(
        position + next - first,
        of: self.section != nil && count.isExact ? count.value - first : nil)
      if endsSection { return (next, true) }
    }
    return (next, count.isExact && next == count.value)
  }

  /// Tells the source which rows of a section will be asked for next.
  private mutating func advise(
    _ section: Int, from next: Int, limit: Int, _ count: Count
  ) throws {
    guard let prefetching = source.prefetching, limit > 0 else { return }
    let end = next + min(size, limit)
    let known =
      count.isExact ? count : try source.numberOfRows(inSection: section, knowing: end)
    guard known.value > next else { return }
    let rows = next..<min(end, known.value)
    advised = (section, rows)
    prefetching.prefetch(rows: rows, inSection: section)
  }

  /// Takes back the advice that did not come true.
  private mutating func cancelAdvice() {
    guard let (section, rows) = advised else { return }
    advised = nil
    source.prefetching?.cancelPrefetching(rows: rows, inSection: section)
  }

  /// Rows of one section from `path` on, `limit` at most, and whether they are known to be its last;
  /// it ends before the row `end`.
  private mutating func read(
    at path: IndexPath, limit: Int, end: Int
  ) throws -> (Batch, endsSection: Bool) {
    advised = nil
    if let read = ahead.take(at: path) { return read }
    let wanted = min(
      rest > 0 ? min(rest, max(given * 2, TableReader.batchSizes.first)) : size, limit)
    if rest == 0 { size = laterSize }
    if let gathering = source.gathering, let runs = try runs(from: path, limit: wanted) {
      let paths = runs.flatMap { run in
        run.rows.map { IndexPath(section: run.section, row: $0) }
      }
      let batch = try gathering.rows(at: paths, columns: columns, includesIDs: includesIDs)
      note(batch.rowCount, of: paths.count)
      ahead = ReadAhead(batch, runs)
      if let read = ahead.take(at: path) { return read }
    }
    let batch = try source.rows(
      RowRequest(
        section: path.section, first: path.row, count: min(wanted, end - path.row),
        columns: columns, includesIDs: includesIDs))
    if rest > 0 { note(batch.rowCount, of: wanted) }
    return (batch, false)
  }

  /// Notes how many rows were given of those that were asked for.
  private mutating func note(_ count: Int, of asked: Int) {
    rest = max(0, max(rest, asked) - count)
    given = max(given, count)
  }

  /// The sections from `path` on that are small enough to be read together; nil if it is only one.
  ///
  /// Grouped rows lie anywhere in their base: to look for those of each group alone is to read the
  /// base as often as there are groups.
  private func runs(from path: IndexPath, limit: Int) throws -> [ReadAhead.Run]? {
    guard source.sections != nil, section == nil else { return nil }
    var runs: [ReadAhead.Run] = []
    var rest = limit
    var first = path.row
    for number in path.section... {
      guard rest > 0, try source.numberOfSections(knowing: number + 1).value > number else { break }
      let count = try source.numberOfRows(
        inSection: number, knowing: first + rest + 1)
      guard count.isExact, count.value - first <= rest else { break }
      if count.value > first {
        runs.append((number, first..<count.value))
      } else if number == path.section {
        return nil
      }
      rest -= max(0, count.value - first)
      first = 0
    }
    return runs.count > 1 ? runs : nil
  }

  /// A section that ends before its exact count is a provider that lies.
  private func checkEnd(_ section: Int, _ end: Int) throws {
    let count = try source.numberOfRows(inSection: section, knowing: 0)
    guard count.value <= end else {
      throw TableError(
        .misbehaved, "section \(section) has \(count) rows by its count, but ends at row \(end)")
    }
  }
}

/// Rows of several sections that were read together, given section by section.
private struct ReadAhead {
  typealias Run = (section: Int, rows: Range<Int>)

  private var batch: Batch?
  private var runs: ArraySlice<Run> = []
  /// How many rows of the batch were given.
  private var given = 0

  init() {}

  init(_ batch: Batch, _ runs: [Run]) {
    self.batch = batch
    self.runs = runs[...]
  }

  /// The rows of a section, if they are next and were read, and whether they are all.
  mutating func take(at path: IndexPath) -> (Batch, endsSection: Bool)? {
    guard let batch, let run = runs.first, run.section == path.section,
      run.rows.lowerBound == path.row, given < batch.rowCount
    else { return nil }
    runs.removeFirst()
    let end = min(given + run.rows.count, batch.rowCount)
    defer { given = end }
    return (batch[given..<end], end - given == run.rows.count)
  }
}

import Tabella

/// Walks through the sections and rows of a table in the order in which UIKit calls a data source, and only as
/// far as they are shown.
///
/// The reader asks for the number of sections. For each shown section it asks for the number of rows (as far as
/// they are shown), the titles and the cells. It sends a notice before and after it shows a run of rows, and
/// prefetch advice about the next run. If the source can gather rows, small sections are read together.
struct TableReader {
  /// The number of rows in the first batch, which should arrive quickly, and in later batches, which are large
  /// because a view may read its whole base for each batch; and the maximum number of cells per batch.
  private static let batchSizes = (first: 1024, later: 1 << 20, cells: 7_800_000)

  /// The number of rows of one of several tables from which they are read alone. Copying them together with the rows of
  /// the next table would take longer than another call.
  private static let aloneRows = 256

  /// Rows of one section.
  typealias Run = (section: Int, rows: Range<Int>)

  let source: any TableDataSource
  let columns: [Int]
  let includesIDs: Bool
  /// The only section to read; nil means all.
  let section: Int?
  /// The first row.
  let start: IndexPath
  /// The maximum number of rows of each section.
  let perSection: Int?

  /// The number of rows of the next request: few at first, then many.
  private var size: Int
  /// The factor by which requests grow.
  private let growth: Int
  private let laterSize: Int
  private var ahead = ReadAhead()
  /// The number of gathered rows that were requested but not returned yet, and the maximum number that was
  /// returned at once. The source may hold all of them already, so requests stay at that maximum until the source
  /// has returned them.
  private var (rest, given) = (0, 0)
  /// The rows of the last prefetch advice that were not read yet.
  private var advised: (section: Int, rows: Range<Int>)?

  /// If `grows` is true, the requests become larger step by step. `cells` is the maximum number of cells of a batch;
  /// only tests use a smaller one.
  init(
    source: any TableDataSource, columns: [Int], includesIDs: Bool = false, section: Int? = nil,
    start: IndexPath = IndexPath(section: 0, row: 0), perSection: Int? = nil, grows: Bool = false,
    cells: Int = TableReader.batchSizes.cells
  ) {
    growth = grows ? 8 : TableReader.batchSizes.later
    self.source = source
    self.columns = columns
    self.includesIDs = includesIDs
    self.section = section
    self.start = start
    self.perSection = perSection
    let most = max(1, cells / max(1, columns.count))
    laterSize = min(most, TableReader.batchSizes.later)
    size = min(most, TableReader.batchSizes.first)
  }

  /// Calls `section` for each shown section with the number of its rows as far as it is known, then `rows` with
  /// each batch and the position of its first row, then `end`, when the number of rows may be exact.
  ///
  /// `rows` also receives the sections that were read together, from this one on; none if it was read alone.
  ///
  /// `rest` can take the rows of a section from one on, if all of them are shown. It returns the number of rows that it
  /// took, and whether the section ends there.
  ///
  /// `range` numbers rows across all sections, from the start. A section without rows is shown if the range
  /// reaches it. An error that `rows` throws ends the walk.
  mutating func walk(
    _ range: Range<Int>,
    section: (Int, Count) throws -> Void,
    rows: (Batch, IndexPath, _ together: ArraySlice<Run>) throws -> Void,
    rest: (IndexPath) throws -> (rows: Int, isEnd: Bool) = { _ in (0, false) },
    end: (Int, Count) throws -> Void
  ) throws {
    defer { cancelAdvice() }
    if range.isEmpty { return }
    var position = 0
    for number in (self.section ?? start.section)... {
      guard try source.numberOfSections(knowing: number + 1).value > number else { return }
      // The walk ends with the section that contains the last row of the range.
      if position >= range.upperBound { return }
      let skipped = number == start.section ? start.row : 0
      let most = perSection.map { skipped.advancedUp(by: $0) } ?? .max
      let first = skipped + max(0, range.lowerBound - position)
      let total = range.upperBound - max(position, range.lowerBound)
      let left = min(total, max(0, most - first))
      // Counts one row more than is shown, because titles show the exact number. A source without sections has no
      // title, and counting the rows of a stream would wait for them.
      let isAlone = source.sections == nil && position >= range.lowerBound
      let shown = isAlone ? first : first + min(size, left) + 1
      let count = try source.numberOfRows(inSection: number, knowing: shown)
      let isReached = position >= range.lowerBound || min(count.value, most) > first
      if isReached {
        try section(number, count)
        let next = try walk(
          number, from: first, limit: left, total: total, count, rows, rest, position: position)
        position += next.row - skipped
        let known = isAlone ? try source.numberOfRows(inSection: number, knowing: 0) : count
        try end(number, next.isEnd ? .exact(next.row) : known)
      } else {
        position += max(0, min(count.value, most) - skipped)
      }
      if number == self.section { return }
    }
  }

  /// Reads the rows of one section. Returns the row after the last one, and whether the section ends
  /// there. `total` is the number of rows to read of this section and the next ones.
  private mutating func walk(
    _ section: Int, from first: Int, limit: Int, total: Int, _ count: Count,
    _ rows: (Batch, IndexPath, _ together: ArraySlice<Run>) throws -> Void,
    _ rest: (IndexPath) throws -> (rows: Int, isEnd: Bool), position: Int
  ) throws -> (row: Int, isEnd: Bool) {
    var next = first
    // Threads may share the rows after the first batch, and after more batches if they could not share all of them.
    var (alone, left) = (1, 1)
    while next - first < limit {
      if left == 0, limit > Int.max / 2 {
        let (taken, isEnd) = try rest(IndexPath(section: section, row: next))
        next += taken
        if isEnd { return (next, true) }
        alone *= 8
        left = alone
      }
      left -= 1
      if count.isExact, next >= count.value { return (max(next, count.value), true) }
      let path = IndexPath(section: section, row: next)
      let (batch, endsSection, together) = try read(
        at: path, limit: limit - (next - first), total: total - (next - first),
        end: count.isExact ? count.value : .max)
      if batch.rowCount == 0 { return (next, true) }
      let shown = next..<next + batch.rowCount
      next = shown.upperBound
      if !endsSection {
        try advise(section, after: shown, limit: limit - (next - first), count)
      }
      source.display?.willDisplay(rows: shown, inSection: section)
      defer { source.display?.didEndDisplaying(rows: shown, inSection: section) }
      try rows(batch, path, together)
      Progress.written(
        position + next - first,
        of: self.section != nil && count.isExact ? count.value - first : nil)
      if endsSection, perSection == nil || next - first < limit { return (next, true) }
    }
    return (next, count.isExact && next == count.value)
  }

  /// Advises the source of the rows of a section that it will return next, after the rows `last`.
  ///
  /// A request is often for many more rows than the source returns at once. Advice about all of them after each batch
  /// would take time that grows with the square of their number.
  private mutating func advise(
    _ section: Int, after last: Range<Int>, limit: Int, _ count: Count
  ) throws {
    guard let prefetching = source.prefetching, limit > 0 else { return }
    let next = last.upperBound
    let end = next + min(size, limit, max(last.count, TableReader.batchSizes.first))
    let known =
      count.isExact ? count : try source.numberOfRows(inSection: section, knowing: end)
    guard known.value > next else { return }
    let rows = next..<min(end, known.value)
    advised = (section, rows)
    prefetching.prefetch(rows: rows, inSection: section)
  }

  /// Cancels the advice about rows that are not read.
  private mutating func cancelAdvice() {
    guard let (section, rows) = advised else { return }
    advised = nil
    source.prefetching?.cancelPrefetching(rows: rows, inSection: section)
  }

  /// Reads at most `limit` rows of one section from `path` on, and whether they are known to be the last ones, or the
  /// last ones to read. The section ends before the row `end`.
  private mutating func read(
    at path: IndexPath, limit: Int, total: Int, end: Int
  ) throws -> (Batch, endsSection: Bool, together: ArraySlice<Run>) {
    advised = nil
    if let read = ahead.take(at: path) { return read }
    let most = rest > 0 ? min(rest, max(given * 2, TableReader.batchSizes.first)) : size
    let wanted = min(most, limit)
    if rest == 0 { size = min(size * growth, laterSize) }
    if let gathering = source.gathering,
      let runs = try runs(from: path, limit: limit, total: min(most, total))
    {
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
    return (batch, false, [])
  }

  /// Records how many of the requested rows were returned.
  private mutating func note(_ count: Int, of asked: Int) {
    rest = max(0, max(rest, asked) - count)
    given = max(given, count)
  }

  /// The sections from `path` on that are small enough to be read together; nil if there is only one.
  ///
  /// The rows of a group can be anywhere in the base. Reading each group alone would read the base once per
  /// group.
  private func runs(
    from path: IndexPath, limit: Int, total: Int
  ) throws -> [Run]? {
    guard source.sections != nil, section == nil else { return nil }
    var runs: [Run] = []
    var rest = total
    var first = path.row
    for number in path.section... {
      guard rest > 0, try source.numberOfSections(knowing: number + 1).value > number else { break }
      let most = number == path.section ? path.row.advancedUp(by: limit) : perSection ?? .max
      let count = try source.numberOfRows(
        inSection: number, knowing: min(most, first + rest + 1))
      let end = min(count.value, most)
      guard count.isExact || end == most, end - first <= rest else { break }
      if runs.isEmpty, end - first >= TableReader.aloneRows, keepsTablesApart { return nil }
      if end > first {
        runs.append((number, first..<end))
      } else if number == path.section {
        return nil
      }
      rest -= max(0, end - first)
      first = 0
    }
    return runs.count > 1 ? runs : nil
  }

  /// Whether the sections are those of several tables, so that reading one of them reads no other table.
  private var keepsTablesApart: Bool {
    ((source as? FilteredSource)?.base ?? source) is JoinedSource
  }
}

/// Rows of several sections that were read together, and are used section by section.
private struct ReadAhead {
  private var batch: Batch?
  private var runs: ArraySlice<TableReader.Run> = []
  /// The number of rows of the batch that were used.
  private var given = 0

  init() {}

  init(_ batch: Batch, _ runs: [TableReader.Run]) {
    self.batch = batch
    self.runs = runs[...]
  }

  /// The rows of a section, if they were read and are next; whether the section ends with them; and the sections that
  /// were read together, from this one on.
  mutating func take(
    at path: IndexPath
  ) -> (Batch, endsSection: Bool, together: ArraySlice<TableReader.Run>)? {
    guard let batch, let run = runs.first, run.section == path.section,
      run.rows.lowerBound == path.row, given < batch.rowCount
    else { return nil }
    let together = runs
    runs.removeFirst()
    let end = min(given + run.rows.count, batch.rowCount)
    defer { given = end }
    return (batch[given..<end], end - given == run.rows.count, together)
  }
}

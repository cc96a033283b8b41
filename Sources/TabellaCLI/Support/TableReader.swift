import Tabella

/// Walks through the sections and rows of a table, in order, and never further than asked.
///
/// Small sections are read together where the source can gather their rows.
struct TableReader {
  /// Rows of the first batch, which should come at once, and of the largest.
  private static let batchSizes = (first: 1024, largest: 1 << 19)

  let source: any TableDataSource
  let columns: [Int]
  var includesIDs = false
  /// The only section to walk through; nil means all.
  var section: Int?
  /// Where the walk starts.
  var start = IndexPath(section: 0, row: 0)

  /// How many rows are asked for next: few, then more and more.
  private var size = TableReader.batchSizes.first
  private var ahead = ReadAhead()

  init(
    source: any TableDataSource, columns: [Int], includesIDs: Bool = false, section: Int? = nil,
    start: IndexPath = IndexPath(section: 0, row: 0)
  ) {
    self.source = source
    self.columns = columns
    self.includesIDs = includesIDs
    self.section = section
    self.start = start
  }

  /// Calls `section` when a section comes on show, then `rows` with its batches and the number in the
  /// section of each batch's first row, then `end`.
  ///
  /// `range` counts rows through the sections walked, from the start. A section without rows is shown
  /// if the range reaches it. What `rows` throws ends the walk.
  mutating func walk(
    _ range: Range<Int>,
    section: (Int) throws -> Void, rows: (Batch, Int, Int) throws -> Void,
    end: (Int) throws -> Void
  ) throws {
    if range.isEmpty { return }
    var position = 0
    for number in (self.section ?? start.section)... {
      guard try source.numberOfSections(knowing: number + 1).value > number else { return }
      // The last section that the range reaches is the one that its last row stands in.
      if position >= range.upperBound { return }
      let skipped = number == start.section ? start.row : 0
      var first = skipped
      var isReached = true
      if position < range.lowerBound {
        let wanted = range.lowerBound - position + skipped
        let count = try source.numberOfRows(inSection: number, knowing: wanted + 1)
        isReached = count.value > wanted
        position += isReached ? wanted - skipped : max(0, count.value - skipped)
        first = wanted
      }
      if isReached {
        try section(number)
        position += try walk(number, from: first, limit: range.upperBound - position, rows)
        try end(number)
      }
      if number == self.section { return }
    }
  }

  /// The rows of one section; returns how many were given.
  private mutating func walk(
    _ section: Int, from first: Int, limit: Int, _ rows: (Batch, Int, Int) throws -> Void
  ) throws -> Int {
    var next = first
    while next - first < limit {
      let path = IndexPath(section: section, row: next)
      let (batch, endsSection) = try read(at: path, limit: limit - (next - first))
      if batch.rowCount == 0 {
        try checkEnd(section, next)
        break
      }
      try rows(batch, section, next)
      next += batch.rowCount
      if endsSection { break }
    }
    return next - first
  }

  /// Rows of one section from `path` on, `limit` at most, and whether they are known to be its last.
  private mutating func read(
    at path: IndexPath, limit: Int
  ) throws -> (Batch, endsSection: Bool) {
    if let read = ahead.take(at: path) { return read }
    defer { size = min(size * 2, TableReader.batchSizes.largest) }
    let wanted = min(size, limit)
    if let gathering = source.gathering, let runs = try runs(from: path, limit: wanted) {
      let paths = runs.flatMap { run in
        run.rows.map { IndexPath(section: run.section, row: $0) }
      }
      let batch = try gathering.rows(at: paths, columns: columns, includesIDs: includesIDs)
      // As many as the source likes to give are not asked for in vain again.
      if batch.rowCount < paths.count {
        size = max(TableReader.batchSizes.first, batch.rowCount / 2)
      }
      ahead = ReadAhead(batch, runs)
      if let read = ahead.take(at: path) { return read }
    }
    let batch = try source.rows(
      RowRequest(
        section: path.section, first: path.row, count: wanted, columns: columns,
        includesIDs: includesIDs))
    return (batch, false)
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
        inSection: number, knowing: min(first, .max - rest - 1) + rest + 1)
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
        .misbehaved, "section \(section) was counted to \(count) rows and ends at row \(end)")
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

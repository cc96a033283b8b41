import Tabella

/// Walks through the sections and rows of a table, in order, and never further than asked.
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

  /// Calls `section` when a section comes on show, then `rows` with its batches and the number in the
  /// section of each batch's first row, then `end`.
  ///
  /// `range` counts rows through the sections walked, from the start. A section without rows is shown
  /// if the range reaches it. What `rows` throws ends the walk.
  func walk(
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
  private func walk(
    _ section: Int, from first: Int, limit: Int, _ rows: (Batch, Int, Int) throws -> Void
  ) throws -> Int {
    var next = first
    var size = TableReader.batchSizes.first
    while next - first < limit {
      let batch = try source.rows(
        RowRequest(
          section: section, first: next, count: min(size, limit - (next - first)),
          columns: columns, includesIDs: includesIDs))
      if batch.rowCount == 0 {
        try checkEnd(section, next)
        break
      }
      try rows(batch, section, next)
      next += batch.rowCount
      size = min(size * 2, TableReader.batchSizes.largest)
    }
    return next - first
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

import Tabella

/// Walks through the sections and rows of a source, in order, and never further than asked.
struct TableReader {
  /// Rows of the first batch, which should come at once, and of the largest.
  private static let batchSizes = (first: 1024, largest: 1 << 19)

  let source: any TableDataSource
  let columns: [Int]
  var includesIDs = false

  /// Calls `section` when a section comes on show, then `rows` with its batches and the number in the
  /// section of each batch's first row, then `end`.
  ///
  /// `range` counts rows through all sections. A section without rows is shown if the range reaches
  /// it. What `rows` throws ends the walk.
  func walk(
    _ range: Range<Int>,
    section: (Int) throws -> Void, rows: (Batch, Int, Int) throws -> Void,
    end: (Int) throws -> Void
  ) throws {
    if range.isEmpty { return }
    var position = 0
    var number = 0
    while try source.numberOfSections(knowing: number + 1).value > number {
      // The last section that the range reaches is the one that its last row stands in.
      if position >= range.upperBound { return }
      var first = 0
      if position < range.lowerBound {
        let wanted = range.lowerBound - position
        let count = try source.numberOfRows(inSection: number, knowing: wanted + 1)
        if count.value <= wanted {
          position += count.value
          number += 1
          continue
        }
        first = wanted
        position = range.lowerBound
      }
      try section(number)
      position += try walk(number, from: first, limit: range.upperBound - position, rows)
      try end(number)
      number += 1
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
          section: section, first: next,
          count: min(size, limit - (next - first)),
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

import Tabella

/// Makes rows from the records of one reader, which is that of a whole text or of a share.
package protocol RecordCells {
  /// The columns of the table.
  var columns: [Column] { get }
  /// The reader of the records.
  var reader: RecordReader { get }
  /// Returns consecutive rows from a request that is valid for the columns. The number of a row is that of its record.
  func rows(_ request: RowRequest) throws(TableError) -> Batch
  /// A finder of records that may contain all terms; nil if all rows must be read.
  func finder(of terms: [SearchTerm]) -> RecordFinder?
  /// Returns the rows that may contain the terms of a finder.
  func rows(_ request: RowRequest, _ finder: RecordFinder) throws(TableError) -> FoundRows
  /// Returns the rows with these numbers, in this order, or the first of them.
  func rows(
    numbered numbers: [Int], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch
}

/// The rows of a stored text, divided into shares for threads.
package final class SharedRecords<Cells: RecordCells>: RowShares {
  private let shares: RecordShares
  private let columns: [Column]
  private let cells: (RecordReader) -> Cells
  private let taken: (Cells, _ first: Int) throws(TableError) -> Void

  /// `cells` makes the rows of a share, on any thread. `taken` is called for each share when its records are known to be
  /// right, with the number of its first record in the text.
  package init(
    _ shares: RecordShares, _ columns: [Column], cells: @escaping (RecordReader) -> Cells,
    taken: @escaping (Cells, _ first: Int) throws(TableError) -> Void
  ) {
    (self.shares, self.columns, self.cells, self.taken) = (shares, columns, cells, taken)
  }

  package var count: Int { shares.count }

  package func share(_ number: Int) throws(TableError) -> any TableDataSource {
    RecordShare(columns, try shares.reader(of: number).map(cells), shares)
  }

  package func take(_ share: any TableDataSource) throws(TableError) {
    guard let share = share as? RecordShare<Cells> else { throw .wrongShare }
    guard let cells = share.cells else { return }
    let first = shares.taken.number
    try shares.take(cells.reader)
    try taken(cells, first)
  }
}

/// Some rows of a stored text, for one thread.
private final class RecordShare<Cells: RecordCells>: TableDataSource, RowSearching,
  TableGathering
{
  let columns: [Column]
  /// Nil if the share is empty.
  let cells: Cells?
  private let shares: RecordShares

  init(_ columns: [Column], _ cells: Cells?, _ shares: RecordShares) {
    (self.columns, self.cells, self.shares) = (columns, cells, shares)
  }

  var gathering: (any TableGathering)? { self }

  func rows(
    at paths: consuming [IndexPath], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: numbers, includesIDs: includesIDs)
    if let path = paths.first(where: { $0.section != 0 }) { throw .noSection(path.section) }
    guard let cells else {
      if let row = paths.first?.row { throw .noRow(row, inSection: 0, of: 0) }
      return .empty(numbers.map { columns[$0].type }, ids: includesIDs)
    }
    return try cells.rows(numbered: paths.map(\.row), columns: numbers, includesIDs: includesIDs)
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    guard let reader = cells?.reader else { return .exact(0) }
    try reader.know(minimum)
    guard reader.index.isComplete else { return .atLeast(reader.index.known) }
    try checkEnd()
    return .exact(reader.index.known)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    guard let batch = try cells?.rows(request), batch.rowCount > 0 else {
      try end(request.first)
      return BatchBuilder(for: request, of: columns).finish(rowCount: 0)
    }
    return batch
  }

  func rows(_ request: RowRequest, containing terms: [SearchTerm]) throws(TableError) -> FoundRows {
    guard let cells, let finder = cells.finder(of: terms) else {
      return FoundRows(try rows(request), from: request.first)
    }
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    let found = try cells.rows(request, finder)
    if found.next == request.first { try end(request.first) }
    return found
  }

  /// Throws ``TableError`` if the share does not end with a record.
  private func checkEnd() throws(TableError) {
    if let reader = cells?.reader, !shares.isWhole(reader) { throw .wrongShare }
  }

  /// Ends the reading behind the last row.
  private func end(_ row: Int) throws(TableError) {
    try checkEnd()
    // Many shares can wait until they are taken. Another thread can use the memory meanwhile.
    cells?.reader.shrink()
    let count = cells?.reader.index.known ?? 0
    guard row <= count else { throw .noRow(row, inSection: 0, of: count) }
  }
}

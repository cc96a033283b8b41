import Tabella

/// Makes rows from the records of one reader, which is that of a whole text or of a share.
package protocol RecordCells {
  /// The columns of the table.
  var columns: [Column] { get }
  /// The reader of the records.
  var reader: RecordReader { get }
  /// The flag that cancels the reading.
  var cancel: CancelFlag { get }
  /// Returns consecutive rows from a request that is valid for the columns. The number of a row is that of its record.
  func rows(_ request: RowRequest) throws(TableError) -> Batch
  /// A finder of records that may contain all terms; nil if all rows must be read.
  func finder(of terms: [SearchTerm]) -> RecordFinder?
  /// Appends records to the columns with these numbers, and their ids.
  func append(
    _ page: RecordPage, _ records: Range<Int>, to builder: BatchBuilder, _ numbers: [Int])
  /// The rows of a batch in front of the first one that must not be shown. `number` returns the number of a row.
  ///
  /// Throws ``TableError`` if that is the first row.
  func checked(
    _ batch: Batch, _ numbers: [Int], _ number: (Int) -> Int
  ) throws(TableError) -> Batch
}

extension RecordCells {
  /// The number of bytes of found records after which a batch ends.
  private var foundSize: Int { 128 << 10 }

  package func checked(
    _ batch: Batch, _ numbers: [Int], _ number: (Int) -> Int
  ) throws(TableError) -> Batch { batch }

  /// Returns the rows that may contain the terms of a finder. Only these rows are divided into cells.
  package func rows(
    _ request: RowRequest, _ finder: RecordFinder
  ) throws(TableError) -> FoundRows {
    let builder = BatchBuilder(for: request, of: columns)
    var numbers: [Int] = []
    var size = 0
    let next = try reader.search(
      from: request.first, upTo: request.count, size: foundSize, finder, cancel
    ) { page, records throws(TableError) in
      guard let last = records.last else { return 0 }
      let bytes = page.end(of: last) - page.start(of: records.lowerBound)
      // Records beyond this size belong to the next batch.
      if size > 0, size + bytes > Int(Int32.max) { return 0 }
      append(page, records, to: builder, request.columns)
      for record in records { numbers.append(page.textNumber(of: record)) }
      size += bytes
      return records.count
    }
    return FoundRows(builder.finish(rowCount: numbers.count), numbers: numbers, next: next)
  }

  /// Returns the rows with these numbers, in this order, or the first of them.
  package func rows(
    numbered wanted: [Int], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    let builder = BatchBuilder(numbers.map { columns[$0].type }, ids: includesIDs)
    let count = try reader.gather(wanted, withOffsets: includesIDs) {
      page, records throws(TableError) in
      append(page, records, to: builder, numbers)
    }
    return try checked(builder.finish(rowCount: count), numbers) { wanted[$0] }
  }
}

/// The rows of a stored text, divided into shares for threads.
package final class SharedRecords<Cells: RecordCells>: RowShares {
  let shares: RecordShares
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
    guard shares.isWhole(reader) else { throw .wrongShare }
    // If the caller knows of all rows, it has read them.
    if minimum > reader.index.known { try end(reader.index.known) }
    return .exact(reader.index.known)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    let batch =
      try cells?.rows(request) ?? BatchBuilder(for: request, of: columns).finish(rowCount: 0)
    if batch.rowCount == 0 { try end(request.first) }
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

  /// Ends the reading at a row behind the last one. Throws ``TableError`` if the share does not end with a record.
  private func end(_ row: Int) throws(TableError) {
    if let reader = cells?.reader, !shares.isWhole(reader) { throw .wrongShare }
    // Many shares can wait until they are taken. Another thread can use the memory meanwhile.
    cells?.reader.shrink()
    let count = cells?.reader.index.known ?? 0
    guard row <= count else { throw .noRow(row, inSection: 0, of: count) }
  }
}

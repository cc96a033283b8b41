import CTabellaScan
import Tabella

/// Computes the digests of rows from the records of one reader.
package protocol DigestedCells: RecordCells {
  /// Adds the cells of these columns to a digest per record, as ``Tabella/RowDigesting`` defines it. Notes what reading the
  /// cells would note.
  func add(
    _ columns: [Int], _ page: RecordPage, _ records: Range<Int>,
    to digests: UnsafeMutableBufferPointer<RowDigest>)
}

/// Collects the text that stands for a row; see ``Tabella/RowDigesting``.
package struct DigestText {
  private var bytes: [UInt8] = []

  package init() {}

  /// Adds a cell, or nil for a missing one.
  package mutating func add(_ cell: UnsafeRawBufferPointer?, isFirst: Bool) {
    let (separator, mark) = (DigestBytes.separator, DigestBytes.mark)
    if !isFirst { bytes.append(separator) }
    guard let cell else {
      bytes += [mark, UInt8(ascii: "N")]
      return
    }
    guard DigestText.isMarked(cell) else { return bytes.append(contentsOf: cell) }
    for byte in cell {
      if byte == separator || byte == mark { bytes.append(mark) }
      bytes.append(byte)
    }
  }

  /// Whether a text has bytes that get a mark.
  package static func isMarked(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let first = text.baseAddress else { return false }
    let (separator, mark) = (DigestBytes.separator, DigestBytes.mark)
    return tabella_scan_has(first, text.count, separator, mark, separator, mark) != 0
  }

  /// Adds the text to a digest, and begins a new one.
  package mutating func end(_ digest: inout RowDigest) {
    bytes.withUnsafeBytes { digest.add(text: $0) }
    bytes.removeAll(keepingCapacity: true)
  }
}

/// Makes rows of digests; see ``Tabella/RowDigesting``.
package struct DigestRows<Cells: DigestedCells>: RecordCells {
  /// The number of bytes of records after which a batch ends.
  private var batchSize: Int { 8 << 20 }

  package let columns: [Column]
  /// The cells of the rows.
  package let cells: Cells
  private let lists: [[Int]]
  private let empty: RowDigest

  /// Digests of the cells in each list of columns. `empty` is the digest of no cell.
  package init(_ cells: Cells, of lists: [[Int]], from empty: RowDigest) {
    (self.cells, self.lists, self.empty) = (cells, lists, empty)
    columns = Array(digestsOf: lists.count)
  }

  package var reader: RecordReader { cells.reader }
  package var cancel: CancelFlag { cells.cancel }

  package func finder(of terms: [SearchTerm]) -> RecordFinder? { nil }

  package func rows(_ request: RowRequest) throws(TableError) -> Batch {
    let builder = BatchBuilder(for: request, of: columns, capacity: min(request.count, 1 << 14))
    let end = request.first.advancedUp(by: request.count)
    var (count, size) = (0, 0)
    while count < request.count, size < batchSize,
      // Rows of a stream that have arrived do not wait for others.
      let page = try reader.page(with: request.first + count, waits: count == 0)
    {
      let first = request.first + count
      let records = first..<min(page.numbers.upperBound, end)
      append(page, records, to: builder, request.columns)
      count += records.count
      size += page.end(of: records.upperBound - 1) - page.start(of: first)
    }
    return builder.finish(rowCount: count)
  }

  package func append(
    _ page: RecordPage, _ records: Range<Int>, to builder: BatchBuilder, _ numbers: [Int]
  ) {
    var digests = [RowDigest](repeating: empty, count: records.count)
    for (index, list) in lists.enumerated() {
      let wanted = zip(numbers, builder.columns).filter { $0.0 / 2 == index }
      if wanted.isEmpty { continue }
      digests.withUnsafeMutableBufferPointer { digests in
        if index > 0 { digests.update(repeating: empty) }
        cells.add(list, page, records, to: digests)
        for (number, column) in wanted {
          let isFirst = number.isMultiple(of: 2)
          column.append(
            contentsOf: digests.map { Int64(bitPattern: isFirst ? $0.first : $0.second) })
        }
      }
    }
  }
}

/// The digests of the rows of a source that has one section of records; see ``Tabella/RowDigesting``.
package final class DigestedRecords: TableDataSource, RowSharing {
  package let columns: [Column]
  private let source: any TableDataSource
  private let read: (RowRequest) throws(TableError) -> Batch
  private let divide: (_ first: Int, _ size: Int) throws(TableError) -> (any RowShares)?

  /// `read` returns rows of digests, and `divide` shares of them.
  package init(
    of source: any TableDataSource, lists: Int,
    read: @escaping (RowRequest) throws(TableError) -> Batch,
    divide: @escaping (_ first: Int, _ size: Int) throws(TableError) -> (any RowShares)?
  ) {
    columns = Array(digestsOf: lists)
    (self.source, self.read, self.divide) = (source, read, divide)
  }

  package func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    try source.numberOfRows(inSection: section, knowing: minimum)
  }

  package func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    return try read(request)
  }

  package func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard section == 0 else { throw .noSection(section) }
    return try divide(first, size)
  }
}

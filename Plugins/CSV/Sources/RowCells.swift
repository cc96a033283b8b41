import Tabella
import TabellaFiles

/// Receives what is remarkable about the cells that ``RowCells`` reads.
protocol RowNotes: AnyObject {
  /// Whether to look for a cell that is not UTF-8. One report is enough.
  var checksUTF8: Bool { get }
  /// Whether to look for a cell with many lines.
  var checksLongCells: Bool { get }
  /// Notes a record that has more cells than the table has columns.
  func noteSurplus(_ page: RecordPage, _ record: Int)
  /// Notes a cell that is not UTF-8.
  func noteEncoding(_ column: Int, _ page: RecordPage, _ record: Int)
  /// Notes that the last record of the page ends within quotes.
  func noteUnclosed(_ page: RecordPage)
  /// Notes a quoted cell with many lines.
  func noteLongCell(_ page: RecordPage, _ record: Int, _ cell: UnsafeRawBufferPointer)
}

/// Reads rows as batches, with a reader of the whole text or of a share of it.
struct RowCells: DigestedCells {
  /// The limits of a batch in bytes: of its cells, and of the records read for them.
  private static let batchSize = (cells: 1 << 20, records: 8 << 20)
  /// The minimum of the first limit per column, because each batch has a cost per column.
  private static let cellsPerColumn = 512
  /// The number of line ends in a cell from which it is noted. Usually the quote of such a cell is no quote.
  private static let longCell = 20

  private let text: DelimitedText
  let reader: RecordReader
  private let options: Options
  let cancel: CancelFlag
  let notes: any RowNotes
  var columns: [Column] { text.columns }

  init(
    _ text: DelimitedText, _ reader: RecordReader, _ options: Options, _ cancel: CancelFlag,
    notes: any RowNotes
  ) {
    (self.text, self.reader, self.options) = (text, reader, options)
    (self.cancel, self.notes) = (cancel, notes)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    let builder = BatchBuilder(for: request, of: columns)
    // The bytes that the cells of a row need even if they are missing.
    let rowSize = request.columns.count * 8
    let cells = min(
      max(RowCells.batchSize.cells, request.columns.count * RowCells.cellsPerColumn),
      RowCells.batchSize.records)
    let limit = min(request.count, cells / max(1, rowSize) + 1)
    var count = 0
    var size = 0
    while count < limit, size < RowCells.batchSize.records,
      builder.columns.reduce(count * rowSize, { $0 + $1.byteCount }) < cells,
      // Rows of a stream that have arrived do not wait for others.
      let page = try reader.page(with: request.first + count, waits: count == 0)
    {
      let first = request.first + count
      let records = first..<min(page.numbers.upperBound, first + limit - count)
      let bytes = page.end(of: records.upperBound - 1) - page.start(of: first)
      // Records beyond this size belong to the next batch.
      if count > 0, size + bytes > Int(Int32.max) { break }
      append(page, records, to: builder, request.columns)
      count += records.count
      size += bytes
    }
    return try checked(builder.finish(rowCount: count), request.columns) { request.first + $0 }
  }

  func finder(of terms: [SearchTerm]) -> RecordFinder? {
    // Escapes change the stored text. If a sample determines the types, all cells must be checked.
    options.hasEscapes || options.checksTypes ? nil : reader.finder(of: terms)
  }

  /// The rows of a batch in front of the first cell that does not have the type of its column. `number` returns the number
  /// of a row in the table.
  ///
  /// Only a sample of the cells determines such a type. Throws ``TableError`` with `.constraint` if the first row has such a cell.
  func checked(
    _ batch: Batch, _ numbers: [Int], _ number: (Int) -> Int
  ) throws(TableError) -> Batch {
    guard options.checksTypes else { return batch }
    var (end, wrong) = (batch.rowCount, 0)
    for (cells, column) in zip(batch.columns, numbers) {
      guard let type = columns[column].reads,
        let misfit = cells.firstMisfit(
          of: type, hasDecimalComma: options.hasDecimalComma), misfit < end
      else { continue }
      (end, wrong) = (misfit, column)
    }
    if end == batch.rowCount { return batch }
    guard end == 0 else { return batch[0..<end] }
    let cells = numbers.firstIndex(of: wrong).map { batch.columns[$0] }
    throw misfit(cells?[0], wrong, row: number(0))
  }

  private func misfit(_ cell: Cell?, _ column: Int, row: Int) -> TableError {
    let text = cell.map { "\"\($0.description.prefix(60))\"" } ?? "a cell"
    let (name, type) = (columns[column].name, columns[column].valueType.name)
    let message =
      options.types == .sample
      ? "column \"\(name)\": \(text) does not have the type \(type) of the cells in the first MiB; use -o types=infer, which reads the whole file first, or -o types=text"
      : "column \"\(name)\": \(text) does not have the type \(type) that the option column-types names"
    return TableError(.constraint, message, section: 0, row: row, column: column)
  }

  func append(
    _ page: RecordPage, _ records: Range<Int>, to builder: BatchBuilder, _ numbers: [Int]
  ) {
    let layout = text.layout(page, records)
    var checksUTF8 = notes.checksUTF8
    for (builder, column) in zip(builder.columns, numbers) {
      let (written, surplus) = text.append(column, page, records, layout, to: builder)
      if let surplus { notes.noteSurplus(page, surplus) }
      // Checking here costs a hundredth of writing, because the cells are still in the cache.
      if checksUTF8, !written.isScannedUTF8,
        let record = records.first(where: { !text.holdsUTF8(column, page, $0) })
      {
        notes.noteEncoding(column, page, record)
        checksUTF8 = false
      }
    }
    if let ids = builder.ids {
      for record in records { ids.append(page.id(of: record)) }
    }
    noteEnds(page, records)
  }

  /// Adds cells to digests. The rules allow no cells that blanks separate.
  func add(
    _ columns: [Int], _ page: RecordPage, _ records: Range<Int>,
    to digests: UnsafeMutableBufferPointer<RowDigest>
  ) {
    if let surplus = text.add(columns, page, records, to: digests) {
      notes.noteSurplus(page, surplus)
    }
    noteEnds(page, records)
    guard notes.checksUTF8 else { return }
    if page.bytes(of: records).isScannedUTF8 { return }
    // Writing the cells notes which one is not UTF-8.
    append(page, records, to: BatchBuilder(columns.map { self.columns[$0].type }), columns)
  }

  /// Notes unclosed and long cells.
  private func noteEnds(_ page: RecordPage, _ records: Range<Int>) {
    if page.openEnd == .quote, records.contains(page.numbers.upperBound - 1) {
      notes.noteUnclosed(page)
    }
    if page.mostQuotedLineEnds >= RowCells.longCell { checkLongCells(page, records) }
  }

  private func checkLongCells(_ page: RecordPage, _ records: Range<Int>) {
    guard let quote = text.rules.quote, notes.checksLongCells else { return }
    for record in records {
      // An unclosed cell is noted as such.
      if page.openEnd == .quote, record == page.numbers.upperBound - 1 { continue }
      // Most records of the page have few line ends. Only the others are divided into cells.
      let (start, end) = (page.start(of: record), page.end(of: record))
      guard end - start >= RowCells.longCell,
        UnsafeRawBufferPointer(start: page.bytes + start, count: end - start).lineEndCount
          >= RowCells.longCell
      else { continue }
      for cell in page.cells(of: record, quotedWith: quote)
      where cell.lineEndCount >= RowCells.longCell {
        return notes.noteLongCell(page, record, cell)
      }
    }
  }
}

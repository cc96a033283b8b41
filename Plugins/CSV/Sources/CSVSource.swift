import Tabella
import TabellaFiles
import TabellaSDK

/// A delimited text as a table with one section.
final class CSVSource: TableDataSource, TableGathering, TableIdentity, TableSupplementary,
  TableDiagnostics, LiveRecords, RowSearching
{
  /// The limits of a batch in bytes: of its cells, and of the records read for them.
  private static let batchSize = (cells: 1 << 20, records: 8 << 20)

  var columns: [Column] { text.columns }
  /// The current text. A commit or a pull replaces it.
  private(set) var text: DelimitedText
  let shownFile: ShownFile
  let options: Options
  let cancel = CancelFlag()
  let live = LiveFile()
  private var diagnosticQueue = DiagnosticQueue()
  var reader: RecordReader { text.reader }

  // `ProviderSource` determines these by casts, which cost as much as reading a small file.
  var gathering: (any TableGathering)? { self }
  var identity: (any TableIdentity)? { self }
  var supplementary: (any TableSupplementary)? { self }
  var diagnostics: (any TableDiagnostics)? { self }
  /// A stream never changes: its rows only arrive. The offsets of a range of bytes belong to one version.
  var changes: (any TableChanges)? { file.version == nil || options.bytes != nil ? nil : self }

  var file: any ByteSource { text.file }

  init(path: [UInt8], options: Options) throws(TableError) {
    var options = options
    options.usualDelimiter = CSVSource.usualDelimiter(of: path)
    self.options = options
    let opened = try ShownFile.open(path)
    shownFile = ShownFile(path: path, opened, options.save, reading: options.reading)
    text = try DelimitedText(opened.growingBytes(), options, cancel: cancel)
    if let diagnostic = shownFile.diagnostic { diagnosticQueue.add("in place", diagnostic) }
    try text.findTypes(options, cancel)
    addDiagnostics()
    try file.checkUnchanged()
  }

  /// The usual delimiter for a file name extension; a comma by default.
  private static func usualDelimiter(of path: [UInt8]) -> UInt8 {
    func isNamed(_ extensions: [String]) -> Bool {
      extensions.contains { path.suffix($0.utf8.count).elementsEqual($0.utf8) }
    }
    return isNamed([".tsv", ".tab"]) ? 9 : UInt8(ascii: isNamed([".psv"]) ? "|" : ",")
  }

  private func addDiagnostics() {
    for (kind, message) in text.diagnostics { diagnosticQueue.add(kind, message) }
  }

  func read(_ bytes: any ByteSource) throws(TableError) -> DelimitedText {
    let text = try DelimitedText(bytes, options, cancel: cancel)
    try text.findTypes(options, cancel)
    return text
  }

  func show(_ text: DelimitedText) {
    self.text = text
    addDiagnostics()
  }

  /// Shows the saved file.
  func show(_ bytes: any ByteSource) throws(TableError) {
    show(try read(bytes))
    try file.checkUnchanged()
  }

  func keepsRules(afterGrowthFrom count: Int) throws(TableError) -> Bool {
    try text.keepsRules(afterGrowthFrom: count, options)
  }

  func warn(_ kind: String, _ message: String) { diagnosticQueue.add(kind, message) }

  var cancellation: (@Sendable () -> Void)? { cancel.cancellation }

  func version() throws(TableError) -> Version? {
    try shownFile.version(showing: file)
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    cancel.begin()
    try reader.know(minimum)
    try file.checkUnchanged()
    let known = reader.index.known
    return reader.index.isComplete ? .exact(known) : .atLeast(known)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    cancel.begin()
    let builder = BatchBuilder(for: request, of: columns)
    // The bytes that the cells of a row need even if they are missing.
    let rowSize = request.columns.count * 8
    let limit = min(request.count, CSVSource.batchSize.cells / max(1, rowSize) + 1)
    var count = 0
    var size = 0
    while count < limit, size < CSVSource.batchSize.records,
      builder.columns.reduce(count * rowSize, { $0 + $1.byteCount }) < CSVSource.batchSize.cells,
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
    try file.checkUnchanged()
    if count == 0, request.first > reader.index.known {
      throw .noRow(request.first, inSection: 0, of: reader.index.known)
    }
    noteUnconverted()
    return try checked(builder.finish(rowCount: count), request.columns) { request.first + $0 }
  }

  /// Returns the rows that may contain all terms. Only these rows are divided into cells.
  func rows(_ request: RowRequest, containing terms: [SearchTerm]) throws(TableError) -> FoundRows {
    // Escapes change the stored text. If a sample determines the types, all cells must be checked.
    guard !options.hasEscapes, !options.checksTypes,
      let finder = RecordFinder(terms, text.rules)
    else {
      return FoundRows(try rows(request), from: request.first)
    }
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    cancel.begin()
    let builder = BatchBuilder(for: request, of: columns)
    var numbers: [Int] = []
    var size = 0
    let next = try reader.search(from: request.first, finder, cancel) {
      page, run throws(TableError) in
      if size >= CSVSource.batchSize.cells { return 0 }
      let records = run.prefix(request.count - numbers.count)
      guard let last = records.last else { return 0 }
      let bytes = page.end(of: last) - page.start(of: records.lowerBound)
      // Records beyond this size belong to the next batch.
      if size > 0, size + bytes > Int(Int32.max) { return 0 }
      append(page, records, to: builder, request.columns)
      numbers += records
      size += bytes
      return records.count
    }
    try file.checkUnchanged()
    if next == request.first, next > reader.index.known {
      throw .noRow(next, inSection: 0, of: reader.index.known)
    }
    noteUnconverted()
    return FoundRows(builder.finish(rowCount: numbers.count), numbers: numbers, next: next)
  }

  func rows(
    at paths: consuming [IndexPath], columns numbers: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: numbers, includesIDs: includesIDs)
    if let path = paths.first(where: { $0.section != 0 }) { throw .noSection(path.section) }
    cancel.begin()
    let wanted = paths.map(\.row)
    // Frees the paths, since there can be a million and the rows need the memory.
    _ = consume paths
    let builder = BatchBuilder(numbers.map { columns[$0].type }, ids: includesIDs)
    let count = try reader.gather(wanted, withOffsets: includesIDs) {
      page, records throws(TableError) in
      append(page, records, to: builder, numbers)
    }
    try file.checkUnchanged()
    noteUnconverted()
    return try checked(builder.finish(rowCount: count), numbers) { wanted[$0] }
  }

  /// The rows of a batch in front of the first cell that does not have the type of its column. `number` returns the number
  /// of a row in the table.
  ///
  /// Only a sample of the cells determines such a type. Throws ``TableError`` with `.constraint` if the first row has such a cell.
  private func checked(
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

  private func append(
    _ page: RecordPage, _ records: Range<Int>, to builder: BatchBuilder, _ numbers: [Int]
  ) {
    let layout = text.layout(page, records)
    for (builder, column) in zip(builder.columns, numbers) {
      let (written, surplus) = text.append(column, page, records, layout, to: builder)
      if let surplus { noteSurplus(page, surplus) }
      // Checking here costs a hundredth of writing, because the cells are still in the cache.
      if checksUTF8, !written.isScannedUTF8 { noteEncoding(column, page, records) }
    }
    if let ids = builder.ids {
      for record in records { ids.append(page.id(of: record)) }
    }
    if page.openEnd == .quote, records.contains(page.numbers.upperBound - 1) {
      noteUnclosed(page)
    }
    if page.mostQuotedLineEnds >= CSVSource.longCell { noteLongCell(page, records) }
  }

  // Ids

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    cancel.begin()
    let number = try reader.number(ofRecordWithID: id)
    try file.checkUnchanged()
    guard let number else {
      throw TableError(.notFound, "there is no row with the id \(id); it was changed or moved")
    }
    return IndexPath(section: 0, row: number)
  }

  // Line numbers and offsets

  func supplementaryKinds() -> [String] {
    [SupplementaryKind.line] + (text.hasFileOffsets ? [SupplementaryKind.offset] : [])
  }

  /// The number of the line in which a row begins, or the offset of the row.
  func supplementaryElement(
    ofKind kind: String, at path: IndexPath
  ) throws(TableError) -> SupplementaryElement? {
    guard supplementaryKinds().contains(kind), !path.isSection else { return nil }
    guard path.section == 0 else { throw .noSection(path.section) }
    cancel.begin()
    guard path.row >= 0, let page = try reader.page(with: path.row) else {
      throw .noRow(path.row, inSection: 0, of: reader.index.known)
    }
    let offset = page.offset(of: path.row)
    let isLine = kind == SupplementaryKind.line
    let number = isLine ? try text.line(startingAt: offset) : offset
    try file.checkUnchanged()
    return .text(StyledText("\(number)"))
  }

  // Diagnostics

  func nextDiagnostic() -> Diagnostic? { diagnosticQueue.next() }

  private func noteSurplus(_ page: RecordPage, _ record: Int) {
    let count = page.fields(of: record).count
    diagnosticQueue.add(
      "surplus",
      "row \(place(of: page.textNumber(of: record))) has more cells than the table has columns: \(count), not \(columns.count); the last cell contains the rest (use -o columns=\(count) for more columns)"
    )
  }

  /// A row's number and, if known, its byte offset. A gathered page may not know the offset.
  private func place(of row: Int) -> String {
    guard let page = try? reader.page(with: row) else { return "\(row)" }
    return "\(row) (byte \(page.offset(of: row)))"
  }

  /// The line number, counted from 1, of a byte in a record. `place` is an offset in the page.
  ///
  /// Returns 0 if the text can no longer be read; the next read reports that.
  private func line(_ page: RecordPage, _ record: Int, at place: Int) -> Int {
    let (row, offset) = (page.textNumber(of: record), place - page.start(of: record))
    guard let start = try? reader.page(with: row)?.offset(of: row) else { return 0 }
    return (try? text.lineNumber(at: start + offset)) ?? 0
  }

  private func noteUnclosed(_ page: RecordPage) {
    let record = page.numbers.upperBound - 1
    let quote = page.start(ofField: page.fields(of: record).upperBound - 1)
    diagnosticQueue.add(
      "quote",
      DelimitedText.unclosed(
        inLine: line(page, record, at: quote), "row \(page.textNumber(of: record))"))
  }

  /// The number of line ends in a cell from which the source reports it. Usually the quote of such a cell is no quote.
  private static let longCell = 20

  private func noteLongCell(_ page: RecordPage, _ records: Range<Int>) {
    guard let quote = text.rules.quote, !diagnosticQueue.has("long") else { return }
    for record in records {
      // An unclosed cell has a diagnostic of its own.
      if page.openEnd == .quote, record == page.numbers.upperBound - 1 { continue }
      // Most records of the page have few line ends. Only the others are divided into cells.
      let (start, end) = (page.start(of: record), page.end(of: record))
      guard end - start >= CSVSource.longCell,
        UnsafeRawBufferPointer(start: page.bytes + start, count: end - start).lineEndCount
          >= CSVSource.longCell
      else { continue }
      for cell in page.cells(of: record, quotedWith: quote) {
        let ends = cell.lineEndCount
        guard ends >= CSVSource.longCell, let base = cell.baseAddress else { continue }
        let (row, place) = (page.textNumber(of: record), base - page.bytes)
        let message =
          "line \(line(page, record, at: place)) (row \(row)): a quoted cell has \(ends + 1) lines (if the quote is a plain character, use -o quote=none)"
        diagnosticQueue.add("long", message)
        return
      }
    }
  }

  /// Whether to look for a cell that is not UTF-8. Converted text is UTF-8, and one report is enough.
  private var checksUTF8: Bool { !text.decoded.isConverted && !diagnosticQueue.has("UTF-8") }

  private func noteEncoding(_ column: Int, _ page: RecordPage, _ records: Range<Int>) {
    for record in records {
      guard let bounds = text.bounds(column, page, record),
        !UnsafeRawBufferPointer(start: page.bytes + bounds.lowerBound, count: bounds.count)
          .isScannedUTF8
      else { continue }
      let row = page.textNumber(of: record)
      let line = line(page, record, at: bounds.lowerBound)
      diagnosticQueue.add(
        "UTF-8",
        "line \(line) (row \(row), \(columns[column].name)) is not UTF-8, and its bytes are unchanged; \(DelimitedText.encodingHint)"
      )
      return
    }
  }

  private func noteUnconverted() {
    if let diagnostic = text.decoded.diagnostic { diagnosticQueue.add("encoding", diagnostic) }
  }
}

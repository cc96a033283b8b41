import Tabella
import TabellaFiles
import TabellaSDK

/// A delimited text as a table with one section.
final class CSVSource: TableDataSource, TableGathering, TableIdentity, TableSupplementary,
  TableDiagnostics, LiveRecords, RowSearching, RowSharing, RowDigesting, RowNotes
{
  var columns: [Column] { text.columns }
  /// The current text. A commit or a pull replaces it.
  private(set) var text: DelimitedText
  let shownFile: ShownFile
  let options: Options
  let cancel = CancelFlag()
  let live = LiveFile()
  private var diagnosticQueue = DiagnosticQueue()
  var reader: RecordReader { text.reader }
  private var cells: RowCells { RowCells(text, reader, options, cancel, notes: self) }

  // `ProviderSource` determines these by casts, which cost as much as reading a small file.
  var gathering: (any TableGathering)? { self }
  var identity: (any TableIdentity)? { self }
  var supplementary: (any TableSupplementary)? { self }
  var diagnostics: (any TableDiagnostics)? { self }
  /// A stream never changes: its rows only arrive. The offsets of a range of bytes belong to one version.
  var changes: (any TableChanges)? { file.hasVersion && options.bytes == nil ? self : nil }

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
    reader.shrinkIfOneOfMany()
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
    return try rows(request, of: cells)
  }

  private func rows(_ request: RowRequest, of cells: some RecordCells) throws(TableError) -> Batch {
    cancel.begin()
    let batch = try cells.rows(request)
    try file.checkUnchanged()
    if batch.rowCount == 0, request.first > reader.index.known {
      throw .noRow(request.first, inSection: 0, of: reader.index.known)
    }
    noteUnconverted()
    reader.shrink(atEnd: request.first + batch.rowCount)
    return batch
  }

  /// Returns the rows that may contain all terms. Only these rows are divided into cells.
  func rows(_ request: RowRequest, containing terms: [SearchTerm]) throws(TableError) -> FoundRows {
    guard let finder = cells.finder(of: terms) else {
      return FoundRows(try rows(request), from: request.first)
    }
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    cancel.begin()
    let found = try cells.rows(request, finder)
    try file.checkUnchanged()
    if found.next == request.first, found.next > reader.index.known {
      throw .noRow(found.next, inSection: 0, of: reader.index.known)
    }
    noteUnconverted()
    reader.shrink(atEnd: found.next)
    return found
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
    let batch = try cells.rows(numbered: wanted, columns: numbers, includesIDs: includesIDs)
    try file.checkUnchanged()
    noteUnconverted()
    return batch
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

  // Shares and digests

  func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard section == 0 else { throw .noSection(section) }
    return try shares(from: first, size: size, cells: { $0 }, rows: { $0 })
  }

  /// Divides the rows. `cells` makes cells from the rows of a share, and `rows` returns these rows.
  private func shares<Cells: RecordCells>(
    from first: Int, size: Int, cells: @escaping (RowCells) -> Cells,
    rows: @escaping (Cells) -> RowCells
  ) throws(TableError) -> (any RowShares)? {
    cancel.begin()
    guard let shares = try reader.shares(from: first, size: size) else { return nil }
    let (text, shareCells) = (text, shareCells())
    return SharedRecords(shares, cells(self.cells).columns) {
      cells(shareCells($0))
    } taken: {
      [self] cells, first throws(TableError) in
      try take(rows(cells), of: text, from: first)
    }
  }

  /// Makes the rows of a share, on any thread.
  private func shareCells() -> (RecordReader) -> RowCells {
    // The source must not be asked on other threads.
    let (text, options) = (text, options)
    let checks = (checksUTF8, checksLongCells)
    let last = columns.count - 1
    return { reader in
      RowCells(
        text, reader, options, CancelFlag(), notes: ShareNotes(for: checks, lastColumn: last))
    }
  }

  /// Takes over the notes of a share of `text`. `first` is the number of its record 0.
  private func take(
    _ cells: RowCells, of text: DelimitedText, from first: Int
  ) throws(TableError) {
    guard self.text === text else { throw .wrongShare }
    try file.checkUnchanged()
    guard let notes = cells.notes as? ShareNotes else { return }
    for remark in notes.remarks { try note(remark, from: first) }
    noteUnconverted()
  }

  func shares(
    gathering rows: UnsafeBufferPointer<UInt32>, inSection section: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard section == 0 else { throw .noSection(section) }
    cancel.begin()
    guard let shares = try reader.shares(gathering: rows, size: size) else { return nil }
    let (text, reader, shareCells) = (text, reader, shareCells())
    return SharedGathering(shares) {
      shareCells(reader)
    } taken: { [self] cells throws(TableError) in
      try take(cells, of: text, from: 0)
    }
  }

  func canDigest(_ columns: [Int]) -> Bool {
    !options.splitsAtBlanks
      && columns.allSatisfy {
        self.columns.indices.contains($0) && self.columns[$0].reads == nil
      }
  }

  func digests(of lists: [[Int]], from empty: RowDigest) -> any TableDataSource {
    DigestedRecords(of: self, lists: lists.count) { [self] request throws(TableError) in
      try rows(request, of: DigestRows(cells, of: lists, from: empty))
    } divide: { [self] first, size throws(TableError) in
      try shares(from: first, size: size) {
        DigestRows($0, of: lists, from: empty)
      } rows: {
        $0.cells
      }
    }
  }

  /// Adds the diagnostic that some records of a share deserve, unless there is one of this kind. `first` is the number of
  /// the share's first record.
  private func note(_ remark: ShareNotes.Remark, from first: Int) throws(TableError) {
    let numbers = remark.column.map { [$0] } ?? []
    let record = first + remark.record
    guard !diagnosticQueue.has(remark.kind.rawValue), let page = try reader.page(with: record)
    else { return }
    cells.append(
      page, record..<record + 1, to: BatchBuilder(numbers.map { columns[$0].type }), numbers)
  }

  // Diagnostics

  /// The kinds of diagnostics about records.
  enum DiagnosticKind: String {
    case surplus
    case encoding = "UTF-8"
    case unclosed = "quote"
    case longCell = "long"
  }

  func nextDiagnostic() -> Diagnostic? { diagnosticQueue.next() }

  func noteSurplus(_ page: RecordPage, _ record: Int) {
    let count = page.fields(of: record).count
    diagnosticQueue.add(
      DiagnosticKind.surplus.rawValue,
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

  func noteUnclosed(_ page: RecordPage) {
    let record = page.numbers.upperBound - 1
    let quote = page.start(ofField: page.fields(of: record).upperBound - 1)
    diagnosticQueue.add(
      DiagnosticKind.unclosed.rawValue,
      DelimitedText.unclosed(
        inLine: line(page, record, at: quote), "row \(page.textNumber(of: record))"))
  }

  var checksLongCells: Bool { !diagnosticQueue.has(DiagnosticKind.longCell.rawValue) }

  func noteLongCell(_ page: RecordPage, _ record: Int, _ cell: UnsafeRawBufferPointer) {
    guard let base = cell.baseAddress else { return }
    let (row, place) = (page.textNumber(of: record), base - page.bytes)
    diagnosticQueue.add(
      DiagnosticKind.longCell.rawValue,
      "line \(line(page, record, at: place)) (row \(row)): a quoted cell has \(cell.lineEndCount + 1) lines (if the quote is a plain character, use -o quote=none)"
    )
  }

  /// Whether to look for a cell that is not UTF-8. Converted text is UTF-8, and one report is enough.
  var checksUTF8: Bool {
    !text.decoded.isConverted && !diagnosticQueue.has(DiagnosticKind.encoding.rawValue)
  }

  func noteEncoding(_ column: Int, _ page: RecordPage, _ record: Int) {
    guard let bounds = text.bounds(column, page, record) else { return }
    let row = page.textNumber(of: record)
    let line = line(page, record, at: bounds.lowerBound)
    diagnosticQueue.add(
      DiagnosticKind.encoding.rawValue,
      "line \(line) (row \(row), \(columns[column].name)) is not UTF-8, and its bytes are unchanged; \(DelimitedText.encodingHint)"
    )
  }

  private func noteUnconverted() {
    if let diagnostic = text.decoded.diagnostic { diagnosticQueue.add("encoding", diagnostic) }
  }
}

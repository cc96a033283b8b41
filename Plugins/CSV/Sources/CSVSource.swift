import Tabella
import TabellaFiles
import TabellaSDK

/// A delimited text as a table of one section.
final class CSVSource: ProviderSource, TableIdentity, TableDiagnostics {
  /// After how many bytes of records a batch ends early.
  private static let batchSize = 4 << 20

  private(set) var columns: [Column]
  private let file: any ByteSource
  private let transcoder: Transcoder?
  private let reader: RecordReader
  private var pending: [Diagnostic] = []
  private var warned: Set<String> = []
  private var cell: [UInt8] = []

  init(path: [UInt8], options: Options) throws(TableError) {
    let opened = try OpenFile(path: path)
    file = opened.bytes()
    transcoder = try CSVSource.transcoder(file, options.encoding)
    let text: any ByteSource = transcoder?.bytes() ?? file
    var sniffer = try Sniffer(text, skip: options.skip)
    var dialect = Dialect(quote: options.quote, escape: options.escape)
    let separator = sniffer.takeSeparatorLine()
    // What is found out must not be what something else already is.
    let usable = separator.flatMap { $0 == dialect.quote || $0 == dialect.escape ? nil : $0 }
    dialect.delimiter = options.delimiter ?? usable ?? sniffer.delimiter(dialect)

    // The header is a record like any other; the rows begin behind it.
    let headerReader = RecordReader(text, from: sniffer.start, dialect: dialect)
    var names: [String] = []
    var start = sniffer.start
    var firstWidth = 0
    var isHeaderUnclosed = false
    try headerReader.read(from: 0) { record throws(TableError) in
      firstWidth = record.fields.count
      guard options.hasHeader else { return false }
      isHeaderUnclosed = record.unclosedQuote != nil
      var name: [UInt8] = []
      names = record.fields.map { field in
        name.removeAll(keepingCapacity: true)
        headerReader.unquote(
          UnsafeRawBufferPointer(rebasing: record.bytes[field.start..<field.end]), into: &name)
        return String(decoding: name.map { $0 == 0 ? 0xFF : $0 }, as: UTF8.self)
      }
      return false
    }
    if options.hasHeader { start = headerReader.position }
    let width = max(firstWidth, sniffer.width(dialect), options.columns)
    columns = (0..<width).map { index in
      Column(
        index < names.count && !names[index].isEmpty ? names[index] : "column \(index + 1)")
    }
    reader = RecordReader(text, from: start, dialect: dialect)
    if isHeaderUnclosed { warn("quote", "the header: a quote is never closed") }
    if options.infersTypes { try inferTypes() }
    try file.checkUnchanged()
  }

  private static func transcoder(
    _ file: any ByteSource, _ encoding: String?
  ) throws(TableError) -> Transcoder? {
    if let encoding { return try Transcoder(file, from: encoding) }
    let sample = try file.bytes(at: 0, count: 4)
    if sample == [0xFF, 0xFE, 0, 0] { return try Transcoder(file, from: "UTF-32LE") }
    if sample == [0, 0, 0xFE, 0xFF] { return try Transcoder(file, from: "UTF-32BE") }
    if sample.starts(with: [0xFF, 0xFE]) { return try Transcoder(file, from: "UTF-16LE") }
    if sample.starts(with: [0xFE, 0xFF]) { return try Transcoder(file, from: "UTF-16BE") }
    return nil
  }

  func version() throws(TableError) -> Version? {
    try file.checkUnchanged()
    return file.version
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    try reader.know(minimum)
    try file.checkUnchanged()
    return reader.isComplete ? .exact(reader.known) : .atLeast(reader.known)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    let builder = BatchBuilder(for: request, of: columns)
    var count = 0
    var size = 0
    try reader.read(from: request.first) { record throws(TableError) in
      // What does not fit any more begins the next batch.
      if count > 0, size + record.bytes.count > Int(Int32.max) { return false }
      noteUnclosed(record)
      append(record, to: builder, request)
      count += 1
      size += record.bytes.count + request.columns.count * 8
      return count < request.count && size < CSVSource.batchSize
    }
    if count == 0, request.first > reader.known {
      throw .noRow(request.first, inSection: 0, of: reader.known)
    }
    try file.checkUnchanged()
    noteUnconverted()
    return builder.finish(rowCount: count)
  }

  private func append(
    _ record: RecordReader.Record, to builder: BatchBuilder, _ request: RowRequest
  ) {
    let fields = record.fields
    for (builder, column) in zip(builder.columns, request.columns) {
      guard column < fields.count else {
        builder.appendMissing()
        continue
      }
      var field = fields[column]
      if column == columns.count - 1, fields.count > columns.count {
        // The surplus stays in the last cell, as it stands in the file.
        field = .init(start: field.start, end: record.bytes.count, isRaw: false)
        warn(
          "surplus",
          "row \(record.number) (byte \(record.offset)) has more cells than the table has columns: \(fields.count), not \(columns.count); the surplus stays in the last cell (-o columns=\(fields.count) widens the table)"
        )
      }
      append(
        UnsafeRawBufferPointer(rebasing: record.bytes[field.start..<field.end]), field.isRaw,
        to: builder)
    }
    if let ids = builder.ids {
      ids.append(
        "\(String(record.offset, radix: 16)).\(String(digest64(record.bytes), radix: 16))")
    }
  }

  private func append(
    _ field: UnsafeRawBufferPointer, _ isRaw: Bool, to builder: ColumnBuilder
  ) {
    guard isRaw else { return CellTypes.append(field, to: builder) }
    cell.removeAll(keepingCapacity: true)
    reader.unquote(field, into: &cell)
    cell.withUnsafeBytes { CellTypes.append($0, to: builder) }
  }

  private func inferTypes() throws(TableError) {
    var types = CellTypes(columns: columns.count)
    try reader.read(from: 0) { record throws(TableError) in
      for (column, field) in record.fields.prefix(columns.count).enumerated() {
        cell.removeAll(keepingCapacity: true)
        let isSurplus = column == columns.count - 1 && record.fields.count > columns.count
        let bytes = UnsafeRawBufferPointer(
          rebasing: record.bytes[field.start..<(isSurplus ? record.bytes.count : field.end)])
        if field.isRaw, !isSurplus {
          reader.unquote(bytes, into: &cell)
          cell.withUnsafeBytes { types.observe($0, column: column) }
        } else {
          types.observe(bytes, column: column)
        }
      }
      return true
    }
    for (column, type) in types.types.enumerated() { columns[column].type = type }
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    let parts = id.split(separator: ".")
    guard parts.count == 2, let offset = Int(parts[0], radix: 16),
      let digest = UInt64(parts[1], radix: 16),
      let number = try reader.number(ofRecordAt: offset),
      id == "\(String(offset, radix: 16)).\(String(digest, radix: 16))"
    else { throw TableError(.notFound, "there is no row with the id \(id)") }
    var isSame = false
    try reader.read(from: number) { record throws(TableError) in
      isSame = digest64(record.bytes) == digest
      return false
    }
    try file.checkUnchanged()
    guard isSame else {
      throw TableError(.notFound, "the row with the id \(id) was changed or moved")
    }
    return IndexPath(section: 0, row: number)
  }

  // Remarks

  func nextDiagnostic() -> Diagnostic? { pending.isEmpty ? nil : pending.removeFirst() }

  private func warn(_ kind: String, _ message: @autoclosure () -> String) {
    if warned.insert(kind).inserted { pending.append(Diagnostic(.warning, message())) }
  }

  private func noteUnclosed(_ record: RecordReader.Record) {
    guard let quote = record.unclosedQuote else { return }
    warn(
      "quote",
      "row \(record.number): the quote at byte \(record.offset + quote) is never closed; the cell goes to the end of the file"
    )
  }

  private func noteUnconverted() {
    guard let transcoder, let position = transcoder.firstFailure else { return }
    warn("encoding", "byte \(position) could not be converted to UTF-8 and is shown as U+FFFD")
  }
}

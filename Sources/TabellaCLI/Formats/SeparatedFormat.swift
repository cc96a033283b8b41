import CTabellaScan
import Tabella
import TabellaTerminal

/// One row per line with separators between the cells: CSV, TSV and plain text for other programs.
struct SeparatedFormat: Format {
  private let dialect: Dialect
  private let output: Output
  /// Whether nothing is written yet.
  private var isAtStart: Bool

  /// The separator, and the encoding of cells that contain it.
  enum Dialect {
    /// RFC 4180, but with LF. Cells are quoted only if necessary, and their bytes stay unchanged.
    case csv
    /// Tabs as separators. In cells, tab, line feed, carriage return and backslash become `\t`, `\n`, `\r` and `\\`,
    /// and other bytes stay unchanged. Missing cells are empty.
    case tsv
    /// The text format of PostgreSQL's COPY, for scripts: tabs, no header, and `\N` for missing cells. The escapes of C
    /// replace backslashes and everything that is unsafe to print.
    case plain

    fileprivate var separator: UInt8 { self == .csv ? UInt8(ascii: ",") : UInt8(ascii: "\t") }
    fileprivate var hasHeader: Bool { self != .plain }
  }

  init(_ dialect: Dialect, _ output: Output, isAtStart: Bool = true) {
    self.dialect = dialect
    self.output = output
    self.isAtStart = isAtStart
  }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    guard dialect.hasHeader, table.hasHeader, !table.columns.isEmpty else { return }
    let builder = BatchBuilder(table.columns.map { _ in .text })
    for (cells, column) in zip(builder.columns, table.columns) { cells.append(column.name) }
    try write(builder.finish())
  }

  mutating func write(_ rows: ShownRows) throws(Failure) { try write(rows.batch) }

  func writer(to output: Output) -> (any Format)? {
    SeparatedFormat(dialect, output, isAtStart: false)
  }

  private mutating func write(_ batch: Batch) throws(Failure) {
    guard isAtStart, batch.rowCount > 0 else { return try writeRows(batch) }
    isAtStart = false
    guard let first = batch.columns.first, first.beginsLikeMark(in: dialect) else {
      return try writeRows(batch)
    }
    try writeWithSafeStart(batch[0..<1])
    try writeRows(batch[1..<batch.rowCount])
  }

  /// Writes a row whose first cell would be no cell at the start of a file: readers take a byte order mark, or a line
  /// `sep=;`, as a remark about the file. In quotes, or with an escape, it is a cell.
  private func writeWithSafeStart(_ batch: Batch) throws(Failure) {
    let columns = batch.columns.map { SeparatedColumn($0, dialect, isOnly: false) }
    defer { withExtendedLifetime(batch) {} }
    var line: [UInt8] = []
    line.append(room: room(columns, 0..<1)) { $0 + write(columns, 0..<1, to: $0) }
    if dialect != .csv {
      line.replaceSubrange(0..<1, with: "\\x\(String(line[0], radix: 16))".utf8)
    } else if line.first != UInt8(ascii: "\"") {
      let end = line.firstIndex { $0 == dialect.separator || $0 == 10 } ?? line.count
      line.insert(UInt8(ascii: "\""), at: end)
      line.insert(UInt8(ascii: "\""), at: 0)
    }
    line.removeLast()
    try output.write(line: line, separator: shownSeparator)
  }

  /// Writes the rows in groups, directly into the output buffer.
  private func writeRows(_ batch: Batch) throws(Failure) {
    let columns = batch.columns.map {
      SeparatedColumn($0, dialect, isOnly: batch.columns.count == 1)
    }
    defer { withExtendedLifetime(batch) {} }
    try output.write(
      rows: batch.rowCount, room: { room(columns, $0) },
      body: { rows, place in write(columns, rows, to: place) },
      apart: { row, room throws(Failure) in try writeApart(columns, row, room: room) })
  }

  /// Writes one row separately, because it does not fit into the buffer or must be made safe for a terminal.
  private func writeApart(_ columns: [SeparatedColumn], _ row: Int, room: Int) throws(Failure) {
    let line = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 16)
    defer { line.deallocate() }
    let count = write(columns, row..<row + 1, to: line.baseAddress!)
    try output.write(
      line: UnsafeRawBufferPointer(rebasing: line[..<(count - 1)]), separator: shownSeparator)
  }

  /// The separator that a terminal shows unchanged; nil if it is safe to print anyway.
  private var shownSeparator: UInt8? { dialect == .csv ? nil : dialect.separator }

  private func room(_ columns: [SeparatedColumn], _ rows: Range<Int>) -> Int {
    // One line end per row, even for tables without columns.
    columns.reduce(rows.count) { $0 + $1.room(for: rows) }
  }

  /// Writes rows into memory with enough room. Returns the number of bytes.
  private func write(
    _ columns: [SeparatedColumn], _ rows: Range<Int>, to place: UnsafeMutableRawPointer
  ) -> Int {
    let separator = dialect.separator
    return columns.withUnsafeBufferPointer { columns in
      var at = place
      for row in rows {
        for index in 0..<columns.count {
          at = columns[index].write(row, to: at)
          at.storeBytes(of: separator, as: UInt8.self)
          at += 1
        }
        // The last separator is replaced by a line end.
        if columns.isEmpty { at += 1 }
        (at - 1).storeBytes(of: 10, as: UInt8.self)
      }
      return at - place
    }
  }
}

extension ColumnBatch {
  /// Whether readers take the start of the first cell as a byte order mark or, in CSV, as a line `sep=;`.
  fileprivate func beginsLikeMark(in dialect: SeparatedFormat.Dialect) -> Bool {
    // `plain` escapes the bytes of such marks.
    guard dialect != .plain, type.isBytes, !isMissing(0) else { return false }
    let marks: [[UInt8]] = [[0xEF, 0xBB, 0xBF], [0xFF, 0xFE], [0xFE, 0xFF]]
    return withBytes(at: 0) { cell in
      marks.contains { cell.starts(with: $0) } || dialect == .csv && cell.starts(with: "sep=".utf8)
    }
  }
}

/// A column of a batch, prepared for writing. It contains only pointers, so that using it costs no reference counting.
/// The batch must live longer.
private struct SeparatedColumn {
  private let dialect: SeparatedFormat.Dialect
  private let type: ColumnType
  private let count: Int
  private let missingCount: Int
  private let layout: ColumnBatch.Layout
  private let offsets: UnsafePointer<Int32>?
  /// The end offset of the text bytes.
  private let end: Int
  /// Whether no text needs quotes or escapes.
  private let isPlain: Bool
  /// The layout of a common column: text without missing cells that is written unchanged or, in CSV, quoted if
  /// necessary.
  private let texts: (offsets: UnsafePointer<Int32>, bytes: UnsafeRawPointer)?
  /// Whether empty cells are quoted. In CSV with a single column, many readers skip an empty line.
  private let isOnly: Bool

  init(_ column: ColumnBatch, _ dialect: SeparatedFormat.Dialect, isOnly: Bool) {
    self.dialect = dialect
    type = column.type
    count = column.count
    missingCount = column.missingCount
    layout = column.withUnsafeLayout { $0 }
    self.isOnly = isOnly && dialect == .csv
    guard column.type.isBytes, column.count > 0 else {
      (offsets, end, isPlain, texts) = (nil, 0, true, nil)
      return
    }
    let offsets = layout.offsets! + layout.start
    self.offsets = offsets
    let (start, end) = (Int(offsets[0]), Int(offsets[column.count]))
    self.end = end
    isPlain = layout.values.map { !Self.needsCare($0 + start, end - start, dialect) } ?? true
    let isCommon =
      type == .text && missingCount == 0 && !self.isOnly && (isPlain || dialect == .csv)
    texts = isCommon ? layout.values.map { (offsets, $0) } : nil
  }

  /// The column, for operations that are rare.
  private var column: ColumnBatch {
    ColumnBatch(
      unsafeLayout: layout, type: type, count: count, missingCount: missingCount, owner: nil)
  }

  /// Whether the bytes of one or several cells need quotes or escapes.
  private static func needsCare(
    _ bytes: UnsafeRawPointer, _ count: Int, _ dialect: SeparatedFormat.Dialect
  ) -> Bool {
    let start = bytes.assumingMemoryBound(to: UInt8.self)
    switch dialect {
    case .csv:
      return tabella_scan_has(start, count, UInt8(ascii: ","), UInt8(ascii: "\""), 10, 13) != 0
    case .tsv:
      return tabella_scan_has(start, count, UInt8(ascii: "\t"), UInt8(ascii: "\\"), 10, 13) != 0
    case .plain:
      let bytes = UnsafeBufferPointer(start: start, count: count)
      // No early exit, so that the compiler can vectorize the loop.
      var needs = false
      for byte in bytes {
        needs = needs || byte &- 0x20 >= 0x5F || byte == UInt8(ascii: "\\")
      }
      return needs
    }
  }

  /// The maximum number of bytes for the cells of some rows, with a separator for each.
  func room(for rows: Range<Int>) -> Int {
    guard let offsets else { return rows.count * (ColumnBatch.longestText + 1) }
    let text = Int(offsets[rows.upperBound] - offsets[rows.lowerBound])
    if type == .binary { return (text + 2 * rows.count) / 3 * 4 + rows.count * 3 }
    // Two quotes and a separator, every quote doubled or every byte escaped, and the slack that fixed-size moves
    // overwrite.
    let longest = isPlain ? 1 : dialect == .plain ? 4 : 2
    return longest * text + rows.count * 3 + Int(TABELLA_SCAN_SLACK)
  }

  /// Writes a cell. Returns the address after it.
  @inline(__always)
  func write(_ row: Int, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    guard let texts else { return writeOther(row, to: place) }
    let start = Int(texts.offsets[row])
    let count = Int(texts.offsets[row &+ 1]) &- start
    let cell = texts.bytes + start
    guard isPlain else { return writeText(cell, count, upTo: end &- start, to: place) }
    if count <= 32, start &+ 32 <= end {
      place.storeBytes(of: cell.loadUnaligned(as: SIMD32<UInt8>.self), as: SIMD32<UInt8>.self)
    } else {
      place.copyMemory(from: cell, byteCount: count)
    }
    return place + count
  }

  private func writeMissing(to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    guard dialect == .plain else { return isOnly ? writeEmpty(to: place) : place }
    place.storeBytes(of: UInt8(ascii: "\\"), as: UInt8.self)
    (place + 1).storeBytes(of: UInt8(ascii: "N"), as: UInt8.self)
    return place + 2
  }

  private func writeEmpty(to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    place.storeBytes(of: 0x2222, as: UInt16.self)
    return place + 2
  }

  /// Writes a cell that is not common: another type, a missing cell, or an empty cell that needs quotes.
  private func writeOther(
    _ row: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if missingCount > 0, column.isMissing(row) { return writeMissing(to: place) }
    switch type {
    case .text:
      let (start, count) = offsets.map { (Int($0[row]), Int($0[row + 1] - $0[row])) } ?? (0, 0)
      if isOnly, count == 0 { return writeEmpty(to: place) }
      guard let bytes = layout.values else { return place }
      return writeText(bytes + start, count, upTo: end - start, to: place)
    case .binary:
      let text = Array(column.withBytes(at: row) { base64($0) }.utf8)
      if text.isEmpty, isOnly { return writeEmpty(to: place) }
      UnsafeMutableRawBufferPointer(start: place, count: text.count).copyBytes(from: text)
      return place + text.count
    default: return place + column.writeText(of: row, to: place)
    }
  }

  /// Writes a text, with quotes or escapes if it needs them. `room` is the number of readable bytes.
  private func writeText(
    _ cell: UnsafeRawPointer, _ count: Int, upTo room: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if dialect == .csv, count &+ Int(TABELLA_SCAN_SLACK) <= room {
      return place
        + tabella_scan_quote(
          cell.assumingMemoryBound(to: UInt8.self), count,
          place.assumingMemoryBound(to: UInt8.self))
    }
    guard Self.needsCare(cell, count, dialect) else {
      place.copyMemory(from: cell, byteCount: count)
      return place + count
    }
    let bytes = UnsafeRawBufferPointer(start: cell, count: count)
    var writer = Writer(at: place)
    switch dialect {
    case .csv: writer.putQuoted(bytes)
    case .tsv: for byte in bytes { writer.putEscaped(byte) }
    case .plain: writer.putSafe(bytes)
    }
    return writer.at
  }
}

/// Appends bytes to memory with enough room.
private struct Writer {
  var at: UnsafeMutableRawPointer

  init(at place: UnsafeMutableRawPointer) { at = place }

  private mutating func put(_ byte: UInt8) {
    at.storeBytes(of: byte, as: UInt8.self)
    at += 1
  }

  /// Writes the bytes in quotes, with doubled inner quotes (RFC 4180, 2.7).
  mutating func putQuoted(_ bytes: UnsafeRawBufferPointer) {
    let quote = UInt8(ascii: "\"")
    put(quote)
    for byte in bytes {
      if byte == quote { put(byte) }
      put(byte)
    }
    put(quote)
  }

  mutating func putEscaped(_ byte: UInt8) {
    let letter: UInt8? =
      switch byte {
      case 9: UInt8(ascii: "t")
      case 10: UInt8(ascii: "n")
      case 13: UInt8(ascii: "r")
      case UInt8(ascii: "\\"): byte
      default: nil
      }
    if letter != nil { put(UInt8(ascii: "\\")) }
    put(letter ?? byte)
  }

  /// Writes printable characters unchanged, and the bytes of all others as `\xff`.
  mutating func putSafe(_ bytes: UnsafeRawBufferPointer) {
    var index = 0
    while index < bytes.count {
      let found = decodeScalar(bytes, index)
      let end = index + (found?.length ?? 1)
      let isSafe = found.map { !$0.scalar.isUnsafeToPrint } ?? false
      for byte in bytes[index..<end] {
        let hasLetter = byte == 9 || byte == 10 || byte == 13
        if isSafe || hasLetter { putEscaped(byte) } else { putCode(byte) }
      }
      index = end
    }
  }

  private mutating func putCode(_ byte: UInt8) {
    put(UInt8(ascii: "\\"))
    put(UInt8(ascii: "x"))
    for half in [byte >> 4, byte & 15] {
      put(half < 10 ? half + UInt8(ascii: "0") : half - 10 + UInt8(ascii: "a"))
    }
  }
}

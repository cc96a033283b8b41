import CTabellaScan
import Tabella
import TabellaTerminal

/// CSV as RFC 4180 has it, but with LF: cells are quoted only where they must be, and their bytes are
/// written as they are.
struct CSVFormat: Format {
  private let output: Output

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    guard table.hasHeader, !table.columns.isEmpty else { return }
    let builder = BatchBuilder(table.columns.map { _ in .text })
    for (cells, column) in zip(builder.columns, table.columns) { cells.append(column.name) }
    try write(builder.finish())
  }

  mutating func beginSection(_ section: ShownSection) {}
  mutating func endSection(_ section: ShownSection) {}
  mutating func end(failure: Failure?) {}

  mutating func write(_ rows: ShownRows) throws(Failure) { try write(rows.batch) }

  /// Writes the rows some at a time, in the place that they are sent from.
  private func write(_ batch: Batch) throws(Failure) {
    let columns = batch.columns.map { CSVColumn($0, isOnly: batch.columns.count == 1) }
    var first = 0
    while first < batch.rowCount {
      var rows = first..<min(first + 64, batch.rowCount)
      while rows.count > 1, room(columns, rows) > Output.room {
        rows = first..<first + rows.count / 2
      }
      let room = room(columns, rows)
      if output.isTerminal || room > Output.room {
        try withExtendedLifetime(batch) { () throws(Failure) in
          try writeApart(columns, first, room: room)
        }
        first += 1
      } else {
        try output.write(room: room) { place in
          withExtendedLifetime(batch) { write(columns, rows, to: place) }
        }
        first = rows.upperBound
      }
    }
  }

  /// Writes one row that does not fit into the buffer, or must be made safe to look at.
  private func writeApart(_ columns: [CSVColumn], _ row: Int, room: Int) throws(Failure) {
    let line = UnsafeMutableRawBufferPointer.allocate(byteCount: room, alignment: 16)
    defer { line.deallocate() }
    let count = write(columns, row..<row + 1, to: line.baseAddress!)
    let bytes = UnsafeRawBufferPointer(rebasing: line[..<count])
    guard output.isTerminal else { return try output.write(bytes) }
    try output.write(SafeText(bytes: UnsafeRawBufferPointer(rebasing: bytes.dropLast())))
    try output.write("\n")
  }

  private func room(_ columns: [CSVColumn], _ rows: Range<Int>) -> Int {
    // A line end a row, for tables without a column too.
    columns.reduce(rows.count) { $0 + $1.room(for: rows) }
  }

  /// Writes rows to a place that has room for them, and returns how many bytes that took.
  private func write(
    _ columns: [CSVColumn], _ rows: Range<Int>, to place: UnsafeMutableRawPointer
  ) -> Int {
    columns.withUnsafeBufferPointer { columns in
      var at = place
      for row in rows {
        for index in 0..<columns.count {
          at = columns[index].write(row, to: at)
          at.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
          at += 1
        }
        // The last comma becomes the end of the line.
        if columns.isEmpty { at += 1 }
        (at - 1).storeBytes(of: 10, as: UInt8.self)
      }
      return at - place
    }
  }
}

/// A column of a batch, made ready to be written: pointers only, so that to use it costs no counting of
/// references. The batch must live longer.
private struct CSVColumn {
  private let type: ColumnType
  private let count: Int
  private let missingCount: Int
  private let layout: ColumnBatch.Layout
  private let offsets: UnsafePointer<Int32>?
  /// Where the bytes of the text end.
  private let end: Int
  /// Whether no cell needs quotes.
  private let isPlain: Bool
  /// Whether it is the only one: then an empty cell is quoted, because an empty line is no row to
  /// many readers.
  private let isOnly: Bool

  init(_ column: ColumnBatch, isOnly: Bool) {
    type = column.type
    count = column.count
    missingCount = column.missingCount
    layout = column.withUnsafeLayout { $0 }
    self.isOnly = isOnly
    guard column.type.isBytes, column.count > 0 else {
      (offsets, end, isPlain) = (nil, 0, true)
      return
    }
    let offsets = layout.offsets! + layout.start
    self.offsets = offsets
    let (start, end) = (Int(offsets[0]), Int(offsets[column.count]))
    self.end = end
    isPlain = layout.values.map { !CSVColumn.needsQuotes($0 + start, end - start) } ?? true
  }

  /// The column, for what is not done often.
  private var column: ColumnBatch {
    ColumnBatch(
      unsafeLayout: layout, type: type, count: count, missingCount: missingCount, owner: nil)
  }

  private static func needsQuotes(_ bytes: UnsafeRawPointer, _ count: Int) -> Bool {
    tabella_scan_has(
      bytes.assumingMemoryBound(to: UInt8.self), count, UInt8(ascii: ","), UInt8(ascii: "\""), 10,
      13) != 0
  }

  /// How many bytes the cells of some rows and a separator for each may take at most.
  func room(for rows: Range<Int>) -> Int {
    guard let offsets else { return rows.count * (ColumnBatch.longestText + 1) }
    let text = Int(offsets[rows.upperBound] - offsets[rows.lowerBound])
    if type == .binary { return (text + 2 * rows.count) / 3 * 4 + rows.count * 3 }
    // Two quotes and a separator, every quote doubled, and what a move of fixed size overwrites.
    return (isPlain ? text : 2 * text) + rows.count * 3 + 32
  }

  /// Writes a cell and returns the place behind it.
  @inline(__always)
  func write(_ row: Int, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if missingCount > 0, column.isMissing(row) { return isOnly ? writeEmpty(to: place) : place }
    guard type == .text, let offsets, let bytes = layout.values else {
      return writeOther(row, to: place)
    }
    let start = Int(offsets[row])
    let count = Int(offsets[row + 1]) - start
    if isOnly, count == 0 { return writeEmpty(to: place) }
    guard isPlain else { return writeText(bytes + start, count, to: place) }
    if count <= 32, start + 32 <= end {
      place.storeBytes(
        of: (bytes + start).loadUnaligned(as: SIMD32<UInt8>.self), as: SIMD32<UInt8>.self)
    } else {
      place.copyMemory(from: bytes + start, byteCount: count)
    }
    return place + count
  }

  private func writeEmpty(to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    place.storeBytes(of: 0x2222, as: UInt16.self)
    return place + 2
  }

  private func writeOther(
    _ row: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    switch type {
    case .text: return isOnly ? writeEmpty(to: place) : place
    case .binary:
      let text = Array(column.withBytes(at: row) { base64($0) }.utf8)
      if text.isEmpty, isOnly { return writeEmpty(to: place) }
      UnsafeMutableRawBufferPointer(start: place, count: text.count).copyBytes(from: text)
      return place + text.count
    default: return place + column.writeText(of: row, to: place)
    }
  }

  private func writeText(
    _ cell: UnsafeRawPointer, _ count: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    guard CSVColumn.needsQuotes(cell, count) else {
      place.copyMemory(from: cell, byteCount: count)
      return place + count
    }
    var at = place
    func put(_ byte: UInt8) {
      at.storeBytes(of: byte, as: UInt8.self)
      at += 1
    }
    put(UInt8(ascii: "\""))
    for index in 0..<count {
      let byte = cell.load(fromByteOffset: index, as: UInt8.self)
      if byte == UInt8(ascii: "\"") { put(byte) }
      put(byte)
    }
    put(UInt8(ascii: "\""))
    return at
  }
}

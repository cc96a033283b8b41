import Tabella

extension ShownRows {
  /// The columns of the batch as JSON.
  func json(of table: ShownTable) -> JSONColumns { JSONColumns(table.columns, batch) }

  /// The columns of the batch as typed values: text that reads as numbers, booleans or dates becomes these.
  func values(of table: ShownTable) -> [ColumnBatch] {
    zip(table.columns, batch.columns).map { $0.values(of: $1) }
  }
}

/// The cells of a batch as JSON. It keeps their memory alive; its columns only point into it.
struct JSONColumns {
  private let cells: Batch
  private let values: Batch
  private let columns: [JSONColumn]

  init(_ columns: [Column], _ batch: Batch) {
    cells = batch
    values = Batch(
      rowCount: batch.rowCount,
      columns: zip(columns, batch.columns).map { $0.values(of: $1) }, isUTF8: batch.isUTF8)
    self.columns = zip(columns, zip(cells.columns, values.columns)).map {
      JSONColumn($0, cells: $1.0, values: $1.1, isUTF8: batch.isUTF8)
    }
  }

  /// The number of bytes that the rows need at most, each with text of `extra` bytes.
  func room(for rows: Range<Int>, extra: Int) -> Int {
    columns.reduce(rows.count * extra) { $0 + $1.room(for: rows) }
  }

  /// Writes rows into memory with enough room. `begin` is called in front of each row and each cell, which has a number,
  /// `end` after each row. They return the place after what they write. Returns the place after the rows.
  @inline(__always)
  func write(
    _ rows: Range<Int>, to place: UnsafeMutableRawPointer,
    beforeCell begin: (Int, UnsafeMutableRawPointer) -> UnsafeMutableRawPointer,
    afterRow end: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    withExtendedLifetime((cells, values)) {
      columns.withUnsafeBufferPointer { columns in
        var at = place
        for row in rows {
          for index in 0..<columns.count {
            at = columns[index].write(row, to: begin(index, at))
          }
          at = end(at)
        }
        return at
      }
    }
  }
}

/// The cells of a column as JSON. Text is a string, a missing cell is null, and bytes that are not UTF-8 are
/// `{"base64": …}`.
///
/// Text that reads as numbers, booleans or dates becomes these. A cell without such a value keeps its text, and so does
/// a date that states a time without a zone: only a zone makes it a moment.
private struct JSONColumn {
  /// The most bytes of a cell that is no text, and of what surrounds one.
  private static let shortRoom = ColumnBatch.longestText + 16

  private let values: Part
  /// The cells of the source, if they are text that reads as another type.
  private let text: Part?
  private let readsDates: Bool

  init(_ column: Column, cells: ColumnBatch, values: ColumnBatch, isUTF8: Bool) {
    self.values = Part(values, isUTF8: isUTF8)
    text = values.type == cells.type ? nil : Part(cells, isUTF8: isUTF8)
    readsDates = column.reads == .date
  }

  /// Cells of one type. It contains only pointers, so that using it costs no reference counting.
  private struct Part {
    let isUTF8: Bool
    private let (type, count, missingCount): (ColumnType, Int, Int)
    private let layout: ColumnBatch.Layout
    /// The end offset of the text bytes.
    private let end: Int
    /// The layout of a common column: text without missing cells.
    private let texts: (offsets: UnsafePointer<Int32>, bytes: UnsafeRawPointer)?

    init(_ column: ColumnBatch, isUTF8: Bool) {
      let layout = column.withUnsafeLayout { $0 }
      self.layout = layout
      (type, count, missingCount) = (column.type, column.count, column.missingCount)
      let offsets = column.type.isBytes ? layout.offsets.map { $0 + layout.start } : nil
      end = offsets.map { Int($0[column.count]) } ?? 0
      // The promise does not cover the bytes of missing cells, which are not written.
      let isReadable = isUTF8 || column.type == .text && column.isUTF8
      self.isUTF8 = isReadable
      texts =
        column.type == .text && column.missingCount == 0 && isReadable
        ? offsets.flatMap { offsets in layout.values.map { (offsets, $0) } } : nil
    }

    /// The cells, for operations that are rare.
    var cells: ColumnBatch {
      ColumnBatch(
        unsafeLayout: layout, type: type, count: count, missingCount: missingCount, owner: nil)
    }

    func room(for rows: Range<Int>) -> Int {
      let offsets = type.isBytes ? layout.offsets.map { $0 + layout.start } : nil
      let size = offsets.map { Int($0[rows.upperBound] - $0[rows.lowerBound]) } ?? 0
      return JSONValue.room(forStrings: rows.count, bytes: size) + rows.count * shortRoom
    }

    /// The number of bytes that can be read from the start of a cell on.
    func readable(_ row: Int) -> Int {
      layout.offsets.map { end - Int($0[layout.start + row]) } ?? 0
    }

    /// Writes a cell of a common column; nil if the column is not common.
    @inline(__always)
    func writeCommon(_ row: Int, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
      guard let texts else { return nil }
      let start = Int(texts.offsets[row])
      let text = UnsafeRawBufferPointer(
        start: texts.bytes + start, count: Int(texts.offsets[row &+ 1]) &- start)
      return JSONValue.write(string: text, readable: end &- start, to: place)
    }
  }

  func room(for rows: Range<Int>) -> Int { (text ?? values).room(for: rows) }

  @inline(__always)
  func write(_ row: Int, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    if text == nil, let end = values.writeCommon(row, to: place) { return end }
    return writeOther(row, to: place)
  }

  @inline(never)
  private func writeOther(
    _ row: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    if let text, keepsText(text.cells, row) { return JSONColumn.write(text, row, to: place) }
    return JSONColumn.write(values, row, to: place)
  }

  private func keepsText(_ cells: ColumnBatch, _ row: Int) -> Bool {
    guard !cells.isMissing(row) else { return false }
    return cells.withBytes(at: row) { bytes in
      !bytes.isEmpty
        && (values.cells.isMissing(row) || readsDates && Timestamp(rfc3339: bytes) == nil)
    }
  }

  private static func write(
    _ part: Part, _ row: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let cells = part.cells
    if cells.isMissing(row) { return write("null", to: place) }
    switch cells.type {
    case .text:
      return cells.withBytes(at: row) { bytes in
        part.isUTF8 || bytes.isUTF8
          ? JSONValue.write(string: bytes, readable: part.readable(row), to: place)
          : write(base64: bytes, to: place)
      }
    case .binary: return cells.withBytes(at: row) { write(base64: $0, to: place) }
    case .date:
      let end = write(text: cells, row, to: write("\"", to: place))
      return write("\"", to: end)
    case .real where !cells.real(row).isFinite:
      // JSON has neither NaN nor infinity.
      return write("null", to: place)
    case .real, .integer, .boolean: return write(text: cells, row, to: place)
    }
  }

  private static func write(
    text cells: ColumnBatch, _ row: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    place + cells.writeText(of: row, to: place)
  }

  private static func write(
    base64 bytes: UnsafeRawBufferPointer, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let text = Array("{\"base64\":\"\(base64(bytes))\"}".utf8)
    UnsafeMutableRawBufferPointer(start: place, count: text.count).copyBytes(from: text)
    return place + text.count
  }

  private static func write(
    _ text: StaticString, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    place.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
    return place + text.utf8CodeUnitCount
  }
}

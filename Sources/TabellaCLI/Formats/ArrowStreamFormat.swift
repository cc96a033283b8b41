import Tabella

/// An Apache Arrow IPC stream: a schema, one record batch for each batch of rows, and an end marker.
///
/// Batches already have Arrow's layout, so most bytes are written without copying.
struct ArrowStreamFormat: Format {
  private var output: Output
  private var table: ShownTable?
  private var rowCount = 0

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    guard !output.isTerminal else {
      throw .usage(
        "--format arrow-stream is binary, and the output is a terminal; redirect it to a file or a program",
        command: "export")
    }
    self.table = table
    try output.write(data: ArrowMessages.schema(table.columns))
  }

  mutating func end(failure: Failure?) throws(Failure) {
    try output.write(data: ArrowMessages.endOfStream)
  }

  func writer(to output: Output) -> (any Format)? {
    var copy = self
    (copy.output, copy.rowCount) = (output, 0)
    return copy
  }

  var showsBatches: Bool { true }

  mutating func noteWritten(rows: Int) { rowCount += rows }

  /// Writes rows. Arrow requires UTF-8, so the first row with other text ends the stream and the command.
  mutating func write(_ rows: ShownRows) throws(Failure) {
    let values = table.map { rows.values(of: $0) } ?? []
    let (batch, wrong) = ArrowStreamFormat.readable(
      Batch(rowCount: rows.batch.rowCount, columns: values, isUTF8: rows.batch.isUTF8))
    try send(batch)
    rowCount += batch.rowCount
    guard let wrong, let table else { return }
    try end(failure: nil)
    throw Failure(
      status: .failed, subject: table.table.subject, code: "constraint",
      message:
        "row \(rowCount), counted from 0, has text in column \"\(table.columns[wrong].name)\" that is not UTF-8, which Arrow does not allow: only the rows before it are written; use --format csv or --format jsonl for any bytes, or read the file with -o encoding, as in -o encoding=latin1"
    )
  }

  /// The rows in front of the first one with text that is not UTF-8, and the column of that text; nil if there is none.
  private static func readable(_ batch: Batch) -> (Batch, wrong: Int?) {
    var columns = batch.columns
    var end = batch.rowCount
    var wrong: Int?
    for (number, column) in batch.columns.enumerated() where column.type == .text {
      if batch.isUTF8 && column.missingCount == 0 { continue }
      let (text, row) = column.asUTF8
      if let row, row < end { (end, wrong) = (row, number) }
      columns[number] = text
    }
    let readable = Batch(rowCount: batch.rowCount, columns: columns)
    return (end == batch.rowCount ? readable : readable[0..<end], wrong)
  }

  private func send(_ batch: Batch) throws(Failure) {
    guard batch.rowCount > 0 else { return }
    let buffers = batch.columns.flatMap(ArrowBuffer.buffers)
    var places: [(offset: Int, length: Int)] = []
    var length = 0
    for buffer in buffers {
      places.append((length, buffer.length))
      length += buffer.length.padded
    }
    try output.write(
      data: ArrowMessages.recordBatch(
        rowCount: batch.rowCount, nodes: batch.columns.map { ($0.count, $0.missingCount) },
        buffers: places, bodyLength: length))
    try withExtendedLifetime(batch) { () throws(Failure) in
      for buffer in buffers {
        try buffer.write(to: output)
        try output.write(data: [UInt8](repeating: 0, count: buffer.length.padded - buffer.length))
      }
    }
  }
}

/// A buffer of a record batch. It points into the batch, which must live longer.
private enum ArrowBuffer {
  case bytes(UnsafeRawBufferPointer)
  /// `count` bits, beginning at the bit `start`.
  case bits(UnsafePointer<UInt8>, start: Int, count: Int)
  /// Offsets, which are written relative to the first one.
  case offsets(UnsafeBufferPointer<Int32>)

  /// The buffers of a column, in Arrow's order.
  static func buffers(of column: ColumnBatch) -> [ArrowBuffer] {
    column.withUnsafeLayout { layout in
      // Without missing cells, Arrow needs no validity bits.
      var buffers: [ArrowBuffer] = [.bytes(UnsafeRawBufferPointer(start: nil, count: 0))]
      if column.missingCount > 0, let validity = layout.validity {
        buffers = [.bits(validity, start: layout.start, count: column.count)]
      }
      switch column.type {
      case .text, .binary:
        let offsets = UnsafeBufferPointer(
          start: layout.offsets! + layout.start, count: column.count + 1)
        let (begin, end) = (Int(offsets[0]), Int(offsets[column.count]))
        buffers += [.offsets(offsets), .bytes(bytes(layout.values, begin..<end))]
      case .boolean:
        let bits = layout.values!.assumingMemoryBound(to: UInt8.self)
        buffers.append(.bits(bits, start: layout.start, count: column.count))
      case .integer, .real, .date:
        let cells = layout.start * 8..<(layout.start + column.count) * 8
        buffers.append(.bytes(bytes(layout.values, cells)))
      }
      return buffers
    }
  }

  private static func bytes(
    _ start: UnsafeRawPointer?, _ range: Range<Int>
  ) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: start.map { $0 + range.lowerBound }, count: start == nil ? 0 : range.count)
  }

  /// The length in bytes, without padding.
  var length: Int {
    switch self {
    case .bytes(let bytes): bytes.count
    case .bits(_, _, let count): (count + 7) / 8
    case .offsets(let offsets): offsets.count * 4
    }
  }

  func write(to output: Output) throws(Failure) {
    switch self {
    case .bytes(let bytes): try output.write(data: bytes)
    case .bits(let bits, let start, let count):
      try writeParts(of: length, to: output) { part, place in
        ArrowBuffer.copy(bits, start: start, count: count, bytes: part, to: place)
      }
    case .offsets(let offsets):
      let first = offsets[0]
      guard first != 0 else { return try output.write(data: UnsafeRawBufferPointer(offsets)) }
      try writeParts(of: length, to: output) { part, place in
        let place = place.assumingMemoryBound(to: Int32.self)
        let offsets = offsets[(part.lowerBound / 4)..<(part.upperBound / 4)]
        for (index, offset) in offsets.enumerated() { place[index] = offset - first }
      }
    }
  }

  /// Writes the buffer in chunks. `body` fills each chunk. All chunks but the last have a multiple of 8 bytes.
  private func writeParts(
    of length: Int, to output: Output, _ body: (Range<Int>, UnsafeMutableRawPointer) -> Void
  ) throws(Failure) {
    var first = 0
    while first < length {
      let part = first..<min(first + Output.room, length)
      try output.write(room: part.count) { place in
        body(part, place)
        return part.count
      }
      first = part.upperBound
    }
  }

  /// Copies a range of bytes of a bit sequence that begins at the bit `start`. Bits after the last are 0.
  private static func copy(
    _ bits: UnsafePointer<UInt8>, start: Int, count: Int, bytes: Range<Int>,
    to place: UnsafeMutableRawPointer
  ) {
    let source = bits + (start >> 3)
    let shift = UInt8(start & 7)
    // The byte with the last bit. The bytes after it must not be read.
    let last = ((start & 7) + count - 1) >> 3
    for byte in bytes {
      var value = source[byte] >> shift
      if shift > 0, byte < last { value |= source[byte + 1] << (8 - shift) }
      let left = count - byte * 8
      if left < 8 { value &= (1 << UInt8(left)) - 1 }
      place.storeBytes(of: value, toByteOffset: byte - bytes.lowerBound, as: UInt8.self)
    }
  }
}

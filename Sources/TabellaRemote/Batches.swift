import Tabella

// Batches are sent in their memory layout: a head with the length of each run of memory, followed by the runs.

/// A message with a batch after `head`.
func outgoing(_ batch: Batch, behind head: [UInt8]) -> OutgoingMessage {
  var writer = WireWriter()
  writer.put(batch.rowCount)
  writer.put(batch.isUTF8)
  writer.put(batch.ids != nil)
  let columns = batch.columns + (batch.ids.map { [$0] } ?? [])
  let runs = columns.map { ColumnRuns($0) }
  writer.put(word: UInt64(columns.count))
  for (column, runs) in zip(columns, runs) {
    writer.put(column.type)
    writer.put(column.missingCount)
    writer.put(runs.validity != nil)
    writer.put(runs.values.count)
  }
  var message = OutgoingMessage(head + writer.bytes)
  for runs in runs {
    if let validity = runs.validity { message.runs.append(validity) }
    if let offsets = runs.offsets { message.runs.append(offsets) }
    message.runs.append(runs.values)
    message.owners += runs.owners
  }
  return message
}

/// The memory of one column, starting with its first cell.
private struct ColumnRuns {
  var validity: UnsafeRawBufferPointer?
  var offsets: UnsafeRawBufferPointer?
  var values = UnsafeRawBufferPointer(start: nil, count: 0)
  var owners: [AnyObject]

  init(_ column: ColumnBatch) {
    owners = [ColumnOwner(column)]
    let count = column.count
    guard count > 0 else { return }
    column.withUnsafeLayout { layout in
      if column.missingCount > 0, let bits = layout.validity {
        validity = bitRun(UnsafeRawPointer(bits), layout.start, count)
      }
      if column.type.isBytes {
        putBytes(layout, count)
      } else if column.type == .boolean {
        values = bitRun(layout.values!, layout.start, count)
      } else {
        values = UnsafeRawBufferPointer(
          start: layout.values! + layout.start * 8, count: count * 8)
      }
    }
  }

  private mutating func putBytes(_ layout: ColumnBatch.Layout, _ count: Int) {
    let first = layout.offsets![layout.start]
    let length = Int(layout.offsets![layout.start + count] - first)
    if length > 0 {
      values = UnsafeRawBufferPointer(start: layout.values! + Int(first), count: length)
    }
    if first == 0 {
      offsets = UnsafeRawBufferPointer(
        start: layout.offsets! + layout.start, count: (count + 1) * 4)
      return
    }
    let copy = IncomingMessage(count: (count + 1) * 4)
    copy.storage.withMemoryRebound(to: Int32.self) { copy in
      for cell in 0...count { copy[cell] = layout.offsets![layout.start + cell] - first }
    }
    offsets = copy.bytes
    owners.append(copy)
  }

  /// A run of bits that begins with the bit `start`.
  private mutating func bitRun(
    _ bits: UnsafeRawPointer, _ start: Int, _ count: Int
  ) -> UnsafeRawBufferPointer {
    if start & 7 == 0 {
      return UnsafeRawBufferPointer(start: bits + start >> 3, count: (count + 7) >> 3)
    }
    let copy = IncomingMessage(count: (count + 7) >> 3)
    for byte in 0..<copy.count {
      let bit = start + byte * 8
      var value = bits.load(fromByteOffset: bit >> 3, as: UInt8.self) >> UInt8(bit & 7)
      // The next byte is read only if one of its bits is needed.
      if (bit | 7) + 1 < start + count {
        value |= bits.load(fromByteOffset: bit >> 3 + 1, as: UInt8.self) << UInt8(8 - bit & 7)
      }
      copy.storage[byte] = value
    }
    owners.append(copy)
    return copy.bytes
  }
}

/// Keeps a column's memory alive.
private final class ColumnOwner {
  let column: ColumnBatch

  init(_ column: ColumnBatch) { self.column = column }
}

/// Reads the number of rows from the head of a batch.
func batchRowCount(_ reader: inout WireReader) throws(TableError) -> Int {
  let rows = try reader.get(Int.self)
  guard 0...Int(Int32.max) ~= rows else { throw .malformed("a batch has \(rows) rows") }
  return rows
}

/// Reads the batch in a message. Checks that its runs are inside the message.
///
/// The cells are not checked. Call ``Batch/validate(answering:of:)`` before reading any cell.
func incomingBatch(
  _ reader: inout WireReader, in message: IncomingMessage
) throws(TableError) -> Batch {
  let rows = try batchRowCount(&reader)
  let (isUTF8, hasIDs) = (try reader.get(Bool.self), try reader.get(Bool.self))
  struct Head {
    var type: ColumnType
    var missing: Int
    var hasValidity: Bool
    var length: Int
  }
  var heads: [Head] = []
  for _ in 0..<(try reader.count()) {
    heads.append(
      Head(
        type: try reader.get(ColumnType.self), missing: try reader.get(Int.self),
        hasValidity: try reader.get(Bool.self), length: try reader.get(Int.self)))
  }
  var columns: [ColumnBatch] = []
  for head in heads {
    let isBytes = head.type.isBytes
    let length = head.type == .boolean ? (rows + 7) >> 3 : rows * 8
    guard isBytes ? 0...Int(Int32.max) ~= head.length : head.length == length else {
      throw .malformed("a column has \(head.length) bytes for \(rows) rows")
    }
    let validity = head.hasValidity ? try reader.aligned((rows + 7) >> 3) : nil
    var offsets: UnsafePointer<Int32>?
    if isBytes, rows > 0 {
      offsets = try reader.aligned((rows + 1) * 4)?.assumingMemoryBound(to: Int32.self)
    }
    let values = try reader.aligned(head.length)
    // The validation requires that offsets begin at 0 or later and never decrease. Together with this check, no
    // cell can be outside the message.
    if let offsets, offsets[rows] < 0 || offsets[rows] > head.length {
      throw .malformed("the cells of a column end at \(offsets[rows]) of \(head.length) bytes")
    }
    columns.append(
      ColumnBatch(
        unsafeLayout: ColumnBatch.Layout(
          validity: validity?.assumingMemoryBound(to: UInt8.self), values: values,
          offsets: offsets),
        type: head.type, count: rows, missingCount: head.missing, owner: message))
  }
  var ids: ColumnBatch?
  if hasIDs {
    guard let last = columns.popLast() else { throw .malformed("a batch has no column of ids") }
    ids = last
  }
  return Batch(rowCount: rows, columns: columns, ids: ids, isUTF8: isUTF8)
}

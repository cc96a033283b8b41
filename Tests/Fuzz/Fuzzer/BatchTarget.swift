import CTabella
import Glibc
import Tabella

@testable import TabellaBridge
@testable import TabellaRemote

/// Fuzzes the import of batches and their validator: Arrow arrays with arbitrary numbers, over memory of the stated length.
///
/// Arrow's structs do not contain the lengths of buffers, so no validator can detect one that is too short. It
/// must detect everything else. The target reads an accepted batch cell by cell, whole and in parts, and compares
/// it with a naive reading. The batch must pass the contract and a worker's message unchanged. Every batch is
/// released once, accepted or not.
struct BatchTarget: FuzzTarget {
  static let name = "batches"
  static let inputLimit = 1024

  func run(_ input: UnsafeRawBufferPointer) -> Int {
    var reader = InputReader(input)
    let drawn = DrawnBatch(&reader)
    let cells: Int
    do throws(TableError) {
      let batch = try importBatch(
        drawn.take(), answering: drawn.request, of: drawn.columns, drawn.witness)
      try batch.validate(answering: drawn.request, of: drawn.columns)
      cells = accept(batch, drawn)
    } catch {
      sink &+= UInt64(error.message.utf8.count)
      cells = 0
    }
    require(drawn.releases == 1, "released \(drawn.releases) times")
    return cells
  }

  /// Reads an accepted batch. Returns the number of its cells and rows.
  private func accept(_ batch: Batch, _ drawn: DrawnBatch) -> Int {
    readCells(batch)
    require(batch.rowCount <= drawn.request.count, "more rows than were asked for")
    let all = drawn.naive(0..<batch.rowCount, of: batch)
    require(cells(batch) == all, "cells that read otherwise")
    let part = batch.rowCount / 3..<batch.rowCount - batch.rowCount / 4
    require(cells(batch[part]) == drawn.naive(part, of: batch), "a part that reads otherwise")
    require(cells(throughContract(batch, drawn)) == all, "another batch behind the contract")
    require(
      cells(throughMessage(batch[part], drawn)) == drawn.naive(part, of: batch),
      "another batch in a message")
    return batch.rowCount * (1 + all.count)
  }

  private func cells(_ batch: Batch) -> [[Cell]] {
    (batch.columns + (batch.ids.map { [$0] } ?? [])).map { column in
      (0..<column.count).map { column[$0].comparable }
    }
  }

  private func throughContract(_ batch: Batch, _ drawn: DrawnBatch) -> Batch {
    var raw = tabella_batch()
    exportBatch(batch, to: &raw)
    guard
      let again = try? importBatch(
        raw, answering: drawn.request, of: drawn.columns, drawn.witness),
      (try? again.validate(answering: drawn.request, of: drawn.columns)) != nil
    else { fatalError("what was accepted is refused behind the contract") }
    return again
  }

  private func throughMessage(_ batch: Batch, _ drawn: DrawnBatch) -> Batch {
    let message = incoming(outgoing(batch, behind: []).flat)
    var reader = WireReader(message.bytes)
    do throws(TableError) {
      let again = try incomingBatch(&reader, in: message)
      try reader.end()
      try again.validate(answering: drawn.request, of: drawn.columns)
      return again
    } catch {
      fatalError("what was accepted is refused in a message: \(error.message)")
    }
  }

  func seeds() -> [Seed] {
    // The head of a column in the order of `DrawnColumn`: type, start, null count, flags, shift, spread.
    func column(_ type: UInt8, start: UInt8 = 0, missing: UInt8 = 0, flags: UInt8 = 0) -> [UInt8] {
      [type, start, missing, flags, 0, 0, 0, 0]
    }
    // Printable bytes, which are steps of 1 to 3 as offsets.
    let data = (0..<200).map { UInt8(0x31 + $0 % 3) }
    return [
      Seed(name: "empty", bytes: [0, 3, 0, 0], reaches: 0),
      Seed(name: "rows-only", bytes: [9, 9, 0, 0], reaches: 9),
      Seed(name: "integers", bytes: [4, 8, 1, 0] + column(1) + data, reaches: 8),
      Seed(name: "dates", bytes: [4, 8, 1, 0] + column(4, start: 3) + data, reaches: 8),
      Seed(name: "booleans", bytes: [11, 16, 1, 0] + column(3, start: 5) + data, reaches: 22),
      Seed(
        name: "missing",
        bytes: [9, 9, 2, 0] + column(2, start: 2, missing: 1, flags: 1)
          + column(3, missing: 1, flags: 1) + data, reaches: 27),
      Seed(
        name: "text",
        bytes: [6, 9, 2, 1] + column(0, flags: 16) + column(5, start: 2, flags: 16)
          + data, reaches: 18),
      Seed(
        name: "ids", bytes: [5, 9, 1, 2] + column(1) + column(5, flags: 16) + data, reaches: 15),
    ]
  }
}

extension Cell {
  /// The same cell, except that NaN equals itself.
  fileprivate var comparable: Cell {
    if case .real(let value) = self { .integer(Int64(bitPattern: value.bitPattern)) } else { self }
  }
}

/// A batch such as a provider could return, drawn from an input.
private final class DrawnBatch {
  let request: RowRequest
  let columns: [Column]
  let witness = ReleaseWitness()
  private(set) var releases = 0
  private var raw = tabella_batch()
  private var drawn: [DrawnColumn] = []
  private let memory = DrawnMemory()

  init(_ input: inout InputReader) {
    let (rows, most, width, flags) = (input.byte(), input.byte(), input.byte() & 3, input.byte())
    let includesIDs = flags & 2 != 0
    let count = Int(width) + (includesIDs ? 1 : 0)
    let length = DrawnBatch.number(Int(rows), flags >> 5, of: Int(rows))
    // The validator never reads memory for more rows than the host requested.
    let used = (0...Int(most)).contains(length) ? length : 0
    var heads = (0..<count).map { _ in DrawnColumn.Head(&input, count: length) }
    if includesIDs { heads[count - 1].type = .binary }
    for head in heads { drawn.append(DrawnColumn(head, used, &input, memory)) }
    columns = heads.prefix(Int(width)).map { Column("c", $0.type) }
    request = RowRequest(
      first: 0, count: Int(most), columns: Array(0..<Int(width)), includesIDs: includesIDs)
    fill(length, flags)
  }

  private func fill(_ length: Int, _ flags: UInt8) {
    let children = memory.list(of: drawn.map { $0.isNull ? nil : memory.copy(of: $0.array) })
    raw.flags = UInt64(flags & 1)
    raw.array = ArrowArray(
      length: Int64(length), null_count: flags & 4 != 0 ? -1 : 0, offset: flags & 8 != 0 ? 1 : 0,
      n_buffers: 1, n_children: Int64(drawn.count) - (flags & 16 != 0 ? 1 : 0), buffers: nil,
      children: children, dictionary: nil,
      release: { array in
        Unmanaged<DrawnBatch>.fromOpaque(array.pointee.private_data!)
          ._withUnsafeGuaranteedRef { $0.releases += 1 }
        array.pointee.release = nil
      }, private_data: Unmanaged.passUnretained(self).toOpaque())
  }

  /// Returns the batch. The caller owns it.
  func take() -> tabella_batch { raw }

  /// The cells of some rows, read directly from the input.
  func naive(_ rows: Range<Int>, of batch: Batch) -> [[Cell]] {
    drawn.enumerated().map { index, column in
      let type = index < columns.count ? columns[index].type : .binary
      return rows.map { column.cell($0, as: type) }
    }
  }

  /// A number, or a boundary value instead.
  static func number(_ value: Int, _ choice: UInt8, of count: Int) -> Int {
    switch choice & 7 {
    case 1: -1
    case 2: .max
    case 3: Int(Int32.max) + 1
    case 4: count &+ 1
    case 5: .min
    default: value
    }
  }
}

/// One column of a drawn batch.
private struct DrawnColumn {
  /// The fields that are read before the memory of all columns.
  struct Head {
    var type: ColumnType
    var start: UInt8
    var missing: UInt8
    var flags: UInt8
    var shift: UInt8
    var odd: UInt8
    /// The stated number of cells.
    var length: Int

    init(_ input: inout InputReader, count: Int) {
      type = ColumnType.allCases[Int(input.byte()) % ColumnType.allCases.count]
      (start, missing, flags) = (input.byte(), input.byte(), input.byte())
      (shift, odd) = (input.byte(), input.byte())
      length = DrawnBatch.number(count, input.byte(), of: count)
      _ = input.byte()
    }
  }

  let isNull: Bool
  let array: ArrowArray
  private let start: Int
  private let validity: UnsafeRawPointer?
  private let values: UnsafeRawPointer?
  private let offsets: UnsafeRawPointer?

  /// Draws memory for `used` cells after the first.
  init(_ head: Head, _ used: Int, _ input: inout InputReader, _ memory: DrawnMemory) {
    let offset = DrawnBatch.number(Int(head.start), head.odd >> 4, of: Int(head.start))
    // One more cell, because the offset may be one higher.
    start = Int(head.start) + 1 >= offset && offset >= 0 ? offset : 0
    let cells = start + used
    isNull = head.flags & 32 != 0
    validity =
      head.flags & 1 != 0
      ? UnsafeRawPointer(memory.filled((cells + 7) / 8, shift: head.shift >> 6, &input)) : nil
    var length = head.type == .boolean ? (cells + 7) / 8 : cells * 8
    if head.type.isBytes {
      let offsets = memory.filled(
        (cells + 1) * 4, shift: head.shift & 3, &input, asOffsets: head.flags & 16 != 0)
      let last = offsets.loadUnaligned(fromByteOffset: cells * 4, as: Int32.self)
      // The bytes must end with the cells; the validator must detect everything else.
      length = Int(last & 0xFFF)
      if last != Int32(length) {
        offsets.storeBytes(of: Int32(length), toByteOffset: cells * 4, as: Int32.self)
      }
      self.offsets = head.flags & 2 != 0 ? nil : UnsafeRawPointer(offsets)
    } else {
      offsets = nil
    }
    values =
      head.flags & 4 != 0
      ? nil : UnsafeRawPointer(memory.filled(length, shift: head.shift >> 3 & 7, &input))
    let missing: Int64 =
      switch head.missing {
      case 0: 0
      case 1: -1
      case 2: Int64.max
      case let count: Int64(count - 3)
      }
    let buffers = head.type.isBytes ? [validity, offsets, values] : [validity, values]
    array = ArrowArray(
      length: Int64(head.length), null_count: missing, offset: Int64(offset),
      n_buffers: Int64(buffers.count) + (head.flags & 8 != 0 ? 1 : 0),
      n_children: head.odd & 1 != 0 ? 1 : 0,
      buffers: head.odd & 2 != 0 ? nil : memory.list(of: buffers + [nil]), children: nil,
      dictionary: nil,
      release: nil, private_data: nil)
  }

  func cell(_ row: Int, as type: ColumnType) -> Cell {
    let at = start + row
    func bit(_ bits: UnsafeRawPointer) -> Bool {
      bits.load(fromByteOffset: at / 8, as: UInt8.self) >> UInt8(at % 8) & 1 == 1
    }
    if let validity, !bit(validity) { return .missing }
    func number() -> Int64 { values!.loadUnaligned(fromByteOffset: at * 8, as: Int64.self) }
    switch type {
    case .integer, .real: return .integer(number())
    case .date: return .date(Timestamp(nanoseconds: number()))
    case .boolean: return .boolean(bit(values!))
    case .text, .binary:
      let first = offsets!.loadUnaligned(fromByteOffset: at * 4, as: Int32.self)
      let end = offsets!.loadUnaligned(fromByteOffset: at * 4 + 4, as: Int32.self)
      let bytes = (first..<end).map { values!.load(fromByteOffset: Int($0), as: UInt8.self) }
      return type == .text ? .text(bytes) : .binary(bytes)
    }
  }
}

/// The memory of a drawn batch. Each buffer is allocated separately, so that reads beyond it are noticed.
private final class DrawnMemory {
  private var blocks: [UnsafeMutableRawPointer] = []

  private func block(_ count: Int) -> UnsafeMutableRawPointer {
    let block = UnsafeMutableRawPointer.allocate(byteCount: max(count, 1), alignment: 16)
    blocks.append(block)
    return block
  }

  /// Copies bytes of the input, `shift` bytes away from their alignment. As offsets, they rise in small steps, as those
  /// of a provider do.
  func filled(
    _ count: Int, shift: UInt8, _ input: inout InputReader, asOffsets: Bool = false
  ) -> UnsafeMutableRawPointer {
    let start = block(count + Int(shift)) + Int(shift)
    if asOffsets {
      var offset: Int32 = 0
      for index in 0..<count / 4 {
        start.storeBytes(of: offset, toByteOffset: index * 4, as: Int32.self)
        offset += Int32(input.byte() & 7)
      }
    } else {
      let bytes = input.run(count)
      memset(start, 0, count)
      if bytes.count > 0 { start.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count) }
    }
    return start
  }

  func copy(of array: ArrowArray) -> UnsafeMutablePointer<ArrowArray> {
    let copy = block(MemoryLayout<ArrowArray>.size).bindMemory(to: ArrowArray.self, capacity: 1)
    copy.initialize(to: array)
    return copy
  }

  func list<Pointer>(of pointers: [Pointer]) -> UnsafeMutablePointer<Pointer> {
    let list = block(MemoryLayout<Pointer>.stride * pointers.count)
      .bindMemory(to: Pointer.self, capacity: pointers.count)
    list.initialize(from: pointers, count: pointers.count)
    return list
  }

  deinit { for block in blocks { block.deallocate() } }
}

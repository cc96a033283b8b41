/// Builds a batch cell by cell, in Arrow's layout.
///
/// Append one cell to each column for every row. Then call ``finish(rowCount:isUTF8:)`` once.
public final class BatchBuilder {
  /// One builder per column.
  public let columns: [ColumnBuilder]
  /// The builder of the ids, if the request asked for ids. Append the bytes of each id to it.
  public let ids: ColumnBuilder?

  /// Creates a builder for columns of these types. `capacity` is the number of rows to reserve memory for.
  public init(_ types: [ColumnType], ids: Bool = false, capacity: Int = 0) {
    columns = types.map { ColumnBuilder($0, capacity: capacity) }
    self.ids = ids ? ColumnBuilder(.binary, capacity: capacity) : nil
  }

  /// Creates a builder for the answer to a request to a source with these columns.
  public convenience init(for request: RowRequest, of columns: [Column], capacity: Int = 0) {
    self.init(
      request.columns.map { columns[$0].type }, ids: request.includesIDs, capacity: capacity)
  }

  /// Returns the batch. Traps if the columns have different numbers of cells.
  ///
  /// Pass `rowCount` if there may be no column. `isUTF8` promises that all text is UTF-8.
  public func finish(rowCount: Int? = nil, isUTF8: Bool = false) -> Batch {
    let rows = rowCount ?? columns.first?.count ?? ids?.count ?? 0
    for (number, column) in columns.enumerated() {
      precondition(
        column.count == rows,
        "column \(number) of the batch has \(column.count) cells for \(rows) rows: append one for each row, or appendMissing()"
      )
    }
    precondition(
      ids.map { $0.count == rows } ?? true,
      "the batch has \(ids?.count ?? 0) ids for \(rows) rows: append one to ids for each row")
    return Batch(
      rowCount: rows, columns: columns.map { $0.finish() }, ids: ids?.finish(), isUTF8: isUTF8)
  }
}

/// Builds one column of a batch.
///
/// Appending takes amortised O(1) time. Appending a value of another type than the column's traps.
public final class ColumnBuilder {
  /// The number of bytes after a cell that the writer of the cell may overwrite.
  public static let slack = 64

  /// The type of the cells.
  public let type: ColumnType
  /// The number of cells so far.
  @exclusivity(unchecked) public private(set) var count = 0
  /// The number of bytes of text and binary cells so far. A batch holds at most `Int32.max`.
  public var byteCount: Int { type.isBytes ? values.count : 0 }

  // Every appended cell writes to these fields, and no such call leads to another one. Checking each access for
  // exclusivity would cost a tenth of the time.
  @exclusivity(unchecked) private var missingCount = 0
  @exclusivity(unchecked) private var validity = Buffer()
  @exclusivity(unchecked) private var values = Buffer()
  @exclusivity(unchecked) private var offsets = Buffer()

  init(_ type: ColumnType, capacity: Int) {
    self.type = type
    if type.isBytes {
      offsets.reserve((capacity + 1) * 4)
      offsets.append(Int32(0))
    } else if type != .boolean {
      values.reserve(capacity * 8)
    }
  }

  /// Appends a value of the column's type, or a missing cell.
  public func append(_ cell: Cell) {
    switch cell {
    case .missing: appendMissing()
    case .text(let bytes), .binary(let bytes):
      precondition(cell.type == type, "a \(type.name) column was given \(cell)")
      bytes.withUnsafeBytes { append(bytes: $0) }
    case .integer(let value):
      precondition(type == .integer, "a \(type.name) column was given an integer")
      append(word: UInt64(bitPattern: value))
    case .real(let value): append(value)
    case .boolean(let value): append(value)
    case .date(let value): append(value)
    }
  }

  /// Appends a cell to an integer column.
  public func append(_ value: Int64) {
    precondition(type == .integer, "a \(type.name) column was given an integer")
    append(word: UInt64(bitPattern: value))
  }

  /// Appends cells to an integer column.
  package func append(contentsOf integers: [Int64]) {
    precondition(type == .integer, "a \(type.name) column was given integers")
    integers.withUnsafeBytes { values.append($0) }
    count += integers.count
    if missingCount > 0 { markPresent(upTo: count) }
  }

  /// Appends a cell to a real column.
  public func append(_ value: Double) {
    precondition(type == .real, "a \(type.name) column was given a real")
    append(word: value.bitPattern)
  }

  /// Appends a cell to a date column.
  public func append(_ value: Timestamp) {
    precondition(type == .date, "a \(type.name) column was given a date")
    append(word: UInt64(bitPattern: value.nanoseconds))
  }

  /// Appends a cell to a boolean column.
  public func append(_ value: Bool) {
    precondition(type == .boolean, "a \(type.name) column was given a boolean")
    values.append(bit: value, at: count)
    markPresent()
  }

  /// Appends a cell to a text or binary column, as UTF-8.
  public func append(_ text: String) {
    var text = text
    text.withUTF8 { append(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Appends a cell to a text or binary column, as UTF-8.
  public func append(_ text: Substring) {
    var text = text
    text.withUTF8 { append(bytes: UnsafeRawBufferPointer($0)) }
  }

  /// Appends the bytes of a text or binary cell.
  public func append(bytes: UnsafeRawBufferPointer) {
    precondition(type.isBytes, "a \(type.name) column was given bytes")
    precondition(bytes.count <= Int(Int32.max) - values.count, "a batch has at most 2 GiB of text")
    values.append(bytes)
    offsets.append(Int32(truncatingIfNeeded: values.count))
    markPresent()
  }

  /// Appends `count` text or binary cells that `write` writes, in order.
  ///
  /// `write` receives the number of the cell, from 0, and the address for its bytes. It returns the number of bytes
  /// that it wrote, or -1 if the cell is missing. All cells together have at most `room` bytes. After each cell,
  /// `write` may overwrite ``slack`` more bytes, so that it can copy short cells with moves of a fixed size.
  ///
  /// Returns the bytes of these cells together. They are valid until the next call.
  /// - Complexity: O(count + room). Unlike the other ways to append, it needs no call and no check per cell.
  @inlinable @discardableResult
  public func append(
    _ count: Int, room: Int, _ write: (_ number: Int, _ place: UnsafeMutableRawPointer) -> Int
  ) -> UnsafeRawBufferPointer {
    let (place, offsets, first) = beginWriting(count, room: room)
    // The reserved memory covers all cells, so nothing overflows.
    var end = first
    var number = 0
    while number < count {
      let written = write(number, place + (end &- first))
      if written < 0 { noteMissing(number) } else { end &+= written }
      offsets[number] = Int32(truncatingIfNeeded: end)
      number &+= 1
    }
    endWriting(count, bytes: end - first)
    return UnsafeRawBufferPointer(start: place, count: end - first)
  }

  /// Reserves memory. Returns the addresses for the bytes and the offsets, and the number of bytes so far.
  @usableFromInline
  func beginWriting(
    _ count: Int, room: Int
  ) -> (place: UnsafeMutableRawPointer, offsets: UnsafeMutablePointer<Int32>, first: Int) {
    precondition(type.isBytes, "a \(type.name) column was given bytes")
    precondition(room <= Int(Int32.max) - values.count, "a batch has at most 2 GiB of text")
    let place = values.room(for: room + ColumnBuilder.slack)
    let offsets = offsets.room(for: count * 4).bindMemory(to: Int32.self, capacity: count)
    return (place, offsets, values.count)
  }

  /// Records that a cell is missing. `number` counts from the last appended cell. All earlier cells are recorded as
  /// missing or are present.
  @usableFromInline
  func noteMissing(_ number: Int) {
    markPresent(upTo: count + number)
    validity.append(bit: false, at: count + number)
    missingCount += 1
  }

  @usableFromInline
  func endWriting(_ written: Int, bytes: Int) {
    values.grow(by: bytes)
    offsets.grow(by: written * 4)
    count += written
    if missingCount > 0 { markPresent(upTo: count) }
  }

  /// Records the cells before `end` as present. The bits are stored only if a cell is missing.
  private func markPresent(upTo end: Int) {
    validity.append(onesUpTo: end)
  }

  /// Appends a missing cell.
  public func appendMissing() {
    markPresent(upTo: count)
    missingCount += 1
    validity.append(bit: false, at: count)
    switch type {
    case .text, .binary: offsets.append(Int32(truncatingIfNeeded: values.count))
    case .boolean: values.append(bit: false, at: count)
    default: values.append(UInt64(0))
    }
    count += 1
  }

  private func append(word: UInt64) {
    values.append(word)
    markPresent()
  }

  private func markPresent() {
    if missingCount > 0 { validity.append(bit: true, at: count) }
    count += 1
  }

  fileprivate func finish() -> ColumnBatch {
    let memory = ColumnMemory(
      validity: validity.take(), values: values.take(), offsets: offsets.take())
    return ColumnBatch(memory, type: type, count: count, missingCount: missingCount)
  }

  /// Calls `body` with the cells so far and then removes them. The memory remains for the next cells.
  ///
  /// The cells are valid only during the call.
  package func useOnce<R>(_ body: (ColumnBatch) -> R) -> R {
    defer {
      validity.empty()
      values.empty()
      offsets.empty()
      (count, missingCount) = (0, 0)
      if type.isBytes { offsets.append(Int32(0)) }
    }
    return body(
      ColumnBatch(
        unsafeLayout: .init(
          validity: missingCount == 0
            ? nil
            : validity.start.map {
              UnsafePointer($0.assumingMemoryBound(to: UInt8.self))
            },
          values: values.start.map { UnsafeRawPointer($0) },
          offsets: offsets.start.map { UnsafePointer($0.assumingMemoryBound(to: Int32.self)) }),
        type: type, count: count, missingCount: missingCount, owner: self))
  }

  deinit {
    validity.take()?.deallocate()
    values.take()?.deallocate()
    offsets.take()?.deallocate()
  }
}

extension ColumnBatch {
  /// A column over memory that is freed with its last copy.
  init(_ memory: ColumnMemory, type: ColumnType, count: Int, missingCount: Int) {
    self.init(
      unsafeLayout: .init(
        validity: memory.validity.map { UnsafePointer($0.assumingMemoryBound(to: UInt8.self)) },
        values: memory.values.map { UnsafeRawPointer($0) },
        offsets: memory.offsets.map { UnsafePointer($0.assumingMemoryBound(to: Int32.self)) }),
      type: type, count: count, missingCount: missingCount, owner: memory)
  }
}

/// The memory of one finished column.
final class ColumnMemory {
  // marker ColumnMemory {
  let validity: UnsafeMutableRawPointer?
  let values: UnsafeMutableRawPointer?
  let offsets: UnsafeMutableRawPointer?

  init(
    validity: UnsafeMutableRawPointer?, values: UnsafeMutableRawPointer?,
    offsets: UnsafeMutableRawPointer?
  ) {
    self.validity = validity
    self.values = values
    self.offsets = offsets
  }

  deinit {
    validity?.deallocate()
    values?.deallocate()
    offsets?.deallocate()
  }
}

/// Raw bytes that grow, aligned to 16 bytes. Arrow requires an alignment of 8 bytes.
private struct Buffer {
  private(set) var start: UnsafeMutableRawPointer?
  private(set) var count = 0
  /// The number of bits, if the buffer holds bits.
  private(set) var bitCount = 0
  private var capacity = 0

  /// The address after the last byte, with room for `bytes` more bytes.
  mutating func room(for bytes: Int) -> UnsafeMutableRawPointer {
    reserve(count + bytes)
    return start! + count
  }

  /// Counts bytes that were written after the last byte.
  mutating func grow(by bytes: Int) { count += bytes }

  mutating func reserve(_ bytes: Int) {
    if bytes <= capacity { return }
    let larger = Swift.max(bytes, capacity * 2, 64)
    let grown = UnsafeMutableRawPointer.allocate(byteCount: larger, alignment: 16)
    if let start {
      grown.copyMemory(from: start, byteCount: count)
      start.deallocate()
    }
    start = grown
    capacity = larger
  }

  mutating func append<T: BitwiseCopyable>(_ value: T) {
    reserve(count + MemoryLayout<T>.size)
    start!.storeBytes(of: value, toByteOffset: count, as: T.self)
    count += MemoryLayout<T>.size
  }

  mutating func append(_ bytes: UnsafeRawBufferPointer) {
    guard let base = bytes.baseAddress, !bytes.isEmpty else { return }
    reserve(count + bytes.count)
    (start! + count).copyMemory(from: base, byteCount: bytes.count)
    count += bytes.count
  }

  mutating func append(bit: Bool, at index: Int) {
    if index & 7 == 0 { append(UInt8(0)) }
    bitCount = index + 1
    if bit {
      let byte = start! + (index >> 3)
      byte.storeBytes(of: byte.load(as: UInt8.self) | 1 << UInt8(index & 7), as: UInt8.self)
    }
  }

  /// Appends ones until there are `end` bits.
  mutating func append(onesUpTo end: Int) {
    while bitCount < end, bitCount & 7 != 0 { append(bit: true, at: bitCount) }
    while end - bitCount >= 8 {
      append(UInt8.max)
      bitCount += 8
    }
    while bitCount < end { append(bit: true, at: bitCount) }
  }

  /// Removes the content and keeps the memory.
  mutating func empty() { (count, bitCount) = (0, 0) }

  /// Transfers the ownership of the memory to the caller.
  mutating func take() -> UnsafeMutableRawPointer? {
    defer { (start, count, bitCount, capacity) = (nil, 0, 0, 0) }
    return start
  }
}

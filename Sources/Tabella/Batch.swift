/// Rows of cells: some columns of consecutive rows, and the ids of the rows if the request asked for ids.
///
/// A batch owns its memory and frees it with its last copy. It can outlive its source. Cells have Arrow's memory
/// layout, so that a batch crosses the contract without a copy.
public struct Batch {
  /// The number of rows. It can be above 0 without any column.
  public let rowCount: Int
  /// The requested columns, in the order of the request.
  public let columns: [ColumnBatch]
  /// The ids of the rows as binary cells; nil if the request did not ask for ids.
  public let ids: ColumnBatch?
  /// Whether the maker of the batch promises that all text is UTF-8.
  public let isUTF8: Bool

  /// Creates a batch. Every column has `rowCount` cells.
  public init(
    rowCount: Int, columns: [ColumnBatch], ids: ColumnBatch? = nil, isUTF8: Bool = false
  ) {
    self.rowCount = rowCount
    self.columns = columns
    self.ids = ids
    self.isUTF8 = isUTF8
  }

  /// A batch of no rows of these columns.
  public static func empty(_ types: [ColumnType], ids: Bool = false) -> Batch {
    BatchBuilder(types, ids: ids).finish()
  }

  /// The cells of one row. Creates a value per cell; use it for a few rows only.
  public func row(_ row: Int) -> [Cell] { columns.map { $0[row] } }

  /// One row of a table with these columns, if the batch contains those with these numbers. Other cells are missing.
  package func row(_ row: Int, of numbers: [Int], in columns: [Column]) -> [Cell] {
    var cells = [Cell](repeating: .missing, count: columns.count)
    for (number, column) in zip(numbers, self.columns) { cells[number] = column[row] }
    return cells
  }

  /// The rows in a range. The result shares the memory of the batch.
  public subscript(rows: Range<Int>) -> Batch {
    Batch(
      rowCount: rows.count, columns: columns.map { $0[rows] }, ids: ids?[rows], isUTF8: isUTF8)
  }

  /// Calls `body` with the same cells in columns without owners. Counting references per cell would take longer than many a
  /// use of a cell, and threads would wait for the same counter. `body` must not keep the columns.
  func withUnownedColumns<R, E>(_ body: (Batch) throws(E) -> R) throws(E) -> R {
    defer { withExtendedLifetime(self) {} }
    return try body(Batch(rowCount: rowCount, columns: columns.map(\.unowned), isUTF8: isUTF8))
  }

  /// The id of one row; nil if the request did not ask for ids.
  public func id(_ row: Int) -> String? {
    ids?.withBytes(at: row) { String(decoding: $0, as: UTF8.self) }
  }
}

/// The cells of one column in one batch.
///
/// Every accessor takes O(1) time and expects a row in `0..<count`.
public struct ColumnBatch {
  /// The type of the cells.
  public let type: ColumnType
  /// The number of cells.
  public let count: Int
  /// The number of missing cells.
  public let missingCount: Int

  @usableFromInline let layout: Layout
  @usableFromInline let owner: AnyObject?

  /// The memory of the cells: the buffers of an Arrow array.
  public struct Layout {
    /// One bit per cell, least significant bit first; 1 means present. Nil if no cell is missing.
    public var validity: UnsafePointer<UInt8>?
    /// The values: 8 bytes each, single bits for booleans, or the bytes that `offsets` points into.
    public var values: UnsafeRawPointer?
    /// For text and binary: `start + count + 1` offsets.
    public var offsets: UnsafePointer<Int32>?
    /// The index of the first cell in the buffers.
    public var start: Int

    /// Creates a layout. The caller owns the buffers.
    public init(
      validity: UnsafePointer<UInt8>?, values: UnsafeRawPointer?, offsets: UnsafePointer<Int32>?,
      start: Int = 0
    ) {
      self.validity = validity
      self.values = values
      self.offsets = offsets
      self.start = start
    }
  }

  /// Creates a column over memory that `owner` keeps alive. Nothing is checked; see
  /// ``Batch/validate(answering:of:)``.
  public init(
    unsafeLayout layout: Layout, type: ColumnType, count: Int, missingCount: Int, owner: AnyObject?
  ) {
    self.type = type
    self.count = count
    self.missingCount = missingCount
    self.layout = layout
    self.owner = owner
  }

  /// The cells in a range of rows. The result shares the memory of the column.
  /// - Complexity: O(1), or O(rows) if cells are missing.
  public subscript(rows: Range<Int>) -> ColumnBatch {
    precondition(rows.lowerBound >= 0 && rows.upperBound <= count, "the rows are in the batch")
    var layout = layout
    layout.start += rows.lowerBound
    return ColumnBatch(
      unsafeLayout: layout, type: type, count: rows.count,
      missingCount: missingCount == 0 ? 0 : rows.count { isMissing($0) }, owner: owner)
  }

  /// Calls `body` with the memory layout. The layout is valid only during the call.
  public func withUnsafeLayout<R>(_ body: (Layout) throws -> R) rethrows -> R {
    try withExtendedLifetime(owner) { try body(layout) }
  }

  /// The same column without an owner. It is valid while the column exists.
  fileprivate var unowned: ColumnBatch {
    ColumnBatch(
      unsafeLayout: layout, type: type, count: count, missingCount: missingCount, owner: nil)
  }

  /// Whether a cell is missing.
  @inlinable public func isMissing(_ row: Int) -> Bool {
    guard let validity = layout.validity else { return false }
    let bit = layout.start + row
    return validity[bit >> 3] & (1 << UInt8(bit & 7)) == 0
  }

  /// The integer in an integer column, or the nanoseconds in a date column.
  @inlinable public func integer(_ row: Int) -> Int64 {
    layout.values!.load(fromByteOffset: (layout.start + row) &* 8, as: Int64.self)
  }

  /// The number in a real column.
  @inlinable public func real(_ row: Int) -> Double {
    layout.values!.load(fromByteOffset: (layout.start + row) &* 8, as: Double.self)
  }

  /// The value in a boolean column.
  @inlinable public func boolean(_ row: Int) -> Bool {
    let bit = layout.start + row
    return layout.values!.load(fromByteOffset: bit >> 3, as: UInt8.self) & (1 << UInt8(bit & 7))
      != 0
  }

  /// Calls `body` with the bytes of a text or binary cell. The bytes are valid only during the call. A missing cell
  /// has no bytes.
  @inlinable public func withBytes<R>(
    at row: Int, _ body: (UnsafeRawBufferPointer) throws -> R
  ) rethrows -> R {
    let begin = Int(layout.offsets![layout.start + row])
    let end = Int(layout.offsets![layout.start + row + 1])
    return try withExtendedLifetime(owner) {
      try body(
        UnsafeRawBufferPointer(
          start: layout.values.map { $0 + begin }, count: layout.values == nil ? 0 : end - begin))
    }
  }

  /// The value of one cell. Creates a value; use it for a few cells only.
  public subscript(row: Int) -> Cell {
    if isMissing(row) { return .missing }
    return switch type {
    case .text: .text(withBytes(at: row) { Array($0) })
    case .integer: .integer(integer(row))
    case .real: .real(real(row))
    case .boolean: .boolean(boolean(row))
    case .date: .date(Timestamp(nanoseconds: integer(row)))
    case .binary: .binary(withBytes(at: row) { Array($0) })
    }
  }
}

extension Batch {
  /// Checks that the batch answers a request and that reading any of its cells is safe, as far as the batch shows.
  ///
  /// Throws ``TableError`` with `.misbehaved` if a check fails.
  /// - Complexity: O(rows) for text and binary offsets and for a column with missing cells, O(bytes) for the text
  ///   of a batch that claims to be UTF-8.
  public func validate(answering request: RowRequest, of columns: [Column]) throws(TableError) {
    guard self.columns.count == request.columns.count else {
      throw wrongColumns(self.columns.count, request)
    }
    guard rowCount <= request.count else { throw wrongRowCount(rowCount, request) }
    for (batch, column) in zip(self.columns, request.columns) {
      guard batch.count == rowCount else {
        throw wrongCellCount(batch.count, rows: rowCount, columns[column])
      }
      do throws(TableError) {
        guard batch.type == columns[column].type else {
          throw TableError(
            .misbehaved,
            "has cells of type \(batch.type.name); its schema declares \(columns[column].type.name)"
          )
        }
        try batch.validate(rowCount: rowCount)
        if isUTF8, batch.type == .text { try batch.validateUTF8() }
      } catch {
        throw TableError(
          error.code, "column \"\(columns[column].name)\": \(error.message)",
          section: request.section, row: request.first, column: column)
      }
    }
    guard (ids != nil) == request.includesIDs else {
      throw TableError(
        .misbehaved,
        ids == nil
          ? "returned no ids; the request has the flag for ids, so append one for each row"
          : "returned ids; the request has no flag for ids, so append none")
    }
    if let ids, ids.count != rowCount { throw wrongCellCount(ids.count, rows: rowCount, nil) }
    try ids?.validateIDs(rowCount: rowCount)
  }
}

// The errors for batches that do not answer their request. They say what was expected.

/// The error for a batch with another number of columns, ids apart.
package func wrongColumns(_ count: Int, _ request: RowRequest) -> TableError {
  TableError(
    .misbehaved,
    "returned \(count) columns\(request.includesIDs ? " and ids" : ""); expected the "
      + "\(request.columns.count) of the request, in its order\(request.includesIDs ? ", then the ids" : "")"
  )
}

/// The error for a batch with more rows than requested.
package func wrongRowCount(_ count: Int, _ request: RowRequest) -> TableError {
  TableError(
    .misbehaved, "returned \(count) rows; expected 0 to \(request.count), the count of the request",
    section: request.section, row: request.first)
}

/// The error for a column with another number of cells than the batch has rows; `column` is nil for ids.
package func wrongCellCount(_ count: Int, rows: Int, _ column: Column?) -> TableError {
  guard let column else {
    return TableError(
      .misbehaved, "returned \(count) ids for \(rows) rows; expected one id for each row")
  }
  return TableError(
    .misbehaved,
    "column \"\(column.name)\" has \(count) cells for \(rows) rows; expected one for each row, "
      + "present or missing")
}

extension ColumnBatch {
  fileprivate func validate(rowCount: Int) throws(TableError) {
    guard count == rowCount else {
      throw TableError(.misbehaved, "has \(count) cells for \(rowCount) rows")
    }
    guard layout.start >= 0, layout.start <= Int(Int32.max) else {
      throw TableError(.misbehaved, "has the offset \(layout.start); expected 0 to 2^31 - 1")
    }
    guard (0...count).contains(missingCount) else {
      throw TableError(
        .misbehaved, "has the null_count \(missingCount); expected 0 to \(count), or -1")
    }
    guard missingCount == presentAndMissing().missing else {
      throw TableError(
        .misbehaved,
        "has the null_count \(missingCount), but its validity bits mark "
          + "\(presentAndMissing().missing) missing cells; a bit of 1 is a present cell")
    }
    if count == 0 { return }
    if type.isBytes {
      guard let offsets = layout.offsets else {
        throw TableError(
          .misbehaved, "has no offsets; expected \(count + 1) offsets of 4 bytes in buffer 1")
      }
      guard UInt(bitPattern: offsets) & 3 == 0 else {
        throw TableError(.misbehaved, "has offsets that are not aligned to 4 bytes")
      }
      let cells = layout.start..<layout.start + count
      let (first, last) = (offsets[cells.lowerBound], offsets[cells.upperBound])
      guard first >= 0 else {
        throw TableError(.misbehaved, "has the first offset \(first); expected 0 or more")
      }
      if ColumnBatch.hasDecreasingOffsets(offsets, in: cells),
        let cell = cells.first(where: { offsets[$0 + 1] < offsets[$0] })
      {
        throw TableError(
          .misbehaved,
          "has offset \(offsets[cell + 1]) after \(offsets[cell]) at cell \(cell); offsets never fall"
        )
      }
      guard layout.values != nil || last == 0 else {
        throw TableError(
          .misbehaved, "has offsets up to \(last), but no bytes; expected them in buffer 2")
      }
    } else {
      guard let values = layout.values else {
        throw TableError(.misbehaved, "has no values; expected them in buffer 1")
      }
      guard type == .boolean || UInt(bitPattern: values) & 7 == 0 else {
        throw TableError(.misbehaved, "has values that are not aligned to 8 bytes")
      }
    }
  }

  /// Whether any of these cells ends before it begins. Comparing all cells, sixteen at a time, is faster than
  /// stopping at the first fault.
  private static func hasDecreasingOffsets(_ offsets: UnsafePointer<Int32>, in cells: Range<Int>)
    -> Bool
  {
    var decreasing: Int32 = 0
    for cell in cells { decreasing |= offsets[cell &+ 1] < offsets[cell] ? 1 : 0 }
    return decreasing != 0
  }

  private func presentAndMissing() -> (present: Int, missing: Int) {
    guard let validity = layout.validity else { return (count, 0) }
    var present = 0
    var bit = layout.start
    let end = layout.start + count
    while bit < end {
      if bit & 7 == 0, end - bit >= 8 {
        present += validity[bit >> 3].nonzeroBitCount
        bit += 8
      } else {
        present += Int(validity[bit >> 3] >> UInt8(bit & 7)) & 1
        bit += 1
      }
    }
    return (present, count - present)
  }

  /// Whether the bytes of each text or binary cell are UTF-8, including the bytes of missing cells.
  /// - Complexity: O(bytes + cells).
  public var isUTF8: Bool {
    guard count > 0, let offsets = layout.offsets, let values = layout.values else { return true }
    let begin = Int(offsets[layout.start])
    let end = Int(offsets[layout.start + count])
    let bytes = UnsafeRawBufferPointer(start: values + begin, count: end - begin)
    let plain = bytes.lengthOfASCII
    if plain == bytes.count { return true }
    guard UnsafeRawBufferPointer(rebasing: bytes[plain...]).isUTF8 else { return false }
    // A cell must not begin inside a character.
    return (layout.start..<layout.start + count).allSatisfy { cell in
      let offset = Int(offsets[cell])
      return offset == end || values.load(fromByteOffset: offset, as: UInt8.self) & 0xC0 != 0x80
    }
  }

  private var notUTF8: String {
    "has text that is not UTF-8, although the batch claims that all text is UTF-8"
  }

  fileprivate func validateUTF8() throws(TableError) {
    if missingCount > 0 {
      // The promise does not cover the bytes of missing cells.
      for row in 0..<count where !isMissing(row) {
        guard withBytes(at: row, { $0.isUTF8 }) else {
          throw TableError(.misbehaved, notUTF8)
        }
      }
      return
    }
    guard isUTF8 else {
      throw TableError(.misbehaved, notUTF8)
    }
  }

  fileprivate func validateIDs(rowCount: Int) throws(TableError) {
    do throws(TableError) {
      try validate(rowCount: rowCount)
      guard type == .binary, missingCount == 0 else {
        throw TableError(.misbehaved, "are not all present cells of type binary")
      }
      for row in 0..<count {
        guard withBytes(at: row, RowID.isValid) else {
          throw TableError(
            .misbehaved,
            "are not all 1 to \(RowID.maximumLength) \(RowID.characters): that of row \(row) of the batch",
            row: row)
        }
      }
    } catch {
      throw TableError(error.code, "ids: \(error.message)", row: error.row)
    }
  }
}

/// The limits of row ids.
public enum RowID {
  /// The maximum length of an id in bytes.
  public static let maximumLength = 16384
  /// The bytes of an id, in words.
  static let characters = "bytes of printable ASCII without blanks"

  /// Whether bytes are an id.
  static func isValid(_ id: UnsafeRawBufferPointer) -> Bool {
    (1...maximumLength).contains(id.count) && id.allSatisfy { 0x21...0x7E ~= $0 }
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are valid UTF-8.
  /// - Complexity: O(bytes), eight at a time while they are ASCII.
  public var isUTF8: Bool {
    let at = lengthOfASCII
    if at == count { return true }
    let rest = UnsafeRawBufferPointer(rebasing: self[at...])
    return (try? UTF8Span(validating: rest.bindMemory(to: UInt8.self).span)) != nil
  }

  /// The number of bytes at the start that are ASCII, as a multiple of 8 or up to the end.
  /// - Complexity: O(bytes), 32 at a time.
  fileprivate var lengthOfASCII: Int {
    var at = 0
    while at + 32 <= count,
      (loadUnaligned(fromByteOffset: at, as: SIMD4<UInt64>.self) & 0x8080_8080_8080_8080)
        == SIMD4()
    {
      at += 32
    }
    while at + 8 <= count,
      loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    {
      at += 8
    }
    if count - at < 8, (at..<count).allSatisfy({ self[$0] < 0x80 }) { return count }
    return at
  }
}

/// Rows of cells: some columns of a run of rows, and their ids if they were asked for.
///
/// A batch owns its memory, outlives the source that gave it, and frees it with its last copy. Cells
/// lie as Arrow lays them out, so that a batch crosses the contract without a copy.
public struct Batch {
  /// The number of rows; may be above 0 without any column.
  public let rowCount: Int
  /// The columns asked for, in the order asked.
  public let columns: [ColumnBatch]
  /// The rows' ids, as binary cells, if they were asked for.
  public let ids: ColumnBatch?
  /// Whether the maker promises that all text in it is UTF-8.
  public let isUTF8: Bool

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

  /// The cells of one row. Makes values; for a few rows.
  public func row(_ row: Int) -> [Cell] { columns.map { $0[row] } }

  /// The rows in a range; the memory is shared.
  public subscript(rows: Range<Int>) -> Batch {
    Batch(
      rowCount: rows.count, columns: columns.map { $0[rows] }, ids: ids?[rows], isUTF8: isUTF8)
  }

  /// The id of one row, if ids were asked for.
  public func id(_ row: Int) -> String? {
    ids?.withBytes(at: row) { String(decoding: $0, as: UTF8.self) }
  }
}

/// The cells of one column in one batch.
///
/// Every accessor is O(1) and expects a row in `0..<count`.
public struct ColumnBatch {
  public let type: ColumnType
  public let count: Int
  /// How many cells are missing.
  public let missingCount: Int

  @usableFromInline let layout: Layout
  @usableFromInline let owner: AnyObject?

  /// Where the cells lie: an Arrow array's buffers.
  public struct Layout {
    /// One bit a cell, least significant first, 1 for present; nil when none is missing.
    public var validity: UnsafePointer<UInt8>?
    /// The values: 8 bytes each, bits for booleans, or the bytes that `offsets` points into.
    public var values: UnsafeRawPointer?
    /// For text and binary: `start + count + 1` offsets.
    public var offsets: UnsafePointer<Int32>?
    /// The number of the first cell in the buffers.
    public var start: Int

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

  /// A column over memory that `owner` keeps alive. Nothing is checked; see ``Batch/validate``.
  public init(
    unsafeLayout layout: Layout, type: ColumnType, count: Int, missingCount: Int, owner: AnyObject?
  ) {
    self.type = type
    self.count = count
    self.missingCount = missingCount
    self.layout = layout
    self.owner = owner
  }

  /// The cells in a range of rows; the memory is shared.
  /// - Complexity: O(1), or O(rows) if cells are missing.
  public subscript(rows: Range<Int>) -> ColumnBatch {
    precondition(rows.lowerBound >= 0 && rows.upperBound <= count, "the rows are in the batch")
    var layout = layout
    layout.start += rows.lowerBound
    return ColumnBatch(
      unsafeLayout: layout, type: type, count: rows.count,
      missingCount: missingCount == 0 ? 0 : rows.count { isMissing($0) }, owner: owner)
  }

  /// Calls `body` with the memory layout, which is valid inside it only.
  public func withUnsafeLayout<R>(_ body: (Layout) throws -> R) rethrows -> R {
    try withExtendedLifetime(owner) { try body(layout) }
  }

  @inlinable public func isMissing(_ row: Int) -> Bool {
    guard let validity = layout.validity else { return false }
    let bit = layout.start + row
    return validity[bit >> 3] & (1 << UInt8(bit & 7)) == 0
  }

  /// The integer in an integer column, or the nanoseconds in a date column.
  @inlinable public func integer(_ row: Int) -> Int64 {
    layout.values!.load(fromByteOffset: (layout.start + row) &* 8, as: Int64.self)
  }

  @inlinable public func real(_ row: Int) -> Double {
    layout.values!.load(fromByteOffset: (layout.start + row) &* 8, as: Double.self)
  }

  @inlinable public func boolean(_ row: Int) -> Bool {
    let bit = layout.start + row
    return layout.values!.load(fromByteOffset: bit >> 3, as: UInt8.self) & (1 << UInt8(bit & 7))
      != 0
  }

  /// Calls `body` with the bytes of a text or binary cell, valid inside it only; none if missing.
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

  /// The value of one cell. Makes a value; for a few cells.
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
  /// Checks that the batch is what was asked for and that reading any of its cells is safe, as far
  /// as that can be seen from the batch.
  ///
  /// Throws ``TableError`` with `.misbehaved` if it is not.
  /// - Complexity: O(rows) for text and binary offsets and for a column with missing cells, O(bytes)
  ///   for the text of a batch that claims to be UTF-8.
  public func validate(answering request: RowRequest, of columns: [Column]) throws(TableError) {
    guard self.columns.count == request.columns.count else {
      throw TableError(
        .misbehaved, "gave \(self.columns.count) columns where \(request.columns.count) were asked")
    }
    guard rowCount <= request.count else {
      throw TableError(
        .misbehaved, "gave \(rowCount) rows where at most \(request.count) were asked",
        section: request.section, row: request.first)
    }
    for (batch, column) in zip(self.columns, request.columns) {
      do throws(TableError) {
        guard batch.type == columns[column].type else {
          throw TableError(
            .misbehaved, "gave \(batch.type.name) where \(columns[column].type.name) was declared")
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
        .misbehaved, ids == nil ? "gave no ids though they were asked for" : "gave ids unasked")
    }
    try ids?.validateIDs(rowCount: rowCount)
  }
}

extension ColumnBatch {
  fileprivate func validate(rowCount: Int) throws(TableError) {
    guard count == rowCount else {
      throw TableError(.misbehaved, "has \(count) cells in a batch of \(rowCount) rows")
    }
    guard layout.start >= 0, layout.start <= Int(Int32.max) else {
      throw TableError(.misbehaved, "starts at cell \(layout.start)")
    }
    guard (0...count).contains(missingCount) else {
      throw TableError(.misbehaved, "counts \(missingCount) missing cells of \(count)")
    }
    guard missingCount == presentAndMissing().missing else {
      throw TableError(
        .misbehaved,
        "counts \(missingCount) missing cells, but \(presentAndMissing().missing) are marked")
    }
    if count == 0 { return }
    if type.isBytes {
      guard let offsets = layout.offsets else {
        throw TableError(.misbehaved, "has no offsets")
      }
      guard UInt(bitPattern: offsets) & 3 == 0 else {
        throw TableError(.misbehaved, "has offsets that are not aligned to 4 bytes")
      }
      let cells = layout.start..<layout.start + count
      let (first, last) = (offsets[cells.lowerBound], offsets[cells.upperBound])
      guard first >= 0 else { throw TableError(.misbehaved, "begins at offset \(first)") }
      if ColumnBatch.fall(offsets, in: cells),
        let cell = cells.first(where: { offsets[$0 + 1] < offsets[$0] })
      {
        throw TableError(
          .misbehaved, "has offset \(offsets[cell + 1]) after \(offsets[cell]) at cell \(cell)")
      }
      guard layout.values != nil || last == 0 else {
        throw TableError(.misbehaved, "has offsets but no bytes")
      }
    } else {
      guard let values = layout.values else { throw TableError(.misbehaved, "has no values") }
      guard type == .boolean || UInt(bitPattern: values) & 7 == 0 else {
        throw TableError(.misbehaved, "has values that are not aligned to 8 bytes")
      }
    }
  }

  /// Whether any of these cells ends before it begins. Looks at all of them, sixteen at a time, which is
  /// faster than to stop at the first one.
  private static func fall(_ offsets: UnsafePointer<Int32>, in cells: Range<Int>) -> Bool {
    var falls: Int32 = 0
    for cell in cells { falls |= offsets[cell &+ 1] < offsets[cell] ? 1 : 0 }
    return falls != 0
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

  /// Whether the bytes of all cells of text or binary are UTF-8 each, those under missing cells too.
  /// - Complexity: O(bytes + cells).
  public var isUTF8: Bool {
    guard count > 0, let offsets = layout.offsets, let values = layout.values else { return true }
    let begin = Int(offsets[layout.start])
    let end = Int(offsets[layout.start + count])
    guard UnsafeRawBufferPointer(start: values + begin, count: end - begin).isUTF8 else {
      return false
    }
    // No cell may begin inside a character.
    return (layout.start..<layout.start + count).allSatisfy { cell in
      let offset = Int(offsets[cell])
      return offset == end || values.load(fromByteOffset: offset, as: UInt8.self) & 0xC0 != 0x80
    }
  }

  fileprivate func validateUTF8() throws(TableError) {
    if missingCount > 0 {
      // What lies under missing cells was not promised.
      for row in 0..<count where !isMissing(row) {
        guard withBytes(at: row, { $0.isUTF8 }) else {
          throw TableError(.misbehaved, "claims to be UTF-8 and is not")
        }
      }
      return
    }
    guard isUTF8 else {
      throw TableError(.misbehaved, "claims to be UTF-8 and is not")
    }
  }

  fileprivate func validateIDs(rowCount: Int) throws(TableError) {
    do throws(TableError) {
      try validate(rowCount: rowCount)
      guard type == .binary, missingCount == 0 else {
        throw TableError(.misbehaved, "are not all present and binary")
      }
      for row in 0..<count {
        let isGood = withBytes(at: row) { id in
          (1...RowID.maximumLength).contains(id.count) && id.allSatisfy { 0x21...0x7E ~= $0 }
        }
        guard isGood else {
          throw TableError(
            .misbehaved, "are not 1 to \(RowID.maximumLength) printable ASCII bytes", row: row)
        }
      }
    } catch {
      throw TableError(error.code, "ids: \(error.message)", row: error.row)
    }
  }
}

/// What a row id may be.
public enum RowID {
  /// In bytes.
  public static let maximumLength = 16384
}

extension UnsafeRawBufferPointer {
  /// Whether the bytes are valid UTF-8.
  /// - Complexity: O(bytes), eight at a time while they are ASCII.
  public var isUTF8: Bool {
    var at = 0
    while at + 8 <= count,
      loadUnaligned(fromByteOffset: at, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    {
      at += 8
    }
    if at == count { return true }
    let rest = UnsafeRawBufferPointer(rebasing: self[at...])
    return (try? UTF8Span(validating: rest.bindMemory(to: UInt8.self).span)) != nil
  }
}

/// A Swift type whose values are read from cells: all integers, `Double`, `Float`, `String`, `Bool`, ``Timestamp``,
/// `[UInt8]`, ``Cell``, and optionals of them.
///
/// A cell of text is read as the type too, because the columns of many sources contain only text: `300` is an `Int`,
/// and `2024-02-29` is a ``Timestamp``. ``TextValue`` describes the formats. An optional is nil for a missing cell, and
/// for empty text unless the type is `String` or `[UInt8]`.
public protocol CellValue {
  /// The description of a valid value, for messages: `an integer`.
  static var cellDescription: String { get }
  /// Whether empty text is a value. The default is false: empty text means the same as a missing cell.
  static var acceptsEmptyText: Bool { get }

  /// Reads a cell of a column; nil if the cell is missing or has no such value.
  /// - Complexity: O(bytes) for text, otherwise O(1). Only `String` and `[UInt8]` allocate memory.
  static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> Self?
}

extension CellValue {
  @inlinable public static var acceptsEmptyText: Bool { false }
}

extension ColumnBatch {
  /// Whether a cell is missing, or is empty text for a type that has no empty value.
  @inlinable func lacksValue<V: CellValue>(_ row: Int, as type: V.Type) -> Bool {
    if isMissing(row) { return true }
    guard self.type == .text, !V.acceptsEmptyText else { return false }
    return withBytes(at: row) { $0.isEmpty }
  }
}

// Numbers

extension CellValue where Self: FixedWidthInteger {
  public static var cellDescription: String {
    Self.self == Int.self || Self.self == Int64.self
      ? "an integer" : "an integer of type \(Self.self)"
  }

  @inlinable
  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> Self? {
    guard !cells.isMissing(row) else { return nil }
    return switch cells.type {
    case .integer: Self(exactly: cells.integer(row))
    case .real: Self(exactly: cells.real(row))
    case .text: cells.withBytes(at: row) { TextValue.integer(in: $0, as: Self.self) }
    case .boolean, .date, .binary: nil
    }
  }
}

extension Int: CellValue {}
extension Int8: CellValue {}
extension Int16: CellValue {}
extension Int32: CellValue {}
extension Int64: CellValue {}
extension UInt: CellValue {}
extension UInt8: CellValue {}
extension UInt16: CellValue {}
extension UInt32: CellValue {}
extension UInt64: CellValue {}

extension Double: CellValue {
  public static var cellDescription: String { "a number" }

  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> Double? {
    guard !cells.isMissing(row) else { return nil }
    switch cells.type {
    case .real: return cells.real(row)
    case .integer: return Double(cells.integer(row))
    case .text:
      return cells.withBytes(at: row) {
        TextValue.real(in: $0, hasComma: column.hasDecimalComma)
      }
    case .boolean, .date, .binary: return nil
    }
  }
}

extension Float: CellValue {
  public static var cellDescription: String { "a number" }

  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> Float? {
    Double.value(ofRow: row, in: cells, column).map { Float($0) }
  }
}

// Other values

extension Bool: CellValue {
  public static var cellDescription: String { "true or false" }

  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> Bool? {
    guard !cells.isMissing(row) else { return nil }
    switch cells.type {
    case .boolean: return cells.boolean(row)
    case .text:
      return cells.withBytes(at: row) { TextValue.boolean(in: $0) }
    case .integer, .real, .date, .binary: return nil
    }
  }
}

extension Timestamp: CellValue {
  public static var cellDescription: String {
    "a date from 1677-09-21 to 2262-04-11 (2026-02-28 or 2026-02-28T12:00:00Z)"
  }

  public static func value(
    ofRow row: Int, in cells: ColumnBatch, _ column: Column
  ) -> Timestamp? {
    guard !cells.isMissing(row) else { return nil }
    return switch cells.type {
    case .date: Timestamp(nanoseconds: cells.integer(row))
    case .text:
      // A column that reads as dates can have times without a zone.
      cells.withBytes(at: row) {
        column.reads == .date ? Timestamp(clock: $0) : Timestamp(rfc3339: $0)
      }
    case .integer, .real, .boolean, .binary: nil
    }
  }
}

/// The exact text of a cell, as ``Cell/description`` has it. Text that is not UTF-8, and binary, have no `String`; read
/// them as `[UInt8]`.
extension String: CellValue {
  public static var cellDescription: String { "text in UTF-8; read it as [UInt8]" }
  public static var acceptsEmptyText: Bool { true }

  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> String? {
    guard !cells.isMissing(row) else { return nil }
    switch cells.type {
    case .text:
      return cells.withBytes(at: row) { String(validating: $0, as: UTF8.self) }
    case .integer, .real, .boolean, .date:
      return String(unsafeUninitializedCapacity: ColumnBatch.longestText) {
        cells.writeText(of: row, to: UnsafeMutableRawPointer($0.baseAddress!))
      }
    case .binary: return nil
    }
  }
}

/// The bytes of a cell of text or binary.
extension [UInt8]: CellValue {
  public static var cellDescription: String { "text or binary" }
  public static var acceptsEmptyText: Bool { true }

  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> [UInt8]? {
    guard !cells.isMissing(row), cells.type.isBytes else { return nil }
    return cells.withBytes(at: row) { Array($0) }
  }
}

/// The cell itself. No cell is refused; a missing one is ``missing``.
extension Cell: CellValue {
  public static var cellDescription: String { "a cell" }
  public static var acceptsEmptyText: Bool { true }

  public static func value(ofRow row: Int, in cells: ColumnBatch, _ column: Column) -> Cell? {
    cells[row]
  }
}

extension Optional: CellValue where Wrapped: CellValue {
  public static var cellDescription: String { Wrapped.cellDescription }
  @inlinable public static var acceptsEmptyText: Bool { Wrapped.acceptsEmptyText }

  @inlinable
  public static func value(
    ofRow row: Int, in cells: ColumnBatch, _ column: Column
  ) -> Wrapped?? {
    if cells.lacksValue(row, as: Wrapped.self) { return .some(nil) }
    guard let value = Wrapped.value(ofRow: row, in: cells, column) else { return nil }
    return .some(value)
  }
}

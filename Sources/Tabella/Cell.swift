/// The value of one cell.
///
/// It is a convenience for code that handles a few cells. Code that handles many cells reads them from a
/// ``ColumnBatch``, without creating values.
public enum Cell: Hashable, Sendable {
  /// No value. A missing cell differs from empty text.
  case missing
  /// Text as the source has it. It is UTF-8 unless the data holds other bytes.
  case text([UInt8])
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  case date(Timestamp)
  case binary([UInt8])

  /// A text cell with the UTF-8 bytes of a string.
  public static func text(_ string: String) -> Cell { .text(Array(string.utf8)) }

  /// A text cell with the UTF-8 bytes of a part of a string.
  public static func text(_ string: Substring) -> Cell { .text(Array(string.utf8)) }

  /// The type of the columns that can hold the value; nil for a missing cell, which fits every column.
  public var type: ColumnType? {
    switch self {
    case .missing: nil
    case .text: .text
    case .integer: .integer
    case .real: .real
    case .boolean: .boolean
    case .date: .date
    case .binary: .binary
    }
  }

  /// The string of a text cell with valid UTF-8; otherwise nil.
  public var string: String? {
    guard case .text(let bytes) = self else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }
}

extension Cell: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral,
  ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral, ExpressibleByNilLiteral
{
  public init(stringLiteral value: String) { self = .text(value) }
  public init(integerLiteral value: Int64) { self = .integer(value) }
  public init(floatLiteral value: Double) { self = .real(value) }
  public init(booleanLiteral value: Bool) { self = .boolean(value) }
  public init(nilLiteral: ()) { self = .missing }
}

extension Cell: CustomStringConvertible {
  /// The value as exact text.
  ///
  /// Invalid UTF-8 in text is repaired. Whole reals have no fraction. Dates have the format of RFC 3339. Binary is
  /// hexadecimal. A missing cell is `missing`.
  public var description: String {
    switch self {
    case .missing: "missing"
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    case .integer(let value): "\(value)"
    case .real(let value): value.shortestText
    case .boolean(let value): "\(value)"
    case .date(let value): "\(value)"
    case .binary(let bytes):
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
}

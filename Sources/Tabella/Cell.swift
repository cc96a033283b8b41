/// The value of one cell.
///
/// A convenience for code that handles a few cells. Code that handles many reads them from a
/// ``ColumnBatch`` without making values.
public enum Cell: Hashable, Sendable {
  /// There is no value, which differs from empty text.
  case missing
  /// Text as the source has it; UTF-8 unless the data holds something else.
  case text([UInt8])
  case integer(Int64)
  case real(Double)
  case boolean(Bool)
  case date(Timestamp)
  case binary([UInt8])

  public static func text(_ string: String) -> Cell { .text(Array(string.utf8)) }

  /// The column type that the value fits; nil for a missing one, which fits all.
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

  /// The text, if the cell is text and valid UTF-8.
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
  /// The value as exact text: text as it is (repaired where it is not UTF-8), whole reals without a
  /// fraction, dates as RFC 3339, binary in hexadecimal, and `missing`.
  public var description: String {
    switch self {
    case .missing: "missing"
    case .text(let bytes): String(decoding: bytes, as: UTF8.self)
    case .integer(let value): "\(value)"
    case .real(let value):
      // The shortest text that reads back as the same.
      "\(value)".hasSuffix(".0") ? String("\(value)".dropLast(2)) : "\(value)"
    case .boolean(let value): "\(value)"
    case .date(let value): "\(value)"
    case .binary(let bytes):
      bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
  }
}

/// The type of a column's cells.
public enum ColumnType: Int32, Hashable, Sendable, CaseIterable {
  /// Bytes meant as text; UTF-8 unless the data holds something else, which is kept.
  case text = 1
  /// 64-bit signed.
  case integer = 2
  /// IEEE double.
  case real = 3
  case boolean = 4
  /// A ``Timestamp``.
  case date = 5
  /// Bytes that are not text.
  case binary = 6

  /// The type's name in JSON and messages.
  public var name: String {
    switch self {
    case .text: "text"
    case .integer: "integer"
    case .real: "real"
    case .boolean: "boolean"
    case .date: "date"
    case .binary: "binary"
    }
  }

  /// Whether cells are runs of bytes with offsets.
  @inlinable public var isBytes: Bool { self == .text || self == .binary }
}

/// What a column's numbers count.
public enum Unit: String, Hashable, Sendable, CaseIterable {
  case bytes
  case percent
  case seconds
}

/// A column of a source: its name, its type, and how its cells are meant.
public struct Column: Hashable, Sendable {
  /// The name; need not be unique. It has no NUL, because names cross the contract as C strings.
  public var name: String
  public var type: ColumnType
  public var unit: Unit?
  /// The type that all cells of a text column read as, empty ones apart; nil if nobody found that out. The
  /// cells stay the text that the source has. JSON, Arrow and views take them as values of this type, and an
  /// empty one as missing; see ``values(of:)``.
  public var reads: ColumnType?
  /// Whether numbers in text have a comma in front of their fraction.
  public var hasDecimalComma = false

  public init(
    _ name: String, _ type: ColumnType = .text, unit: Unit? = nil, reads: ColumnType? = nil,
    hasDecimalComma: Bool = false
  ) {
    self.name = name
    self.type = type
    self.unit = unit
    self.reads = reads
    self.hasDecimalComma = hasDecimalComma
  }

  /// The type of the values of the cells.
  public var valueType: ColumnType { reads ?? type }
}

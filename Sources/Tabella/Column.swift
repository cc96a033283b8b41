/// The type of a column's cells.
public enum ColumnType: Int32, Hashable, Sendable, CaseIterable {
  /// Text as bytes. It is UTF-8 unless the data holds other bytes, which are kept.
  case text = 1
  /// A 64-bit signed integer.
  case integer = 2
  /// An IEEE double.
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

  /// Whether cells are byte runs with offsets.
  @inlinable public var isBytes: Bool { self == .text || self == .binary }
}

/// The unit of a column's numbers.
public enum Unit: String, Hashable, Sendable, CaseIterable {
  case bytes
  case percent
  case seconds
}

/// The part that a column plays among the columns of a row. Programs use it for colours.
///
/// A program never needs a role to understand a cell, because the cells say the same.
public enum ColumnRole: String, Hashable, Sendable, CaseIterable {
  /// The name or the path of a file.
  case fileName = "file.name"
  /// The kind of that file: `file`, `directory`, `link`, `fifo`, `socket`, `block`, `character` or `unknown`.
  case fileKind = "file.kind"
  /// The permissions of that file as `ls -l` shows them, without the kind: `rwxr-xr-x`.
  case fileMode = "file.mode"
  /// The state of a process as one letter of `ps`: `R`, `S`, `D`, `T`, `t`, `Z`, `X` or `I`.
  case processState = "process.state"
}

/// A column of a source: its name, its type, and the meaning of its cells.
public struct Column: Hashable, Sendable {
  /// The name, which need not be unique. It contains no NUL, because names cross the contract as C strings.
  public var name: String
  /// The type of the cells.
  public var type: ColumnType
  /// The unit of the numbers, if the source knows it.
  public var unit: Unit?
  /// The type that all non-empty cells of a text column can be read as; nil if no one has determined such a type.
  ///
  /// The cells remain the text of the source. JSON, Arrow and views use them as values of this type and treat empty
  /// cells as missing; see ``values(of:)``. JSON keeps the text of a date that states a time without a zone, because it
  /// is no moment.
  public var reads: ColumnType?
  /// Whether numbers in text have a comma as the decimal separator.
  public var hasDecimalComma = false
  /// Whether only requests that name the column compute it, because it is expensive or rarely needed.
  ///
  /// Programs show such a column only if the user asks for it by name, and a search leaves it out. It cannot be edited.
  public var isOnRequest = false
  /// The importance of the column on a narrow screen. 0 is the most important; nil is less important than any number.
  ///
  /// If not all columns fit, those with the greatest rank leave first, and of equal ones the rightmost first.
  public var rank: Int?
  /// The part of the column among the columns of a row, if the source knows it.
  public var role: ColumnRole?

  /// Creates a column.
  public init(
    _ name: String, _ type: ColumnType = .text, unit: Unit? = nil, reads: ColumnType? = nil,
    hasDecimalComma: Bool = false, isOnRequest: Bool = false, rank: Int? = nil,
    role: ColumnRole? = nil
  ) {
    self.name = name
    self.type = type
    self.unit = unit
    self.reads = reads
    self.hasDecimalComma = hasDecimalComma
    self.isOnRequest = isOnRequest
    self.rank = rank
    self.role = role
  }

  /// The type of the cells' values: ``reads`` if it is known, otherwise ``type``.
  public var valueType: ColumnType { reads ?? type }
}

extension [Column] {
  /// The numbers of all columns except those that are computed only on request (``Column/isOnRequest``).
  public var usualNumbers: [Int] { indices.filter { !self[$0].isOnRequest } }
}

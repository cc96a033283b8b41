/// A value that is computed from the rows of a group.
///
/// Missing cells and empty texts do not count, except for ``Function/rows``. An aggregate of nothing is missing. The
/// number of rows and the number of distinct values are then 0.
public struct Aggregate: Hashable, Sendable {
  /// The computation.
  public enum Function: String, Sendable, CaseIterable {
    /// The number of rows.
    case rows
    /// The number of different values. Text is compared byte by byte.
    case distinct
    /// The sum of numbers; exact, except of a column of reals.
    case sum
    /// The sum, divided by the number of values; see ``Aggregate/significantDigits``.
    case mean
    /// The middle number in their order, or the mean of the two middle ones.
    case median
    /// The first value in the order of ``SortDescriptor``.
    case min
    /// The last value in the order of ``SortDescriptor``.
    case max
    /// The value of the first row that has one.
    case first
    /// The value of the last row that has one.
    case last

    /// Whether the function reads a column.
    public var needsColumn: Bool { self != .rows }
    /// Whether the function needs numbers.
    public var needsNumbers: Bool { self == .sum || self == .mean || self == .median }
  }

  /// A mean of decimal numbers whose digits do not end is rounded to this number of significant digits, but never to
  /// fewer decimals than the numbers have.
  public static let significantDigits = 15

  /// The computation.
  public var function: Function
  /// The number of the column; without effect for ``Function/rows``.
  public var column: Int?

  /// Creates an aggregate.
  public init(_ function: Function, ofColumn column: Int? = nil) {
    self.function = function
    self.column = column
  }

  /// The column that the aggregate needs.
  var readColumn: Int? { function.needsColumn ? column : nil }

  /// The number of rows.
  public static let rows = Aggregate(.rows)

  /// Throws ``TableError`` with `.invalidArgument` if the column does not exist or has no such aggregate.
  func check(in columns: [Column]) throws(TableError) {
    guard function.needsColumn else { return }
    guard let column, columns.indices.contains(column) else {
      throw TableError(
        .invalidArgument,
        "there is no column \(column.map { "\($0) " } ?? "")for \(function.rawValue); there are \(columns.count)",
        column: column)
    }
    let type = columns[column].valueType
    guard !function.needsNumbers || [.integer, .real, .text].contains(type) else {
      throw TableError(
        .invalidArgument,
        "\(columns[column].name) is \(type.name) and has no \(function.rawValue); it needs numbers",
        column: column)
    }
  }

  /// The name of the result: `rows`, `sum amount`.
  public func name(_ names: ColumnNames) -> String {
    guard let column = readColumn else { return function.rawValue }
    return "\(function.rawValue) \(names.names[column])"
  }
}

/// A value that is computed from the rows of a group.
///
/// Missing cells and empty texts do not count, except for ``Function/rows`` and ``Function/empty``. An aggregate of nothing
/// is missing; numbers of rows, cells and values are then 0.
public struct Aggregate: Hashable, Sendable {
  /// The computation.
  public enum Function: Hashable, Sendable {
    /// The number of rows.
    case rows
    /// The number of missing cells and empty texts.
    case empty
    /// The number of different values. Text is compared byte by byte.
    case distinct
    /// The sum of numbers; exact, except of a column of reals.
    case sum
    /// The sum, divided by the number of values; see ``Aggregate/significantDigits``.
    case mean
    /// The middle number in their order, or the mean of the two middle ones.
    case median
    /// The least number that is not below this percentage of the numbers, from 1 to 99: `p95`. It is one of the numbers.
    case percentile(Int)
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
    public var needsNumbers: Bool { self == .sum || self == .mean || isOfOrderedNumbers }
    /// Whether the function needs all numbers in their order.
    var isOfOrderedNumbers: Bool {
      if case .percentile = self { return true }
      return self == .median
    }
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

extension Aggregate.Function: RawRepresentable {
  /// All functions except percentiles.
  public static let named: [Self] = [
    .rows, .empty, .distinct, .sum, .mean, .median, .min, .max, .first, .last,
  ]

  /// The functions that programs offer: those of ``named``, and the usual percentiles.
  public static let usual: [Self] = named + [50, 90, 95, 99].map { .percentile($0) }

  /// Reads the name of a function: `sum`, or `p1` to `p99`.
  public init?(rawValue: String) {
    if let function = Self.named.first(where: { $0.rawValue == rawValue }) {
      self = function
      return
    }
    guard rawValue.hasPrefix("p"), let percent = Int(rawValue.dropFirst()), 1...99 ~= percent,
      rawValue == "p\(percent)"
    else { return nil }
    self = .percentile(percent)
  }

  /// The name of the function.
  public var rawValue: String {
    switch self {
    case .rows: "rows"
    case .empty: "empty"
    case .distinct: "distinct"
    case .sum: "sum"
    case .mean: "mean"
    case .median: "median"
    case .percentile(let percent): "p\(percent)"
    case .min: "min"
    case .max: "max"
    case .first: "first"
    case .last: "last"
    }
  }
}

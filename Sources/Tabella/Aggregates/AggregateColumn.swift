/// The values of an aggregate, with their type.
///
/// Values are computed when they are read, some rows at a time. Several threads may read at the same time.
struct AggregateColumn {
  private enum Values {
    case cells((Range<Int>) -> [Cell])
    case integers((Range<Int>) -> [Int64])
    case extremes(Extremes, order: [UInt32])
    /// Numbers, or nil for missing values.
    case numbers((Range<Int>) -> [ExactNumber?], NumberKinds)
  }

  let column: Column
  private let count: Int
  private let values: Values

  /// The number of rows whose values are computed together.
  private static let together = 256

  /// `cells` returns the cells of some of `count` rows.
  init(_ column: Column, count: Int, _ cells: @escaping (Range<Int>) -> [Cell]) {
    (self.column, self.count, values) = (column, count, .cells(cells))
  }

  /// The first or last values of groups, in the given order.
  init(_ column: Column, _ extremes: Extremes, of order: [UInt32]) {
    (self.column, count, values) = (column, order.count, .extremes(extremes, order: order))
  }

  /// Integers of groups, in the given order.
  init(of order: [UInt32], name: String, _ integer: @escaping (UInt32) -> Int) {
    (column, count) = (Column(name, .integer), order.count)
    values = .integers { rows in order[rows].map { Int64(integer($0)) } }
  }

  /// Exact numbers as a column: of integers if all fit, otherwise of text that reads as numbers. `numbers` returns the
  /// numbers of some of `count` rows, and `kinds` has seen all of them.
  init(
    count: Int, _ kinds: NumberKinds, name: String, unit: Unit?, hasComma: Bool,
    _ numbers: @escaping (Range<Int>) -> [ExactNumber?]
  ) {
    (self.count, values) = (count, .numbers(numbers, kinds))
    column =
      kinds.areIntegers
      ? Column(name, .integer, unit: unit)
      : Column(
        name, unit: unit, reads: kinds.areReadable ? .real : nil, hasDecimalComma: hasComma)
  }

  /// The cells of all rows.
  /// - Complexity: O(n)
  var cells: [Cell] { cells(of: 0..<count) }

  /// The cell of a row.
  subscript(row: Int) -> Cell { cells(of: row..<row + 1)[0] }

  private func cells(of rows: Range<Int>) -> [Cell] {
    switch values {
    case .cells(let cells): return cells(rows)
    case .integers(let integers): return integers(rows).map { .integer($0) }
    case .extremes(let extremes, let order):
      return order[rows].map { extremes.cell(ofGroup: Int($0)) }
    case .numbers(let numbers, _):
      return numbers(rows).map { number in
        guard let number else { return .missing }
        if column.type == .integer { return number.integer.map { .integer($0) } ?? .missing }
        return number.withText(hasComma: column.hasDecimalComma) { .text(Array($0)) }
      }
    }
  }

  /// Appends the cells of rows to a column of the same type.
  func append(_ rows: Range<Int>, to builder: ColumnBuilder) {
    for start in stride(from: rows.lowerBound, to: rows.upperBound, by: AggregateColumn.together) {
      let some = start..<min(start + AggregateColumn.together, rows.upperBound)
      switch values {
      case .integers(let integers): builder.append(contentsOf: integers(some))
      case .extremes(let extremes, let order): extremes.append(order[some], to: builder)
      case .numbers(let numbers, _) where column.type == .text:
        for number in numbers(some) {
          guard let number else {
            builder.appendMissing()
            continue
          }
          number.withText(hasComma: column.hasDecimalComma) { builder.append(bytes: $0) }
        }
      default: for cell in cells(of: some) { builder.append(cell) }
      }
    }
  }

  /// Whether the texts of rows have at most `limit` bytes.
  func fit(_ rows: Range<Int>, into limit: Int) -> Bool {
    guard column.type.isBytes else { return true }
    switch values {
    case .numbers(_, let kinds) where kinds.areSmall:
      return rows.count * ExactNumber.longestSmall <= limit
    case .numbers(let numbers, _):
      return limit
        >= numbers(rows).reduce(0) { sum, number in
          guard case .large(let decimal)? = number else { return sum + ExactNumber.longestSmall }
          return sum + decimal.digits.count + decimal.scale + 3
        }
    case .integers: return true
    case .extremes(let extremes, let order): return extremes.fit(order[rows], into: limit)
    case .cells(let cells):
      return limit
        >= cells(rows).reduce(0) { sum, cell in
          switch cell {
          case .text(let bytes), .binary(let bytes): sum + bytes.count
          default: sum
          }
        }
    }
  }
}

/// Properties that all of some exact numbers have. They decide the type of a column.
struct NumberKinds {
  private(set) var areIntegers = true
  /// Whether none has more than 18 digits.
  private(set) var areSmall = true
  /// Whether none is beyond the doubles.
  private(set) var areReadable = true

  mutating func add(_ number: ExactNumber?) {
    guard let number else { return }
    if areIntegers, number.integer == nil { areIntegers = false }
    guard case .large(let decimal) = number else { return }
    areSmall = false
    if decimal.digits.count - decimal.scale > 308 { areReadable = false }
  }
}

/// The values of an aggregate of groups, with their type.
///
/// Values are computed when they are read. Several threads may read at the same time.
struct AggregateColumn {
  private enum Values {
    case cells((ArraySlice<UInt32>) -> [Cell])
    case integers((ArraySlice<UInt32>) -> [Int64])
    case grouped(GroupedCells)
    /// Numbers, or nil for missing values.
    case numbers((ArraySlice<UInt32>) -> [ExactNumber?], NumberKinds)
  }

  let column: Column
  private let values: Values

  /// The number of groups whose values are computed together.
  private static let together = 256

  /// `cells` returns the cells of some groups.
  init(_ column: Column, _ cells: @escaping (ArraySlice<UInt32>) -> [Cell]) {
    (self.column, values) = (column, .cells(cells))
  }

  /// Cells of groups, of the type of the column.
  init(_ column: Column, _ cells: GroupedCells) {
    (self.column, values) = (column, .grouped(cells))
  }

  /// Integers of groups.
  init(name: String, _ integer: @escaping (UInt32) -> Int) {
    column = Column(name, .integer)
    values = .integers { groups in groups.map { Int64(integer($0)) } }
  }

  /// Exact numbers as a column: of integers if all fit, otherwise of text that reads as numbers. `numbers` returns the
  /// numbers of some groups, and `kinds` has seen all of them.
  init(
    _ kinds: NumberKinds, name: String, unit: Unit?, hasComma: Bool,
    _ numbers: @escaping (ArraySlice<UInt32>) -> [ExactNumber?]
  ) {
    values = .numbers(numbers, kinds)
    column =
      kinds.areIntegers
      ? Column(name, .integer, unit: unit)
      : Column(
        name, unit: unit, reads: kinds.areReadable ? .real : nil, hasDecimalComma: hasComma)
  }

  /// The cells of some groups.
  /// - Complexity: O(groups)
  func cells(ofGroups groups: ArraySlice<UInt32>) -> [Cell] {
    switch values {
    case .cells(let cells): return cells(groups)
    case .integers(let integers): return integers(groups).map { .integer($0) }
    case .grouped(let cells): return groups.map { cells.cell(ofGroup: Int($0)) }
    case .numbers(let numbers, _):
      return numbers(groups).map { number in
        guard let number else { return .missing }
        if column.type == .integer { return number.integer.map { .integer($0) } ?? .missing }
        return number.withText(hasComma: column.hasDecimalComma) { .text(Array($0)) }
      }
    }
  }

  /// Appends the cells of groups to a column of the same type.
  func append(ofGroups groups: ArraySlice<UInt32>, to builder: ColumnBuilder) {
    var rest = groups
    while !rest.isEmpty {
      let some = rest.prefix(AggregateColumn.together)
      rest = rest.dropFirst(some.count)
      switch values {
      case .integers(let integers): builder.append(contentsOf: integers(some))
      case .grouped(let cells): cells.append(some, to: builder)
      case .numbers(let numbers, _) where column.type == .text:
        for number in numbers(some) {
          guard let number else {
            builder.appendMissing()
            continue
          }
          number.withText(hasComma: column.hasDecimalComma) { builder.append(bytes: $0) }
        }
      default: for cell in cells(ofGroups: some) { builder.append(cell) }
      }
    }
  }

  /// Whether the texts of groups have at most `limit` bytes.
  func fit(ofGroups groups: ArraySlice<UInt32>, into limit: Int) -> Bool {
    guard column.type.isBytes else { return true }
    switch values {
    case .numbers(_, let kinds) where kinds.areSmall:
      return groups.count * ExactNumber.longestSmall <= limit
    case .numbers(let numbers, _):
      return limit
        >= numbers(groups).reduce(0) { sum, number in
          guard case .large(let decimal)? = number else { return sum + ExactNumber.longestSmall }
          return sum + decimal.digits.count + decimal.scale + 3
        }
    case .integers: return true
    case .grouped(let cells): return cells.fit(groups, into: limit)
    case .cells(let cells):
      return limit
        >= cells(groups).reduce(0) { sum, cell in
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

/// The values of an aggregate, with their type.
struct AggregateColumn {
  private enum Values {
    case cells([Cell])
    /// Numbers, or nil for missing values. They take less memory than cells of text.
    case numbers([ExactNumber?])
  }

  let column: Column
  private let values: Values

  init(_ column: Column, _ cells: [Cell]) {
    (self.column, values) = (column, .cells(cells))
  }

  /// Exact numbers as a column: of integers if all fit, otherwise of text that reads as numbers.
  init(_ numbers: [ExactNumber?], name: String, unit: Unit?, hasComma: Bool) {
    values = .numbers(numbers)
    if numbers.allSatisfy({ $0.map { $0.integer != nil } ?? true }) {
      column = Column(name, .integer, unit: unit)
      return
    }
    // A number beyond the doubles could not be read.
    let isReadable = numbers.allSatisfy { number in
      guard case .large(let decimal)? = number else { return true }
      return decimal.digits.count - decimal.scale <= 308
    }
    column = Column(
      name, unit: unit, reads: isReadable ? .real : nil, hasDecimalComma: hasComma)
  }

  /// The cells of all rows.
  /// - Complexity: O(n)
  var cells: [Cell] {
    switch values {
    case .cells(let cells): cells
    case .numbers(let numbers): numbers.indices.map { self[$0] }
    }
  }

  /// The cell of a row.
  subscript(row: Int) -> Cell {
    switch values {
    case .cells(let cells): return cells[row]
    case .numbers(let numbers):
      guard let number = numbers[row] else { return .missing }
      if column.type == .integer { return number.integer.map { .integer($0) } ?? .missing }
      return number.withText(hasComma: column.hasDecimalComma) { .text(Array($0)) }
    }
  }

  /// Appends the cell of a row to a column of the same type.
  func append(_ row: Int, to builder: ColumnBuilder) {
    guard case .numbers(let numbers) = values, let number = numbers[row], column.type == .text
    else { return builder.append(self[row]) }
    number.withText(hasComma: column.hasDecimalComma) { builder.append(bytes: $0) }
  }

  /// The maximum number of bytes that a row adds to a column of text or binary.
  func byteCount(_ row: Int) -> Int {
    switch values {
    case .numbers(let numbers):
      guard case .large(let decimal)? = numbers[row] else { return ExactNumber.longestSmall }
      return decimal.digits.count + decimal.scale + 3
    case .cells(let cells):
      switch cells[row] {
      case .text(let bytes), .binary(let bytes): return bytes.count
      default: return 0
      }
    }
  }
}

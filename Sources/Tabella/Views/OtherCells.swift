/// The cells of another column that a condition compares with.
struct OtherCells {
  /// The index of the other column in a batch.
  private(set) var index = 0
  private let column: Column
  private var converter: Zone.Converter
  private let zone: Zone

  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist, for a regular expression, and for
  /// columns whose values have nothing in common, such as numbers and dates.
  init(
    _ condition: Condition, in columns: [Column], _ dates: DateContext
  ) throws(TableError) {
    let other = condition.otherColumn ?? 0
    guard columns.indices.contains(other) else {
      throw TableError(
        .invalidArgument,
        "there is no column \(other) to compare with; there are \(columns.count)", column: other)
    }
    column = columns[other]
    zone = dates.zone
    converter = Zone.Converter(dates.zone)
    let own = columns[condition.column]
    guard condition.comparison != .matches, condition.comparison != .doesNotMatch else {
      throw TableError(
        .invalidArgument, "a regular expression cannot be in a column", column: other)
    }
    guard OtherCells.areComparable(own.valueType, column.valueType) else {
      throw TableError(
        .invalidArgument,
        "\(own.name) is \(own.valueType.name) and \(column.name) is \(column.valueType.name); they cannot be compared",
        column: condition.column)
    }
  }

  /// The same cells at an index in a batch.
  func at(_ index: Int) -> OtherCells {
    var cells = self
    cells.index = index
    return cells
  }

  private static func areComparable(_ a: ColumnType, _ b: ColumnType) -> Bool {
    let numbers: [ColumnType] = [.integer, .real]
    return a == b || a == .text || b == .text || numbers.contains(a) && numbers.contains(b)
  }

  /// Whether the comparison is true for a row whose two cells are not missing.
  mutating func comparing(
    _ cells: ColumnBatch, of own: Column, with others: ColumnBatch,
    _ comparison: Condition.Comparison
  ) -> (_ row: Int) -> Bool {
    switch (cells.type, others.type) {
    case (.integer, .integer), (.date, .date):
      return { row in
        let (a, b) = (cells.integer(row), others.integer(row))
        return comparison.holds(a < b ? -1 : a > b ? 1 : 0)
      }
    case (.real, .real), (.real, .integer), (.integer, .real):
      return { row in OtherCells.holds(comparison, cells, others, row) }
    case (.boolean, .boolean):
      return { row in
        comparison.holds((cells.boolean(row) ? 1 : 0) - (others.boolean(row) ? 1 : 0))
      }
    case (.binary, .binary):
      return { row in
        cells.withBytes(at: row) { a in
          others.withBytes(at: row) { comparison.holds(NaturalOrder.compareBytes(a, $0)) }
        }
      }
    case _ where own.valueType == .date && column.valueType == .date:
      let (values, otherValues) = (own.values(of: cells), column.values(of: others))
      return { row in
        guard !values.isMissing(row), !otherValues.isMissing(row) else {
          // An empty cell counts as missing.
          return comparison.isNegated
        }
        let (a, b) = (values.integer(row), otherValues.integer(row))
        return comparison.holds(a < b ? -1 : a > b ? 1 : 0)
      }
    default: return comparingTexts(cells, own, others, comparison)
    }
  }

  /// Compares numbers of which at least one is a real. Finite numbers compare exactly.
  private static func holds(
    _ comparison: Condition.Comparison, _ cells: ColumnBatch, _ others: ColumnBatch, _ row: Int
  ) -> Bool {
    func real(_ cells: ColumnBatch) -> Double {
      cells.type == .real ? cells.real(row) : Double(cells.integer(row))
    }
    let (a, b) = (real(cells), real(others))
    if a.isNaN || b.isNaN { return comparison == .notEqual }
    if a != b || cells.type == others.type {
      return comparison.holds(a < b ? -1 : a > b ? 1 : 0)
    }
    // A large integer is equal to a double only if it has the same digits.
    func exact(_ cells: ColumnBatch) -> Int128 {
      cells.type == .integer ? Int128(cells.integer(row)) : Int128(cells.real(row))
    }
    let (left, right) = (exact(cells), exact(others))
    return comparison.holds(left < right ? -1 : left > right ? 1 : 0)
  }

  private func comparingTexts(
    _ cells: ColumnBatch, _ own: Column, _ others: ColumnBatch, _ comparison: Condition.Comparison
  ) -> (_ row: Int) -> Bool {
    let cells = cells.type == .text ? cells : cells.asText()
    let others = others.type == .text ? others : others.asText()
    let (hasComma, othersHaveComma) = (own.hasDecimalComma, column.hasDecimalComma)
    var converter = converter
    let zone = zone
    return { row in
      cells.withBytes(at: row) { cell in
        others.withBytes(at: row) { other in
          RowFilter.holds(
            comparison, cell, other, NumberText(other, hasComma: othersHaveComma),
            DateValue(cell: other, zone), &converter, hasComma: hasComma)
        }
      }
    }
  }
}

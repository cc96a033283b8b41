import Tabella

/// Infers the types of text columns from their cells.
struct CellTypes {
  /// The remaining candidates of each column, from the narrowest type to the widest.
  private var candidates: [[ColumnType]]
  private var hasValue: [Bool]
  private let hasDecimalComma: Bool

  init(columns: Int, hasDecimalComma: Bool) {
    candidates = Array(repeating: [.integer, .real, .boolean, .date], count: columns)
    hasValue = Array(repeating: false, count: columns)
    self.hasDecimalComma = hasDecimalComma
  }

  /// Removes the candidates that do not match a cell of a column.
  mutating func observe(_ cell: UnsafeRawBufferPointer, column: Int) {
    if cell.isEmpty { return }
    hasValue[column] = true
    if candidates[column].isEmpty { return }
    candidates[column].removeAll {
      TextValue.value(in: cell, as: $0, hasDecimalComma: hasDecimalComma) == nil
    }
  }

  /// The type that matches all cells of each column; nil for text.
  var types: [ColumnType?] {
    candidates.indices.map { hasValue[$0] ? candidates[$0].first : nil }
  }
}

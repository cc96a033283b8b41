import Tabella

/// The finding of the types that columns of text read as.
struct CellTypes {
  /// The types that a column may still have, narrowest first.
  private var candidates: [[ColumnType]]
  private var hasValue: [Bool]
  private let hasDecimalComma: Bool

  init(columns: Int, hasDecimalComma: Bool) {
    candidates = Array(repeating: [.integer, .real, .boolean, .date], count: columns)
    hasValue = Array(repeating: false, count: columns)
    self.hasDecimalComma = hasDecimalComma
  }

  /// Takes a cell of a column into account.
  mutating func observe(_ cell: UnsafeRawBufferPointer, column: Int) {
    if cell.isEmpty { return }
    hasValue[column] = true
    if candidates[column].isEmpty { return }
    candidates[column].removeAll {
      TextValue.value(in: cell, as: $0, hasDecimalComma: hasDecimalComma) == nil
    }
  }

  /// The type that all observed cells of each column have, if it is another than text.
  var types: [ColumnType?] {
    candidates.indices.map { hasValue[$0] ? candidates[$0].first : nil }
  }
}

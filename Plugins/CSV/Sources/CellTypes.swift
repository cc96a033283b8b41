import Tabella

/// The types that the cells of text columns have in common.
///
/// An integer is also a real; all other types exclude each other. So one type per column is enough to remember, and the
/// order in which cells are observed makes no difference.
struct CellTypes {
  /// The narrowest type of all non-empty cells so far; nil without any.
  private var found: [ColumnType?]
  private let hasDecimalComma: Bool

  init(_ columns: [Column]) {
    found = Array(repeating: nil, count: columns.count)
    hasDecimalComma = columns.first?.hasDecimalComma ?? false
  }

  /// The columns whose type more cells can change.
  var undecided: [Int] { found.indices.filter { found[$0] != .text } }

  /// Widens the type of a column to one that all these cells have.
  mutating func observe(_ cells: ColumnBatch, column: Int) {
    var row = 0
    while found[column] != .text {
      if let type = found[column] {
        guard
          let misfit = cells.firstMisfit(of: type, from: row, hasDecimalComma: hasDecimalComma)
        else { return }
        row = misfit
        found[column] = type == .integer && fits(cells, row, .real) ? .real : .text
      } else {
        guard let first = cells.firstText(from: row) else { return }
        row = first
        found[column] =
          [.integer, .real, .boolean, .date].first { fits(cells, row, $0) } ?? .text
      }
    }
  }

  private func fits(_ cells: ColumnBatch, _ row: Int, _ type: ColumnType) -> Bool {
    cells[row..<row + 1].firstMisfit(of: type, hasDecimalComma: hasDecimalComma) == nil
  }

  /// Widens the types to those that the cells of another observation also have.
  mutating func merge(_ other: CellTypes) {
    for (column, type) in other.found.enumerated() {
      switch (found[column], type) {
      case (_, nil): break
      case (nil, _): found[column] = type
      case (.integer, .real), (.real, .integer): found[column] = .real
      case (let own, _): if own != type { found[column] = .text }
      }
    }
  }

  /// The type that matches all cells of each column; nil for text.
  var types: [ColumnType?] { found.map { $0 == .text ? nil : $0 } }
}

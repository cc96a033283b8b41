import Tabella
import TabellaTerminal

/// Rows as items of a grid, section by section, in column order like `ls`. An item shows the first cell of its row, or
/// all chosen columns.
struct CollectionFormat: Format {
  /// The maximum number of items in one layout.
  private static let most = 1000

  private let output: Output
  private let cells: ReadableCells
  private let lines: SectionLines
  private var table: ShownTable?
  private var hasSection = false
  private var items: [SafeText] = []

  init(_ output: Output) {
    self.output = output
    cells = ReadableCells(output.screen, limit: output.screen.width)
    lines = SectionLines(screen: output.screen)
  }

  private var screen: Screen { output.screen }

  var needs: FormatNeeds { [.elements, .links, .colours] }

  /// By default, an item shows only the first column.
  var columnLimit: Int? { table?.table.hasChosenColumns == true ? nil : 1 }

  var shownColumnCount: Int? { columnLimit }

  mutating func begin(_ table: ShownTable) { self.table = table }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try lines.writeAbove(section, isFirst: !hasSection, of: table, to: output)
    hasSection = true
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    for row in 0..<rows.batch.rowCount {
      items.append(item(rows, row))
      if items.count == CollectionFormat.most { try writeItems() }
    }
  }

  private func item(_ rows: ShownRows, _ row: Int) -> SafeText {
    guard let table else { return SafeText() }
    let texts = zip(rows.batch.columns, table.columns).enumerated().map { index, cell in
      cells.dressed(
        cells.text(cell.0, cell.1, row), rows, row, column: index, columns: screen.width)
    }
    let text = SafeText.joined(texts, separator: " ")
    // Styled text cannot be cut, so a wide item loses its styles.
    var item = text.width <= screen.width ?? .max ? text : plain(rows, row, table)
    if let address = rows.links?[row] { item = item.linked(to: address) }
    // A badge appears only if the item leaves room for it.
    if let badge = rows.badge(row, screen), item.width + 1 + badge.width <= screen.width ?? .max {
      item.append(" " + badge)
    }
    return item
  }

  private func plain(_ rows: ShownRows, _ row: Int, _ table: ShownTable) -> SafeText {
    let texts = zip(rows.batch.columns, table.columns).map { cells.text($0, $1, row) }
    return screen.fitted(SafeText.joined(texts, separator: " "))
  }

  mutating func pause() throws(Failure) { try writeItems() }

  /// Writes the collected items in as few lines as possible.
  private mutating func writeItems() throws(Failure) {
    guard !items.isEmpty else { return }
    let grid = Grid(items.map(\.width), width: screen.width)
    for line in 0..<grid.height {
      output.beginRows(stride(from: line, to: items.count, by: grid.height).underestimatedCount)
      var text = SafeText()
      for (column, width) in grid.widths.enumerated() {
        let number = column * grid.height + line
        guard number < items.count else { break }
        let isLast = number + grid.height >= items.count
        text.append(isLast ? items[number] : items[number].padded(to: width + Grid.gap))
      }
      try output.write(text + "\n")
    }
    items = []
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    try writeItems()
    try lines.writeBelow(section, of: table, to: output)
  }

  mutating func end(failure: Failure?) throws(Failure) {
    try writeItems()
    if failure == nil { try lines.writeTotal(of: table, to: output) }
  }
}

/// A layout of items in as few lines as possible, in column order.
struct Grid {
  static let gap = 2
  let height: Int
  /// The widths of the columns.
  let widths: [Int]

  /// Lays out items with the given widths.
  ///
  /// - Complexity: O(items × columns that could fit)
  init(_ items: [Int], width: Int?) {
    let narrowest = max(1, items.min() ?? 1)
    var columns = width.map { max(1, ($0 + Grid.gap) / (narrowest + Grid.gap)) } ?? 1
    columns = min(columns, items.count)
    while columns > 1 {
      let height = (items.count + columns - 1) / columns
      let widths = Grid.widths(items, height)
      if widths.reduce(0, +) + Grid.gap * (widths.count - 1) <= width ?? 0 {
        self.height = height
        self.widths = widths
        return
      }
      columns -= 1
    }
    height = items.count
    widths = [items.max() ?? 0]
  }

  private static func widths(_ items: [Int], _ height: Int) -> [Int] {
    stride(from: 0, to: items.count, by: height).map { first in
      items[first..<min(first + height, items.count)].max() ?? 0
    }
  }
}

import Tabella

/// The column widths of a printed table.
package struct TableLayout: Hashable, Sendable {
  /// The minimum widths: of the first column, which identifies rows, of other columns, and of names.
  static let minimum = (first: 16, cells: 8, name: 12)

  /// The number of terminal columns between two columns of the table.
  package let gap: Int
  /// The minimum width of each column.
  private let least: [Int]

  /// The numbers and widths of the shown columns.
  package private(set) var columns: [(index: Int, width: Int)]
  /// The numbers of the columns that did not fit.
  package private(set) var dropped: [Int] = []

  /// Fits columns into a width. `cells` and `names` are the widths of the widest cells and of the names.
  ///
  /// All widths are in terminal columns; nil means no limit. If the columns do not fit at their minimum widths, the
  /// rightmost ones are dropped. Then the widest columns that can shrink become narrower together. Names can always
  /// be cut.
  package init(cells: [Int], names: [Int], canShrink: [Bool], gap: Int = 2, width: Int?) {
    self.gap = gap
    let minimum = TableLayout.minimum
    columns = zip(cells, names).enumerated().map { ($0.offset, max($0.element.0, $0.element.1)) }
    least = cells.indices.map { index in
      let name = min(names[index], minimum.name)
      let least = index == 0 ? minimum.first : minimum.cells
      let cell = canShrink[index] ? min(cells[index], least) : cells[index]
      return max(name, cell)
    }
    guard let width else { return }
    var sum = least.reduce(0) { $0 + gap + $1 } - gap
    while sum > width, columns.count > 1 {
      let last = columns.removeLast().index
      dropped.append(last)
      sum -= least[last] + gap
    }
    dropped.reverse()
    var excess = total - width
    while excess > 0 {
      let shrinkable = columns.indices.filter { columns[$0].width > least[columns[$0].index] }
      guard let widest = shrinkable.map({ columns[$0].width }).max() else {
        // The only remaining column is wider than the terminal.
        if let first = columns.first { columns[0].width = max(1, first.width - excess) }
        return
      }
      lower(shrinkable.filter { columns[$0].width == widest }, among: shrinkable, to: width)
      excess = total - width
    }
  }

  /// Widens the first column to `wish`, as far as `width` permits.
  package mutating func widenFirst(to wish: Int, within width: Int?) {
    guard let first = columns.first, wish > first.width else { return }
    let spare = width.map { max(0, $0 - total) } ?? .max
    columns[0].width += min(spare, wish - first.width)
  }

  /// The width of a line in terminal columns.
  package var total: Int {
    columns.reduce(0) { $0 + $1.width } + gap * max(0, columns.count - 1)
  }

  /// Narrows the widest columns together, by the necessary amount, but not below the next widest column.
  private mutating func lower(_ widest: [Int], among shrinkable: [Int], to width: Int) {
    let level = columns[widest[0]].width
    let next = shrinkable.map { columns[$0].width }.filter { $0 < level }.max() ?? 0
    let excess = total - width
    for (number, column) in widest.enumerated() {
      let share = excess / widest.count + (number < excess % widest.count ? 1 : 0)
      columns[column].width = max(next, least[columns[column].index], level - share)
    }
  }

  package static func == (left: TableLayout, right: TableLayout) -> Bool {
    left.dropped == right.dropped && left.columns.map(\.width) == right.columns.map(\.width)
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(columns.map(\.width))
    hasher.combine(dropped)
  }
}

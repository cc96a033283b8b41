import Tabella

/// The column widths of a printed table.
package struct TableLayout: Hashable, Sendable {
  /// The minimum widths: of the first column, which identifies rows, of other columns, and of names.
  static let minimum = (first: 16, cells: 8, name: 12)

  /// The number of terminal columns between two columns of the table.
  package let gap: Int
  /// The minimum width of each column, as long as the shown columns stay the same.
  private var least: [Int]
  /// The number of columns that fit if all of them have their minimum widths.
  package private(set) var fitting: Int

  /// The numbers and widths of the shown columns.
  package private(set) var columns: [(index: Int, width: Int)]
  /// The numbers of the columns that did not fit.
  package private(set) var dropped: [Int] = []

  /// Fits columns into a width. `cells` and `names` are the widths of the widest cells and of the names.
  ///
  /// All widths are in terminal columns; nil means no limit. `ranks` are the ranks of the columns (``Column/rank``);
  /// without them, all columns are equally important.
  ///
  /// The least important columns are dropped until the others fit; of equally important ones, the rightmost first. The
  /// least important of the shown columns can shrink to their minimum widths, and more important ones to half of the
  /// width. Columns that shrink become narrower together, the widest first. Names can always be cut.
  package init(
    cells: [Int], names: [Int], canShrink: [Bool], ranks: [Int?]? = nil, gap: Int = 2, width: Int?
  ) {
    self.gap = gap
    columns = zip(cells, names).enumerated().map { ($0.offset, max($0.element.0, $0.element.1)) }
    fitting = columns.count
    func narrowed(_ index: Int, to limit: Int) -> Int {
      let cell = canShrink[index] ? min(cells[index], limit) : cells[index]
      return max(min(names[index], TableLayout.minimum.name), cell)
    }
    let minimum = TableLayout.minimum
    let tight = cells.indices.map { narrowed($0, to: $0 == 0 ? minimum.first : minimum.cells) }
    least = tight
    guard let width, !columns.isEmpty else { return }
    // An important column keeps this width while a less important one is shown.
    let roomy = cells.indices.map { max(narrowed($0, to: width / 2), tight[$0]) }
    let rank = cells.indices.map { ranks?[$0] ?? .max }
    let order = cells.indices.sorted { (rank[$0], $0) < (rank[$1], $1) }
    let (shown, fitting) = TableLayout.numberFitting(
      order, rank, tight: tight, roomy: roomy, gap: gap, width: width)
    self.fitting = fitting
    dropped = order[shown...].sorted()
    let kept = Set(order[..<shown])
    columns.removeAll { !kept.contains($0.index) }
    let last = rank[order[shown - 1]]
    for index in kept where rank[index] < last { least[index] = roomy[index] }
    // The least important columns shrink first.
    for level in Set(kept.map { rank[$0] }).sorted(by: >) {
      let group = columns.indices.filter { rank[columns[$0].index] == level }
      if shrink(group, to: width) { return }
    }
    // The only remaining column is wider than the terminal.
    columns[0].width = max(1, columns[0].width - (total - width))
  }

  /// The number of columns in the order of their importance that fit, at least 1, and the number that would fit at
  /// their minimum widths.
  private static func numberFitting(
    _ order: [Int], _ rank: [Int], tight: [Int], roomy: [Int], gap: Int, width: Int
  ) -> (shown: Int, fitting: Int) {
    var (shown, fitting) = (1, 1)
    // The widths of more important columns, of columns as important as this one, and of all at their minimum widths.
    var (before, equal, all) = (0, (tight: 0, roomy: 0), 0)
    for (number, index) in order.enumerated() {
      if number > 0, rank[order[number - 1]] != rank[index] {
        before += equal.roomy
        equal = (0, 0)
      }
      equal.tight += tight[index] + gap
      equal.roomy += roomy[index] + gap
      all += tight[index] + gap
      if before + equal.tight - gap <= width { shown = max(shown, number + 1) }
      if all - gap <= width { fitting = number + 1 }
    }
    return (shown, max(fitting, shown))
  }

  /// Narrows some columns until the line fits. Returns false if they are still too wide at their minimum widths.
  private mutating func shrink(_ group: [Int], to width: Int) -> Bool {
    while total > width {
      let shrinkable = group.filter { columns[$0].width > least[columns[$0].index] }
      guard let widest = shrinkable.map({ columns[$0].width }).max() else { return false }
      lower(shrinkable.filter { columns[$0].width == widest }, among: shrinkable, to: width)
    }
    return true
  }

  /// Widens the first column to `wish`, as far as `width` permits.
  package mutating func widen(_ index: Int, to wish: Int, within width: Int?) {
    guard let number = columns.firstIndex(where: { $0.index == index }),
      wish > columns[number].width
    else { return }
    let spare = width.map { max(0, $0 - total) } ?? .max
    columns[number].width += min(spare, wish - columns[number].width)
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

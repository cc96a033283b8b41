import Tabella

/// How wide the columns of a printed table are.
public struct TableLayout: Hashable, Sendable {
  /// What columns are not cut below: the first, which tells rows apart, others, and their names.
  static let minimum = (first: 16, cells: 8, name: 12)

  /// The columns of the terminal between two columns.
  public let gap: Int
  /// How narrow each column may get.
  private let least: [Int]

  /// The columns shown, by number, with their widths.
  public private(set) var columns: [(index: Int, width: Int)]
  /// The columns left out because the width did not suffice.
  public private(set) var dropped: [Int] = []

  /// Fits columns whose widest cells and names take so many columns into `width` columns of a terminal;
  /// nil means no limit.
  ///
  /// The rightmost columns are left out if all cannot fit even when they are cut; then the widest that
  /// may be cut shrink, together. Names may always be cut.
  public init(cells: [Int], names: [Int], canShrink: [Bool], gap: Int = 2, width: Int?) {
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
        // One column is left, and wider than the terminal.
        if let first = columns.first { columns[0].width = max(1, first.width - excess) }
        return
      }
      lower(shrinkable.filter { columns[$0].width == widest }, among: shrinkable, to: width)
      excess = total - width
    }
  }

  /// Makes the first column as wide as it would like to be, as far as there is room.
  public mutating func widenFirst(to wish: Int, within width: Int?) {
    guard let first = columns.first, wish > first.width else { return }
    let spare = width.map { max(0, $0 - total) } ?? .max
    columns[0].width += min(spare, wish - first.width)
  }

  /// The columns of the terminal that a line takes.
  public var total: Int {
    columns.reduce(0) { $0 + $1.width } + gap * max(0, columns.count - 1)
  }

  /// Narrows the widest columns together: to what is needed, but at most to the next widest.
  private mutating func lower(_ widest: [Int], among shrinkable: [Int], to width: Int) {
    let level = columns[widest[0]].width
    let next = shrinkable.map { columns[$0].width }.filter { $0 < level }.max() ?? 0
    let excess = total - width
    for (number, column) in widest.enumerated() {
      let share = excess / widest.count + (number < excess % widest.count ? 1 : 0)
      columns[column].width = max(next, least[columns[column].index], level - share)
    }
  }

  public static func == (left: TableLayout, right: TableLayout) -> Bool {
    left.dropped == right.dropped && left.columns.map(\.width) == right.columns.map(\.width)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(columns.map(\.width))
    hasher.combine(dropped)
  }
}

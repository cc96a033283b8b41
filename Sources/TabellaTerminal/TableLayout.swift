import Tabella

/// How wide the columns of a printed table are.
public struct TableLayout: Hashable, Sendable {
  /// Columns between columns.
  public static let gap = 2
  /// No column that is cut gets narrower than this.
  static let minimum = 4

  /// The columns shown, by number, with their widths.
  public private(set) var columns: [(index: Int, width: Int)]
  /// The columns left out because the width did not suffice.
  public private(set) var dropped: [Int] = []

  /// Fits columns of these natural widths into `width` columns of a terminal; nil means no limit.
  ///
  /// The rightmost columns are left out if all cannot fit even when they are cut; then the widest that
  /// may be cut shrink, together.
  public init(natural: [Int], canShrink: [Bool], width: Int?) {
    columns = natural.enumerated().map { (index: $0.offset, width: $0.element) }
    guard let width else { return }
    var least = columns.reduce(-TableLayout.gap) { sum, column in
      sum + TableLayout.gap + leastWidth(column.index)
    }
    func leastWidth(_ index: Int) -> Int {
      canShrink[index] ? min(natural[index], TableLayout.minimum) : natural[index]
    }
    while least > width, columns.count > 1 {
      let last = columns.removeLast().index
      dropped.append(last)
      least -= leastWidth(last) + TableLayout.gap
    }
    dropped.reverse()
    var excess = TableLayout.total(columns) - width
    while excess > 0 {
      let shrinkable = columns.indices.filter {
        canShrink[columns[$0].index] && columns[$0].width > TableLayout.minimum
      }
      guard let widest = shrinkable.map({ columns[$0].width }).max() else {
        // One column is left, and wider than the terminal.
        if let first = columns.first { columns[0].width = max(1, first.width - excess) }
        return
      }
      lower(shrinkable.filter { columns[$0].width == widest }, among: shrinkable, to: width)
      excess = TableLayout.total(columns) - width
    }
  }

  /// Narrows the widest columns together: to what is needed, but at most to the next widest.
  private mutating func lower(_ widest: [Int], among shrinkable: [Int], to width: Int) {
    let level = columns[widest[0]].width
    let next = shrinkable.map { columns[$0].width }.filter { $0 < level }.max()
    let floor = max(next ?? TableLayout.minimum, TableLayout.minimum)
    let excess = TableLayout.total(columns) - width
    for (number, column) in widest.enumerated() {
      let share = excess / widest.count + (number < excess % widest.count ? 1 : 0)
      columns[column].width = max(floor, level - share)
    }
  }

  private static func total(_ columns: [(index: Int, width: Int)]) -> Int {
    columns.reduce(0) { $0 + $1.width } + gap * max(0, columns.count - 1)
  }

  public static func == (left: TableLayout, right: TableLayout) -> Bool {
    left.dropped == right.dropped && left.columns.map(\.width) == right.columns.map(\.width)
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(columns.map(\.width))
    hasher.combine(dropped)
  }
}

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
  /// The widest columns that may be cut shrink first, then the rightmost columns are left out.
  public init(natural: [Int], canShrink: [Bool], width: Int?) {
    columns = natural.enumerated().map { (index: $0.offset, width: $0.element) }
    guard let width else { return }
    while TableLayout.total(columns) > width {
      if let widest = columns.indices.filter({
        canShrink[columns[$0].index] && columns[$0].width > TableLayout.minimum
      }).max(by: { columns[$0].width < columns[$1].width }) {
        // Down to the next widest at a time.
        let others = columns.indices.filter {
          $0 != widest && canShrink[columns[$0].index]
        }.map { columns[$0].width }.filter { $0 < columns[widest].width }.max()
        let target = max(others ?? TableLayout.minimum, TableLayout.minimum)
        let excess = TableLayout.total(columns) - width
        columns[widest].width = max(
          min(target, columns[widest].width - 1), columns[widest].width - excess)
      } else if columns.count > 1 {
        dropped.insert(columns.removeLast().index, at: 0)
      } else {
        columns[0].width = max(1, width)
        return
      }
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

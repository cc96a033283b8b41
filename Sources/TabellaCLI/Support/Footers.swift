import Tabella
import TabellaTerminal

/// The aggregates that `--footer` shows below each section and below the table: `sum amount: 600 · rows: 3`.
struct Footers {
  private let sections: [String]
  /// The text of the aggregates of all rows; nil if the table shows one section only.
  let total: String?

  /// Reads the table. The texts are exact for programs and readable for people.
  init(
    _ text: String, of table: ShapedTable, isExact: Bool, _ screen: Screen
  ) throws(Failure) {
    let aggregates = try Failure.usage { () throws(TableError) in
      try Aggregate.list(text, ColumnNames(table.source.columns))
    }
    let values = try Failure.about(table.subject) { () throws(TableError) in
      try table.source.sectionAggregates(aggregates, onProgress: Progress.arranged)
    }
    let separator = isExact ? " · " : Footers.separator(on: screen)
    func line(_ columns: [Column], _ cells: [Cell]) -> String {
      zip(aggregates, zip(columns, cells)).map { aggregate, value in
        var (column, cell) = value
        if isExact { return "\(column.name): \(cell)" }
        if aggregate.function == .mean { cell = RoundedMeans.rounded(cell, of: column) }
        return "\(column.name): \(Footers.readable(cell, column, screen))"
      }.joined(separator: separator)
    }
    sections = values.sections.map { line(values.columns, $0) }
    total =
      sections.count > 1 && table.section == nil
      ? "total\(separator)\(line(values.totalColumns, values.total))" : nil
  }

  /// The text between the aggregates of a line.
  static func separator(on screen: Screen) -> String { screen.isUnicode ? " · " : " - " }

  func text(ofSection section: Int) -> String? {
    sections.indices.contains(section) ? sections[section] : nil
  }

  /// A value for people. Long text is cut, so that it fits beside the name of its column. Numbers and dates are never cut.
  private static func readable(_ cell: Cell, _ column: Column, _ screen: Screen) -> String {
    let builder = BatchBuilder([column.type])
    builder.columns[0].append(cell)
    let text = ReadableCells(screen, limit: nil).text(builder.finish().columns[0], column, 0)
    let isNumber = text.string.utf8.allSatisfy {
      48...57 ~= $0 || "+-.,eE:TZ ".utf8.contains($0)
    }
    guard let width = screen.width, !isNumber else { return text.string }
    let room = max(8, width - SafeText("\(column.name): ").width)
    return text.fitted(to: room, ellipsis: screen.ellipsis).string
  }
}

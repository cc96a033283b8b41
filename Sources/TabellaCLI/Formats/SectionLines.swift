import Tabella
import TabellaTerminal

/// The lines above and below the rows of a section: its titles or the elements that replace them, and the number of
/// rows.
struct SectionLines {
  let screen: Screen

  /// The title line, with the number of rows if it is known: `Fruit · 3 rows`. Nil if the section has no title.
  ///
  /// A group of missing or empty values has a title that shows so.
  func title(_ section: ShownSection, columns: Int?, isGroup: Bool) -> SafeText? {
    let count: SafeText? = section.count.isExact ? SectionLines.count(section.count.value) : nil
    let separator: SafeText = screen.isUnicode ? " · " : " - "
    var behind = count.map { screen.paint(separator + $0, .faint) } ?? SafeText()
    if let columns, behind.width + 4 > columns { behind = SafeText() }
    let room = columns.map { max(1, $0 - behind.width) }
    switch section.headerElement {
    case .text(let text)?:
      return screen.palette.paint(text, columns: room, ellipsis: screen.ellipsis) + behind
    case .table?: return nil
    case nil:
      guard let header = section.header else {
        return isGroup ? screen.paint(screen.missing, .faint) + behind : nil
      }
      if header.isEmpty { return screen.paint("\"\"", .faint) + behind }
      let title = SafeText(header)
      let fitted = room.map { title.fitted(to: $0, ellipsis: screen.ellipsis) } ?? title
      return screen.paint(screen.isolated(fitted), .title) + behind
    }
  }

  /// The lines of a header element that is a table; empty for other headers.
  func headerTable(_ section: ShownSection) throws(TableError) -> [SafeText] {
    guard case .table(let table)? = section.headerElement else { return [] }
    return try SmallTable(screen).lines(of: table)
  }

  /// The lines below the rows.
  private func footer(_ section: ShownSection, columns: Int?) throws(TableError) -> [SafeText] {
    switch section.footerElement {
    case .table(let table)?: return try SmallTable(screen).lines(of: table)
    case .text(let text)?:
      return [screen.palette.paint(text, columns: columns, ellipsis: screen.ellipsis)]
    case nil:
      guard let footer = section.footer else { return [] }
      let text = SafeText(footer)
      let fitted = columns.map { text.fitted(to: $0, ellipsis: screen.ellipsis) } ?? text
      return [screen.paint(screen.isolated(fitted), .faint)]
    }
  }

  /// Writes the lines above the rows, with a blank line in front unless it is the first section.
  func writeAbove(
    _ section: ShownSection, isFirst: Bool, of table: ShownTable?, to output: Output
  ) throws(Failure) {
    let element = try Failure.about(table?.table.subject) { () throws(TableError) in
      try headerTable(section)
    }
    if !isFirst { try output.write("\n") }
    for line in element { try output.write(line + "\n") }
    let title = title(section, columns: screen.width, isGroup: table?.isGrouped == true)
    if let title { try output.write(title + "\n") }
  }

  /// Writes the lines below the rows.
  func writeBelow(
    _ section: ShownSection, indent: SafeText = "", of table: ShownTable?, to output: Output
  ) throws(Failure) {
    let below = try Failure.about(table?.table.subject) { () throws(TableError) in
      try footer(section, columns: screen.width.map { max(1, $0 - indent.width) })
    }
    for line in below { try output.write(indent + line + "\n") }
    guard let text = section.aggregates else { return }
    for line in aggregates(text, indent: indent.width) { try output.write(indent + line + "\n") }
  }

  /// Writes the aggregates of the whole table below its last section, after a blank line.
  func writeTotal(of table: ShownTable?, to output: Output) throws(Failure) {
    guard let text = table?.footers?.total else { return }
    try output.write("\n")
    for line in aggregates(text, indent: 0) { try output.write(line + "\n") }
  }

  /// The lines of a text with aggregates. They break between aggregates only, because a part of a number reads as another
  /// number.
  private func aggregates(_ text: String, indent: Int) -> [SafeText] {
    let separator = Footers.separator(on: screen)
    guard let width = screen.width else {
      return [screen.paint(screen.isolated(SafeText(text)), .faint)]
    }
    let room = max(1, width - indent)
    var (lines, line) = ([String](), "")
    var rest = text[...]
    while !rest.isEmpty {
      let end = rest.utf8.position(of: separator.utf8) ?? rest.endIndex
      let part = String(rest[..<end])
      rest = rest[end...].dropFirst(separator.count)
      let longer = line.isEmpty ? part : line + separator + part
      if !line.isEmpty, SafeText(longer).width > room {
        lines.append(line)
        line = part
      } else {
        line = longer
      }
    }
    return (lines + [line]).map { screen.paint(screen.isolated(SafeText($0)), .faint) }
  }

  /// The text `1 row` or `12 rows`.
  static func count(_ rows: Int) -> SafeText { rows == 1 ? "1 row" : "\(rows) rows" }
}

/// A small table inside another: a supplementary element. Its two columns usually contain names and values.
struct SmallTable {
  /// The maximum number of rows and columns to show.
  static let limit = (rows: 1000, columns: 20)
  private let screen: Screen

  init(_ screen: Screen) { self.screen = screen }

  /// The rows as lines with aligned cells.
  func lines(of source: any TableDataSource) throws(TableError) -> [SafeText] {
    let columns = Array(source.columns.prefix(SmallTable.limit.columns))
    let batch = try source.rows(
      RowRequest(
        section: 0, first: 0, count: SmallTable.limit.rows, columns: Array(columns.indices)))
    let cells = ReadableCells(screen, limit: screen.width)
    let table = (0..<batch.rowCount).map { row in
      zip(batch.columns, columns).map { cells.text($0, $1, row) }
    }
    let widths = columns.indices.map { column in table.map { $0[column].width }.max() ?? 0 }
    return table.map { row in
      let line = zip(zip(row, widths), columns).enumerated().map { number, cell in
        number == columns.count - 1
          ? cell.0.0 : cell.0.0.padded(to: cell.0.1, alignedRight: ReadableCells.isRight(cell.1))
      }
      return screen.fitted(SafeText.joined(line, separator: "  "))
    }
  }
}

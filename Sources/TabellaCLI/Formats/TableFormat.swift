import Tabella
import TabellaTerminal

/// An aligned table for people. On a terminal it fits the width; elsewhere nothing is cut.
///
/// The widths come from the first screenful of rows, which is held back until then, and stay the same afterwards. A
/// later cell that is wider is still shown completely if its line fits; it only shifts that line.
struct TableFormat: Format {
  /// The maximum number of rows, and of cells, that determine the widths if there is no screen.
  private static let sample = (rows: 500, cells: 1 << 18)
  /// The maximum padding of a column if nothing is cut, so that one long cell does not widen all lines.
  private static let widestPadding = 200

  private let output: Output
  private let frame: Frame
  /// If less than one in so many columns fits, the table changes into records.
  private static let turning = 3
  /// Whether the table may change into records.
  private let mayTurn: Bool
  private let cells: ReadableCells
  private let lines: SectionLines
  private var table: ShownTable?
  /// Whether the cells of each column are aligned right: numbers, and text that looks like numbers.
  private var isRight: [Bool] = []
  /// The number of columns that can be shown, from the first on.
  private(set) var columnLimit: Int?
  private var layout: TableLayout?
  /// The format that writes records, after the change.
  private var records: VerticalFormat?
  private var held: [Piece] = []
  private var heldRows = 0
  private var hasSection = false
  /// Whether the current section has a title.
  private var isTitled = false
  /// Whether the frame of a section is open.
  private var isOpen = false

  /// A part of the table that has no layout yet.
  private enum Piece {
    case title(ShownSection)
    case rows(ShownRows)
    case end(ShownSection)
  }

  init(_ output: Output, isGrouped: Bool, mayTurn: Bool) {
    self.output = output
    self.mayTurn = mayTurn
    frame = Frame(isGrouped: isGrouped, isUnicode: output.screen.isUnicode)
    cells = ReadableCells(output.screen, limit: output.screen.width)
    lines = SectionLines(screen: output.screen)
  }

  private var screen: Screen { output.screen }

  var needs: FormatNeeds { [.elements, .links] }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    self.table = table
    guard let width = frame.room(screen.width) else { return }
    // Each column needs at least one column of the terminal.
    let most = (width + frame.gap) / (1 + frame.gap) + 1
    if mayTurn, table.columns.count > TableFormat.turning * most { return try turn() }
    // Records show all columns, so the limit applies only to tables.
    if !mayTurn { columnLimit = most }
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try put(.title(section))
  }

  mutating func write(_ rows: ShownRows) throws(Failure) { try put(.rows(rows)) }

  mutating func endSection(_ section: ShownSection) throws(Failure) { try put(.end(section)) }

  mutating func end(failure: Failure?) throws(Failure) {
    try layOut()
    if records != nil {
      try records?.end(failure: failure)
      return
    }
    try closeFrame()
    // At the end of a long table, the names at its top have scrolled away.
    if !frame.isGrouped, output.hasScrolled, table?.hasHeader == true {
      try writeRule(frame.middle)
      try writeNames()
    }
    if failure == nil { try lines.writeTotal(of: table, to: output) }
  }

  var notes: [String] {
    guard let table, let layout else { return records?.notes ?? [] }
    let shown = layout.columns.count
    let names = table.columns[shown...].prefix(50).map(\.name).joined(separator: ", ")
    let rest = table.columns.count - shown - 50
    if shown == table.columns.count { return [] }
    return ["columns that do not fit: \(names)\(rest > 0 ? " and \(rest) others" : "")"]
  }

  private mutating func put(_ piece: Piece) throws(Failure) {
    if layout != nil || records != nil { return try write(piece) }
    held.append(piece)
    switch piece {
    case .rows(let rows): heldRows += rows.batch.rowCount
    case .title, .end: heldRows += 1
    }
    let columns = min(table?.columns.count ?? 0, columnLimit ?? .max)
    if heldRows >= screen.height ?? TableFormat.sample.rows
      || heldRows >= TableFormat.sample.cells / max(1, columns)
    {
      try layOut()
    }
  }

  /// Measures the held rows, writes the header, and then writes the rows.
  private mutating func layOut() throws(Failure) {
    guard layout == nil, records == nil, let table else { return }
    let columns = Array(table.columns.prefix(columnLimit ?? .max))
    var widths = columns.map { _ in 0 }
    let badges = measure(columns, &widths)
    // A number must not be cut, because it would look like another number.
    var canShrink = zip(columns, isRight).map { ReadableCells.canShrink($0) && !$1 }
    // A cut row name would not name the row.
    if table.beginsWithRowNames, !canShrink.isEmpty { canShrink[0] = false }
    if screen.width == nil { widths = widths.map { min($0, TableFormat.widestPadding) } }
    let names = columns.map { table.hasHeader ? SafeText($0.name).width : 0 }
    var layout = TableLayout(
      cells: widths, names: names, canShrink: canShrink, gap: frame.gap,
      width: frame.room(screen.width))
    if mayTurn, layout.columns.count * TableFormat.turning < table.columns.count {
      return try turn()
    }
    // Badges get only the remaining space.
    layout.widenFirst(to: badges, within: frame.room(screen.width))
    self.layout = layout
    if !frame.isGrouped { try writeHeader() }
    let pieces = held
    held = []
    for piece in pieces { try write(piece) }
  }

  /// Measures the cells. Returns the width of the first column with its badges.
  private mutating func measure(_ columns: [Column], _ widths: inout [Int]) -> Int {
    var badges = 0
    isRight = columns.map { ReadableCells.isRight($0) }
    // Whether each text column contains only numbers; nil until it has a cell.
    var numbers = columns.map { _ in nil as Bool? }
    var rest = max(1, TableFormat.sample.cells / max(1, columns.count))
    for case .rows(let rows) in held {
      for row in 0..<min(rest, rows.batch.rowCount) {
        for (index, column) in columns.enumerated() {
          let batch = rows.batch.columns[index]
          let width = cells.text(batch, column, row).width
          widths[index] = max(widths[index], width)
          if index == 0, let badge = rows.badge(row, screen) {
            badges = max(badges, width + 1 + badge.width)
          }
          guard batch.type == .text, numbers[index] != false, !batch.isMissing(row) else {
            continue
          }
          batch.withBytes(at: row) { bytes in
            guard !bytes.isEmpty else { return }
            numbers[index] = ReadableCells.isNumber(
              bytes, hasDecimalComma: column.hasDecimalComma)
          }
        }
      }
      rest = max(0, rest - rows.batch.rowCount)
    }
    for (index, holds) in numbers.enumerated() where holds == true { isRight[index] = true }
    return badges
  }

  /// Changes into records, beginning with the held rows.
  private mutating func turn() throws(Failure) {
    guard let table else { return }
    columnLimit = nil
    records = VerticalFormat(output)
    records?.begin(table)
    let pieces = held
    held = []
    for piece in pieces { try write(piece) }
  }

  private mutating func write(_ piece: Piece) throws(Failure) {
    switch piece {
    case .title(let section):
      if records != nil { return try records!.beginSection(section) }
      try writeTitle(section)
    case .rows(let rows):
      if records != nil { return try records!.write(rows) }
      try openFrame()
      for row in 0..<rows.batch.rowCount { try write(rows, row) }
    case .end(let section):
      if records != nil { return try records!.endSection(section) }
      // A table without rows and titles still shows its column names.
      if section.count == .exact(0), !isTitled { try openFrame() }
      try closeFrame()
      try lines.writeBelow(section, indent: frame.indent, of: table, to: output)
    }
  }

  // Titles, rules and names

  private mutating func writeTitle(_ section: ShownSection) throws(Failure) {
    let isFirst = !hasSection
    hasSection = true
    isTitled = section.header != nil || section.headerElement != nil || table?.isGrouped == true
    if frame.isGrouped, !isFirst { try output.write("\n") }
    let before: SafeText = frame.isGrouped ? frame.indent : screen.rule(2) + " "
    let room = screen.width.map { max(1, $0 - before.width) }
    let table = try Failure.about(table?.table.subject) { () throws(TableError) in
      try lines.headerTable(section)
    }
    for line in table { try output.write("\(frame.indent)\(line)\n") }
    guard
      let title = lines.title(section, columns: room, isGroup: self.table?.isGrouped == true)
    else {
      // A blank line separates a section without a title from the previous one.
      if !frame.isGrouped, !isFirst, table.isEmpty { try output.write("\n") }
      return
    }
    let line: SafeText
    if frame.isGrouped {
      line = before + title
    } else {
      let width = min(layout?.total ?? 0, screen.width ?? TableFormat.widestPadding)
      let rest = width - before.width - title.width - 1
      line =
        screen.paint(screen.rule(2), .faint) + " " + title
        + (rest > 0 ? " " + screen.paint(screen.rule(rest), .faint) : SafeText())
    }
    try output.write("\(line)\n")
  }

  private func writeHeader() throws(Failure) {
    guard let table, table.hasHeader, let layout, !layout.columns.isEmpty else { return }
    try writeNames()
    try writeRule(frame.middle)
  }

  private func writeNames() throws(Failure) {
    guard let table, let layout else { return }
    let names = layout.columns.map { index, width in
      let name = SafeText(table.columns[index].name).fitted(to: width, ellipsis: screen.ellipsis)
      return Shown(
        text: screen.paint(screen.isolated(name), .heading), width: width, isRight: isRight[index])
    }
    try write(names)
  }

  private func writeRule(_ corners: Frame.Rule) throws(Failure) {
    guard let layout, !layout.columns.isEmpty else { return }
    let parts = layout.columns.map { screen.rule($0.width) }
    let rule = corners.left + SafeText.joined(parts, separator: corners.middle) + corners.right
    try output.write(screen.paint(rule, .faint) + "\n")
  }

  private mutating func openFrame() throws(Failure) {
    guard frame.isGrouped, !isOpen else { return }
    isOpen = true
    try writeRule(frame.top)
    try writeHeader()
  }

  private mutating func closeFrame() throws(Failure) {
    guard frame.isGrouped, isOpen else { return }
    isOpen = false
    try writeRule(frame.bottom)
  }

  // Rows

  private func write(_ rows: ShownRows, _ row: Int) throws(Failure) {
    guard let table, let layout else { return }
    // A cell wider than its column is shown completely if its line fits.
    var spare = frame.room(screen.width).map { $0 - layout.total } ?? .max
    let shown = layout.columns.map { index, width in
      let column = table.columns[index]
      let batch = rows.batch.columns[index]
      let text = cells.text(batch, column, row)
      let excess = max(0, text.width - width)
      let room = excess <= spare ? width + excess : width
      spare -= room - width
      var dressed = cells.dressed(text, isMissing: batch.isMissing(row), columns: room)
      if index == 0 {
        if let address = rows.links?[row] { dressed = dressed.linked(to: address) }
        // A badge appears only if the cell leaves room for it.
        if let badge = rows.badge(row, screen), dressed.width + 1 + badge.width <= room {
          dressed.append(" " + badge)
        }
      }
      return Shown(text: dressed, width: width, isRight: isRight[index])
    }
    try write(shown)
  }

  /// A cell ready for output.
  private struct Shown {
    let text: SafeText
    let width: Int
    var isRight = false
  }

  private func write(_ shown: [Shown]) throws(Failure) {
    var line = frame.left
    // In an open table, nothing follows the last cell that is not empty.
    let last = frame.isGrouped ? nil : shown.lastIndex { $0.text.width > 0 } ?? 0
    for (number, cell) in shown.enumerated() {
      if number > last ?? .max { break }
      if number > 0 { line.append(frame.separator) }
      line.append(
        number == last && !cell.isRight
          ? cell.text : cell.text.padded(to: cell.width, alignedRight: cell.isRight))
    }
    line.append(frame.right)
    line.append("\n")
    try output.write(line)
  }
}

/// The text around and between the columns: space, or lines.
private struct Frame {
  struct Rule {
    let left: SafeText
    let middle: SafeText
    let right: SafeText
  }

  let isGrouped: Bool
  let left: SafeText
  let separator: SafeText
  let right: SafeText
  let top: Rule
  let middle: Rule
  let bottom: Rule
  /// The text in front of titles and footers.
  let indent: SafeText

  init(isGrouped: Bool, isUnicode: Bool) {
    self.isGrouped = isGrouped
    guard isGrouped else {
      (left, separator, right, indent) = ("", "  ", "", "")
      middle = Rule(left: "", middle: "  ", right: "")
      (top, bottom) = (middle, middle)
      return
    }
    indent = "  "
    if isUnicode {
      (left, separator, right) = ("│ ", " │ ", " │")
      top = Rule(left: "╭─", middle: "─┬─", right: "─╮")
      middle = Rule(left: "├─", middle: "─┼─", right: "─┤")
      bottom = Rule(left: "╰─", middle: "─┴─", right: "─╯")
    } else {
      (left, separator, right) = ("| ", " | ", " |")
      top = Rule(left: "+-", middle: "-+-", right: "-+")
      (middle, bottom) = (top, top)
    }
  }

  var gap: Int { separator.width }

  /// The part of a width that remains for columns and gaps.
  func room(_ width: Int?) -> Int? { width.map { max(1, $0 - left.width - right.width) } }
}

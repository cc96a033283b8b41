import Tabella
import TabellaTerminal

/// Rows as records: one line per cell, with the column's name in front. Nothing is omitted. On a terminal, long text
/// continues on further lines.
struct VerticalFormat: Format {
  /// The maximum number of bytes of a cell on a terminal.
  private static let longest = 1 << 16

  private let output: Output
  private let cells: ReadableCells
  private let lines: SectionLines
  private var table: ShownTable?
  private var names: [SafeText] = []
  /// The names as they stand in front of a cell.
  private var heads: [SafeText] = []
  /// The rules of all lengths behind the number of a row.
  private let rules: [SafeText]
  /// The lines of a row that are being made.
  private var text = SafeLines()
  private var nameWidth = 0
  private var hasSection = false
  private var cutCells = 0

  init(_ output: Output) {
    self.output = output
    cells = ReadableCells(output.screen, limit: nil)
    lines = SectionLines(screen: output.screen)
    rules = (0...VerticalFormat.ruleLength).map { output.screen.rule($0) }
  }

  /// The length of the line in front of a row.
  private static let ruleLength = 40

  private var screen: Screen { output.screen }

  var needs: FormatNeeds { [.elements, .links, .colours] }

  mutating func begin(_ table: ShownTable) {
    self.table = table
    let widest = screen.width.map { max(1, $0 / 3) } ?? .max
    names = table.columns.map { SafeText($0.name).fitted(to: widest, ellipsis: screen.ellipsis) }
    nameWidth = table.hasHeader ? names.map(\.width).max() ?? 0 : 0
    heads = names.map {
      table.hasHeader ? screen.paint($0.padded(to: nameWidth), .heading) + "  " : ""
    }
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    try lines.writeAbove(section, isFirst: !hasSection, of: table, to: output)
    hasSection = true
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    for row in 0..<rows.batch.rowCount { try write(rows, row) }
  }

  private mutating func write(_ rows: ShownRows, _ row: Int) throws(Failure) {
    guard let table else { return }
    output.beginRows(mark: rows.marks?[row])
    defer { output.endRows() }
    text.removeAll()
    appendTitle(rows, row)
    for (index, column) in table.columns.enumerated()
    where !appendPlain(rows, row, index) {
      append(rows, row, index, column, hasHeader: table.hasHeader)
    }
    try output.write(safe: text.bytes)
  }

  /// Appends the line in front of a row: its number, and its badge.
  private mutating func appendTitle(_ rows: ShownRows, _ row: Int) {
    let path = IndexPath(section: rows.first.section, row: rows.first.row + row)
    var title: SafeText = "\(rules[2]) \(path.description)"
    if let badge = rows.badge(row, screen), title.width + 1 + badge.width < screen.width ?? .max {
      title.append(" " + badge)
    } else {
      title = screen.fitted(title)
    }
    let rest = min(screen.width ?? .max, VerticalFormat.ruleLength) - title.width - 1
    if rest > 0 {
      title.append(" ")
      title.append(rules[rest])
    }
    text.append(screen.paint(title, .faint))
    text.endLine()
  }

  /// Appends a cell of plain text that needs neither colours nor several lines. Returns whether it is one.
  private mutating func appendPlain(_ rows: ShownRows, _ row: Int, _ index: Int) -> Bool {
    let cells = rows.batch.columns[index]
    guard cells.type == .text, !screen.palette.isColoured, index > 0 || rows.links == nil,
      !cells.isMissing(row)
    else { return false }
    return cells.withBytes(at: row) { bytes in
      let head = heads[index]
      guard !bytes.isEmpty, bytes.count <= screen.width.map({ $0 - head.width }) ?? .max,
        text.append(ifPlain: bytes, behind: head)
      else { return false }
      text.endLine()
      return true
    }
  }

  private mutating func append(
    _ rows: ShownRows, _ row: Int, _ index: Int, _ column: Column, hasHeader: Bool
  ) {
    let batch = rows.batch.columns[index]
    let room = screen.width.map { max(2, $0 - (hasHeader ? nameWidth + 2 : 0)) }
    var isFirst = true
    let texts = value(batch, column, row)
    let isPart = texts.count > 1 || texts[0].width > room ?? .max
    for text in texts {
      for line in room.map({ text.wrapped(to: $0) }) ?? [text] {
        var shown = cells.dressed(line, rows, row, column: index, columns: nil, isPart: isPart)
        if index == 0, let address = rows.links?[row] {
          shown = shown.linked(to: address)
        }
        if hasHeader {
          let before = isFirst ? heads[index] : SafeText.spaces(nameWidth + 2)
          // Nothing follows the name of an empty cell.
          shown =
            shown.width > 0
            ? before + shown : isFirst ? screen.paint(names[index], .heading) : SafeText()
        }
        self.text.append(shown)
        self.text.endLine()
        isFirst = false
      }
    }
  }

  /// The lines of a cell.
  private mutating func value(_ batch: ColumnBatch, _ column: Column, _ row: Int) -> [SafeText] {
    guard batch.type == .text, !batch.isMissing(row) else {
      return [cells.text(batch, column, row)]
    }
    return batch.withBytes(at: row) { bytes in
      var bytes = bytes
      if screen.isTerminal, bytes.count > VerticalFormat.longest {
        cutCells += 1
        bytes = UnsafeRawBufferPointer(rebasing: bytes[..<VerticalFormat.longest])
      }
      return bytes.split(separator: 10, omittingEmptySubsequences: false).map {
        SafeText(
          bytes: UnsafeRawBufferPointer(rebasing: $0), columns: .max, tabStop: ReadableCells.tabStop
        )
      }
    }
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    if section.count == .exact(0), section.header == nil, table?.isGrouped != true {
      try output.write(screen.paint(SectionLines.count(0), .faint) + "\n")
    }
    try lines.writeBelow(section, of: table, to: output)
  }

  mutating func end(failure: Failure?) throws(Failure) {
    if failure == nil { try lines.writeTotal(of: table, to: output) }
  }

  var notes: [String] {
    cutCells == 0
      ? []
      : ["cells with only their first \(VerticalFormat.longest) bytes shown: \(cutCells)"]
  }
}

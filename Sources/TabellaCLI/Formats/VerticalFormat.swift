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
  private var nameWidth = 0
  private var hasSection = false
  private var cutCells = 0

  init(_ output: Output) {
    self.output = output
    cells = ReadableCells(output.screen, limit: nil)
    lines = SectionLines(screen: output.screen)
  }

  private var screen: Screen { output.screen }

  var needs: FormatNeeds { [.elements, .links, .colours] }

  mutating func begin(_ table: ShownTable) {
    self.table = table
    let widest = screen.width.map { max(1, $0 / 3) } ?? .max
    names = table.columns.map { SafeText($0.name).fitted(to: widest, ellipsis: screen.ellipsis) }
    nameWidth = table.hasHeader ? names.map(\.width).max() ?? 0 : 0
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
    let path = IndexPath(section: rows.first.section, row: rows.first.row + row)
    var title: SafeText = "\(screen.rule(2)) \(path.description)"
    if let badge = rows.badge(row, screen), title.width + 1 + badge.width < screen.width ?? .max {
      title.append(" " + badge)
    } else {
      title = screen.fitted(title)
    }
    let rest = min(screen.width ?? 40, 40) - title.width - 1
    if rest > 0 { title.append(" " + screen.rule(rest)) }
    try output.write(screen.paint(title, .faint) + "\n")
    for (index, column) in table.columns.enumerated() {
      try write(rows, row, index, column, hasHeader: table.hasHeader)
    }
  }

  private mutating func write(
    _ rows: ShownRows, _ row: Int, _ index: Int, _ column: Column, hasHeader: Bool
  ) throws(Failure) {
    let batch = rows.batch.columns[index]
    let name = names[index].padded(to: nameWidth)
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
          let before = isFirst ? screen.paint(name, .heading) : SafeText.spaces(nameWidth)
          // Nothing follows the name of an empty cell.
          shown =
            shown.width > 0
            ? before + "  " + shown : isFirst ? screen.paint(names[index], .heading) : SafeText()
        }
        try output.write(shown + "\n")
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

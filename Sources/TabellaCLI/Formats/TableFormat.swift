import Tabella
import TabellaTerminal

/// An aligned table for people: on a terminal it fits the width, elsewhere nothing is cut.
///
/// Widths come from the first rows, which are held back until they are measured, and then stay. A wider
/// cell that comes later is shown whole while its line fits, and only shifts that line.
struct TableFormat: Format {
  /// How many rows decide the widths.
  private static let sample = 500
  /// Where nothing is cut, a column is not padded beyond this because of one long cell.
  private static let widestPadding = 200

  private let output: Output
  private var table: ShownTable?
  private var layout: TableLayout?
  private var held: [Line] = []
  private var heldRows = 0
  private var hasSection = false
  /// The section that has begun, until its title is put.
  private var begun: ShownSection?

  /// A line that is not laid out yet.
  private enum Line {
    case title(SafeText)
    case blank
    case cells([SafeText])
  }

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) { self.table = table }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    begun = section
    if table?.hidesEmptySections == false { try putTitle() }
  }

  /// Puts the title of the section that has begun, once.
  private mutating func putTitle() throws(Failure) {
    guard let section = begun else { return }
    begun = nil
    if hasSection { try put(.blank) }
    hasSection = true
    if let title = section.header { try put(.title(SafeText(title))) }
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    guard let table else { return }
    let batch = rows.batch
    if batch.rowCount > 0 { try putTitle() }
    for row in 0..<batch.rowCount {
      let cells = zip(batch.columns, table.columns).map { cell($0, $1, row) }
      heldRows += 1
      try put(.cells(cells))
    }
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    if begun == nil, let footer = section.footer { try put(.title(SafeText(footer))) }
  }

  mutating func end(failure: Failure?) throws(Failure) {
    try layOut()
    if let table, let dropped = layout?.dropped, !dropped.isEmpty {
      let names = dropped.map { table.columns[$0].name }.joined(separator: ", ")
      try output.flush()
      Messages.write("columns that did not fit: \(names)", about: table.table.subject)
    }
  }

  private func cell(_ column: ColumnBatch, _ declared: Column, _ row: Int) -> SafeText {
    if column.isMissing(row) { return SafeText(output.missing) }
    switch (column.type, declared.unit) {
    case (.text, _): return column.withBytes(at: row) { SafeText(bytes: $0) }
    case (.binary, _): return SafeText(column.withBytes(at: row) { base64($0) })
    case (.integer, .bytes): return SafeText(Readable.bytes(column.integer(row)))
    case (.real, .percent): return SafeText(Readable.percent(column.real(row)))
    case (.date, _):
      return SafeText(Readable.date(Timestamp(nanoseconds: column.integer(row))))
    default: return SafeText(column[row].description)
    }
  }

  private mutating func put(_ line: Line) throws(Failure) {
    if layout != nil { return try write(line) }
    held.append(line)
    if heldRows >= TableFormat.sample { try layOut() }
  }

  /// Measures what is held, writes the header and then it.
  private mutating func layOut() throws(Failure) {
    guard layout == nil, let table else { return }
    let names = table.columns.map { SafeText($0.name) }
    var widths = names.map { table.hasHeader ? $0.width : 0 }
    for case .cells(let cells) in held {
      for (index, cell) in cells.enumerated() { widths[index] = max(widths[index], cell.width) }
    }
    if output.width == nil { widths = widths.map { min($0, TableFormat.widestPadding) } }
    layout = TableLayout(
      natural: widths, canShrink: table.columns.map { $0.type == .text || $0.type == .binary },
      width: output.width)
    if table.hasHeader, !names.isEmpty {
      try write(.cells(names))
      let rule = output.isUnicode ? "─" : "-"
      let rules = (layout?.columns ?? []).map { String(repeating: rule, count: $0.width) }
      try output.write(rules.joined(separator: "  ") + "\n")
    }
    for line in held { try write(line) }
    held = []
  }

  private func write(_ line: Line) throws(Failure) {
    switch line {
    case .blank: try output.write("\n")
    case .title(let text):
      try output.write(output.width.map { text.fitted(to: $0, ellipsis: ellipsis) } ?? text)
      try output.write("\n")
    case .cells(let cells): try write(cells)
    }
  }

  private var ellipsis: String { output.isUnicode ? "…" : "..." }

  private func write(_ cells: [SafeText]) throws(Failure) {
    guard let table, let layout else { return }
    // A cell that is wider than those measured is shown whole as long as its line fits.
    var spare =
      output.width.map { width in
        width - layout.columns.reduce(0) { $0 + $1.width }
          - TableLayout.gap * max(0, layout.columns.count - 1)
      } ?? .max
    var line = ""
    for (index, width) in layout.columns {
      if index != layout.columns.first?.index { line += "  " }
      let type = table.columns[index].type
      let isRight = type == .integer || type == .real
      let excess = max(0, cells[index].width - width)
      let room = excess <= spare ? width + excess : width
      spare -= room - width
      let cell = cells[index].fitted(to: room, ellipsis: ellipsis)
      let isLast = index == layout.columns.last?.index
      line += isLast && !isRight ? cell.string : cell.padded(to: width, alignedRight: isRight)
    }
    try output.write(line + "\n")
  }
}

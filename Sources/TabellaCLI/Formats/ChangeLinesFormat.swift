import Tabella

/// One JSON object per change and line, which counts positions in the table that the lines before it leave. The existing
/// rows are insertions.
///
/// docs/json.md describes the members.
struct ChangeLinesFormat: Format {
  /// Rows that the table has now.
  struct Rows {
    fileprivate let batch: Batch
    fileprivate let columns: JSONColumns
  }

  private let output: Output
  private var columns: [Column] = []
  private var keys = JSONKeys([])
  private var hasSections = false
  /// The line that is being made. Its memory is used again.
  private var line: [UInt8] = []

  init(_ output: Output) { self.output = output }

  var needs: FormatNeeds { [.ids, .emptySections] }

  mutating func begin(_ table: ShownTable) {
    columns = table.columns
    hasSections = table.table.source.sections != nil
    keys = JSONKeys(columns)
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    guard hasSections else { return }
    try writeSection(.insert, section.number, title: section.header)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    let values = values(of: rows)
    for number in 0..<rows.batch.rowCount {
      let at = IndexPath(section: rows.first.section, row: rows.first.row + number)
      try write(
        ChangeSequence.Step(kind: .insert, at: at), (rows: values, index: number), before: nil)
    }
  }

  func values(of rows: ShownRows) -> Rows {
    Rows(batch: rows.batch, columns: JSONColumns(columns, rows.batch))
  }

  /// Writes a step about a row. `row` is its content now, unless it is deleted or unchanged. `before` is its id before.
  mutating func write(
    _ step: ChangeSequence.Step, _ row: (rows: Rows, index: Int)?, before: String?
  ) throws(Failure) {
    begin(step)
    append(",\"row\":")
    append(step.at.row)
    append(",\"id\":")
    append(string: row.flatMap { $0.rows.batch.id($0.index) } ?? before)
    if step.kind == .reload, let before {
      append(",\"oldId\":")
      append(string: before)
    }
    if let row {
      append(",\"cells\":")
      keys.append(row.rows.columns, row.index, to: &line)
    }
    try end()
  }

  /// Writes a step about a section. A deleted or moved section has no title there.
  mutating func writeSection(_ step: ChangeSequence.Step, title: String?) throws(Failure) {
    begin(step)
    if step.kind != .delete, step.kind != .move {
      append(",\"title\":")
      append(string: title)
    }
    try end()
  }

  /// Writes that all lines before have no meaning any more; the whole table follows.
  func writeReset() throws(Failure) {
    try output.write(json: Array("{\"change\":\"reset\"}\n".utf8))
  }

  private mutating func writeSection(
    _ kind: ChangeSequence.Step.Kind, _ number: Int, title: String?
  ) throws(Failure) {
    try writeSection(ChangeSequence.Step(kind: kind, at: .section(number)), title: title)
  }

  // The line

  /// Begins a line: `{"change":"move","from":{"section":0,"row":2},"section":1`
  private mutating func begin(_ step: ChangeSequence.Step) {
    line.removeAll(keepingCapacity: true)
    append("{\"change\":\"")
    append(step.kind.rawValue)
    append("\",")
    if let from = step.from {
      append("\"from\":{\"section\":")
      append(from.section)
      if !from.isSection {
        append(",\"row\":")
        append(from.row)
      }
      append("},")
    }
    append("\"section\":")
    append(step.at.section)
  }

  private mutating func end() throws(Failure) {
    append("}\n")
    try output.write(json: line)
  }

  private mutating func append(_ text: String) { line += text.utf8 }

  private mutating func append(_ number: Int) {
    line.append(room: Int64.longestText) { $0 + Int64(number).write(to: $0) }
  }

  private mutating func append(string: String?) {
    if let string { JSONValue.append(string: string, to: &line) } else { append("null") }
  }
}

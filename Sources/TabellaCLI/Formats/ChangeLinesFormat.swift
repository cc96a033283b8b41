import Tabella

/// One JSON object per change and line, which counts positions in the table that the lines before it leave. The existing
/// rows are insertions.
///
/// docs/json.md describes the members.
struct ChangeLinesFormat: Format {
  /// A row that the table has now.
  struct Row {
    var id: String?
    /// The cells as a JSON object.
    var cells: [UInt8]
  }

  private let output: Output
  private var keys = JSONKeys([])
  private var table: ShownTable?
  private var hasSections = false

  init(_ output: Output) { self.output = output }

  var needs: FormatNeeds { [.ids, .emptySections] }

  mutating func begin(_ table: ShownTable) {
    self.table = table
    hasSections = table.table.source.sections != nil
    keys = JSONKeys(table.columns)
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    guard hasSections else { return }
    try writeSection(.insert, section.number, title: section.header)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    for (number, row) in values(of: rows).enumerated() {
      let at = IndexPath(section: rows.first.section, row: rows.first.row + number)
      try write(ChangeSequence.Step(kind: .insert, at: at), row, before: nil)
    }
  }

  /// The ids and cells of rows.
  func values(of rows: ShownRows) -> [Row] {
    guard let columns = table.map({ rows.json(of: $0) }) else { return [] }
    return (0..<rows.batch.rowCount).map { row in
      Row(id: rows.batch.id(row), cells: keys.object(columns, row))
    }
  }

  /// Writes a step about a row. `row` is its content now, unless it is deleted or unchanged. `before` is its id before.
  func write(_ step: ChangeSequence.Step, _ row: Row?, before: String?) throws(Failure) {
    var text = start(of: step)
    text += Array(",\"row\":\(step.at.row),\"id\":".utf8)
    append(row?.id ?? before, to: &text)
    if step.kind == .reload, let before {
      text += Array(",\"oldId\":".utf8)
      append(before, to: &text)
    }
    if let row {
      text += Array(",\"cells\":".utf8)
      text += row.cells
    }
    text += Array("}\n".utf8)
    try output.write(json: text)
  }

  /// Writes a step about a section. A deleted or moved section has no title there.
  func writeSection(_ step: ChangeSequence.Step, title: String?) throws(Failure) {
    var text = start(of: step)
    if step.kind != .delete, step.kind != .move {
      text += Array(",\"title\":".utf8)
      append(title, to: &text)
    }
    text += Array("}\n".utf8)
    try output.write(json: text)
  }

  /// Writes that all lines before have no meaning any more; the whole table follows.
  func writeReset() throws(Failure) {
    try output.write(json: Array("{\"change\":\"reset\"}\n".utf8))
  }

  private func writeSection(
    _ kind: ChangeSequence.Step.Kind, _ number: Int, title: String?
  ) throws(Failure) {
    try writeSection(ChangeSequence.Step(kind: kind, at: .section(number)), title: title)
  }

  /// `{"change":"move","from":{"section":0,"row":2},"section":1`
  private func start(of step: ChangeSequence.Step) -> [UInt8] {
    var text = "{\"change\":\"\(step.kind.rawValue)\","
    if let from = step.from {
      let row = from.isSection ? "" : ",\"row\":\(from.row)"
      text += "\"from\":{\"section\":\(from.section)\(row)},"
    }
    text += "\"section\":\(step.at.section)"
    return Array(text.utf8)
  }

  private func append(_ string: String?, to text: inout [UInt8]) {
    (string.map { JSONValue.string($0) } ?? .null).append(to: &text)
  }
}

import Tabella

/// One JSON document, written as the rows come and closed even when they end in an error.
///
/// Its members are described in docs/json.md.
struct JSONFormat: Format {
  private let output: Output
  private var table: ShownTable?
  private var isFirstSection = true
  private var isFirstRow = true
  private var isInSection = false

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    self.table = table
    let version = try Failure.about(table.location) { () throws(TableError) in
      try table.source.version()
    }
    var text = Array("{\"provider\":".utf8)
    JSONValue.append(string: table.provider, to: &text)
    text += Array(",\"location\":".utf8)
    JSONValue.append(string: table.location, to: &text)
    text += Array(",\"version\":".utf8)
    (version.map { JSONValue.string($0.token) } ?? .null).append(to: &text)
    text += Array(",\"capabilities\":".utf8)
    JSONValue.array(capabilities(of: table.source).map { .string($0) }).append(to: &text)
    text += Array(",\n \"columns\":[".utf8)
    for (index, column) in table.columns.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text += Array("{\"name\":".utf8)
      JSONValue.append(string: column.name, to: &text)
      text += Array(",\"type\":\"\(column.type.name)\"".utf8)
      if let unit = column.unit { text += Array(",\"unit\":\"\(unit.rawValue)\"".utf8) }
      text.append(UInt8(ascii: "}"))
    }
    text += Array("],\n \"sections\":[".utf8)
    try output.write(text)
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    var text = Array((isFirstSection ? "\n  " : ",\n  ").utf8)
    text += Array("{\"title\":".utf8)
    append(section.header, to: &text)
    text += Array(",\"indexTitle\":".utf8)
    append(section.indexTitle, to: &text)
    text += Array(",\"rows\":[".utf8)
    try output.write(text)
    isFirstSection = false
    isFirstRow = true
    isInSection = true
  }

  var wantsPermissions: Bool { true }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    let batch = rows.batch
    var text: [UInt8] = []
    for row in 0..<batch.rowCount {
      text += Array((isFirstRow ? "\n   " : ",\n   ").utf8)
      isFirstRow = false
      text += Array("{\"id\":".utf8)
      append(batch.id(row), to: &text)
      text += Array(",\"cells\":[".utf8)
      for (index, column) in batch.columns.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        append(column, row, to: &text)
      }
      let canEdit = rows.editable.map { !$0[row].isDisjoint(with: [.editable, .delete]) } ?? false
      text += Array("],\"editable\":\(canEdit),\"movable\":\(rows.movable?[row] ?? false)}".utf8)
    }
    try output.write(text)
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    var text = Array("],\"footer\":".utf8)
    append(section.footer, to: &text)
    text.append(UInt8(ascii: "}"))
    try output.write(text)
    isInSection = false
  }

  mutating func end(failure: Failure?) throws(Failure) {
    guard table != nil else { return }
    var text: [UInt8] = []
    if isInSection { text += Array("],\"footer\":null}".utf8) }
    text.append(UInt8(ascii: "]"))
    if let failure {
      text += Array(",\n \"error\":".utf8)
      failure.json.append(to: &text)
    }
    text += Array("}\n".utf8)
    try output.write(text)
  }

  private func append(_ string: String?, to text: inout [UInt8]) {
    (string.map { JSONValue.string($0) } ?? .null).append(to: &text)
  }

  private func append(_ column: ColumnBatch, _ row: Int, to text: inout [UInt8]) {
    if column.isMissing(row) {
      text += Array("null".utf8)
      return
    }
    switch column.type {
    case .text:
      column.withBytes(at: row) { bytes in
        if bytes.isUTF8 {
          JSONValue.append(string: bytes, to: &text)
        } else {
          text += Array("{\"base64\":\"\(base64(bytes))\"}".utf8)
        }
      }
    case .binary:
      text += Array("{\"base64\":\"\(column.withBytes(at: row) { base64($0) })\"}".utf8)
    case .date: text += Array("\"\(column[row])\"".utf8)
    case .real:
      // JSON has no NaN and no infinity.
      text += Array((column.real(row).isFinite ? column[row].description : "null").utf8)
    case .integer, .boolean: text += Array(column[row].description.utf8)
    }
  }
}

/// What a source can do, as scripts ask about it.
func capabilities(of source: any TableDataSource) -> [String] {
  let abilities: [(String, Bool)] = [
    ("sections", source.sections != nil), ("index", source.sectionIndex != nil),
    ("ids", source.identity != nil), ("edit", source.editing != nil),
    ("move", source.moving != nil), ("undo", source.undoing != nil),
    ("changes", source.changes != nil), ("supplementary", source.supplementary != nil),
    ("accessories", source.accessories != nil), ("display", source.display != nil),
    ("prefetch", source.prefetching != nil), ("diagnostics", source.diagnostics != nil),
  ]
  return abilities.filter(\.1).map(\.0)
}

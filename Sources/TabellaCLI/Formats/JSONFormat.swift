import Tabella

/// One JSON document, written as the rows arrive and completed even after an error.
///
/// docs/json.md describes its members.
struct JSONFormat: Format {
  private let output: Output
  private var table: ShownTable?
  private var isFirstSection = true
  private var isFirstRow = true
  private var isInSection = false

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) throws(Failure) {
    self.table = table
    let source = table.table.source
    let version = try Failure.about(table.table.subject) { () throws(TableError) in
      try source.version()
    }
    var text = Array("{\"provider\":".utf8)
    JSONValue.append(string: table.table.provider, to: &text)
    text += Array(",\"location\":".utf8)
    let locations = table.table.tables.map { JSONValue.string($0.location.description) }
    // A table of tabella itself has a name instead of a location.
    let location = locations.count > 1 ? .array(locations) : locations.first
    (location ?? .string(table.table.subject)).append(to: &text)
    text += Array(",\"version\":".utf8)
    (version.map { JSONValue.string($0.token) } ?? .null).append(to: &text)
    text += Array(",\"capabilities\":".utf8)
    JSONValue.array(AbilitySet(usableOf: source).names.map { .string($0) }).append(to: &text)
    text += Array(",\n \"columns\":[".utf8)
    for (index, column) in table.columns.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text += Array("{\"name\":".utf8)
      JSONValue.append(string: column.name, to: &text)
      text += Array(",\"type\":\"\(column.valueType.name)\"".utf8)
      if let unit = column.unit { text += Array(",\"unit\":\"\(unit.rawValue)\"".utf8) }
      text.append(UInt8(ascii: "}"))
    }
    text += Array("],\n \"sections\":[".utf8)
    try output.write(json: text)
  }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    var text = Array((isFirstSection ? "\n  " : ",\n  ").utf8)
    text += Array("{\"title\":".utf8)
    append(section.header, to: &text)
    if let table = section.table {
      text += Array(",\"location\":".utf8)
      append(table.location.description, to: &text)
      text += Array(",\"provider\":".utf8)
      append(table.manifest.id, to: &text)
    }
    text += Array(",\"indexTitle\":".utf8)
    append(section.indexTitle, to: &text)
    text += Array(",\"rows\":[".utf8)
    try output.write(json: text)
    isFirstSection = false
    isFirstRow = true
    isInSection = true
  }

  var needs: FormatNeeds { [.ids, .permissions, .indexTitles, .emptySections] }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    let batch = rows.batch
    guard let table else { return }
    let columns = rows.json(of: table)
    var text: [UInt8] = []
    for row in 0..<batch.rowCount {
      text += Array((isFirstRow ? "\n   " : ",\n   ").utf8)
      isFirstRow = false
      text += Array("{\"id\":".utf8)
      append(batch.id(row), to: &text)
      text += Array(",\"cells\":[".utf8)
      text.append(room: columns.room(for: row..<row + 1, extra: batch.columns.count)) { place in
        columns.write(row..<row + 1, to: place) { number, place in
          if number == 0 { return place }
          place.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
          return place + 1
        } afterRow: {
          $0
        }
      }
      let editability = rows.editable?[row] ?? []
      text += Array("],\"editable\":\(!editability.isEmpty)".utf8)
      text += Array(",\"editingStyle\":\"\(editability.style.rawValue)\"".utf8)
      text += Array(",\"movable\":\(rows.movable?[row] ?? false)}".utf8)
      // A large batch is written in several parts.
      if text.count >= 1 << 16 {
        try output.write(json: text)
        text.removeAll(keepingCapacity: true)
      }
    }
    try output.write(json: text)
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    var text = Array("],\"footer\":".utf8)
    let footers = [section.footer, section.aggregates].compactMap { $0 }
    append(footers.isEmpty ? nil : footers.joined(separator: " · "), to: &text)
    text.append(UInt8(ascii: "}"))
    try output.write(json: text)
    isInSection = false
  }

  mutating func end(failure: Failure?) throws(Failure) {
    guard table != nil else { return }
    var text: [UInt8] = []
    if isInSection { text += Array("],\"footer\":null}".utf8) }
    text.append(UInt8(ascii: "]"))
    if failure == nil, let total = table?.footers?.total {
      text += Array(",\n \"footer\":".utf8)
      append(total, to: &text)
    }
    if let failure {
      text += Array(",\n \"error\":".utf8)
      failure.json.append(to: &text)
    }
    text += Array("}\n".utf8)
    try output.write(json: text)
  }

  private func append(_ string: String?, to text: inout [UInt8]) {
    (string.map { JSONValue.string($0) } ?? .null).append(to: &text)
  }
}

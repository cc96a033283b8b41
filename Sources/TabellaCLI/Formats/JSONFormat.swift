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
    guard let table else { return }
    let objects = JSONRows(rows, rows.json(of: table), isFirst: isFirstRow)
    isFirstRow = false
    try output.write(
      rows: rows.batch.rowCount, room: { objects.room(for: $0) },
      body: { rows, place in objects.write(rows, to: place) - place },
      apart: { row, room throws(Failure) in
        var text: [UInt8] = []
        text.append(room: room) { objects.write(row..<row + 1, to: $0) }
        try output.write(json: text)
      })
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

/// The objects of the rows of a batch.
private struct JSONRows {
  private let columns: JSONColumns
  private let columnCount: Int
  private let ids: ColumnBatch?
  private let editable: [RowEditability]?
  private let movable: [Bool]?
  /// Whether the first row is the first one of its section.
  private let isFirst: Bool

  init(_ rows: ShownRows, _ columns: JSONColumns, isFirst: Bool) {
    self.columns = columns
    columnCount = rows.batch.columns.count
    ids = rows.batch.ids
    (editable, movable) = (rows.editable, rows.movable)
    self.isFirst = isFirst
  }

  // The parts of an object. Making them for each row would cost more than its cells.
  private static let start = Array(",\n   {\"id\":".utf8)
  private static let missingID = Array("null".utf8)
  private static let middle = Array(",\"cells\":[".utf8)
  /// The ends, by editability and movability.
  private static let ends = (0..<16 as Range<UInt8>).map { index in
    let editability = RowEditability(rawValue: index >> 1)
    return Array(
      ("],\"editable\":\(!editability.isEmpty),\"editingStyle\":\"\(editability.style.rawValue)\""
        + ",\"movable\":\(index & 1 == 1)}").utf8)
  }
  /// The maximum number of bytes around an id and the cells.
  private static let surroundings =
    start.count + missingID.count + middle.count + (ends.map(\.count).max() ?? 0)

  /// The number of bytes that rows need at most.
  func room(for rows: Range<Int>) -> Int {
    columns.room(for: rows, extra: columnCount + JSONRows.surroundings)
      + JSONValue.room(
        forStrings: rows.count,
        bytes: rows.reduce(0) { sum, row in sum + (ids?.withBytes(at: row) { $0.count } ?? 0) })
  }

  /// Writes rows into memory with enough room. Returns the place after them.
  func write(_ rows: Range<Int>, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    var at = place
    for row in rows {
      at = put(JSONRows.start[(isFirst && row == 0 ? 1 : 0)...], at)
      at = writeID(row, to: at)
      at = put(JSONRows.middle[...], at)
      at = columns.write(row..<row + 1, to: at) { number, place in
        if number == 0 { return place }
        place.storeBytes(of: UInt8(ascii: ","), as: UInt8.self)
        return place + 1
      } afterRow: {
        $0
      }
      let (editability, isMovable) = (editable?[row] ?? [], movable?[row] ?? false)
      at = put(JSONRows.ends[Int(editability.rawValue & 7) << 1 | (isMovable ? 1 : 0)][...], at)
    }
    return at
  }

  private func writeID(_ row: Int, to place: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer {
    guard let ids else { return put(JSONRows.missingID[...], place) }
    return ids.withBytes(at: row) {
      JSONValue.write(string: $0, readable: $0.count, to: place)
    }
  }

  private func put(
    _ bytes: ArraySlice<UInt8>, _ place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    bytes.withUnsafeBytes { place.copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
    return place + bytes.count
  }
}

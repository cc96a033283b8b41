import Tabella

/// One JSON object per row and line. The keys are the names of the columns.
struct JSONLinesFormat: Format {
  private let output: Output
  private var keys: [[UInt8]] = []
  private var table: ShownTable?
  private var text: [UInt8] = []

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) {
    self.table = table
    keys = JSONLinesFormat.keys(of: table)
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    let columns = table.map { rows.json(of: $0) } ?? []
    for row in 0..<rows.batch.rowCount {
      text.removeAll(keepingCapacity: true)
      JSONLinesFormat.append(columns, row, keys: keys, to: &text)
      text.append(10)
      try output.write(json: text)
    }
  }

  /// The text in front of each cell of a table: a brace or comma, the name, a colon.
  static func keys(of table: ShownTable) -> [[UInt8]] {
    uniqueNames(table.columns.map(\.name)).enumerated().map { number, name in
      var key: [UInt8] = [number == 0 ? UInt8(ascii: "{") : UInt8(ascii: ",")]
      JSONValue.append(string: name, to: &key)
      return key + [UInt8(ascii: ":")]
    }
  }

  /// Appends the object of a row.
  static func append(
    _ columns: [JSONColumn], _ row: Int, keys: [[UInt8]], to text: inout [UInt8]
  ) {
    for (key, column) in zip(keys, columns) {
      text += key
      column.append(row, to: &text)
    }
    text += Array((keys.isEmpty ? "{}" : "}").utf8)
  }
}

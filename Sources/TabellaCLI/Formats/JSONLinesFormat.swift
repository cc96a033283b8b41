import Tabella

/// One JSON object per row and line. The keys are the names of the columns.
struct JSONLinesFormat: Format {
  private let output: Output
  /// The text in front of each cell: a brace or comma, the name, a colon.
  private var keys: [[UInt8]] = []
  private var table: ShownTable?
  private var text: [UInt8] = []

  init(_ output: Output) { self.output = output }

  mutating func begin(_ table: ShownTable) {
    self.table = table
    for (number, name) in uniqueNames(table.columns.map(\.name)).enumerated() {
      var key: [UInt8] = [number == 0 ? UInt8(ascii: "{") : UInt8(ascii: ",")]
      JSONValue.append(string: name, to: &key)
      keys.append(key + [UInt8(ascii: ":")])
    }
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    let columns = table.map { rows.values(of: $0) } ?? []
    for row in 0..<rows.batch.rowCount {
      text.removeAll(keepingCapacity: true)
      for (key, column) in zip(keys, columns) {
        text += key
        JSONCells.append(column, row, to: &text)
      }
      text += Array((keys.isEmpty ? "{}\n" : "}\n").utf8)
      try output.write(json: text)
    }
  }
}

import Tabella

/// The changes as one JSON document. docs/json.md describes its members.
struct DiffJSON: DiffFormat {
  private let run: DiffRun
  private let comparison: TableComparison
  private let output: Output
  private var isFirst = true
  private let lines: DiffLines

  init(_ run: DiffRun, _ comparison: TableComparison, _ output: Output) {
    self.run = run
    self.comparison = comparison
    self.output = output
    lines = DiffLines(run, comparison)
  }

  var usesIDs: Bool { true }

  func begin() throws(Failure) {
    var text = Array("{\"from\":".utf8)
    try table(run.old).append(to: &text)
    text += Array(",\n \"to\":".utf8)
    try table(run.new).append(to: &text)
    text += Array(",\n \"columns\":".utf8)
    columns.append(to: &text)
    text += Array(",\n \"changes\":[".utf8)
    try output.write(json: text)
  }

  private func table(_ table: ShapedTable) throws(Failure) -> JSONValue {
    let version = try Failure.about(table.subject) { () throws(TableError) in
      try table.source.version()
    }
    return .object([
      "location": .string(table.subject), "provider": .string(table.provider),
      "version": version.map { .string($0.token) } ?? .null,
    ])
  }

  /// Each column with its type in both tables, or null in the table that lacks it.
  private var columns: JSONValue {
    let (old, new) = (run.old.source.columns, run.new.source.columns)
    func column(_ name: String, _ from: Column?, _ to: Column?, isKey: Bool = false) -> JSONValue {
      func type(_ column: Column?) -> JSONValue {
        column.map { .string($0.valueType.name) } ?? .null
      }
      var members: JSONObject = ["name": .string(name), "from": type(from), "to": type(to)]
      if isKey { members["key"] = .boolean(true) }
      return .object(members)
    }
    let pairs = run.columns.pairs.enumerated().map { index, pair in
      column(pair.name, old[pair.old], new[pair.new], isKey: run.keys.contains(index))
    }
    let (oldNames, newNames) = (ColumnNames(old).names, ColumnNames(new).names)
    return .array(
      pairs + run.columns.deleted.map { column(oldNames[$0], old[$0], nil) }
        + run.columns.inserted.map { column(newNames[$0], nil, new[$0]) })
  }

  mutating func write(_ detail: TableComparison.Detail) throws(Failure) {
    var text = Array((isFirst ? "\n  " : ",\n  ").utf8)
    isFirst = false
    try lines.append(detail, as: .document, to: &text)
    try output.write(json: text)
  }

  func end(_ counts: DiffCounts, failure: Failure?) throws(Failure) {
    var text = Array("],\n \"counts\":".utf8)
    counts.json.append(to: &text)
    text += Array(",\"equal\":\(failure == nil && counts.areZero)".utf8)
    if let failure {
      text += Array(",\n \"error\":".utf8)
      failure.json.append(to: &text)
    }
    text += Array("}\n".utf8)
    try output.write(json: text)
    try output.flush()
  }
}

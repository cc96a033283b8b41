import Tabella
import TabellaTerminal

/// The changes for people: a line for each change, with a sign in front, and a line with their numbers.
struct DiffText: DiffFormat {
  private let run: DiffRun
  private let comparison: TableComparison
  private let output: Output

  init(_ run: DiffRun, _ comparison: TableComparison, _ output: Output) {
    self.run = run
    self.comparison = comparison
    self.output = output
  }

  private var screen: Screen { output.screen }
  private var columns: ComparedColumns { run.columns }
  private var arrow: SafeText { screen.isUnicode ? "→" : "->" }

  /// The names of the columns with the cells of a row of the old table, in this order.
  private var oldNames: [String] {
    let names = ColumnNames(run.old.source.columns).names
    return columns.pairs.map(\.name) + columns.deleted.map { names[$0] }
  }

  private var newNames: [String] {
    let names = ColumnNames(run.new.source.columns).names
    return columns.pairs.map(\.name) + columns.inserted.map { names[$0] }
  }

  func begin() throws(Failure) {
    for name in oldNames.dropFirst(columns.pairs.count) {
      try write("- column \(SafeText(name))", .deleted)
    }
    for name in newNames.dropFirst(columns.pairs.count) {
      try write("+ column \(SafeText(name))", .inserted)
    }
    let (old, new) = (run.old.source.columns, run.new.source.columns)
    for pair in columns.pairs where pair.isText {
      let types = [old[pair.old], new[pair.new]].map { SafeText($0.valueType.name) }
      try write("~ column \(SafeText(pair.name)): \(types[0]) \(arrow) \(types[1])", .warning)
    }
  }

  func write(_ detail: TableComparison.Detail) throws(Failure) {
    if detail.change.isOfSection { return try write(section: detail.change) }
    switch detail.change {
    case .delete(let path):
      try write(fitted("- \(SafeText(path.name))  \(row(detail.oldCells, oldNames))"), .deleted)
    case .insert(let path):
      try write(fitted("+ \(SafeText(path.name))  \(row(detail.newCells, newNames))"), .inserted)
    case .set(let path, _):
      // The line is not cut, because the change could be at its end.
      let changed = columns.changed(detail)
      let label = label(detail, without: changed.map(\.index))
      let changes = changed.map { index, pair in
        "\(name(pair.name))\(cell(detail.oldCells[index])) \(arrow) \(cell(detail.newCells[index]))"
          as SafeText
      }
      try write("~ \(SafeText(path.name))  \(joined(label + changes))", .warning)
    case .move(let path, let target):
      let names = "\(SafeText(path.name)) \(arrow) \(SafeText(target.name))" as SafeText
      try write(fitted("> \(names)  \(row(detail.oldCells, oldNames))"), .code)
    }
  }

  private func write(section change: TableComparison.Change) throws(Failure) {
    let (before, after) = try Failure.about(run.subject) { () throws(TableError) in
      (
        try change.old.map { path throws(TableError) in
          try title(comparison.old, path.section)
        } ?? "",
        try change.new.map { path throws(TableError) in
          try title(comparison.new, path.section)
        } ?? ""
      )
    }
    switch change {
    case .delete(let path):
      let count = comparison.old.rows[path.section].count
      let rows = SafeText("(\(count) row\(count == 1 ? "" : "s"))")
      try write("- \(SafeText(path.name))  \(before) \(rows)", .deleted)
    case .insert(let path): try write("+ \(SafeText(path.name))  \(after)", .inserted)
    case .set(let path, _):
      try write("~ \(SafeText(path.name))  \(before) \(arrow) \(after)", .warning)
    case .move(let path, let target):
      try write("> \(SafeText(path.name)) \(arrow) \(SafeText(target.name))  \(after)", .code)
    }
  }

  private func title(_ rows: ComparedRows, _ section: Int) throws(TableError) -> SafeText {
    try rows.title(ofSection: section).map { SafeText($0) } ?? screen.missing
  }

  func end(_ counts: DiffCounts, failure: Failure?) throws(Failure) {
    if failure == nil { try write(SafeText(counts.text), counts.areZero ? nil : .faint) }
    try output.flush()
  }

  private func write(_ line: SafeText, _ style: TextStyle?) throws(Failure) {
    try output.write("\(style.map { screen.paint(line, $0) } ?? line)\n")
  }

  private func fitted(_ line: SafeText) -> SafeText { screen.fitted(line) }

  /// The cells of a row with their names.
  private func row(_ cells: [Cell], _ names: [String]) -> SafeText {
    joined(zip(cells, names).map { "\(name($1))\(cell($0))" })
  }

  /// The cells that identify a changed row: its key, or its first cell.
  private func label(_ detail: TableComparison.Detail, without changed: [Int]) -> [SafeText] {
    let numbers = run.keys.isEmpty ? Array(columns.pairs.indices.prefix(1)) : run.keys
    return numbers.filter { !changed.contains($0) }.map {
      "\(name(columns.pairs[$0].name))\(cell(detail.oldCells[$0]))"
    }
  }

  /// The name of a column in front of a cell. The cells of the only column have none.
  private func name(_ name: String) -> SafeText {
    let isOnly = columns.pairs.count == 1 && columns.deleted.isEmpty && columns.inserted.isEmpty
    return isOnly ? "" : "\(SafeText(name)): "
  }

  private func cell(_ cell: Cell) -> SafeText {
    switch cell {
    case .missing: screen.missing
    case .text(let bytes) where bytes.isEmpty: "\"\""
    case .text(let bytes): screen.isolated(bytes.withUnsafeBytes { SafeText(bytes: $0) })
    default: SafeText(cell.description)
    }
  }

  private func joined(_ texts: [SafeText]) -> SafeText {
    var whole = SafeText()
    for (number, text) in texts.enumerated() {
      if number > 0 { whole.append(", ") }
      whole.append(text)
    }
    return whole
  }
}

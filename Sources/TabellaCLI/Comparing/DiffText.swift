import Tabella
import TabellaTerminal

/// The changes for people: a line for each change, with a sign in front, and a line with their numbers.
struct DiffText: DiffFormat {
  private let run: DiffRun
  private let comparison: TableComparison
  private let output: Output
  private let screen: Screen
  /// For each cell of a row of the old table, the text in front of it: the name of its column and a colon.
  private let oldNames: [SafeText]
  /// The same for a row of the new table.
  private let newNames: [SafeText]
  /// The indices of the cells that identify a changed row: its key, or its first cell.
  private let labels: [Int]

  init(_ run: DiffRun, _ comparison: TableComparison, _ output: Output) {
    self.run = run
    self.comparison = comparison
    self.output = output
    screen = output.screen
    let columns = run.columns
    // The cells of the only column have no name.
    let isOnly = columns.pairs.count == 1 && columns.deleted.isEmpty && columns.inserted.isEmpty
    func names(_ single: [Int], of table: ShapedTable) -> [SafeText] {
      let names = ColumnNames(table.source.columns).names
      return (columns.pairs.map(\.name) + single.map { names[$0] }).map {
        isOnly ? "" : "\(SafeText($0)): "
      }
    }
    oldNames = names(columns.deleted, of: run.old)
    newNames = names(columns.inserted, of: run.new)
    labels = run.keys.isEmpty ? Array(columns.pairs.indices.prefix(1)) : run.keys
  }

  var usesIDs: Bool { false }

  private var columns: ComparedColumns { run.columns }
  private var arrow: SafeText { screen.isUnicode ? "→" : "->" }

  func begin() throws(Failure) {
    let (old, new) = (run.old.source.columns, run.new.source.columns)
    let (namesOfOld, namesOfNew) = (ColumnNames(old).names, ColumnNames(new).names)
    for number in columns.deleted {
      try write("- column \(SafeText(namesOfOld[number]))", .deleted)
    }
    for number in columns.inserted {
      try write("+ column \(SafeText(namesOfNew[number]))", .inserted)
    }
    for pair in columns.pairs where pair.isText {
      let types = [old[pair.old], new[pair.new]].map { SafeText($0.valueType.name) }
      try write("~ column \(SafeText(pair.name)): \(types[0]) \(arrow) \(types[1])", .warning)
    }
  }

  func write(_ detail: TableComparison.Detail) throws(Failure) {
    if detail.change.isOfSection { return try write(section: detail.change) }
    switch detail.change {
    case .delete(let path):
      try write(fitted("- \(SafeText(path.name))  ", detail.oldCells, oldNames), .deleted)
    case .insert(let path):
      try write(fitted("+ \(SafeText(path.name))  ", detail.newCells, newNames), .inserted)
    case .set(let path, _):
      // The line is not cut, because the change could be at its end.
      try write(changes(detail, after: "~ \(SafeText(path.name))  "), .warning)
    case .move(let path, let target):
      let names = "> \(SafeText(path.name)) \(arrow) \(SafeText(target.name))  " as SafeText
      try write(fitted(names, detail.oldCells, oldNames), .code)
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
    var line = style.map { screen.paint(line, $0) } ?? line
    line.append("\n")
    try output.write(line)
  }

  /// The text with all cells of a row, cut to the screen.
  private func fitted(
    _ text: SafeText, _ cells: TableComparison.Row, _ names: [SafeText]
  ) -> SafeText {
    var line = text
    for index in cells.indices {
      if index > 0 { line.append(", ") }
      append(index, of: cells, names, to: &line)
    }
    return screen.fitted(line)
  }

  /// The text with the cells that identify a changed row, and those that differ.
  private func changes(_ detail: TableComparison.Detail, after text: SafeText) -> SafeText {
    var line = text
    let changed = columns.changed(detail).map(\.index)
    let labels = labels.filter { !changed.contains($0) }
    for (position, index) in (labels + changed).enumerated() {
      if position > 0 { line.append(", ") }
      append(index, of: detail.oldCells, oldNames, to: &line)
      guard position >= labels.count else { continue }
      line.append(" \(arrow) ")
      line.append(cell(index, of: detail.newCells))
    }
    return line
  }

  /// Appends a cell with the name of its column.
  private func append(
    _ index: Int, of cells: TableComparison.Row, _ names: [SafeText], to line: inout SafeText
  ) {
    line.append(names[index])
    line.append(cell(index, of: cells))
  }

  private func cell(_ index: Int, of cells: TableComparison.Row) -> SafeText {
    let text = cells.withText(index) { bytes in
      bytes.isEmpty ? "\"\"" : screen.isolated(SafeText(bytes: bytes))
    }
    if let text { return text }
    let cell = cells[index]
    return cell == .missing ? screen.missing : SafeText(cell.description)
  }
}

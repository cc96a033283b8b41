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
  private let (separator, arrow, emptyText): (SafeText, SafeText, SafeText)
  /// The line that is being made.
  private var line = SafeLines()

  init(_ run: DiffRun, _ comparison: TableComparison, _ output: Output) {
    self.run = run
    self.comparison = comparison
    self.output = output
    screen = output.screen
    (separator, arrow, emptyText) = (", ", screen.isUnicode ? " → " : " -> ", "\"\"")
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
      try write("~ column \(SafeText(pair.name)): \(types[0])\(arrow)\(types[1])", .warning)
    }
  }

  mutating func write(_ detail: TableComparison.Detail) throws(Failure) {
    if detail.change.isOfSection { return try write(section: detail.change) }
    line.removeAll()
    switch detail.change {
    case .delete(let path):
      begin("- ", path)
      append(detail.oldCells, oldNames)
      try writeLine(.deleted, isCut: true)
    case .insert(let path):
      begin("+ ", path)
      append(detail.newCells, newNames)
      try writeLine(.inserted, isCut: true)
    case .set(let path, _):
      begin("~ ", path)
      appendChanges(detail)
      // The line is not cut, because the change could be at its end.
      try writeLine(.warning, isCut: false)
    case .move(let path, let target):
      begin("> ", path, target)
      append(detail.oldCells, oldNames)
      try writeLine(.code, isCut: true)
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
      try write("~ \(SafeText(path.name))  \(before)\(arrow)\(after)", .warning)
    case .move(let path, let target):
      try write("> \(SafeText(path.name))\(arrow)\(SafeText(target.name))  \(after)", .code)
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

  // Lines of rows

  /// Begins a line with a sign and the names of rows.
  private mutating func begin(_ sign: SafeText, _ path: IndexPath, _ target: IndexPath? = nil) {
    line.append(sign)
    line.append(path)
    if let target {
      line.append(arrow)
      line.append(target)
    }
    line.append("  ")
  }

  /// Appends all cells of a row.
  private mutating func append(_ cells: TableComparison.Row, _ names: [SafeText]) {
    for index in cells.indices {
      if index > 0 { line.append(separator) }
      append(index, of: cells, names)
    }
  }

  /// Appends the cells that identify a changed row, and those that differ.
  private mutating func appendChanges(_ detail: TableComparison.Detail) {
    let changed = columns.changed(detail)
    let labels = labels.filter { !changed.contains($0) }
    for (position, index) in (labels + changed).enumerated() {
      if position > 0 { line.append(separator) }
      append(index, of: detail.oldCells, oldNames)
      guard position >= labels.count else { continue }
      line.append(arrow)
      append(index, of: detail.newCells)
    }
  }

  /// Appends a cell with the name of its column.
  private mutating func append(_ index: Int, of cells: TableComparison.Row, _ names: [SafeText]) {
    line.append(names[index])
    append(index, of: cells)
  }

  private mutating func append(_ index: Int, of cells: TableComparison.Row) {
    let text: Void? = cells.withText(index) { bytes in
      if bytes.isEmpty {
        line.append(emptyText)
      } else if !line.append(ifPlain: bytes) {
        line.append(screen.isolated(SafeText(bytes: bytes)))
      }
    }
    if text != nil { return }
    let cell = cells[index]
    // Numbers and dates in a file keep the form that they have there.
    if cell != .missing, let stored = cells.storedText(index) {
      return line.append(SafeText(String(decoding: stored, as: UTF8.self)))
    }
    switch cell {
    case .missing: line.append(screen.missing)
    case .integer(let value): line.append(Int(value))
    case let cell: line.append(SafeText(cell.description))
    }
  }

  /// Writes the line. `isCut` is true if the part beyond the screen is left out.
  private mutating func writeLine(_ style: TextStyle, isCut: Bool) throws(Failure) {
    if !screen.palette.isColoured, !isCut || line.width <= screen.width ?? .max {
      line.endLine()
      try output.write(safe: line.bytes)
    } else {
      try write(isCut ? screen.fitted(line.text) : line.text, style)
    }
  }
}

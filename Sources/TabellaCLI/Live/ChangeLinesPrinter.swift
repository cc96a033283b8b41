import Tabella

/// Prints each change as a JSON object.
///
/// If rows of a batch cannot be read any more, the next batch prints a reset and the whole table.
struct ChangeLinesPrinter: ChangePrinter {
  /// The maximum number of steps whose rows are read together.
  private static let chunk = 1 << 12

  private let shown: ShownTable
  private let output: Output
  private var format: ChangeLinesFormat
  private var mustReset = false

  init(_ format: ChangeLinesFormat, _ shown: ShownTable, _ output: Output) {
    self.format = format
    self.shown = shown
    self.output = output
  }

  var needsOldIDs: Bool { source.identity != nil }
  private var source: any TableDataSource { shown.table.source }

  mutating func begin(_ range: Range<Int>) throws(Failure) {
    format.begin(shown)
    if let failure = try printRows(range) { throw failure }
  }

  mutating func note(_ plan: BatchPlan, _ changes: [ChangeBatch.Change]) { mustReset = true }

  mutating func noteAll() -> Bool {
    mustReset = true
    return true
  }

  private mutating func printRows(_ range: Range<Int>) throws(Failure) -> Failure? {
    var viewer = Viewer(shown, range, output)
    var format: any Format = format
    return try viewer.show(in: &format)
  }

  mutating func print(_ changes: TableFollower.Changes) throws {
    // In a table without sections, no line can say that everything is new except a reset.
    let hasNewTable = source.sections == nil && changes.list.contains(where: \.isOfSection)
    if mustReset || hasNewTable {
      mustReset = true
      try format.writeReset()
      if let failure = try printRows(0..<Int.max) {
        throw failure.status == .conflict ? TableError(.conflict, failure.text) : failure
      }
      mustReset = false
    } else if !changes.list.isEmpty {
      // Lines that are already written are void after a reset.
      mustReset = true
      try printSteps(changes)
      mustReset = false
    }
  }

  private mutating func printSteps(_ changes: TableFollower.Changes) throws {
    var newSections: [Int] = []
    var rest = try ChangeSequence(changes.list).steps[...]
    while !rest.isEmpty {
      let steps = rest.prefix(Self.chunk)
      rest.removeFirst(steps.count)
      let rows = try rows(
        at: steps.compactMap { $0.kind == .move ? nil : $0.new }.filter { !$0.isSection })
      for step in steps {
        guard step.at.isSection else {
          let before = step.old.flatMap { changes.idsBefore[$0] }
          try format.write(step, step.new.flatMap { rows[$0] }, before: before)
          continue
        }
        let title = try step.new.flatMap {
          try source.sections?.title(.header, ofSection: $0.section)
        }
        try format.writeSection(step, title: title)
        if let new = step.new, step.kind == .insert || step.kind == .reload {
          newSections.append(new.section)
        }
      }
    }
    for section in newSections.sorted() { try printRows(ofSection: section) }
  }

  /// Prints the rows of a new section.
  private mutating func printRows(ofSection section: Int) throws {
    let count = try source.exactNumberOfRows(inSection: section)
    for first in stride(from: 0, to: count, by: Self.chunk) {
      let paths = (first..<min(first + Self.chunk, count)).map {
        IndexPath(section: section, row: $0)
      }
      let rows = try rows(at: paths)
      for path in paths {
        try format.write(ChangeSequence.Step(kind: .insert, at: path), rows[path], before: nil)
      }
    }
  }

  /// The ids and cells of rows.
  private func rows(
    at paths: [IndexPath]
  ) throws -> [IndexPath: (rows: ChangeLinesFormat.Rows, index: Int)] {
    var facts = try RowFacts(of: shown, for: format, output.screen)
    var rest = paths.sorted()[...]
    var found: [IndexPath: (rows: ChangeLinesFormat.Rows, index: Int)] = [:]
    found.reserveCapacity(paths.count)
    while let first = rest.first {
      let batch = try source.gather(
        Array(rest), columns: facts.columns, includesIDs: facts.includesIDs)
      let rows = format.values(of: try facts.rows(batch, at: first, shownAt: first))
      for (index, path) in rest.prefix(batch.rowCount).enumerated() { found[path] = (rows, index) }
      rest.removeFirst(batch.rowCount)
    }
    return found
  }
}

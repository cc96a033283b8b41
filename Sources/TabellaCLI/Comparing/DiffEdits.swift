import Tabella

/// The changes as lines for `apply`. Nothing is written before the comparison is complete, because `apply` would
/// make a part of the edits.
struct DiffEdits: DiffFormat {
  private let run: DiffRun
  private let comparison: TableComparison
  private let output: Output
  private let lines: DiffLines
  private var text: [UInt8] = []
  /// The number of rows in inserted sections.
  private var laterCount = 0
  private var newSections: Set<Int> = []
  private var settable: [Bool]?
  /// Whether a dry run has shown which columns a new row can have.
  private var hasTriedInsertion = false

  init(_ run: DiffRun, _ comparison: TableComparison, _ output: Output) {
    self.run = run
    self.comparison = comparison
    self.output = output
    lines = DiffLines(run, comparison)
  }

  var usesIDs: Bool { run.namesRowsByID }

  mutating func begin() throws(Failure) {
    settable = try Failure.about(run.old.subject) { () throws(TableError) in
      try run.old.source.editing?.editableColumns()
    }
  }

  mutating func write(_ detail: TableComparison.Detail) throws(Failure) {
    if detail.change.isOfSection {
      guard run.old.source.sectionEditing != nil else {
        throw .of(
          TableError(
            .notSupported,
            "the sections of the tables differ, and the sections of this table cannot be edited"),
          subject: run.old.subject)
      }
      if case .insert(let path) = detail.change {
        newSections.insert(path.section)
        try trySection(path)
      }
    } else if let path = detail.change.new, newSections.contains(path.section) {
      laterCount += 1
      return
    }
    if case .set(let path, _) = detail.change, !path.isSection {
      for pair in run.columns.changed(detail).map({ run.columns.pairs[$0] })
      where settable?[pair.old] == false {
        throw .of(
          TableError(
            .readOnly,
            "row \(path.name) differs in the column \(pair.name), which cannot be set; choose other columns with --columns",
            column: pair.old), subject: run.old.subject)
      }
    }
    if case .insert(let path) = detail.change, !path.isSection, !hasTriedInsertion {
      try tryInsertion(detail, of: path)
      hasTriedInsertion = true
    }
    try lines.append(detail, as: .edits(byID: run.namesRowsByID), to: &text)
    text.append(10)
  }

  /// Throws if a new section has no title and the table has only sections with titles. A dry run tells.
  private func trySection(_ path: IndexPath) throws(Failure) {
    try Failure.about(run.old.subject) { () throws(TableError) in
      guard try comparison.new.title(ofSection: path.section) == nil else { return }
      _ = try run.old.source.editing?.commit(
        EditBatch([.insertSection(at: 0, title: nil)], isDryRun: true))
    }
  }

  /// Throws if a new row cannot have one of its cells. A dry run tells, because a new row can have cells that cannot be
  /// set later, such as the kind of a file.
  private func tryInsertion(
    _ detail: TableComparison.Detail, of path: IndexPath
  ) throws(Failure) {
    guard let settable, settable.contains(false), let editing = run.old.source.editing else {
      return
    }
    var cells: [Int: Cell] = [:]
    for (pair, cell) in zip(run.columns.pairs, detail.newCells) where cell != .missing {
      cells[pair.old] = cell
    }
    do throws(TableError) {
      let start = IndexPath(section: path.section, row: 0)
      _ = try editing.commit(EditBatch([.insert(at: start, cells: cells)], isDryRun: true))
    } catch {
      guard let column = error.column, settable.indices.contains(column), !settable[column] else {
        return
      }
      throw .of(
        TableError(
          error.code,
          "row \(path.name) is new: \(error.message); choose other columns with --columns",
          column: column), subject: run.old.subject)
    }
  }

  func end(_ counts: DiffCounts, failure: Failure?) throws(Failure) {
    guard failure == nil else { return }
    try output.write(json: text)
    try output.finish()
    if laterCount > 0 {
      Messages.write(
        "note: \(laterCount) row\(laterCount == 1 ? "" : "s") of new sections are not in these lines; apply the lines, then run both commands again",
        about: "diff")
    }
  }
}

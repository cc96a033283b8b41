import Tabella

// The law of ids that pass on to another row within a batch.

extension Law {
  static let idsPassOn = Law(
    "ids-pass-on",
    "A batch can give the key of one row to another one: both rows have their cells, and undo works.",
    hint:
      "outcomes report ids as they are after the batch; refuse such a batch before the first change if it is not "
      + "possible",
    edits: true
  ) { trial in
    guard try trial.editedTable().source.identity != nil else { throw Skipped(reason: "no ids") }
    var done = 0
    for way in WayOfPassing.allCases {
      let table = try trial.editedTable()
      for _ in 0..<2 {
        guard let batch = try trial.drawPassing(way, table) else { break }
        let before = table.rows
        let result: EditResult
        switch try table.attempt(batch) {
        case .success(let made): result = made
        case .failure(let error):
          try table.expectUnchanged("a refused batch")
          continue
        }
        let after = try table.reread()
        done += 1
        try requirePassed(batch, result, from: before, to: after)
        // A view can show edited rows in new sections of its own.
        try replay(result.changes, from: before, to: after, fillsSections: true)
        try require(
          same(after, try table.reopened()),
          "after \(batch.edits) the table opened again has other rows")
        guard let receipt = result.receipt, let undoing = table.source.undoing,
          !result.outcomes.contains(where: \.isFinal)
        else { continue }
        _ = try undoing.undo(receipt, isDryRun: false)
        try require(
          same(before, try table.reread()), "undo of \(batch.edits) did not restore the old rows")
      }
    }
    if done == 0 { throw Skipped(reason: "no edit could be made") }
  }
}

/// The ways in which the cells of a row, and so its key, become those of another row.
private enum WayOfPassing: CaseIterable {
  /// A row is deleted, and another with its cells is inserted at a position of the same or another section.
  case inserted
  /// A row is deleted, and another one gets its cells.
  case taken
  /// Two rows exchange their cells.
  case exchanged
}

extension Trial {
  /// A batch that names its rows by id; nil if none can be drawn.
  fileprivate func drawPassing(_ way: WayOfPassing, _ table: EditedTable) throws -> EditBatch? {
    let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
    let paths = table.rows.enumerated().flatMap { section, rows in
      rows.indices.map { IndexPath(section: section, row: $0) }
    }
    func editability(_ path: IndexPath) throws -> RowEditability {
      try table.editing.editability(ofRows: path.row..<path.row + 1, inSection: path.section)[0]
    }
    /// The cells of a row that can be set and are not missing.
    func cells(_ row: EditedRow) -> [Int: Cell] {
      Dictionary(
        uniqueKeysWithValues: row.cells.enumerated().filter { mayBeSet[$0] && $1 != .missing }
          .map { ($0, $1) })
    }
    guard !paths.isEmpty else { return nil }
    for _ in 0..<10 {
      let path = paths[draw(0..<paths.count)]
      let other = paths[draw(0..<paths.count)]
      let (row, second) = (
        table.rows[path.section][path.row], table.rows[other.section][other.row]
      )
      guard let id = row.id, let otherID = second.id, !cells(row).isEmpty else { continue }
      switch way {
      case .inserted:
        guard try editability(path).contains(.delete) else { continue }
        let section = other.section
        let staying = table.rows[section].count - (section == path.section ? 1 : 0)
        let target = IndexPath(section: section, row: draw(0..<staying + 1))
        return EditBatch([.insert(at: target, cells: cells(row)), .delete(.id(id))])
      case .taken:
        guard id != otherID, try editability(path).contains(.delete),
          try editability(other).contains(.editable)
        else { continue }
        return EditBatch([.set(.id(otherID), cells: cells(row)), .delete(.id(id))])
      case .exchanged:
        guard id != otherID, !same(row.cells, second.cells), !cells(second).isEmpty,
          try editability(path).contains(.editable), try editability(other).contains(.editable)
        else { continue }
        return EditBatch([
          .set(.id(id), cells: cells(second)), .set(.id(otherID), cells: cells(row)),
        ])
      }
    }
    return nil
  }
}

/// Throws unless each row that a batch sets or inserts has its cells, under the id that its outcome reports.
private func requirePassed(
  _ batch: EditBatch, _ result: EditResult, from old: [[EditedRow]], to new: [[EditedRow]]
) throws {
  try require(
    result.outcomes.count == batch.edits.count,
    "\(batch.edits.count) edits have \(result.outcomes.count) outcomes")
  let rows = Array(new.joined())
  for (edit, outcome) in zip(batch.edits, result.outcomes)
  where outcome.code == nil && outcome.message == nil {
    let wanted: [Int: Cell]
    switch edit {
    case .set(_, let cells), .insert(_, let cells): wanted = cells
    case .delete, .move: continue
    }
    func has(_ row: EditedRow) -> Bool {
      wanted.allSatisfy { row.cells.indices.contains($0) && same([row.cells[$0]], [$1]) }
    }
    if let id = outcome.id, let row = rows.first(where: { $0.id == id }) {
      try require(has(row), "\(edit) reports the id \(id), but that row is \(row)")
    } else if outcome.id == nil, result.changes.changes != nil {
      try require(rows.contains(where: has), "after \(edit) no row has its cells")
    }
  }
}

import Tabella

extension BatchPlan {
  /// The plan of changes for rows that were read before.
  init(_ changes: [ChangeBatch.Change], of rows: [[EditedRow]]) throws(TableError) {
    try self.init(
      changes, numberOfSections: { _ in .exact(rows.count) },
      numberOfRows: { section, _ throws(TableError) in
        guard rows.indices.contains(section) else { throw .noSection(section) }
        return .exact(rows[section].count)
      })
  }
}

/// Throws unless the changes lead from the old rows to the new ones.
///
/// A section that an edit inserts is empty. With `fillsSections`, an inserted section can have any rows.
func replay(
  _ batch: ChangeBatch, from old: [[EditedRow]], to new: [[EditedRow]], fillsSections: Bool = false
) throws {
  guard let changes = batch.changes else { return }
  let plan: BatchPlan
  do throws(TableError) { plan = try BatchPlan(changes, of: old) } catch {
    throw LawBroken("the changes \(changes) are not possible: \(error)")
  }
  // Nil means that the changes allow any content there.
  var replayed: [[EditedRow?]?] = old.map { $0.map { $0 } }
  for (section, rows) in plan.rows {
    let list = old[section].map { Optional($0) }
    replayed[section] = rows.applied(to: list) { arrival in
      guard case .move(let from, _) = changes[arrival.change] else { return nil }
      return changes.contains(.reconfigure(from)) ? nil : old[from.section][from.row]
    }
  }
  for change in changes {
    switch change {
    case .reload(let path) where path.isSection: replayed[path.section] = nil
    case .reload(let path), .reconfigure(let path):
      guard !path.isSection, let row = plan.rows[path.section]?.indexAfter(of: path.row) else {
        continue
      }
      replayed[path.section]?[row] = nil
    default: break
    }
  }
  if let sections = plan.sections {
    let whole = replayed
    replayed = sections.applied(to: whole) { arrival in
      guard case .move(let from, _) = changes[arrival.change] else {
        return fillsSections ? nil : []
      }
      return whole[from.section]
    }
  }
  try require(
    replayed.count == new.count, "the changes lead to \(replayed.count) sections, not \(new.count)")
  let heirs = Dictionary(
    new.joined().compactMap { row in row.id.map { ($0, row) } }, uniquingKeysWith: { row, _ in row }
  )
  for (section, pair) in zip(replayed, new).enumerated() {
    guard let rows = pair.0 else { continue }
    try require(
      rows.count == pair.1.count,
      "the changes \(changes) lead to \(rows.count) rows in section \(section), not \(pair.1.count)"
    )
    for (row, pair) in zip(rows, pair.1).enumerated() {
      guard let replayed = pair.0 else { continue }
      try require(
        same(replayed.cells, pair.1.cells),
        "row \(section):\(row) is \(pair.1), which the changes \(changes) do not contain")
      // An id may depend on the position of its row and end with the version. It must never pass to another row.
      guard let id = replayed.id, let heir = heirs[id] else { continue }
      try require(
        same(heir.cells, replayed.cells),
        "the id \(id) named \(replayed) and now names \(heir); an id must never name another row")
    }
  }
}

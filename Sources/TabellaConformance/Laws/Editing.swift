import Tabella

// The laws of editing. They run only if the suite has data to edit.

extension Law {
  static let dryRunsChangeNothing = Law(
    "dry-runs-change-nothing",
    "A dry run changes nothing and reports the outcomes that the edits would have.",
    hint: "with the dry-run flag, commit makes every check and stops before the first change",
    edits: true
  ) { trial in
    try trial.forEachCommit { table, batch in
      var batch = batch
      batch.isDryRun = true
      let dry = try table.attempt(batch)
      try table.expectUnchanged("a dry run")
      batch.isDryRun = false
      let real = try table.attempt(batch)
      switch (dry, real) {
      case (.success(let dry), .success(let real)):
        try require(
          dry.outcomes.map(\.code) == real.outcomes.map(\.code)
            && dry.outcomes.map(\.isFinal) == real.outcomes.map(\.isFinal),
          "a dry run of \(batch.edits) reported \(dry.outcomes), but the commit reported \(real.outcomes)"
        )
      case (.failure, .failure): break
      case (.success, .failure(let error)):
        throw LawBroken("a dry run accepted \(batch.edits), which the commit refused: \(error)")
      case (.failure(let error), .success):
        throw LawBroken("a dry run refused \(batch.edits), which the commit accepted: \(error)")
      }
      return real
    }
  }

  static let editsReplay = Law(
    "edits-replay", "The changes that a commit reports lead from the old rows to the new rows.",
    hint:
      "changes name the old positions of deleted rows and the new positions of inserted rows; else return reload",
    edits: true
  ) { trial in
    try trial.forEachCommit { table, batch in
      let before = table.rows
      let columns = table.source.columns
      let version = try table.source.version()
      let result = try table.attempt(batch)
      guard case .success(let result) = result else {
        try table.expectUnchanged("a refused batch")
        return .failure(TableError(.constraint, "refused"))
      }
      try require(
        result.outcomes.count == batch.edits.count,
        "\(batch.edits.count) edits have \(result.outcomes.count) outcomes")
      let after = try table.reread()
      let now = try table.source.version()
      try require(
        result.changes.from == version && result.changes.to == now,
        "the changes lead from \(result.changes.from?.token ?? "none") to "
          + "\(result.changes.to?.token ?? "none"), not from \(version?.token ?? "none") to "
          + "\(now?.token ?? "none")")
      // With a reload, other rows may be gone, too: a view in SQL shows rows of another section.
      if batch.edits.allSatisfy(\.isDelete), result.outcomes.allSatisfy({ $0.code == nil }),
        result.changes.changes != nil
      {
        let (old, new) = (before.joined().count, after.joined().count)
        try require(
          new == old - batch.edits.count, "\(batch.edits) led from \(old) rows to \(new)")
      }
      // A row shows other cells if the last value of a column disappears, for example. The changes then reload all.
      if result.changes.changes != nil || table.source.columns == columns {
        try requireOthersStay(batch, result, from: before, to: after)
      }
      try requireInserted(batch, result, from: before, to: after)
      // A view can show edited rows in new sections of its own.
      let insertsSections = batch.edits.contains { edit in
        if case .insert(let path, _) = edit { path.isSection } else { false }
      }
      try replay(result.changes, from: before, to: after, fillsSections: !insertsSections)
      // With volatile order, a version identifies rows by id, and their cells may differ.
      try require(
        same(before, after) || now == nil || now != version || table.source.hasVolatileOrder,
        "\(batch.edits) changed rows, but the version is still \(version?.token ?? "none")")
      return .success(result)
    }
  }

  static let editsAreStored = Law(
    "edits-are-stored",
    "An edit that is reported as done is present when the table is opened again.",
    hint:
      "return after the edit is stored where the next opening reads it; an edit that cannot be stored is "
      + "read-only",
    edits: true
  ) { trial in
    let table = try trial.editedTable()
    var done = 0
    let wanted = trial.repetitions(6, least: 2)
    for _ in 0..<20 where done < wanted {
      guard let batch = try trial.drawBatch(table) else { break }
      let before = table.rows
      guard case .success = try table.attempt(batch) else { continue }
      let after = try table.reread()
      if same(before, after) { continue }
      done += 1
      let anew = try table.open()
      try require(
        same(after, try table.read(anew)),
        "\(batch.edits) is reported as done, but the table opened again has other rows")
      let (version, now) = (try anew.version(), try table.source.version())
      try require(
        version == now,
        "the version of the same rows opened again is \(version?.token ?? "none"), not "
          + "\(now?.token ?? "none")")
    }
    if done == 0 { throw Skipped(reason: "no edit could be made") }
  }

  static let staleVersionsConflict = Law(
    "stale-versions-conflict", "An edit with another version than that of the source is refused.",
    hint: "commit must first compare the version of the batch",
    edits: true
  ) { trial in
    try trial.forEachCommit { table, batch in
      guard let version = try table.source.version() else { throw Skipped(reason: "no versions") }
      for wrong in [Version("no-such-version"), Version("\(version.token.dropLast())")] {
        for isDryRun in [true, false] {
          let stale = EditBatch(batch.edits, version: wrong, isDryRun: isDryRun)
          try trial.expectRefusal("an edit of version \(wrong)", [.conflict]) {
            _ = try table.editing.commit(stale)
          }
          try table.expectUnchanged("an edit of version \(wrong)")
        }
      }
      var batch = batch
      batch.version = version
      let result = try table.attempt(batch)
      _ = try table.reread()
      let now = try table.source.version()
      if case .success = result, now != version {
        try trial.expectRefusal("an edit of the version before", [.conflict]) {
          _ = try table.editing.commit(batch)
        }
        try table.expectUnchanged("an edit of the version before")
      }
      return result
    }
  }

  static let refusedEditsChangeNothing = Law(
    "refused-edits-change-nothing",
    "A batch with a row that does not exist, or with a row twice, is refused as a whole.",
    hint:
      "check the whole batch before the first change, as BatchPlan (Swift) and tabella_plan_make (C) do",
    edits: true
  ) { trial in
    try trial.forEachCommit { table, batch in
      // A table that is not editable at all may report that first.
      var codes: [TableError.Code] = [.notFound, .invalidArgument]
      if case .failure(let error) = try table.attempt(EditBatch(batch.edits, isDryRun: true)),
        error.code == .readOnly
      {
        codes.append(.readOnly)
      }
      for bad in try trial.badEdits(table) {
        try trial.expectRefusal("the batch \(bad)", codes) {
          _ = try table.editing.commit(EditBatch(bad))
        }
        // In combination with valid edits, a batch may break other rules, too.
        let codes: [TableError.Code] = [
          .notFound, .invalidArgument, .notSupported, .constraint, .readOnly,
        ]
        try trial.expectRefusal("the batch \(batch.edits + bad)", codes) {
          _ = try table.editing.commit(EditBatch(batch.edits + bad))
        }
      }
      for forbidden in try trial.forbiddenEdits(table) {
        let result = try table.attempt(EditBatch([forbidden]))
        if case .success(let result) = result {
          try require(
            result.outcomes.first?.code != nil,
            "\(forbidden) was accepted, but was reported as not possible")
        }
      }
      try table.expectUnchanged("a refused batch")
      let result = try table.attempt(batch)
      _ = try table.reread()
      return result
    }
  }

  static let setReadsBack = Law(
    "set-reads-back", "A cell that was set has the new value, and its row keeps its id.",
    hint: "commit must return an outcome with an error code for each edit that was not made",
    edits: true
  ) { trial in
    let table = try trial.editedTable()
    var done = 0
    for _ in 0..<trial.repetitions(20, least: 3) {
      guard let (path, column, cell) = try trial.drawSet(table) else { break }
      let batch = EditBatch([.set(.path(path), cells: [column: cell])])
      guard case .success(let result) = try table.attempt(batch), result.outcomes.first?.code == nil
      else {
        try table.expectUnchanged("a refused batch")
        continue
      }
      done += 1
      let (before, old, count) = (table.rows, table.rows[path.section][path.row], table.count)
      if let id = result.outcomes[0].id, id != old.id {
        try require(
          !before.joined().contains { $0.id == id },
          "row \(path) was set, and its reported id is \(id), which belongs to another row")
      }
      let rows = try table.reread()
      // With a message, the provider says that the cell has another value: it is rounded, or its column has another type.
      guard result.outcomes[0].message == nil else { continue }
      // The row may be at another index path by now, for example in a sorted view, or hidden.
      let candidates = rows.joined().filter { row in
        row.id == result.outcomes[0].id ?? old.id
      }
      try require(
        candidates.contains { same([$0.cells[column]], [cell]) }
          || table.count < count,
        "column \(column) of row \(path) was set to \(cell), but no row has it")
      guard let changes = result.changes.changes,
        let place = try? BatchPlan(changes, of: before).path(of: path)
      else { continue }
      let row = rows[place.section][place.row]
      try require(
        same([row.cells[column]], [cell]), "row \(path) has \(row.cells[column]), not \(cell)")
      if changes == [.reconfigure(path)] {
        try require(row.id == old.id, "the id of row \(path) changed when it was set")
      }
    }
    if done == 0 { throw Skipped(reason: "no cell could be set") }
  }

  static let sectionsHaveTheirTitles = Law(
    "sections-have-their-titles",
    "A section that is inserted or renamed has its new title, and the other sections keep theirs.",
    hint:
      "a title is the cell of column -1 in the edit of a section; refuse edits that are not possible",
    edits: true
  ) { trial in
    let table = try trial.editedTable()
    guard table.source.sectionEditing != nil else { throw Skipped(reason: "no titles are edited") }
    var done = 0
    for round in 0..<trial.repetitions(12, least: 3) {
      let (before, titles) = (table.rows, try table.titles())
      guard let (edit, isAllowed) = try trial.drawSectionEdit(table, titles, round) else {
        continue
      }
      let result = try table.attempt(EditBatch([edit]))
      guard case .success(let result) = result, result.outcomes.first?.code == nil else {
        try table.expectUnchanged("a refused edit of a section")
        continue
      }
      try require(isAllowed, "\(edit) was accepted, but was reported as not possible")
      done += 1
      let rows = try table.reread()
      let now = try table.titles()
      try replay(result.changes, from: before, to: rows)
      try require(
        same(rows, try table.reopened()), "after \(edit) the table opened again has other rows")
      if result.outcomes.first?.message == nil { try require(edit, led: titles, to: now) }
      guard trial.draw(0..<2) == 0, let receipt = result.receipt,
        let undoing = table.source.undoing
      else { continue }
      _ = try undoing.undo(receipt, isDryRun: false)
      try require(same(before, try table.reread()), "undo of \(edit) did not restore the rows")
      let restored = try table.titles()
      try require(titles == restored, "undo of \(edit) led to the titles \(restored)")
    }
    if done == 0 { throw Skipped(reason: "no section could be edited") }
  }

  static let undoRestores = Law(
    "undo-restores", "The receipt of a commit undoes all of it, once.",
    hint: "undo must check that the source is as the batch left it, and return conflict otherwise",
    edits: true
  ) { trial in
    guard try trial.editedTable().source.undoing != nil else { throw Skipped(reason: "no undo") }
    try trial.forEachCommit { table, batch in
      let before = table.rows
      let result = try table.attempt(batch)
      let after = try table.reread()
      guard case .success(let done) = result, let receipt = done.receipt, !done.hasFinalEdits,
        let undoing = table.source.undoing
      else { return result }
      for bytes in [[], [0xFF], Array(receipt.dropLast()), receipt + [0x30]] where bytes != receipt
      {
        try trial.expectRefusal(
          "a damaged receipt", [.conflict, .invalidArgument, .notFound, .notSupported, .io]
        ) { _ = try undoing.undo(bytes, isDryRun: false) }
        try table.expectUnchanged("a damaged receipt")
      }
      _ = try undoing.undo(receipt, isDryRun: true)
      try table.expectUnchanged("a dry run of undo")
      _ = try undoing.undo(receipt, isDryRun: false)
      let restored = try table.reread()
      try require(
        same(before, restored), "undo of \(batch.edits) did not restore the old rows")
      let anew = try table.reopened()
      try require(same(before, anew), "after undo the table opened again has other rows")
      if !same(before, after) {
        try trial.expectRefusal("a receipt that was used", [.conflict, .notFound]) {
          _ = try undoing.undo(receipt, isDryRun: false)
        }
        try table.expectUnchanged("a receipt that was used")
      }
      return result
    }
    // A receipt must work in a later source, after the original one is gone.
    let table = try trial.editedTable()
    guard let batch = try trial.drawBatch(table),
      case .success(let done) = try table.attempt(batch),
      let receipt = done.receipt, !done.hasFinalEdits
    else { return }
    _ = try table.open().undoing?.undo(receipt, isDryRun: false)
    try require(
      same(table.rows, try table.reopened()),
      "undo of \(batch.edits) by a source opened again did not restore the old rows")
  }
}

extension EditResult {
  /// Whether the receipt cannot undo some of the edits.
  fileprivate var hasFinalEdits: Bool { outcomes.contains(where: \.isFinal) }
}

/// Throws unless every unnamed row is still there, with the same id or the same cells, or is the title of a section.
private func requireOthersStay(
  _ batch: EditBatch, _ result: EditResult, from old: [[EditedRow]], to new: [[EditedRow]]
) throws {
  let named = Set(batch.edits.compactMap { $0.reference })
  var left: [String: Int] = [:]
  for row in new.joined() { left[row.text, default: 0] += 1 }
  let ids = Set(new.joined().compactMap(\.id))
  var gone: [IndexPath] = []
  for (section, rows) in old.enumerated() {
    for (number, row) in rows.enumerated() {
      let path = IndexPath(section: section, row: number)
      guard !named.contains(.path(path)), row.id.map({ !named.contains(.id($0)) }) ?? true else {
        continue
      }
      if left[row.text, default: 0] > 0 {
        left[row.text, default: 0] -= 1
      } else if row.id.map({ !ids.contains($0) }) ?? true {
        gone.append(path)
      }
    }
  }
  // A line can become the title of a new section: `## Notes`, if the batch deletes the code fence in front of it. The
  // source then reports a reload.
  let newSections = result.changes.changes == nil ? max(0, new.count - old.count) : 0
  try require(
    gone.count <= newSections,
    "\(batch.edits) does not name row \(gone.first.map { "\($0)" } ?? ""), which no longer exists"
  )
}

/// Throws unless the titles have changed as a section edit requires.
///
/// A source with its own order may move the section. A deleted folder may contain further sections.
private func require(
  _ edit: EditBatch.Edit, led old: [String?], to new: [String?]
) throws {
  func count(_ title: String?, _ titles: [String?]) -> Int { titles.count { $0 == title } }
  let what = "\(edit) led from the titles \(old) to \(new)"
  switch edit {
  case .insert:
    try require(
      new.count == old.count + 1 && count(edit.title, new) == count(edit.title, old) + 1, what)
  case .set:
    try require(
      new.count == old.count && count(edit.title, new) == count(edit.title, old) + 1, what)
  case .delete: try require(new.count < old.count, what)
  case .move:
    try require(new.count == old.count && old.allSatisfy { count($0, new) == count($0, old) }, what)
  }
}

/// Throws unless the inserted rows are there.
private func requireInserted(
  _ batch: EditBatch, _ result: EditResult, from old: [[EditedRow]], to new: [[EditedRow]]
) throws {
  for (edit, outcome) in zip(batch.edits, result.outcomes) {
    guard case .insert(let path, let cells) = edit, outcome.code == nil, outcome.message == nil
    else {
      continue
    }
    func has(_ row: EditedRow) -> Bool {
      cells.allSatisfy { row.cells.indices.contains($0) && same([row.cells[$0]], [$1]) }
    }
    // A view may hide the row.
    if let id = outcome.id, let row = new.joined().first(where: { $0.id == id }) {
      try require(has(row), "the inserted row \(id) is \(row), not \(cells)")
    }
    if result.changes.changes?.contains(.insert(path)) == true {
      let row =
        new.indices.contains(path.section) ? new[path.section].dropFirst(path.row).first : nil
      // A source with its own order can put each of two inserted rows where the other one was expected.
      if let id = outcome.id, let other = row?.id, id != other { continue }
      try require(
        row.map(has) == true, "\(cells) were inserted at \(path), where is \(row)")
    }
  }
}

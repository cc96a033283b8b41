// Edits, moves and changes of a view, passed to its base.

extension MappedSource: TableEditing, TableMoving {
  public func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    flag.begin()
    guard let editing = base.editing else { throw .viewIsReadOnly }
    return try answers(for: rows, section, []) { rows, section throws(TableError) in
      try editing.editability(ofRows: rows, inSection: section)
    }
  }

  public func editableColumns() throws(TableError) -> [Bool]? {
    try base.editing?.editableColumns()
  }

  public func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    flag.begin()
    guard moving != nil else { throw .viewHasOtherOrder }
    try checkRows(rows, section)
    return try editPolicy.movable(rows, section, elsewhere: false)
  }

  /// Asks the base about rows, one run at a time. `none` fills missing answers.
  func answers<Answer>(
    for rows: Range<Int>, _ section: Int, _ none: Answer,
    _ ask: (Range<Int>, Int) throws(TableError) -> [Answer]
  ) throws(TableError) -> [Answer] {
    try checkRows(rows, section)
    var answers: [Answer] = []
    answers.reserveCapacity(rows.count)
    for chunk in rows.chunks {
      let paths = try basePaths(of: chunk, inSection: section)
      let plan = RunPlan(paths, joiningOver: RunPlan.readableGap)
      let begin = answers.count
      answers += repeatElement(none, count: chunk.count)
      for run in plan.runs {
        let some = try ask(run.rows, run.section)
        for member in plan.order[run.members] {
          let index = paths[member].row - run.rows.lowerBound
          if some.indices.contains(index) { answers[begin + member] = some[index] }
        }
      }
    }
    return answers
  }

  /// Throws ``TableError`` with `.notFound` unless all rows of a range exist.
  func checkRows(_ rows: Range<Int>, _ section: Int) throws(TableError) {
    guard rows.lowerBound >= 0, section >= 0 else {
      throw TableError(.invalidArgument, "section \(section), rows \(rows) cannot be requested")
    }
    let count = try count(inSection: section, knowing: rows.upperBound).value
    guard rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: section, of: count)
    }
  }

  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    flag.begin()
    guard moving != nil else { throw .viewHasOtherOrder }
    let from = try basePath(of: source)
    let edits = try EditTranslation(for: self).baseEdits([.move(.path(source), to: proposed)]).edits
    guard case .move(_, let to) = edits[0], let moving = base.moving else {
      // The row keeps its position in the base and gets another value.
      return try editPolicy.path(ofBase: from, proposed: proposed)
    }
    let target = try moving.target(ofMoveFrom: from, to: to)
    guard target != to else { return proposed }
    return try editPolicy.path(ofBaseTarget: target, from: from, proposed: proposed)
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    flag.begin()
    guard let editing = base.editing else { throw .viewIsReadOnly }
    var mapped = batch
    if let wanted = batch.version {
      mapped.version = try baseVersion()
      let token = try token(mapped.version)
      guard token == wanted else {
        throw TableError(
          .conflict, "the table is at version \(token?.token ?? "none"), not \(wanted)")
      }
    }
    let edits = try EditTranslation(for: self).baseEdits(batch.edits)
    mapped.edits = edits.edits
    // The translation is valid only for this version of the base.
    mapped.version = mapped.version ?? pin
    return try moving(on: batch.isDryRun) { () throws(TableError) in
      var result = try editing.commit(mapped)
      let outcomes = result.outcomes
      result.outcomes = edits.answers.compactMap {
        outcomes.indices.contains($0) ? outcomes[$0] : nil
      }
      return result
    }
  }

  /// Edits the base and moves on with it. The result says that the caller must read everything again.
  private func moving(
    on isDryRun: Bool, _ edit: () throws(TableError) -> EditResult
  ) throws(TableError) -> EditResult {
    let viewDigest = try viewDigest()
    var result: EditResult
    do throws(TableError) { result = try edit() } catch {
      // All other errors mean that nothing was changed.
      if error.code == .misbehaved { forget() }
      throw error
    }
    if !isDryRun { forget() }
    result.changes = reload(result.changes, from: viewDigest)
    return result
  }

  /// The change from the view's version with this digest to the current version of its base: empty, or a reload.
  private func reload(_ change: ChangeBatch, from viewDigest: String) -> ChangeBatch {
    let from = token(change.from, viewDigest: viewDigest)
    if change.changes == [], change.from == change.to {
      return ChangeBatch(from: from, to: from, changes: [])
    }
    // The edit was applied. If the base cannot be read now, the new version is unknown.
    return ChangeBatch(from: from, to: (try? token(change.to)) ?? nil, changes: nil)
  }
}

extension MappedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    flag.begin()
    guard let undoing = base.undoing else {
      throw TableError(.notSupported, "edits of this table cannot be undone")
    }
    return try moving(on: isDryRun) { () throws(TableError) in
      try undoing.undo(receipt, isDryRun: isDryRun)
    }
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try base.changes?.listen(notify)
  }

  public func pull() throws(TableError) -> ChangeBatch {
    flag.begin()
    guard let changes = base.changes else {
      throw TableError(.notSupported, "the table does not change")
    }
    let viewDigest = try viewDigest()
    let change: ChangeBatch
    do throws(TableError) { change = try changes.pull() } catch {
      // The base can have moved on in spite of the error.
      forget()
      throw error
    }
    if change.changes != [] || change.from != change.to { forget() }
    return reload(change, from: viewDigest)
  }
}

extension TableError {
  fileprivate static let viewIsReadOnly = TableError(.readOnly, "the table is read-only")
  static let viewHasOtherOrder = TableError(
    .notSupported, "rows cannot be moved in a sorted or grouped table")
}

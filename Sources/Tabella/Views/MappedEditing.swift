// Edits of a view, as edits of its base.

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
    guard let moving else { throw .viewHasOtherOrder }
    guard moving === self, let moving = base.moving else { return [] }
    return try answers(for: rows, section, false) { rows, section throws(TableError) in
      try moving.movability(ofRows: rows, inSection: section)
    }
  }

  /// Asks the base about rows, a run at a time.
  private func answers<Answer>(
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

  /// Throws `.notFound` unless all rows of a range are there.
  func checkRows(_ rows: Range<Int>, _ section: Int) throws(TableError) {
    guard rows.lowerBound >= 0, section >= 0 else {
      throw TableError(.invalidArgument, "asked for section \(section), rows \(rows)")
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
    guard hasBaseOrder, let moving = base.moving else { throw .viewHasOtherOrder }
    let from = try basePath(of: source)
    let to = try baseTargets(of: [proposed], taking: [from])[0]
    let target = try moving.target(ofMoveFrom: from, to: to)
    return target == to ? proposed : try path(ofBaseTarget: target, movingFrom: from)
  }

  /// Where a row of the base is shown once it has moved.
  private func path(
    ofBaseTarget target: IndexPath, movingFrom source: IndexPath
  ) throws(TableError) -> IndexPath {
    let isBehind = target.section == source.section && target.row >= source.row
    // The first row that will stand behind it, and how many are shown before that one.
    let next = IndexPath(section: target.section, row: target.row + (isBehind ? 1 : 0))
    return IndexPath(
      section: target.section, row: try shownCount(before: next) - (isBehind ? 1 : 0))
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    flag.begin()
    guard let editing = base.editing else { throw .viewIsReadOnly }
    var mapped = batch
    if let wanted = batch.version {
      mapped.version = try baseVersion()
      guard token(mapped.version) == wanted else {
        throw TableError(
          .conflict,
          "the table is at version \(token(mapped.version)?.token ?? "none"), not \(wanted)")
      }
    }
    mapped.edits = try baseEdits(batch.edits)
    // What was mapped holds for that version of the base only.
    mapped.version = mapped.version ?? pin
    return followed(try editing.commit(mapped), isDryRun: batch.isDryRun)
  }

  private func baseEdits(_ edits: [EditBatch.Edit]) throws(TableError) -> [EditBatch.Edit] {
    var targets: [IndexPath] = []
    var gone: [IndexPath] = []
    for edit in edits {
      switch edit {
      case .insert(let target, _): targets.append(target)
      case .move(let reference, let target):
        guard moving != nil else { throw .viewHasOtherOrder }
        targets.append(target)
        gone.append(try placeInBase(reference))
      case .delete, .set: break
      }
    }
    try checkSections(edits, targets)
    if !targets.isEmpty {
      for case .delete(let reference) in edits { gone.append(try placeInBase(reference)) }
      targets =
        try targets.contains(where: \.isSection)
        ? targets : baseTargets(of: targets, taking: gone)
    }
    var rest = targets[...]
    return try edits.map { edit throws(TableError) in
      switch edit {
      case .set(let reference, let cells): return .set(try inBase(reference), cells: cells)
      case .delete(let reference): return .delete(try inBase(reference))
      case .move(let reference, _): return .move(try inBase(reference), to: rest.removeFirst())
      case .insert(let target, let cells):
        return .insert(at: rest.removeFirst(), cells: try baseCells(cells, insertedAt: target))
      }
    }
  }

  /// Sections can be edited where they are the base's, and not together with places of rows, which
  /// would be counted in the sections to come.
  private func checkSections(
    _ edits: [EditBatch.Edit], _ targets: [IndexPath]
  ) throws(TableError) {
    let aboutSections = edits.contains { edit in
      switch edit {
      case .insert(let target, _): target.isSection
      case .delete(let reference), .set(let reference, _): reference.isSection
      case .move(let reference, let target): reference.isSection || target.isSection
      }
    }
    guard aboutSections else { return }
    guard hasBaseSections else {
      throw TableError(.notSupported, "the sections of this view cannot be edited")
    }
    guard targets.allSatisfy(\.isSection) else {
      throw TableError(
        .notSupported, "sections and the places of rows cannot be edited in one batch of a view")
    }
  }

  private func inBase(_ reference: RowReference) throws(TableError) -> RowReference {
    switch reference {
    case .path(let path): return .path(path.isSection ? path : try basePath(of: path))
    case .id(let id):
      if !showsEveryRow { _ = try shownPath(forID: id) }
      return reference
    }
  }

  private func placeInBase(_ reference: RowReference) throws(TableError) -> IndexPath {
    switch reference {
    case .path(let path): return path.isSection ? path : try basePath(of: path)
    case .id(let id):
      guard let identity = base.identity else {
        throw TableError(.notSupported, "rows have no ids here")
      }
      return try identity.indexPath(forID: id)
    }
  }

  /// Places at the end of a section of the base each, in the order of the targets.
  func appended(
    _ targets: [IndexPath], taking gone: [IndexPath],
    to section: (IndexPath) throws(TableError) -> Int
  ) throws(TableError) -> [IndexPath] {
    var ends: [Int: Int] = [:]
    var places = targets
    for number in targets.indices.sorted(by: { targets[$0] < targets[$1] }) {
      let section = try section(targets[number])
      var end = ends[section] ?? 0
      if ends[section] == nil {
        end = try base.exactNumberOfRows(inSection: section)
        end -= Set(gone).count { $0.section == section }
      }
      places[number] = IndexPath(section: section, row: end)
      ends[section] = end + 1
    }
    return places
  }

  /// Moves on with the base: everything must be read again.
  private func followed(_ result: EditResult, isDryRun: Bool) -> EditResult {
    if !isDryRun { forget() }
    var result = result
    result.changes = reload(result.changes)
    return result
  }

  func reload(_ change: ChangeBatch) -> ChangeBatch {
    let nothing = change.changes == [] && change.from == change.to
    return ChangeBatch(
      from: token(change.from), to: token(change.to), changes: nothing ? [] : nil)
  }
}

extension MappedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    flag.begin()
    guard let undoing = base.undoing else {
      throw TableError(.notSupported, "nothing can be taken back here")
    }
    return followed(try undoing.undo(receipt, isDryRun: isDryRun), isDryRun: isDryRun)
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try base.changes?.listen(notify)
  }

  public func pull() throws(TableError) -> ChangeBatch {
    flag.begin()
    guard let changes = base.changes else {
      throw TableError(.notSupported, "the table does not change")
    }
    let change = reload(try changes.pull())
    if change.changes == nil { forget() }
    return change
  }
}

extension TableError {
  fileprivate static let viewIsReadOnly = TableError(.readOnly, "the table is read-only")
  fileprivate static let viewHasOtherOrder = TableError(
    .notSupported, "rows cannot be moved where the order is not the table's own")
}

// Edits of a view, translated to edits of its base.

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
    return try movable(rows, section, elsewhere: false)
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
    let edits = try baseEdits([.move(.path(source), to: proposed)]).edits
    guard case .move(_, let to) = edits[0], let moving = base.moving else {
      // The row keeps its position in the base and gets another value.
      return try path(ofBase: from, proposed: proposed)
    }
    let target = try moving.target(ofMoveFrom: from, to: to)
    return target == to ? proposed : try path(ofBaseTarget: target, from: from, proposed: proposed)
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
    let edits = try baseEdits(batch.edits)
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

  /// Translates edits of the view to edits of the base.
  private func baseEdits(_ edits: [EditBatch.Edit]) throws(TableError) -> BaseEdits {
    try checkKinds(edits)
    var mapped = BaseEdits(answers: edits.map { _ in 0 })
    // Rows of a volatile base can disappear at any time. The base answers edits of such rows.
    var (gone, rest): ([Int], [Int]) = ([], [])
    for (number, edit) in edits.enumerated() {
      if try isGone(edit) { gone.append(number) } else { rest.append(number) }
    }
    guard gone.isEmpty else {
      let others = try baseEdits(rest.map { edits[$0] })
      mapped.edits = others.edits
      for (number, answer) in zip(rest, others.answers) { mapped.answers[number] = answer }
      for number in gone { mapped.append(edits[number], answering: number) }
      return mapped
    }
    let changes = try EditBatch(edits).changes(
      takingTitles: base.sectionEditing != nil
    ) { id throws(TableError) in try shownPath(forID: id) }
    let plan = try BatchPlan(
      changes,
      numberOfSections: { minimum throws(TableError) in
        try base.numberOfSections(knowing: minimum)
      },
      numberOfRows: { section, minimum throws(TableError) in
        try count(inSection: section, knowing: minimum)
      })
    for case .delete(let path) in changes where path.isSection {
      try checkShowsAll(ofSection: path.section)
    }
    let baseTargets = try baseTargets(of: changes, plan)
    let places = try basePlaces(of: baseTargets, changes, plan)
    var sets: [IndexPath: Int] = [:]
    for (number, edit) in edits.enumerated() where baseTargets[number]?.cells == nil {
      if case .reconfigure(let path) = changes[number] { sets[path] = mapped.edits.count }
      mapped.append(try baseEdit(edit, at: places[number]), answering: number)
    }
    // Cells that are set by moves come last. If another edit sets the same row, both become one edit.
    for (number, edit) in edits.enumerated() {
      guard let cells = baseTargets[number]?.cells, case .move(let reference, _) = edit,
        let path = changes[number].source
      else { continue }
      if let set = sets[path], case .set(let reference, let others) = mapped.edits[set] {
        mapped.edits[set] = .set(reference, cells: try others.merged(with: cells, of: path))
        mapped.answers[number] = set
      } else {
        mapped.append(.set(try inBase(reference), cells: cells), answering: number)
      }
    }
    return mapped
  }

  /// Translates an edit to a base edit of the same kind. `place` is the target in the base.
  private func baseEdit(
    _ edit: EditBatch.Edit, at place: IndexPath?
  ) throws(TableError) -> EditBatch.Edit {
    switch edit {
    case .set(let reference, let cells): return .set(try inBase(reference), cells: cells)
    case .delete(let reference): return .delete(try inBase(reference))
    case .move(let reference, let target): return .move(try inBase(reference), to: place ?? target)
    case .insert(let target, let cells):
      return .insert(
        at: place ?? target,
        cells: target.isSection ? cells : try baseCells(cells, insertedAt: target))
    }
  }

  /// Whether the edit names, by id, a row that a volatile base no longer has.
  private func isGone(_ edit: EditBatch.Edit) throws(TableError) -> Bool {
    guard base.hasVolatileOrder, let identity = base.identity else { return false }
    switch edit {
    case .set(.id(let id), _), .delete(.id(let id)):
      do throws(TableError) { _ = try identity.indexPath(forID: id) } catch {
        if error.code == .notFound { return true }
        throw error
      }
      return false
    default: return false
    }
  }

  /// Throws for edits that this view does not allow.
  private func checkKinds(_ edits: [EditBatch.Edit]) throws(TableError) {
    for edit in edits {
      if edit.isOfSection, let sectionRefusal { throw sectionRefusal }
      if case .move = edit, !edit.isOfSection, moving == nil { throw .viewHasOtherOrder }
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

  /// The target in the base of each inserted or moved row. The key is the index of the change.
  private func baseTargets(
    of changes: [ChangeBatch.Change], _ plan: BatchPlan
  ) throws(TableError) -> [Int: BaseTarget] {
    var baseTargets: [Int: BaseTarget] = [:]
    for (section, rows) in plan.rows {
      for (index, arrival) in rows.arrivals.enumerated() {
        if case .move(let from, _) = changes[arrival.change], from.section == section,
          rows.stays(from.row, asArrival: index)
        {
          baseTargets[arrival.change] = .before(try basePath(of: from))
        } else {
          baseTargets[arrival.change] = try baseTarget(
            ofArrival: index, inSection: section, rows, changes)
        }
      }
    }
    return baseTargets
  }

  /// The base paths after the batch of all rows that arrive in front of base rows. The key is the index of the
  /// change.
  private func basePlaces(
    of baseTargets: [Int: BaseTarget], _ changes: [ChangeBatch.Change], _ plan: BatchPlan
  ) throws(TableError) -> [Int: IndexPath] {
    var gone: [Int: [Int]] = [:]
    for (number, change) in changes.enumerated() where !change.isOfSection {
      switch change {
      case .move where baseTargets[number]?.base == nil: continue
      case .move(let path, _), .delete(let path):
        let base = try basePath(of: path)
        gone[base.section, default: []].append(base.row)
      default: continue
      }
    }
    for section in gone.keys { gone[section]?.sort() }
    // Rows that arrive in front of the same base row have the view's order.
    var arrivals = baseTargets.compactMap { number, target in
      target.base.map { (number, $0, changes[number].target ?? $0) }
    }
    arrivals.sort { $0.1 == $1.1 ? $0.2 < $1.2 : $0.1 < $1.1 }
    var places: [Int: IndexPath] = [:]
    var arrived: [Int: Int] = [:]
    for (number, base, _) in arrivals {
      let before = gone[base.section]?.partitioningIndex { $0 >= base.row } ?? 0
      places[number] = IndexPath(
        section: plan.sectionAfter(of: base.section) ?? base.section,
        row: base.row - before + arrived[base.section, default: 0])
      arrived[base.section, default: 0] += 1
    }
    return places
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

/// Edits of a base. `answers` holds, for each edit of the view, the index of the base edit that answers it.
private struct BaseEdits {
  var edits: [EditBatch.Edit] = []
  var answers: [Int]

  mutating func append(_ edit: EditBatch.Edit, answering number: Int) {
    answers[number] = edits.count
    edits.append(edit)
  }
}

extension [Int: Cell] {
  /// Merges these cells with the cells that a move sets in the same row.
  fileprivate func merged(with cells: [Int: Cell], of path: IndexPath) throws(TableError) -> Self {
    var all = self
    for (column, cell) in cells {
      guard all.updateValue(cell, forKey: column) ?? cell == cell else {
        throw TableError(
          .invalidArgument,
          "\(path.noun) is moved to one group and set to the value of another", column: column)
      }
    }
    return all
  }
}

extension TableError {
  fileprivate static let viewIsReadOnly = TableError(.readOnly, "the table is read-only")
  static let viewHasOtherOrder = TableError(
    .notSupported, "rows cannot be moved in a sorted or grouped table")
}

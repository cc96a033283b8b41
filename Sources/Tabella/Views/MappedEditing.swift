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
    guard moving != nil else { throw .viewHasOtherOrder }
    try checkRows(rows, section)
    return try movable(rows, section, elsewhere: false)
  }

  /// Asks the base about rows, a run at a time.
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
    guard moving != nil else { throw .viewHasOtherOrder }
    let from = try basePath(of: source)
    let edits = try baseEdits([.move(.path(source), to: proposed)]).edits
    guard case .move(_, let to) = edits[0], let moving = base.moving else {
      // It stays where it is in the base, with another value.
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
    // What was mapped holds for that version of the base only.
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

  /// The edits of the base that edits of the view come to.
  private func baseEdits(_ edits: [EditBatch.Edit]) throws(TableError) -> BaseEdits {
    try checkKinds(edits)
    var mapped = BaseEdits(answers: edits.map { _ in 0 })
    // Where rows come and go, the base answers for those that are gone.
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
    // Moves that set a cell come last: a row that is set besides is set once.
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

  /// An edit of the base that is of the kind of the view's, with its target there.
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

  /// Whether the row that an edit names by its id is no row of a volatile base any more.
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

  /// What is not for views at all.
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

  /// Where each row that is inserted or moved comes to stand in the base, by the change's number.
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

  /// The places after the batch of what lands before rows of the base, by the change's number.
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
    // Those that land before the same row stand in the view's order.
    var arrivals = baseTargets.compactMap { number, target in
      target.base.map { (number, $0, changes[number].target ?? $0) }
    }
    arrivals.sort { $0.1 == $1.1 ? $0.2 < $1.2 : $0.1 < $1.1 }
    var places: [Int: IndexPath] = [:]
    var arrived: [Int: Int] = [:]
    for (number, base, _) in arrivals {
      let before = gone[base.section]?.partitioningIndex { $0 >= base.row } ?? 0
      places[number] = IndexPath(
        section: plan.place(ofSection: base.section) ?? base.section,
        row: base.row - before + arrived[base.section, default: 0])
      arrived[base.section, default: 0] += 1
    }
    return places
  }

  /// Edits the base and moves on with it: everything must be read again.
  private func moving(
    on isDryRun: Bool, _ edit: () throws(TableError) -> EditResult
  ) throws(TableError) -> EditResult {
    let mark = try mark()
    var result: EditResult
    do throws(TableError) { result = try edit() } catch {
      // Any other error says that nothing was done.
      if error.code == .misbehaved { forget() }
      throw error
    }
    if !isDryRun { forget() }
    result.changes = reload(result.changes, from: mark)
    return result
  }

  /// What leads from the view's version with this mark to that which its base is at now, as nothing or
  /// *reload*.
  private func reload(_ change: ChangeBatch, from mark: String) -> ChangeBatch {
    let from = token(change.from, mark: mark)
    if change.changes == [], change.from == change.to {
      return ChangeBatch(from: from, to: from, changes: [])
    }
    // It is done: if the base cannot be read, its version is not known.
    return ChangeBatch(from: from, to: (try? token(change.to)) ?? nil, changes: nil)
  }
}

extension MappedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    flag.begin()
    guard let undoing = base.undoing else {
      throw TableError(.notSupported, "nothing can be taken back here")
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
    let mark = try mark()
    let change: ChangeBatch
    do throws(TableError) { change = try changes.pull() } catch {
      // It may have moved all the same.
      forget()
      throw error
    }
    if change.changes != [] || change.from != change.to { forget() }
    return reload(change, from: mark)
  }
}

/// Edits of a base, and which of them answers each edit of the view.
private struct BaseEdits {
  var edits: [EditBatch.Edit] = []
  var answers: [Int]

  mutating func append(_ edit: EditBatch.Edit, answering number: Int) {
    answers[number] = edits.count
    edits.append(edit)
  }
}

extension [Int: Cell] {
  /// These cells and those that a move sets of the same row.
  fileprivate func merged(with cells: [Int: Cell], of path: IndexPath) throws(TableError) -> Self {
    var all = self
    for (column, cell) in cells {
      guard all.updateValue(cell, forKey: column) ?? cell == cell else {
        throw TableError(
          .invalidArgument,
          "\(path.noun) is moved to a group and set to the value of another", column: column)
      }
    }
    return all
  }
}

extension TableError {
  fileprivate static let viewIsReadOnly = TableError(.readOnly, "the table is read-only")
  static let viewHasOtherOrder = TableError(
    .notSupported, "rows cannot be moved where the order is not the table's own")
}

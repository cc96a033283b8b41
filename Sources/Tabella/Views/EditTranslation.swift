/// The translation of a view's edits to edits of its base.
///
/// The view maps the index paths. Its policy decides which edits are possible, and where rows arrive in the base.
struct EditTranslation {
  private let view: MappedSource
  private let policy: any EditPolicy

  init(for view: MappedSource) {
    self.view = view
    policy = view.editPolicy
  }

  /// Translates edits of the view to edits of the base.
  func baseEdits(_ edits: [EditBatch.Edit]) throws(TableError) -> BaseEdits {
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
      takingTitles: view.base.sectionEditing != nil
    ) { id throws(TableError) in try view.shownPath(forID: id) }
    let plan = try BatchPlan(
      changes,
      numberOfSections: { minimum throws(TableError) in
        try view.base.numberOfSections(knowing: minimum)
      },
      numberOfRows: { section, minimum throws(TableError) in
        try view.count(inSection: section, knowing: minimum)
      })
    for case .delete(let path) in changes where path.isSection {
      try policy.checkShowsAll(ofSection: path.section)
    }
    let baseTargets = try baseTargets(of: changes, plan)
    let places = try basePlaces(of: baseTargets, changes, plan)
    let movesSetCells = baseTargets.values.contains { $0.cells != nil }
    var sets: [IndexPath: Int] = [:]
    for (number, edit) in edits.enumerated() where baseTargets[number]?.cells == nil {
      if movesSetCells, case .reconfigure(let path) = changes[number] {
        sets[path] = mapped.edits.count
      }
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
        cells: target.isSection ? cells : try policy.baseCells(cells, insertedAt: target))
    }
  }

  /// Whether the edit names, by id, a row that a volatile base no longer has.
  private func isGone(_ edit: EditBatch.Edit) throws(TableError) -> Bool {
    guard view.base.hasVolatileOrder, let identity = view.base.identity else { return false }
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
      if edit.isOfSection, let refusal = policy.sectionRefusal { throw refusal }
      if case .move = edit, !edit.isOfSection, !policy.allowsMoves { throw .viewHasOtherOrder }
    }
  }

  private func inBase(_ reference: RowReference) throws(TableError) -> RowReference {
    switch reference {
    case .path(let path): return .path(path.isSection ? path : try view.basePath(of: path))
    case .id(let id):
      if !policy.showsEveryRow { _ = try view.shownPath(forID: id) }
      return reference
    }
  }

  /// The target in the base of each inserted or moved row. The key is the index of the change.
  private func baseTargets(
    of changes: [ChangeBatch.Change], _ plan: BatchPlan
  ) throws(TableError) -> [Int: BaseTarget] {
    var baseTargets: [Int: BaseTarget] = [:]
    for (section, rows) in plan.rows {
      func from(_ arrival: ListPlan.Arrival) -> IndexPath? {
        guard case .move(let from, _) = changes[arrival.change], from.section == section else {
          return nil
        }
        return from
      }
      let stays = rows.stays { from($0)?.row }
      /// The next rows between the same survivors that stay, by the targets that they would have otherwise.
      var next: [IndexPath: IndexPath] = [:]
      for (index, arrival) in rows.arrivals.enumerated().reversed() {
        if index + 1 < rows.arrivals.count,
          rows.arrivals[index + 1].nextSurvivor != arrival.nextSurvivor
        {
          next = [:]
        }
        let target = try policy.baseTarget(
          ofArrival: index, inSection: section, rows, changes)
        baseTargets[arrival.change] = target
        guard let other = target.base else { continue }
        if stays[index], let from = from(arrival) { next[other] = try view.basePath(of: from) }
        // A new row of a group is at the end of the base, wherever the group shows it.
        if from(arrival) == nil, policy.hasGroups { continue }
        if let own = next[other] { baseTargets[arrival.change] = .before(own) }
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
        let base = try view.basePath(of: path)
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
}

/// Edits of a base. `answers` holds, for each edit of the view, the index of the base edit that answers it.
struct BaseEdits {
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

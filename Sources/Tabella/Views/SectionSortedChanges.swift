// Changes of a view that orders sections. It computes the aggregates of the sections whose rows change.

extension SectionSortedSource {
  func follow(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    guard let old = sorted else { return nil }
    sorted = nil
    let new = try arranged(try values(after: changes, old.values))
    sorted = new
    return sectionChanges(changes, from: old, to: new) + rowChanges(changes, from: old, to: new)
  }

  private func values(
    after changes: BaseChanges, _ old: Values
  ) throws(TableError) -> Values {
    let count = changes.plan.sections?.countAfter.value ?? old.cells.count
    var cells: [Cell] = []
    var unknown: [Int] = []
    for section in 0..<count {
      if let before = changes.sectionBefore(of: section), isSame(before, changes) {
        cells.append(old.cells[before])
      } else {
        unknown.append(section)
        cells.append(.missing)
      }
    }
    if unknown.isEmpty { return Values(column: old.column, cells: cells) }
    // Reading all sections together is faster.
    if unknown.count * 2 > count { return try values() }
    let read = try base.aggregate(order.aggregate, ofSections: unknown, flag: flag)
    for (section, cell) in zip(unknown, read.cells) { cells[section] = cell }
    return Values(column: old.column, cells: cells).joined(with: read.column)
  }

  /// Whether a section, numbered as before the batch, keeps its aggregate.
  private func isSame(_ section: Int, _ changes: BaseChanges) -> Bool {
    if order.aggregate.readColumn == nil { return changes.plan.rows[section] == nil }
    guard let now = changes.sectionAfter(of: section) else { return false }
    return changes.touched[section] == nil && changes.arrivals[now] == nil
  }

  private func sectionChanges(
    _ base: BaseChanges, from old: Arrangement, to new: Arrangement
  ) -> [ChangeBatch.Change] {
    let origins = new.sections.map { base.origin(ofSection: $0) }
    let matching = ListMatching(
      partners: origins.map { $0.map { Int32(truncatingIfNeeded: old.inverse[$0]) } ?? -1 })
    var changes: [ChangeBatch.Change] = []
    var isKept = [Bool](repeating: false, count: old.sections.count)
    for (section, origin) in origins.enumerated() {
      guard let origin else {
        changes.append(.insert(.section(section)))
        continue
      }
      let from = old.inverse[origin]
      let isReloaded = base.plan.reloadedSections.contains(origin)
      if matching.isInOrder[section] {
        if isReloaded { changes.append(.reload(.section(from))) }
      } else if isReloaded {
        // A batch cannot move and reload a section.
        changes.append(.insert(.section(section)))
        continue
      } else {
        changes.append(.move(from: .section(from), to: .section(section)))
      }
      isKept[from] = true
    }
    return changes + isKept.indices.filter { !isKept[$0] }.map { .delete(.section($0)) }
      + base.list.compactMap { change in
        guard case .reconfigure(let path) = change, path.isSection else { return nil }
        return .reconfigure(.section(old.inverse[path.section]))
      }
  }

  private func rowChanges(
    _ base: BaseChanges, from old: Arrangement, to new: Arrangement
  ) -> [ChangeBatch.Change] {
    func before(_ path: IndexPath) -> IndexPath {
      IndexPath(section: old.inverse[path.section], row: path.row)
    }
    func after(_ path: IndexPath) -> IndexPath {
      IndexPath(section: new.inverse[path.section], row: path.row)
    }
    return base.list.filter { !$0.isOfSection }.map { change in
      switch change {
      case .insert(let path): .insert(after(path))
      case .delete(let path): .delete(before(path))
      case .move(let from, let to): .move(from: before(from), to: after(to))
      case .reload(let path): .reload(before(path))
      case .reconfigure(let path): .reconfigure(before(path))
      }
    }
  }
}

extension SectionSortedSource.Values {
  /// The same values in a column that can also contain those of another column of the same aggregate.
  ///
  /// Exact numbers are integers if all of them fit, and otherwise text.
  fileprivate func joined(with other: Column) -> SectionSortedSource.Values {
    let texts = [column, other].filter { $0.type == .text }
    guard let text = texts.first(where: { $0.reads == nil }) ?? texts.first else { return self }
    return SectionSortedSource.Values(
      column: text,
      cells: cells.map { cell in
        if case .integer(let number) = cell { .text("\(number)") } else { cell }
      })
  }
}

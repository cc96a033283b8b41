// Changes of a filtered view. It reads only the rows that arrive or get other cells.

extension FilteredSource {
  /// Returns nil unless all sections were read to their end, because the caller can know of more rows than the view.
  func follow(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    guard try isRead(before: changes) else { return nil }
    let old = known
    let shown = try shownArrivals(changes)
    known = [:]
    var rows = RowChanges()
    for (section, state) in old {
      guard let now = changes.sectionAfter(of: section) else { continue }
      known[now] = state
      let read = rowsRead(of: state, section, after: changes)
      move(state, from: section, to: now, shown[now] ?? [], changes, &rows)
      state.read = read
    }
    return changes.sectionChanges() + rows.changes { changes.sectionAfter(of: $0) }
  }

  /// Whether all sections were read to their end.
  private func isRead(before changes: BaseChanges) throws(TableError) -> Bool {
    let after = try base.numberOfSections(knowing: .max).value
    let plan = changes.plan.sections
    let before = after - (plan?.arrivals.count ?? 0) + (plan?.departed.count ?? 0)
    return known.count == before && known.values.allSatisfy(\.isComplete)
  }

  /// The number of read rows of a section after the batch.
  private func rowsRead(of state: Section, _ section: Int, after changes: BaseChanges) -> Int {
    guard let plan = changes.plan.rows[section] else { return state.read }
    return state.read - plan.departed.count + plan.arrivals.count
  }

  /// The arriving rows that the view shows, by section as after the batch.
  private func shownArrivals(
    _ changes: BaseChanges
  ) throws(TableError) -> [Int: [BaseChanges.Arrival]] {
    var shown: [Int: [BaseChanges.Arrival]] = [:]
    var unknown: [(section: Int, row: BaseChanges.Arrival)] = []
    for (section, arrivals) in changes.arrivals.sorted(by: { $0.key < $1.key }) {
      guard let old = changes.sectionBefore(of: section), known[old] != nil else { continue }
      for row in arrivals {
        switch isShown(row) {
        case true?: shown[section, default: []].append(row)
        case false?: break
        case nil: unknown.append((section, row))
        }
      }
    }
    let paths = unknown.map { IndexPath(section: $0.section, row: $0.row.row) }
    for number in try passing(paths) {
      shown[unknown[number].section, default: []].append(unknown[number].row)
    }
    return shown.mapValues { $0.sorted { $0.row < $1.row } }
  }

  /// Whether the view shows a row that only moves; nil if the row must be read.
  private func isShown(_ row: BaseChanges.Arrival) -> Bool? {
    guard row.content == .same, let origin = row.origin, let state = known[origin.section],
      origin.row < state.read
    else { return nil }
    let place = state.passing.firstIndex(from: origin.row)
    return place < state.passing.count && state.passing[place] == origin.row
  }

  /// Renumbers the shown rows of a section from the first change on, and inserts the arriving ones.
  private func move(
    _ state: Section, from section: Int, to now: Int, _ arrivals: [BaseChanges.Arrival],
    _ changes: BaseChanges, _ rows: inout RowChanges
  ) {
    let renumbered = RowRenumbering(changes, ofSection: section)
    let first = state.passing.firstIndex(from: renumbered.firstAffected)
    let tail = state.passing.cut(from: first)
    var arrivals = arrivals[...]
    func arrive(before row: Int) {
      while let arrival = arrivals.first, arrival.row < row {
        rows.arrive(IndexPath(section: now, row: state.passing.count), arrival)
        state.passing.append(arrival.row)
        arrivals.removeFirst()
      }
    }
    for (number, row) in tail.enumerated() {
      guard let new = renumbered(row) else {
        rows.depart(
          IndexPath(section: section, row: first + number),
          base: IndexPath(section: section, row: row))
        continue
      }
      arrive(before: new)
      state.passing.append(new)
    }
    arrive(before: .max)
  }
}

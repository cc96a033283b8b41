// Changes of a grouped view. It reads the keys of rows that arrive or get other cells. All other rows keep their group.

extension GroupedSource {
  func follow(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    guard let old = index else { return nil }
    let groupCount = old.keys.groupCount
    let starts = try addRows(changes, to: old)
    let (groups, survivors) = old.regrouped(groupCount)
    let new = Index(groups: groups, keys: old.keys, baseStarts: starts)
    index = new
    var moves = GroupMoves(old, new, survivors, changes)
    return moves.changes()
  }

  /// Gives the keys the rows after the batch. Returns the number of rows in front of each base section, and the total.
  private func addRows(_ changes: BaseChanges, to old: Index) throws(TableError) -> [Int] {
    var groups: [UInt32] = []
    groups.makeRoom(for: old.groups.groupOfRow.count)
    var starts = [0]
    var unread: [(path: IndexPath, number: Int)] = []
    let count = changes.plan.sections?.countAfter.value ?? old.baseStarts.count - 1
    for section in 0..<count {
      let start = groups.count
      if let before = changes.sectionBefore(of: section) {
        old.appendRows(ofSection: before, to: &groups, changes)
        for row in changes.arrivals[section] ?? [] {
          if row.content == .same, let origin = row.origin {
            groups[start + row.row] = old.keyGroup(origin)
          } else {
            unread.append((IndexPath(section: section, row: row.row), start + row.row))
          }
        }
      } else {
        _ = try base.forEachBatch(ofSection: section, columns: old.keys.columns) {
          batch throws(TableError) in
          try flag.check()
          old.keys.number(batch, &groups)
        }
      }
      starts.append(groups.count)
    }
    try readBase(at: unread.map(\.path), columns: old.keys.columns) { batch, first in
      var read: [UInt32] = []
      old.keys.number(batch, &read)
      for (row, group) in read.enumerated() { groups[unread[first + row].number] = group }
    }
    old.keys.replaceRows(groups)
    return starts
  }
}

extension GroupedSource.Index {
  /// The group of a base row, numbered as in the keys.
  fileprivate func keyGroup(_ path: IndexPath) -> UInt32 {
    groups.numbersInKeys[Int(groups.groupOfRow[number(path)])]
  }

  /// Appends the groups of a base section after the batch, numbered as in the keys. Arriving rows have any group.
  fileprivate func appendRows(
    ofSection section: Int, to result: inout [UInt32], _ changes: BaseChanges
  ) {
    let range = baseStarts[section]..<baseStarts[section + 1]
    let rows = groups.groupOfRow[range].map { groups.numbersInKeys[Int($0)] }
    result += changes.plan.rows[section].map { $0.applied(to: rows) { _ in 0 } } ?? rows
  }

  /// The groups after the batch, and for each old group its new number; nil if it has no rows any more.
  ///
  /// `groupCount` is the number of groups before the batch. The groups are sorted only if groups come or go.
  fileprivate func regrouped(_ groupCount: Int) -> (groups: Groups, survivors: [Int?]) {
    let isEmptied = keys.hasEmptyGroup
    guard isEmptied || keys.groupCount > groupCount else {
      return (keys.finish(as: groups), Array(0..<groups.count))
    }
    let numbers = isEmptied ? keys.removeEmptyGroups() : Array(0..<UInt32(groupCount))
    let new = keys.finish()
    var places = [Int](repeating: 0, count: new.numbersInKeys.count)
    for (place, number) in new.numbersInKeys.enumerated() { places[Int(number)] = place }
    let survivors = groups.numbersInKeys.map { number -> Int? in
      let number = numbers[Int(number)]
      return number == .max ? nil : places[Int(number)]
    }
    return (new, survivors)
  }
}

/// The changes of a grouped view between two versions of its base.
private struct GroupMoves {
  private let old: GroupedSource.Index
  private let new: GroupedSource.Index
  /// The number of each old group in the new version; nil if it is gone.
  private let survivors: [Int?]
  /// Whether each new group existed before.
  private var isOld: [Bool]
  private let base: BaseChanges
  private var rows = RowChanges()

  init(
    _ old: GroupedSource.Index, _ new: GroupedSource.Index, _ survivors: [Int?], _ base: BaseChanges
  ) {
    self.old = old
    self.new = new
    self.survivors = survivors
    self.base = base
    isOld = Array(repeating: false, count: new.groups.count)
    for case let group? in survivors { isOld[group] = true }
  }

  mutating func changes() -> [ChangeBatch.Change] {
    for section in 0..<old.baseStarts.count - 1 { depart(section) }
    for section in 0..<new.baseStarts.count - 1 { arrive(section) }
    let gone = survivors.indices.filter { survivors[$0] == nil }
    let added = isOld.indices.filter { !isOld[$0] }
    return gone.map { .delete(.section($0)) } + added.map { .insert(.section($0)) }
      + rows.changes { [survivors] in survivors[$0] }
  }

  private mutating func depart(_ section: Int) {
    let count = old.baseStarts[section + 1] - old.baseStarts[section]
    // The rows of a group follow the order of the base's sections, so those of a moved section move.
    let isWhole = base.sectionAfter(of: section) == nil || base.isMoved(section: section)
    for row in isWhole ? Array(0..<count) : base.touched[section] ?? [] {
      let path = IndexPath(section: section, row: row)
      let group = Int(old.groups.groupOfRow[old.number(path)])
      guard survivors[group] != nil else { continue }
      rows.depart(
        IndexPath(section: group, row: old.place(ofNumber: old.number(path), inGroup: group)),
        base: path)
    }
  }

  private mutating func arrive(_ section: Int) {
    for row in arrivals(section) {
      let number = new.baseStarts[section] + row.row
      let group = Int(new.groups.groupOfRow[number])
      guard isOld[group] else { continue }
      rows.arrive(
        IndexPath(section: group, row: new.place(ofNumber: number, inGroup: group)), row)
    }
  }

  private func arrivals(_ section: Int) -> [BaseChanges.Arrival] {
    let count = new.baseStarts[section + 1] - new.baseStarts[section]
    guard let before = base.sectionBefore(of: section) else {
      return (0..<count).map { BaseChanges.Arrival(row: $0, origin: nil, content: .new) }
    }
    let arrivals = base.arrivals[section] ?? []
    guard base.isMoved(section: before) else { return arrivals }
    let rows = Set(arrivals.map(\.row))
    return arrivals
      + (0..<count).filter { !rows.contains($0) }.map { row in
        var origin = row
        if case .survivor(let old) = base.plan.rows[before]?.origin(of: row) { origin = old }
        return BaseChanges.Arrival(
          row: row, origin: IndexPath(section: before, row: origin), content: .same)
      }
  }
}

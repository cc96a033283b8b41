extension TableSnapshot {
  /// The changes that lead from this snapshot to a newer one of the same table, with the same columns.
  ///
  /// Sections belong together if they have the same title; the first section without a title belongs to the first one
  /// without a title, and so on. A row with the same id and other cells is reconfigured. A row with an id that another
  /// section has now is moved there. A deleted and an inserted row at the same position are one reload. If ids repeat,
  /// their rows are paired in order.
  /// - Complexity: O(n) in the rows of both snapshots; O(n log n) at worst if many rows were moved.
  public func changes(to newer: TableSnapshot) -> [ChangeBatch.Change] {
    SnapshotDifference(self, newer).changes
  }
}

/// The comparison of two snapshots.
private struct SnapshotDifference {
  private(set) var changes: [ChangeBatch.Change] = []
  private let old: TableSnapshot
  private let new: TableSnapshot
  private var numbers = DigestNumbers()
  private var tallies = NumberTallies()
  /// Rows without a partner in their section, by the number of their id.
  private var departed: [Int32: [IndexPath]] = [:]
  private var deleted: [IndexPath] = []
  private var inserted: [(path: IndexPath, number: Int32)] = []

  init(_ old: TableSnapshot, _ new: TableSnapshot) {
    self.old = old
    self.new = new
    compareSections()
    pairSections()
  }

  /// Pairs the sections by their titles, lists their changes, and compares the rows of each pair.
  private mutating func compareSections() {
    var titles: [[UInt8]: Int32] = [:]
    func number(_ title: String?, _ ordinal: inout Int) -> Int32 {
      // A title never contains a zero byte, so it never equals the name of a section without one.
      let name = title.map { Array($0.utf8) } ?? [0] + Array("\(ordinal)".utf8)
      if title == nil { ordinal += 1 }
      if let number = titles[name] { return number }
      let number = Int32(truncatingIfNeeded: titles.count)
      titles[name] = number
      return number
    }
    var (oldOrdinal, newOrdinal) = (0, 0)
    let oldNumbers = old.sections.map { number($0.title, &oldOrdinal) }
    let newNumbers = new.sections.map { number($0.title, &newOrdinal) }
    let matching = ListMatching(oldNumbers, newNumbers, bound: titles.count)
    let difference = ListDifference(matching, oldCount: oldNumbers.count)
    changes += difference.deleted.map { .delete(.section($0)) }
    changes += difference.inserted.map { .insert(.section($0)) }
    changes += difference.moved.map { .move(from: .section($0.from), to: .section($0.to)) }
    for (section, partner) in matching.partners.enumerated() where partner >= 0 {
      compareRows(ofSection: Int(partner), with: section)
    }
  }

  private mutating func compareRows(ofSection oldSection: Int, with newSection: Int) {
    let (olds, news) = (old.sections[oldSection].rows, new.sections[newSection].rows)
    let oldNumbers = olds.map { numbers.number(of: $0.key) }
    let newNumbers = news.map { numbers.number(of: $0.key) }
    tallies.makeRoom(bound: numbers.count)
    let matching = ListMatching(oldNumbers, newNumbers, &tallies)
    var stays = [Bool](repeating: false, count: olds.count)
    for partner in matching.partners where partner >= 0 { stays[Int(partner)] = true }
    for (row, partner) in matching.partners.enumerated() {
      let to = IndexPath(section: newSection, row: row)
      guard partner >= 0 else {
        inserted.append((to, newNumbers[row]))
        continue
      }
      let from = IndexPath(section: oldSection, row: Int(partner))
      if !matching.isInOrder[row] { changes.append(.move(from: from, to: to)) }
      if olds[from.row].cells != news[row].cells { changes.append(.reconfigure(from)) }
    }
    for row in olds.indices where !stays[row] {
      let path = IndexPath(section: oldSection, row: row)
      deleted.append(path)
      departed[oldNumbers[row], default: []].append(path)
    }
  }

  /// Lists the deleted and inserted rows. Equal ids in two sections are a move.
  private mutating func pairSections() {
    var arrived: [IndexPath] = []
    var moved: Set<IndexPath> = []
    /// How many of the rows in ``departed`` are moved, by the number of their id.
    var used: [Int32: Int] = [:]
    for (to, number) in inserted {
      let next = used[number, default: 0]
      guard let paths = departed[number], next < paths.count else {
        arrived.append(to)
        continue
      }
      let from = paths[next]
      used[number] = next + 1
      moved.insert(from)
      changes.append(.move(from: from, to: to))
      if old.cells(at: from) != new.cells(at: to) { changes.append(.reconfigure(from)) }
    }
    changes += deleted.filter { !moved.contains($0) }.map { .delete($0) }
    changes += arrived.map { .insert($0) }
    changes = changes.joiningReloads()
  }
}

extension [ChangeBatch.Change] {
  /// The same changes, with a deletion and an insertion between the same survivors joined to one reload.
  ///
  /// - Complexity: O(k log k) for k changes.
  package func joiningReloads() -> [ChangeBatch.Change] {
    guard
      let plan = try? BatchPlan(
        self, numberOfSections: { .atLeast($0) }, numberOfRows: { .atLeast($1) })
    else { return self }
    var joined: Set<Int> = []
    var result: [ChangeBatch.Change] = []
    let deletions = Dictionary(
      indices.compactMap { number -> (IndexPath, Int)? in
        guard case .delete(let path) = self[number], !path.isSection else { return nil }
        return (path, number)
      }, uniquingKeysWith: { first, _ in first })
    for (section, rows) in plan.rows {
      let survivors = rows.nextSurvivors
      var next = 0
      for arrival in rows.arrivals {
        guard case .insert = self[arrival.change] else { continue }
        while next < survivors.count, survivors[next] < arrival.nextSurvivor { next += 1 }
        while next < survivors.count, survivors[next] == arrival.nextSurvivor {
          let path = IndexPath(section: section, row: rows.departed[next])
          next += 1
          guard let deletion = deletions[path] else { continue }
          joined.formUnion([deletion, arrival.change])
          result.append(.reload(path))
          break
        }
      }
    }
    return indices.filter { !joined.contains($0) }.map { self[$0] } + result
  }
}

extension ListPlan {
  /// For each departed element, the next element that does not depart.
  fileprivate var nextSurvivors: [Int] {
    var survivors = departed.map { $0 + 1 }
    for number in departed.indices.dropLast().reversed()
    where survivors[number] == departed[number + 1] {
      survivors[number] = survivors[number + 1]
    }
    return survivors
  }
}

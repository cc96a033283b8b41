import Tabella

/// The changes of a batch as steps, each of which counts positions in the table that the steps before it leave.
///
/// In a batch, all positions count in the version before or in the version after. A reader of single changes needs
/// positions that hold at the moment of each change. The steps are: deleted sections from the last to the first, arriving
/// sections in order, changed sections; then deleted rows, arriving rows, changed rows in the same way.
/// - Complexity: O(k log k) for k changes, whatever the number of rows.
struct ChangeSequence {
  /// One step. Paths with row -1 are sections.
  struct Step: Hashable {
    enum Kind: String { case insert, delete, move, reload, update }

    var kind: Kind
    /// The position: of a deleted element before the step, of all others after it.
    var at: IndexPath
    /// The position of a moved element before the step.
    var from: IndexPath?
    /// The path before the batch; nil for an inserted element.
    var old: IndexPath?
    /// The path after the batch; nil for a deleted element.
    var new: IndexPath?
  }

  private(set) var steps: [Step] = []
  private let changes: [ChangeBatch.Change]
  let plan: BatchPlan

  /// Makes steps of the changes of a table, of which only the changes are known. Throws ``TableError`` with `.misbehaved`
  /// if no table can have such changes.
  init(_ changes: [ChangeBatch.Change]) throws(TableError) {
    self.changes = changes
    steps.reserveCapacity(changes.count)
    plan = try ChangeBatch(from: nil, to: nil, changes: changes).plan(before: KnownCounts())!
    addSections()
    addRows()
  }

  // Sections

  private mutating func addSections() {
    var list = SteppedList(plan.sections, moved: movedElements { $0.isSection ? $0.section : nil })
    let deleted = changes.compactMap { change -> Int? in
      if case .delete(let path) = change, path.isSection { path.section } else { nil }
    }
    for section in deleted.sorted(by: >) {
      steps.append(Step(kind: .delete, at: .section(section), old: .section(section)))
    }
    for arrival in plan.sections?.arrivals ?? [] {
      let new = IndexPath.section(arrival.indexAfter)
      guard case .move(let old, _) = changes[arrival.change] else {
        steps.append(Step(kind: .insert, at: .section(list.insert(arrival)), new: new))
        continue
      }
      let from = IndexPath.section(list.take(old.section))
      steps.append(
        Step(kind: .move, at: .section(list.insert(arrival)), from: from, old: old, new: new))
    }
    for change in changes { addUpdate(change, ofSections: true) }
  }

  // Rows

  private mutating func addRows() {
    var lists: [Int: SteppedList] = [:]
    for (section, rows) in plan.rows {
      let moved = movedElements { $0.section == section && !$0.isSection ? $0.row : nil }
      lists[section] = SteppedList(rows, moved: moved)
    }
    let deleted = changes.compactMap { change -> IndexPath? in
      if case .delete(let path) = change, !path.isSection { path } else { nil }
    }
    for old in deleted.sorted(by: >) {
      // Moved rows still wait at their old positions, so the positions in front of this row are the old ones.
      guard let section = plan.sectionAfter(of: old.section) else { continue }
      steps.append(
        Step(kind: .delete, at: IndexPath(section: section, row: old.row), old: old))
    }
    let sections = plan.rows.keys.compactMap { old in
      plan.sectionAfter(of: old).map { (old: old, new: $0) }
    }
    for section in sections.sorted(by: { $0.new < $1.new }) {
      for arrival in plan.rows[section.old]?.arrivals ?? [] {
        add(arrival, inSection: section, &lists)
      }
    }
    for change in changes { addUpdate(change, ofSections: false) }
  }

  private mutating func add(
    _ arrival: ListPlan.Arrival, inSection section: (old: Int, new: Int),
    _ lists: inout [Int: SteppedList]
  ) {
    let new = IndexPath(section: section.new, row: arrival.indexAfter)
    guard case .move(let old, _) = changes[arrival.change] else {
      let row = lists[section.old]?.insert(arrival) ?? arrival.indexAfter
      steps.append(
        Step(kind: .insert, at: IndexPath(section: section.new, row: row), new: new))
      return
    }
    let from = IndexPath(
      section: plan.sectionAfter(of: old.section) ?? old.section,
      row: lists[old.section]?.take(old.row) ?? old.row)
    let row = lists[section.old]?.insert(arrival) ?? arrival.indexAfter
    steps.append(
      Step(
        kind: .move, at: IndexPath(section: section.new, row: row), from: from, old: old, new: new))
  }

  // Both

  /// Adds a reload or an update. All positions are final by then.
  private mutating func addUpdate(_ change: ChangeBatch.Change, ofSections: Bool) {
    let (kind, old): (Step.Kind, IndexPath)
    switch change {
    case .reload(let path): (kind, old) = (.reload, path)
    case .reconfigure(let path): (kind, old) = (.update, path)
    case .insert, .delete, .move: return
    }
    guard old.isSection == ofSections, let new = plan.path(of: old) else { return }
    steps.append(Step(kind: kind, at: new, old: old, new: new))
  }

  /// The sources of moves that `element` accepts, in ascending order.
  private func movedElements(_ element: (IndexPath) -> Int?) -> [Int] {
    changes.compactMap { change in
      if case .move(let from, _) = change { element(from) } else { nil }
    }.sorted()
  }
}

/// A list between the versions before and after a batch: deleted elements are gone, some arrivals are there, and moved
/// elements are still at their old position until they are taken.
///
/// In a gap between two survivors, arrivals come before moved elements that still wait.
private struct SteppedList {
  private let plan: ListPlan?
  /// The sources of moves, ascending.
  private let moved: [Int]
  /// The number of moved elements that still wait, as sums of ranges (a Fenwick tree).
  private var sums: [Int]
  private var arrived = 0

  init(_ plan: ListPlan?, moved: [Int]) {
    self.plan = plan
    self.moved = moved
    sums = (0...moved.count).map { $0 & -$0 }
  }

  /// The number of survivors in front of an element of the old list.
  private func rank(_ element: Int) -> Int {
    let departed = plan?.departed ?? []
    return element - departed.partitioningIndex { $0 >= element }
  }

  /// The number of the first `count` moved elements that still wait.
  private func waiting(_ count: Int) -> Int {
    var (sum, index) = (0, count)
    while index > 0 {
      sum += sums[index]
      index -= index & -index
    }
    return sum
  }

  /// Takes a moved element out of the list. Returns its position.
  mutating func take(_ element: Int) -> Int {
    let rank = rank(element)
    let before = moved.partitioningIndex { $0 >= element }
    let arrivedBefore = (0..<arrived).partitioningIndex { gap($0) > rank }
    let position = rank + arrivedBefore + waiting(before)
    var index = before + 1
    while index < sums.count {
      sums[index] -= 1
      index += index & -index
    }
    return position
  }

  /// The number of survivors in front of an arrival, where `number` is its index among the arrivals.
  private func gap(_ number: Int) -> Int { (plan?.arrivals[number].indexAfter ?? 0) - number }

  /// Puts the next arrival into the list. Returns its position.
  mutating func insert(_ arrival: ListPlan.Arrival) -> Int {
    let gap = arrival.indexAfter - arrived
    arrived += 1
    return arrival.indexAfter + waiting(moved.partitioningIndex { rank($0) >= gap })
  }
}

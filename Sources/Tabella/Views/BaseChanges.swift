/// A batch of changes of a view's base, by section: the rows that leave their place or get other cells, and the rows
/// to look at afterwards.
///
/// A row that is not touched keeps its cells. The untouched rows of a section keep their order, so a view only has to
/// renumber them.
struct BaseChanges {
  /// The state of a row after the batch.
  enum Content {
    /// The same row with the same cells, at another position.
    case same
    /// The same row with other cells.
    case changed
    /// Another row.
    case new
  }

  /// A row after the batch that was not in its place before, or had other cells.
  struct Arrival {
    /// The number of the row in its section after the batch.
    var row: Int
    /// The path before the batch of the row or, for a reloaded row, of its predecessor. Nil if it has none.
    var origin: IndexPath?
    var content: Content
  }

  let list: [ChangeBatch.Change]
  let plan: BatchPlan
  /// The rows of each section that are deleted, moved, reloaded or reconfigured, in ascending order. All numbers are
  /// from before the batch.
  private(set) var touched: [Int: [Int]] = [:]
  /// The rows that arrive in each section, in ascending order. All numbers are from after the batch.
  private(set) var arrivals: [Int: [Arrival]] = [:]

  /// The count of a list of which the view knows nothing.
  static let unknownCount = Count.atLeast(1 << 48)

  /// `numberOfSections` and `numberOfRows` are the counts before the batch, as far as the view has mapped the base.
  ///
  /// Throws ``TableError`` with `.invalidArgument` or `.notFound` if a table with these counts cannot have the changes.
  init(
    _ list: [ChangeBatch.Change], numberOfSections: Count, numberOfRows: (_ section: Int) -> Count
  ) throws(TableError) {
    self.list = list
    plan = try BatchPlan(
      list, numberOfSections: { _ in numberOfSections },
      numberOfRows: { section, _ throws(TableError) in
        guard !numberOfSections.isExact || section < numberOfSections.value else {
          throw .noSection(section)
        }
        return numberOfRows(section)
      })
    let (moved, changed) = Self.combined(list)
    for change in list where !change.isOfSection {
      switch change {
      case .insert(let path): arrive(path, nil, .new)
      case .delete(let path): touch(path)
      case .move(let from, let to):
        touch(from)
        arrive(to, from, changed.contains(from) ? .changed : .same)
      case .reload(let path), .reconfigure(let path):
        guard !moved.contains(path) else { continue }
        touch(path)
        if let now = plan.path(of: path) {
          if case .reload = change { arrive(now, path, .new) } else { arrive(now, path, .changed) }
        }
      }
    }
    for section in touched.keys { touched[section]?.sort() }
    for section in arrivals.keys { arrivals[section]?.sort { $0.row < $1.row } }
  }

  /// The rows that a batch moves, and the rows that it reconfigures. A row can be both. Both are empty if no row moves.
  private static func combined(
    _ list: [ChangeBatch.Change]
  ) -> (moved: Set<IndexPath>, changed: Set<IndexPath>) {
    var (moved, changed): (Set<IndexPath>, Set<IndexPath>) = ([], [])
    let movesRows = list.contains { if case .move = $0 { true } else { false } }
    guard movesRows else { return ([], []) }
    for change in list {
      switch change {
      case .move(let from, _): moved.insert(from)
      case .reconfigure(let path): changed.insert(path)
      case .insert, .delete, .reload: break
      }
    }
    return (moved, changed)
  }

  private mutating func touch(_ path: IndexPath) {
    touched[path.section, default: []].append(path.row)
  }

  private mutating func arrive(_ path: IndexPath, _ origin: IndexPath?, _ content: Content) {
    arrivals[path.section, default: []].append(
      Arrival(row: path.row, origin: origin, content: content))
  }

  // Sections

  /// The number of a section after the batch; nil if the batch deletes or reloads it.
  func sectionAfter(of section: Int) -> Int? {
    plan.reloadedSections.contains(section) ? nil : plan.sectionAfter(of: section)
  }

  /// The number of a section before the batch; nil if the batch inserts or reloads it.
  func sectionBefore(of section: Int) -> Int? {
    origin(ofSection: section).flatMap { plan.reloadedSections.contains($0) ? nil : $0 }
  }

  /// The number of a section before the batch; nil if the batch inserts it.
  func origin(ofSection section: Int) -> Int? {
    guard let sections = plan.sections else { return section }
    switch sections.origin(of: section) {
    case .survivor(let old): return old
    case .arrival(let arrival): return list[arrival.change].source?.section
    case nil: return nil
    }
  }

  /// Whether the batch moves a section.
  func isMoved(section: Int) -> Bool {
    plan.sections?.departed.binarySearch(section) != nil && plan.sectionAfter(of: section) != nil
  }

  /// The changes of sections. Those of `reloaded` can have any rows afterwards.
  func sectionChanges(reloading reloaded: Set<Int> = []) -> [ChangeBatch.Change] {
    var changes = list.filter { change in
      change.isOfSection && change.source.map { !reloaded.contains($0.section) } ?? true
    }
    for section in reloaded.sorted() {
      if isMoved(section: section), let now = plan.sectionAfter(of: section) {
        // A batch cannot move and reload a section.
        changes += [.delete(.section(section)), .insert(.section(now))]
      } else {
        changes.append(.reload(.section(section)))
      }
    }
    return changes
  }

  // Rows

  /// Whether the batch deletes, moves, reloads or reconfigures a row.
  func isTouched(_ row: Int, inSection section: Int) -> Bool {
    touched[section]?.binarySearch(row) != nil
  }

  /// The sections, numbered as before the batch, that lose, get or change rows and that keep their other rows.
  var editedSections: Set<Int> {
    Set(touched.keys).union(arrivals.keys.compactMap { sectionBefore(of: $0) })
  }
}

extension [Int] {
  /// The index of an element of an ascending array; nil if there is no such element.
  func binarySearch(_ element: Int) -> Int? {
    let index = partitioningIndex { $0 >= element }
    return index < count && self[index] == element ? index : nil
  }
}

/// The renumbering of the untouched rows of one section.
struct RowRenumbering {
  private let touched: [Int]
  private let plan: ListPlan?

  init(_ changes: BaseChanges, ofSection section: Int) {
    touched = changes.touched[section] ?? []
    plan = changes.plan.rows[section]
  }

  /// The first row that can have another number afterwards or be touched.
  var firstAffected: Int {
    min(touched.first ?? .max, plan?.arrivals.first?.nextSurvivor ?? .max)
  }

  /// The number of a row after the batch; nil if the row is touched.
  /// - Complexity: O(log k) for k changes.
  @inline(__always)
  func callAsFunction(_ row: Int) -> Int? {
    if touched.binarySearch(row) != nil { return nil }
    guard let plan else { return row }
    return plan.indexAfter(of: row)
  }
}

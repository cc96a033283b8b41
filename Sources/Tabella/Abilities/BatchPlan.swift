/// The positions of all sections and rows after a batch, by UIKit's rules. Only this type computes indices.
///
/// docs/editing.md states the rules with an example. A plan is made from changes and counts; it does not read rows.
/// The changes come from a ``ChangeBatch`` or from ``EditBatch/changes(takingTitles:locatingID:)``. The plan asks
/// only for the counts of the sections that the changes name.
/// - Complexity: O(k log k) for k changes, whatever the number of rows.
public struct BatchPlan: Hashable, Sendable {
  /// The plan of the sections; nil if no change names a section.
  public private(set) var sections: ListPlan?
  /// The plans of the rows of each section in which a change names a row. The key is the section's number before
  /// the batch.
  public private(set) var rows: [Int: ListPlan] = [:]
  /// The sections that can have any rows after the batch, numbered as before the batch.
  public private(set) var reloadedSections: Set<Int> = []
  private var moved: [IndexPath: IndexPath] = [:]

  /// Makes a plan for changes.
  ///
  /// `numberOfSections` and `numberOfRows` return an exact count, or a count of at least `minimum`.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if two changes name the same element or have the same target.
  /// Throws the same code if a change names rows of a section that is deleted, reloaded or inserted. Throws
  /// `.notFound` if an element does not exist before the batch, or if a target does not exist after it.
  public init(
    _ changes: [ChangeBatch.Change],
    numberOfSections: (_ minimum: Int) throws(TableError) -> Count,
    numberOfRows: (_ section: Int, _ minimum: Int) throws(TableError) -> Count
  ) throws(TableError) {
    var sections = NamedElements()
    var rows: [Int: NamedElements] = [:]
    for (number, change) in changes.enumerated() {
      for path in [change.source, change.target] {
        guard let path else { continue }
        guard path.section >= 0, path.row >= -1 else {
          throw TableError(
            .invalidArgument, "\(path.section):\(path.row) is not a position in a table")
        }
      }
      if case .move(let from, let to) = change {
        guard from.isSection == to.isSection else {
          throw TableError(.invalidArgument, "\(from.noun) cannot be moved to \(to.noun)")
        }
        moved[from] = to
      }
      if change.isOfSection {
        sections.add(change, number)
      } else if let source = change.source {
        rows[source.section, default: NamedElements()].addSource(of: change)
      }
    }
    reloadedSections = Set(sections.reloaded)
    if !sections.isEmpty {
      // This count also suffices to find the sections of rows.
      let last = changes.flatMap { [$0.source, $0.target] }.compactMap { $0?.section }.max() ?? 0
      let needed = max(
        sections.needed,
        last.advancedUp(by: 1 + sections.deleted.count + sections.moved.count))
      self.sections = try sections.plan(
        try numberOfSections(needed), inSection: nil, after: nil)
    }
    for section in rows.keys.sorted() {
      if let count = self.sections?.count.value, section >= count { throw .noSection(section) }
      guard sectionAfter(of: section) != nil, !reloadedSections.contains(section) else {
        throw TableError(
          .invalidArgument,
          "the batch edits rows of section \(section), which it also deletes or reloads")
      }
    }
    for (number, change) in changes.enumerated() where !change.isOfSection {
      guard let target = change.target else { continue }
      guard let section = oldSection(at: target.section, changes) else {
        throw .noSection(target.section, afterChanges: changes)
      }
      guard !reloadedSections.contains(section) else {
        throw TableError(
          .invalidArgument, "\(target.noun) would be in a section that the batch reloads")
      }
      rows[section, default: NamedElements()].arrivals.append((target.row, number))
    }
    for (section, named) in rows.sorted(by: { $0.key < $1.key }) {
      self.rows[section] = try named.plan(
        try numberOfRows(section, named.needed), inSection: section,
        after: sectionAfter(of: section))
    }
  }

  /// Makes a plan for changes of the current version of a source.
  public init(
    _ changes: [ChangeBatch.Change], of source: any TableDataSource
  ) throws(TableError) {
    try self.init(
      changes,
      numberOfSections: { minimum throws(TableError) in
        try source.numberOfSections(knowing: minimum)
      },
      numberOfRows: { section, minimum throws(TableError) in
        try source.numberOfRows(inSection: section, knowing: minimum)
      })
  }

  /// The number of a section after the batch; nil if the batch deletes the section.
  public func sectionAfter(of section: Int) -> Int? {
    guard let sections else { return section }
    return moved[.section(section)]?.section ?? sections.indexAfter(of: section)
  }

  /// The path of a row or section after the batch; nil if the batch deletes the row or section.
  /// - Complexity: O(log n) in the changes.
  public func path(of old: IndexPath) -> IndexPath? {
    if let target = moved[old] { return target }
    guard let section = sectionAfter(of: old.section) else { return nil }
    guard !old.isSection else { return .section(section) }
    guard let rows = rows[old.section] else { return IndexPath(section: section, row: old.row) }
    return rows.indexAfter(of: old.row).map { IndexPath(section: section, row: $0) }
  }

  /// The number of a section before the batch; nil if the batch inserts the section, or if it does not exist.
  private func oldSection(at sectionAfter: Int, _ changes: [ChangeBatch.Change]) -> Int? {
    guard let sections else { return sectionAfter }
    switch sections.origin(of: sectionAfter) {
    case .survivor(let section): return section
    case .arrival(let arrival): return changes[arrival.change].source?.section
    case nil: return nil
    }
  }
}

/// The elements of one list that changes name.
private struct NamedElements {
  var deleted: [Int] = []
  var moved: [Int] = []
  var reconfigured: [Int] = []
  var reloaded: [Int] = []
  var arrivals: [(indexAfter: Int, change: Int)] = []

  var isEmpty: Bool {
    deleted.isEmpty && moved.isEmpty && reconfigured.isEmpty && reloaded.isEmpty
      && arrivals.isEmpty
  }

  mutating func addSource(of change: ChangeBatch.Change) {
    guard let path = change.source else { return }
    let element = path.isSection ? path.section : path.row
    switch change {
    case .delete: deleted.append(element)
    case .move: moved.append(element)
    case .reconfigure: reconfigured.append(element)
    case .reload: reloaded.append(element)
    case .insert: break
    }
  }

  /// Adds a change of a section.
  mutating func add(_ change: ChangeBatch.Change, _ number: Int) {
    addSource(of: change)
    if let target = change.target { arrivals.append((target.section, number)) }
  }

  /// The number of elements that must be known to check all changes.
  var needed: Int {
    let last = [deleted, moved, reconfigured, reloaded].compactMap { $0.max() }.max() ?? -1
    let lastArrival = arrivals.map(\.indexAfter).max() ?? -1
    return max(
      last.advancedUp(by: 1), lastArrival.advancedUp(by: deleted.count + moved.count + 1))
  }

  /// The plan for the sections, or for the rows of one section. `after` is the section's number after the batch.
  func plan(
    _ count: Count, inSection section: Int?, after: Int?
  ) throws(TableError) -> ListPlan {
    let departed = deleted + moved
    // A batch may set and move the same row. Every other combination that names a row twice is an error.
    for named in [departed + reloaded, deleted + reconfigured + reloaded] {
      let named = named.sorted()
      func noun(_ element: Int) -> String { IndexPath(element, inSection: section).noun }
      if let twice = zip(named, named.dropFirst()).first(where: { $0 == $1 })?.0 {
        throw TableError(
          .invalidArgument,
          "\(noun(twice)) occurs twice; a batch can only combine a set and a move of one row or section"
        )
      }
      if let last = named.last, last >= count.value {
        throw TableError(.notFound, "there is no \(noun(last)); there are \(count.value)")
      }
    }
    return try ListPlan(count: count, departed: departed.sorted(), arrivals: arrivals) {
      IndexPath($0, inSection: after)
    }
  }
}

extension ChangeBatch.Change {
  /// The path that the change names, numbered as before the batch.
  var source: IndexPath? {
    switch self {
    case .insert: nil
    case .delete(let path), .move(let path, _), .reload(let path), .reconfigure(let path): path
    }
  }

  /// The path at which an element arrives, numbered as after the batch.
  var target: IndexPath? {
    switch self {
    case .insert(let path), .move(_, let path): path
    case .delete, .reload, .reconfigure: nil
    }
  }

  /// Whether the change is about a section rather than a row.
  public var isOfSection: Bool { (source ?? target)?.isSection == true }
}

extension EditBatch {
  /// The edits as changes. Each change names its row by path, and a section that is set is reconfigured.
  ///
  /// `locatingID` finds the path of the row with an id before the batch. Throws ``TableError`` with `.notSupported`
  /// for titles of sections unless `takesTitles`. Throws `.invalidArgument` for other cells of a section and for a
  /// title of a row.
  public func changes(
    takingTitles takesTitles: Bool = false,
    locatingID: (String) throws(TableError) -> IndexPath
  ) throws(TableError) -> [ChangeBatch.Change] {
    func path(_ reference: RowReference) throws(TableError) -> IndexPath {
      switch reference {
      case .path(let path): return path
      case .id(let id): return try locatingID(id)
      }
    }
    return try edits.map { edit throws(TableError) in
      try edit.checkTitle()
      if edit.givesTitle, !takesTitles { throw TableError.noSectionTitles }
      switch edit {
      case .delete(let reference): return .delete(try path(reference))
      case .move(let reference, let target): return .move(from: try path(reference), to: target)
      case .insert(let target, _): return .insert(target)
      case .set(let reference, _): return .reconfigure(try path(reference))
      }
    }
  }
}

extension IndexPath {
  /// The path of a section's element, or of a section if `section` is nil.
  fileprivate init(_ element: Int, inSection section: Int?) {
    self = section.map { IndexPath(section: $0, row: element) } ?? .section(element)
  }

  /// The name of the path in messages.
  package var noun: String { isSection ? "section \(self)" : "row \(self)" }
}

extension TableError {
  /// The error for a target in a section that the batch inserts, or that does not exist.
  fileprivate static func noSection(
    _ section: Int, afterChanges changes: [ChangeBatch.Change]
  ) -> TableError {
    changes.contains(.insert(.section(section)))
      ? TableError(
        .invalidArgument,
        "section \(section) is new and empty; insert its rows in another batch")
      : .noSection(section)
  }
}

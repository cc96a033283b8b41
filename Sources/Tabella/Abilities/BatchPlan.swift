/// Where everything stands after a batch, by UIKit's rules: the one place where indices are computed.
///
/// docs/editing.md states the rules with an example. A plan is made of changes, those of a
/// ``ChangeBatch`` or what ``EditBatch/changes(locatingID:)`` makes of edits, and of counts; it does
/// not see the rows. It asks only for the counts of the sections that are named, and takes
/// O(k log k) for k changes, however many rows there are.
public struct BatchPlan: Hashable, Sendable {
  /// How the sections come out; nil if none is named by a change.
  public private(set) var sections: ListPlan?
  /// How the rows of sections come out, by the number that a section had before the batch: of those
  /// where rows are named, and no other.
  public private(set) var rows: [Int: ListPlan] = [:]
  /// The sections that any rows may be in afterwards, as numbered before the batch.
  public private(set) var reloadedSections: Set<Int> = []
  private var moved: [IndexPath: IndexPath] = [:]

  /// Plans for these changes.
  ///
  /// `numberOfSections` and `numberOfRows` answer with the exact count, or with at least the minimum
  /// that they are given. Throws ``TableError`` with `.invalidArgument` for what is named twice, two
  /// targets at one place, and rows of sections that are deleted, reloaded or inserted; with
  /// `.notFound` for what is not there before the batch, and for a target that is no place after it.
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
          throw TableError(.invalidArgument, "\(path.section):\(path.row) is no place of a table")
        }
      }
      if case .move(let from, let to) = change {
        guard from.isSection == to.isSection else {
          throw TableError(.invalidArgument, "\(from.noun) cannot become \(to.noun)")
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
      // Enough to find the sections of rows, too.
      let last = changes.flatMap { [$0.source, $0.target] }.compactMap { $0?.section }.max() ?? 0
      let needed = max(
        sections.needed,
        last.advancedUp(by: 1 + sections.deleted.count + sections.moved.count))
      self.sections = try sections.plan(
        try numberOfSections(needed), inSection: nil, after: nil)
    }
    for section in rows.keys.sorted() {
      if let count = self.sections?.count.value, section >= count { throw .noSection(section) }
      guard place(ofSection: section) != nil, !reloadedSections.contains(section) else {
        throw TableError(
          .invalidArgument,
          "the batch names rows of section \(section), which it deletes or reloads as a whole")
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
        after: place(ofSection: section))
    }
  }

  /// Plans for changes of a source as it is.
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

  /// Which number a section has after the batch; nil if it is deleted.
  public func place(ofSection section: Int) -> Int? {
    guard let sections else { return section }
    return moved[.section(section)]?.section ?? sections.place(of: section)
  }

  /// Where a row, or a section, stands after the batch; nil if it is deleted.
  /// - Complexity: O(log n) in the changes.
  public func path(of old: IndexPath) -> IndexPath? {
    if let target = moved[old] { return target }
    guard let section = place(ofSection: old.section) else { return nil }
    guard !old.isSection else { return .section(section) }
    guard let rows = rows[old.section] else { return IndexPath(section: section, row: old.row) }
    return rows.place(of: old.row).map { IndexPath(section: section, row: $0) }
  }

  /// Which number a section had before the batch; nil if it is inserted, or not there.
  private func oldSection(at place: Int, _ changes: [ChangeBatch.Change]) -> Int? {
    guard let sections else { return place }
    switch sections.origin(of: place) {
    case .survivor(let section): return section
    case .arrival(let arrival): return changes[arrival.change].source?.section
    case nil: return nil
    }
  }
}

/// What changes name of one list.
private struct NamedElements {
  var deleted: [Int] = []
  var moved: [Int] = []
  var reconfigured: [Int] = []
  var reloaded: [Int] = []
  var arrivals: [(place: Int, change: Int)] = []

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

  /// A change of sections.
  mutating func add(_ change: ChangeBatch.Change, _ number: Int) {
    addSource(of: change)
    if let target = change.target { arrivals.append((target.section, number)) }
  }

  /// How many elements must be known for all of this to be judged.
  var needed: Int {
    let last = [deleted, moved, reconfigured, reloaded].compactMap { $0.max() }.max() ?? -1
    let place = arrivals.map(\.place).max() ?? -1
    return max(
      last.advancedUp(by: 1), place.advancedUp(by: deleted.count + moved.count + 1))
  }

  /// The plan, for rows of a section that has the number `after` in the end, or for the sections.
  func plan(
    _ count: Count, inSection section: Int?, after: Int?
  ) throws(TableError) -> ListPlan {
    let gone = deleted + moved
    // A row may be set and moved; nothing else may name it twice.
    for named in [gone + reloaded, deleted + reconfigured + reloaded] {
      let named = named.sorted()
      func noun(_ element: Int) -> String { IndexPath(element, inSection: section).noun }
      if let twice = zip(named, named.dropFirst()).first(where: { $0 == $1 })?.0 {
        throw TableError(
          .invalidArgument,
          "\(noun(twice)) is named twice; a batch deletes, sets or moves it once, or sets and moves it"
        )
      }
      if let last = named.last, last >= count.value {
        throw TableError(.notFound, "there is no \(noun(last)); there are \(count.value)")
      }
    }
    return try ListPlan(count: count, gone: gone.sorted(), arrivals: arrivals) {
      IndexPath($0, inSection: after)
    }
  }
}

extension ChangeBatch.Change {
  /// What it names as it was numbered before the batch.
  var source: IndexPath? {
    switch self {
    case .insert: nil
    case .delete(let path), .move(let path, _), .reload(let path), .reconfigure(let path): path
    }
  }

  /// Where something comes to stand, as it is numbered after the batch.
  var target: IndexPath? {
    switch self {
    case .insert(let path), .move(_, let path): path
    case .delete, .reload, .reconfigure: nil
    }
  }

  /// Whether it is of a section, not of a row.
  public var isOfSection: Bool { (source ?? target)?.isSection == true }
}

extension EditBatch {
  /// The edits as changes, each row named by its path; a section that is set is reconfigured.
  ///
  /// `locatingID` finds where the row with an id is before the batch. Throws ``TableError`` with
  /// `.notSupported` for titles of sections unless `takesTitles`, with `.invalidArgument` for other
  /// cells of a section and for a title of a row.
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
  /// An element of a section, or a section.
  fileprivate init(_ element: Int, inSection section: Int?) {
    self = section.map { IndexPath(section: $0, row: element) } ?? .section(element)
  }

  /// The path as messages name it.
  var noun: String { isSection ? "section \(self)" : "row \(self)" }
}

extension TableError {
  /// The error for a target in a section that has no rows of before, or is not there.
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

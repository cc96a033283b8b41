/// How many sections and rows a table has at one version, as far as that is known.
public struct KnownCounts: Hashable, Sendable {
  public var sections: Count
  /// The number of rows by section; of a section that is not here nothing is known.
  public var rows: [Int: Count]

  public init(sections: Count, rows: [Int: Count]) {
    self.sections = sections
    self.rows = rows
  }

  /// What a source knows of some sections now. For each it must know at least the number of rows that
  /// is given; 0 asks for no work.
  public init(of source: any TableDataSource, knowing rows: [Int: Int]) throws(TableError) {
    sections = try source.numberOfSections(knowing: 0)
    self.rows = [:]
    for (section, minimum) in rows where sections.mayHave(section) {
      self.rows[section] = try source.numberOfRows(inSection: section, knowing: minimum)
    }
  }

  /// Whether the counts leave room for a section, or for a row.
  fileprivate func mayHave(_ path: IndexPath) -> Bool {
    sections.mayHave(path.section)
      && (path.isSection || rows[path.section]?.mayHave(path.row) != false)
  }
}

extension Count {
  fileprivate func mayHave(_ number: Int) -> Bool { number >= 0 && (!isExact || number < value) }
}

extension ChangeBatch {
  /// Throws ``TableError`` with `.misbehaved` if the changes cannot lead from a table of some size to
  /// one of another.
  ///
  /// Every path is in bounds; none is deleted, reloaded or moved away twice, none is inserted or
  /// moved to twice; no row change names a section that is deleted or inserted, whose rows go along
  /// with it; and the sections, and the rows of each that remains, are as many as before plus those
  /// that came minus those that went. What is not known is not judged. A batch that lists nothing is
  /// right. The time grows with the changes and the sections known,
  /// not with the table.
  public func check(before: KnownCounts, after: KnownCounts) throws(TableError) {
    guard let changes else { return }
    var tally = ChangeTally()
    for change in changes { try tally.add(change) }
    try tally.checkBounds(before: before, after: after)
    try tally.checkSections(before: before, after: after)
    try tally.checkRows(changes, before: before, after: after)
  }
}

/// What a batch of changes does, by place.
private struct ChangeTally {
  /// Deleted, reloaded or moved away, as counted before.
  private var old: Set<IndexPath> = []
  /// Inserted or moved to, as counted after.
  private var new: Set<IndexPath> = []
  private var reconfigured: [IndexPath] = []
  private var deletedSections: Set<Int> = []
  private var insertedSections: Set<Int> = []
  private var reloadedSections: Set<Int> = []
  /// How many rows go from a section and come to one.
  private var going: [Int: Int] = [:]
  private var coming: [Int: Int] = [:]

  mutating func add(_ change: ChangeBatch.Change) throws(TableError) {
    switch change {
    case .insert(let path):
      try takeNew(path)
      if path.isSection { insertedSections.insert(path.section) } else { count(path, in: &coming) }
    case .delete(let path):
      try takeOld(path)
      if path.isSection { deletedSections.insert(path.section) } else { count(path, in: &going) }
    case .reload(let path):
      try takeOld(path)
      if path.isSection { reloadedSections.insert(path.section) }
    case .reconfigure(let path): reconfigured.append(path)
    case .move(let from, let to):
      guard from.isSection == to.isSection else {
        throw lie("\(from) moves to \(to): one is a section, the other a row")
      }
      try takeOld(from)
      try takeNew(to)
      if !from.isSection {
        count(from, in: &going)
        count(to, in: &coming)
      }
    }
  }

  private func count(_ path: IndexPath, in counts: inout [Int: Int]) {
    counts[path.section, default: 0] += 1
  }

  private mutating func takeOld(_ path: IndexPath) throws(TableError) {
    guard old.insert(path).inserted else {
      throw lie("\(path) is deleted, reloaded or moved away twice")
    }
  }

  private mutating func takeNew(_ path: IndexPath) throws(TableError) {
    guard new.insert(path).inserted else { throw lie("\(path) is inserted or moved to twice") }
  }

  func checkBounds(before: KnownCounts, after: KnownCounts) throws(TableError) {
    for path in old.union(reconfigured).sorted() {
      guard before.mayHave(path) else { throw lie("\(path) changes, which was not there") }
      guard path.isSection || !deletedSections.contains(path.section) else {
        throw lie("row \(path) changes, though its section is deleted with its rows")
      }
    }
    for path in new.sorted() {
      guard after.mayHave(path) else {
        throw lie("\(path) is inserted or moved to, but is not there")
      }
      guard path.isSection || !insertedSections.contains(path.section) else {
        throw lie(
          "row \(path) is inserted or moved to, though its section is inserted with its rows")
      }
    }
  }

  func checkSections(before: KnownCounts, after: KnownCounts) throws(TableError) {
    guard before.sections.isExact, after.sections.isExact else { return }
    let expected = before.sections.value + insertedSections.count - deletedSections.count
    guard after.sections.value == expected else {
      throw lie(
        "\(before.sections.value) sections plus \(insertedSections.count) minus "
          + "\(deletedSections.count) make \(expected), but there are \(after.sections.value)")
    }
  }

  func checkRows(
    _ changes: [ChangeBatch.Change], before: KnownCounts, after: KnownCounts
  ) throws(TableError) {
    let map = ChangeMap(changes)
    for (section, count) in before.rows.sorted(by: { $0.key < $1.key }) where count.isExact {
      guard !reloadedSections.contains(section), let now = map.section(section),
        let found = after.rows[now], found.isExact
      else { continue }
      let (went, came) = (going[section] ?? 0, coming[now] ?? 0)
      let expected = count.value + came - went
      guard found.value == expected else {
        throw lie(
          "\(count.value) rows plus \(came) minus \(went) make \(expected) in section \(now), but "
            + "there are \(found.value)")
      }
    }
  }

  private func lie(_ what: String) -> TableError {
    TableError(.misbehaved, "the changes make no sense: \(what)")
  }
}

/// Follows the source of a summary. It keeps the groups and their aggregates, and computes only the groups that change.
final class LiveSummary {
  let source: any TableDataSource
  private let groupings: [Grouping]
  private let aggregates: [Aggregate]
  private let zone: Zone
  private let usedColumns: UsedColumns
  private(set) var version: Version?
  /// The source by groups, since the first change.
  private var grouped: GroupedSource?
  private var aggregator: Aggregator?
  /// The number in the aggregator of each group. A group that is computed again gets another number.
  private var numbers: [Int] = []
  private var nextNumber = 0
  /// Whether the source moved on and the summary did not.
  private var isBehind = false

  init(
    _ source: any TableDataSource, by groupings: [Grouping], computing aggregates: [Aggregate],
    in zone: Zone, _ version: Version?
  ) {
    self.source = source
    self.groupings = groupings
    self.aggregates = aggregates
    self.zone = zone
    self.version = version
    usedColumns = UsedColumns(
      groupings.map(\.column) + aggregates.compactMap(\.column), of: source.columns)
  }

  /// Moves the source on. Returns the newest summary; nil if nothing changed.
  func pull() throws(TableError) -> Summary? {
    guard let changes = grouped?.changes ?? source.changes else { return nil }
    let change = try changes.pull()
    // Another table over the same source has moved it.
    if grouped == nil, change.from != version { isBehind = true }
    guard isBehind || change.changes != [] || change.from != change.to else { return nil }
    let list = isBehind ? nil : change.changes
    isBehind = true
    try usedColumns.check(source.columns)
    let before = try source.version()
    let summary = try summary(after: list)
    guard try source.version() == before else {
      throw TableError(.conflict, "the table changed while it was read; read it again")
    }
    version = before
    isBehind = false
    return summary
  }

  private func summary(after changes: [ChangeBatch.Change]?) throws(TableError) -> Summary {
    guard !groupings.isEmpty else { return try summaryOfAllRows() }
    if let changes, let grouped { try follow(changes, grouped) } else { try readAll() }
    guard let grouped, let aggregator else { preconditionFailure("all rows were read") }
    let index = try grouped.grouped()
    let numbers = numbers.map { UInt32(truncatingIfNeeded: $0) }
    return Summary(
      groupings, ColumnNames(source.columns), index.keys, index.groups.numbersInKeys,
      aggregator.results(numbers), numbers)
  }

  private func summaryOfAllRows() throws(TableError) -> Summary {
    let groups = try source.aggregatedGroups([], aggregates, in: zone, flag: CancelFlag()) { _ in }
    return Summary([], ColumnNames(source.columns), groups.keys, groups.order, groups.results)
  }

  /// Groups all rows, and computes all aggregates.
  private func readAll() throws(TableError) {
    let grouped: GroupedSource
    if let known = self.grouped {
      grouped = known
    } else {
      grouped = try source.grouped(by: groupings, in: zone)
      self.grouped = grouped
    }
    var reader = AggregateReader(grouped, try Aggregator(aggregates, in: source.columns), nil)
    try reader.readSections(flag: CancelFlag()) { _ in }
    aggregator = reader.aggregator
    nextNumber = try grouped.numberOfSections(knowing: .max).value
    numbers = Array(0..<nextNumber)
  }

  /// Computes the aggregates of the groups that changes name.
  private func follow(
    _ changes: [ChangeBatch.Change], _ grouped: GroupedSource
  ) throws(TableError) {
    let old = numbers
    let plan = try BatchPlan(
      changes, numberOfSections: { _ in .exact(old.count) },
      numberOfRows: { section, minimum in .atLeast(minimum) })
    var stale = Set(plan.rows.keys.compactMap { plan.sectionAfter(of: $0) })
    numbers = plan.sections?.applied(to: old) { _ in 0 } ?? old
    for arrival in plan.sections?.arrivals ?? [] { stale.insert(arrival.indexAfter) }
    guard let aggregator, stale.count * 2 <= numbers.count, nextNumber <= numbers.count * 2 + 64
    else { return try readAll() }
    let sections = stale.sorted()
    self.aggregator = nil
    var reader = AggregateReader(grouped, aggregator, nil)
    try reader.read(sections: sections, from: nextNumber, flag: CancelFlag())
    self.aggregator = reader.aggregator
    for (number, section) in sections.enumerated() { numbers[section] = nextNumber + number }
    nextNumber += sections.count
  }
}

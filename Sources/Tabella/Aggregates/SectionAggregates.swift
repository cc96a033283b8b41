/// Aggregates of the rows of each section, and of all rows.
public struct SectionAggregates {
  /// One column per aggregate, named after it: `sum amount`.
  public let columns: [Column]
  /// The values of each section, one cell per column.
  public let sections: [[Cell]]
  /// The columns of the values of all rows. A sum of all rows can need another type than the sums of sections.
  public let totalColumns: [Column]
  /// The values of all rows.
  public let total: [Cell]
}

extension TableDataSource {
  /// Computes aggregates of each section and of all rows. Reads the columns that they need once, to their end.
  ///
  /// `flag` cancels the call from any thread. `onProgress` receives the number of rows read so far; it must
  /// not use the source. Throws
  /// ``TableError`` with `.invalidArgument` for a column that does not exist or has no such aggregate, with `.wrongData`
  /// for text that should be a number, and with `.cancelled`.
  public func sectionAggregates(
    _ aggregates: [Aggregate], flag: CancelFlag = CancelFlag(),
    onProgress: (_ rowsDone: Int) -> Void = { _ in }
  ) throws(TableError) -> SectionAggregates {
    var reader = AggregateReader(
      self, try Aggregator(aggregates, in: columns), try Aggregator(aggregates, in: columns))
    try reader.readSections(flag: flag, onProgress: onProgress)
    let order = reader.sectionOrder.map { UInt32(truncatingIfNeeded: $0) }
    let results = reader.aggregator.results(order)
    let values = results.map { $0.cells(ofGroups: order[...]) }
    let total = reader.total?.results([0]) ?? []
    // The reader may have read the rows in another order than the sections have.
    let totals = zip(aggregates, zip(values, total)).map { aggregate, values in
      switch aggregate.function {
      case .first: values.0.first { $0 != .missing } ?? .missing
      case .last: values.0.last { $0 != .missing } ?? .missing
      default: values.1.cells(ofGroups: [0])[0]
      }
    }
    return SectionAggregates(
      columns: results.map(\.column),
      sections: order.indices.map { section in values.map { $0[section] } },
      totalColumns: total.map(\.column), total: totals)
  }
}

extension TableDataSource {
  /// Computes an aggregate of some sections. Reads only their rows. The cells are in the order of `sections`.
  func aggregate(
    _ aggregate: Aggregate, ofSections sections: [Int], flag: CancelFlag
  ) throws(TableError) -> (column: Column, cells: [Cell]) {
    var reader = AggregateReader(self, try Aggregator([aggregate], in: columns), nil)
    try reader.read(sections: sections, flag: flag)
    let groups = sections.indices.map { UInt32(truncatingIfNeeded: $0) }
    let result = reader.aggregator.results(groups)[0]
    return (result.column, result.cells(ofGroups: groups[...]))
  }

  /// Reads all rows, groups them, and computes aggregates of each group. `order` has the groups in the order of their
  /// keys.
  func aggregatedGroups(
    _ groupings: [Grouping], _ aggregates: [Aggregate], in zone: Zone, flag: CancelFlag,
    onProgress: (Int) -> Void
  ) throws(TableError) -> (keys: GroupKeys, order: [UInt32], results: [AggregateColumn]) {
    let aggregator = try Aggregator(aggregates, in: columns, countsRows: false)
    let empty = try GroupKeys(
      groupings, in: columns, zone: zone,
      listsFrom: aggregator.canMerge ? GroupKeys.usualListsFrom : nil)
    var reader = AggregateReader(self, aggregator, nil)
    let (keys, order) = try reader.readGroups(empty, flag: flag, onProgress: onProgress)
    let results = reader.aggregator.results(order) { keys.rowCount(ofGroup: $0) }
    return (keys, order, results)
  }
}

/// Adds rows to aggregates.
struct AggregatedRows: RowCollector {
  /// How the group of a row is determined.
  enum Assignment {
    /// All rows have this group.
    case one(UInt32)
    /// The keys say it. They need the first columns of a batch.
    case keys
    /// The groups are listed. The next row has the one at `next`.
    case listed([UInt32], next: Int)
  }

  var assignment = Assignment.one(0)
  var keys: GroupKeys?
  /// The aggregates of groups.
  var aggregator: Aggregator
  /// The aggregates of all rows, as the only group.
  var total: Aggregator?
  /// For each column of the aggregates, its index in a batch.
  var places: [Int] = []
  /// The number of rows of the section so far.
  var rows = 0
  /// The number of rows in front of the batch that failed.
  var failed: Int?
  private var groups: [UInt32] = []

  init(_ aggregator: Aggregator, _ total: Aggregator?) {
    (self.aggregator, self.total) = (aggregator, total)
  }

  /// Lets keys determine the groups. Returns the columns that a batch must have.
  mutating func group(by keys: consuming GroupKeys) -> [Int] {
    aggregator.makeRoom(forGroups: keys.groupCount)
    var columns = keys.columns
    var known = Dictionary(
      columns.enumerated().map { ($1, $0) }, uniquingKeysWith: { first, _ in first })
    places = aggregator.columns.map { column in
      if let place = known[column] { return place }
      known[column] = columns.count
      columns.append(column)
      return columns.count - 1
    }
    assignment = .keys
    self.keys = keys
    return columns
  }

  var canMerge: Bool {
    if case .listed = assignment { return false }
    return aggregator.canMerge && total?.canMerge ?? true
  }

  var emptied: AggregatedRows {
    var copy = AggregatedRows(aggregator.emptied, total?.emptied)
    (copy.assignment, copy.keys, copy.places) = (assignment, keys?.emptied, places)
    if case .one = assignment { copy.assignment = .one(0) }
    copy.total?.makeRoom(forGroups: 1)
    return copy
  }

  mutating func append(_ batch: Batch) throws(TableError) {
    groups.removeAll(keepingCapacity: true)
    switch assignment {
    case .one(let group): groups += repeatElement(group, count: batch.rowCount)
    case .keys:
      let keyed = Batch(
        rowCount: batch.rowCount, columns: Array(batch.columns.prefix(keys?.columns.count ?? 0)))
      keys?.number(keyed, &groups)
    case .listed(let list, let next):
      groups += list[next..<next + batch.rowCount]
      assignment = .listed(list, next: next + batch.rowCount)
    }
    failed = rows
    try append(places.map { batch.columns[$0] })
    failed = nil
    rows += batch.rowCount
    decideOnList()
  }

  /// Lets the keys decide. If a list of values ended, groups with equal values became one.
  private mutating func decideOnList() {
    if let numbers = keys?.decideOnList() { aggregator.renumber(numbers) }
  }

  /// Ends the collection of rows by keys. Returns the groups in the order of their keys.
  mutating func sortGroups() -> [UInt32] {
    guard let (order, repeats) = keys?.sortGroups() else { return [] }
    if let repeats {
      let groups = 0..<UInt32(truncatingIfNeeded: aggregator.groupCount)
      aggregator.renumber(groups.map { repeats.newNumber(of: $0) })
    }
    return order
  }

  private mutating func append(_ cells: [ColumnBatch]) throws(TableError) {
    if let most = groups.max() { aggregator.makeRoom(forGroups: Int(most) + 1) }
    var failure: TableError?
    groups.withUnsafeBufferPointer { groups in
      do throws(TableError) { try aggregator.append(cells, groups: groups) } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    guard total != nil else { return }
    let zeros = [UInt32](repeating: 0, count: groups.count)
    zeros.withUnsafeBufferPointer { zeros in
      do throws(TableError) { try total?.append(cells, groups: zeros) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  mutating func merge(_ next: AggregatedRows) {
    var numbers: [UInt32]
    if let keys = next.keys {
      numbers = self.keys?.mergeGroups(keys) ?? []
      aggregator.makeRoom(forGroups: self.keys?.groupCount ?? 0)
    } else {
      guard case .one(let group) = assignment else { return }
      numbers = [group]
    }
    aggregator.merge(next.aggregator, groups: numbers)
    if let total = next.total { self.total?.merge(total, groups: [0]) }
    rows += next.rows
    decideOnList()
  }
}

/// Reads the columns that aggregates need, in large batches.
struct AggregateReader {
  private let source: any TableDataSource
  private var collected: AggregatedRows
  /// The number of rows in the sections that were read.
  private var rowsDone = 0
  private var order: [Int]?
  private var count = 0

  /// The aggregates of groups.
  var aggregator: Aggregator { collected.aggregator }
  /// The aggregates of all rows, as the only group.
  var total: Aggregator? { collected.total }

  init(_ source: any TableDataSource, _ aggregator: Aggregator, _ total: Aggregator?) {
    self.source = source
    collected = AggregatedRows(aggregator, total)
    collected.total?.makeRoom(forGroups: 1)
  }

  /// The groups of the aggregator in the order of the source's sections.
  var sectionOrder: [Int] { order ?? Array(0..<count) }

  /// Reads all rows. Each section is a group.
  mutating func readSections(
    flag: CancelFlag, onProgress: (Int) -> Void
  ) throws(TableError) {
    var source = source
    if let view = source as? SectionSortedSource {
      // The groups are numbered as the base's sections.
      order = try view.baseSections()
      source = view.base
    }
    if let view = source as? SortedSource, !aggregator.needsOrder { source = view.base }
    guard let grouped = source as? GroupedSource else {
      while try source.numberOfSections(knowing: count + 1).value > count {
        count += 1
        try read(source, section: count - 1, asGroup: count - 1, flag, onProgress)
      }
      return
    }
    // Reading each group alone would read the base once per group.
    let index = try grouped.grouped()
    count = index.groups.count
    collected.aggregator.makeRoom(forGroups: count)
    if aggregator.columns.isEmpty {
      for (group, rows) in index.groups.counts.enumerated() { add(rows: rows, group: group) }
      return
    }
    for section in 0..<index.baseStarts.count - 1 {
      collected.assignment = .listed(index.groups.groupOfRow, next: index.baseStarts[section])
      try read(grouped.base, section: section, aggregator.columns, flag, onProgress)
    }
  }

  /// Reads some sections. They are groups in the order of the list, numbered from `first` on.
  mutating func read(
    sections: [Int], from first: Int = 0, flag: CancelFlag
  ) throws(TableError) {
    var source = source
    if let view = source as? SortedSource, !aggregator.needsOrder { source = view.base }
    for (number, section) in sections.enumerated() {
      try read(source, section: section, asGroup: first + number, flag) { _ in }
    }
  }

  private mutating func read(
    _ source: any TableDataSource, section: Int, asGroup group: Int, _ flag: CancelFlag,
    _ onProgress: (Int) -> Void
  ) throws(TableError) {
    collected.aggregator.makeRoom(forGroups: group + 1)
    guard !aggregator.columns.isEmpty else {
      return add(rows: try source.exactNumberOfRows(inSection: section), group: group)
    }
    collected.assignment = .one(UInt32(truncatingIfNeeded: group))
    try read(source, section: section, aggregator.columns, flag, onProgress)
  }

  private mutating func add(rows: Int, group: Int) {
    collected.aggregator.append(rows: rows, group: group)
    collected.total?.append(rows: rows, group: 0)
  }

  /// Reads all rows and determines their groups by keys, which count the rows. Returns the groups in the order of the keys.
  mutating func readGroups(
    _ keys: GroupKeys, flag: CancelFlag, onProgress: (Int) -> Void
  ) throws(TableError) -> (keys: GroupKeys, order: [UInt32]) {
    let columns = collected.group(by: keys)
    var section = 0
    while try source.numberOfSections(knowing: section + 1).value > section {
      if columns.isEmpty {
        collected.keys?.add(rows: try source.exactNumberOfRows(inSection: section))
      } else {
        try read(source, section: section, columns, flag, onProgress)
      }
      section += 1
    }
    let order = collected.sortGroups()
    return (collected.keys ?? keys, order)
  }

  /// Reads a section. `onProgress` must not use the source, because other threads may read it.
  private mutating func read(
    _ source: any TableDataSource, section: Int, _ columns: [Int], _ flag: CancelFlag,
    _ onProgress: (Int) -> Void
  ) throws(TableError) {
    collected.rows = 0
    if case .keys = collected.assignment {} else { collected.places = Array(columns.indices) }
    let done = rowsDone
    do throws(TableError) {
      rowsDone += try collect(
        source, section: section, columns: columns, into: &collected, flag
      ) { count throws(TableError) in onProgress(done + count) }
    } catch {
      guard let failed = collected.failed else { throw error }
      throw try error.inBase(of: source, section: section, first: failed)
    }
  }
}

extension TableError {
  /// The error of a row in a batch, with the row's position in the table that the source is a view of, and with its line
  /// if that table knows lines.
  fileprivate func inBase(
    of source: any TableDataSource, section: Int, first: Int
  ) throws(TableError) -> TableError {
    guard let row else { return self }
    var path = IndexPath(section: section, row: first + row)
    var base = source
    while let view = base as? MappedSource {
      path = try view.basePath(of: path)
      base = view.base
    }
    var error = self
    (error.section, error.row) = (path.section, path.row)
    // People look for the line of a file, which is not the number of the row.
    if case .text(let line)? = try? base.supplementary?.supplementaryElement(
      ofKind: SupplementaryKind.line, at: path)
    {
      error.message = "line \(String(decoding: line.bytes, as: UTF8.self)): \(message)"
    }
    return error
  }
}

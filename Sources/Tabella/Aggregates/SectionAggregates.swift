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
    let (results, total) = (reader.aggregator.results(order), reader.total?.results([0]) ?? [])
    // The reader may have read the rows in another order than the sections have.
    let totals = zip(aggregates, zip(results, total)).map { aggregate, values in
      switch aggregate.function {
      case .first: values.0.cells.first { $0 != .missing } ?? .missing
      case .last: values.0.cells.last { $0 != .missing } ?? .missing
      default: values.1.cells[0]
      }
    }
    return SectionAggregates(
      columns: results.map(\.column),
      sections: order.indices.map { section in results.map { $0.cells[section] } },
      totalColumns: total.map(\.column), total: totals)
  }
}

extension TableDataSource {
  /// Computes an aggregate of some sections. Reads only their rows.
  func aggregate(
    _ aggregate: Aggregate, ofSections sections: [Int], flag: CancelFlag
  ) throws(TableError) -> AggregateColumn {
    var reader = AggregateReader(self, try Aggregator([aggregate], in: columns), nil)
    try reader.read(sections: sections, flag: flag)
    return reader.aggregator.results(sections.indices.map { UInt32(truncatingIfNeeded: $0) })[0]
  }
}

/// Reads the columns that aggregates need, in large batches.
struct AggregateReader {
  private let source: any TableDataSource
  /// The aggregates of groups.
  var aggregator: Aggregator
  /// The aggregates of all rows, as the only group.
  private(set) var total: Aggregator?
  private var rowsDone = 0
  private var groups: [UInt32] = []
  private var order: [Int]?
  private var count = 0

  init(_ source: any TableDataSource, _ aggregator: Aggregator, _ total: Aggregator?) {
    self.source = source
    self.aggregator = aggregator
    self.total = total
    self.total?.makeRoom(forGroups: 1)
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
    count = index.groups.counts.count
    aggregator.makeRoom(forGroups: count)
    if aggregator.columns.isEmpty {
      for (group, rows) in index.groups.counts.enumerated() { add(rows: rows, group: group) }
      return
    }
    for section in 0..<index.baseStarts.count - 1 {
      var next = index.baseStarts[section]
      try read(grouped.base, section: section, aggregator.columns, flag, onProgress) {
        batch, groups in
        groups += index.groups.groupOfRow[next..<next + batch.rowCount]
        next += batch.rowCount
        return batch.columns
      }
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
    aggregator.makeRoom(forGroups: group + 1)
    guard !aggregator.columns.isEmpty else {
      return add(rows: try source.exactNumberOfRows(inSection: section), group: group)
    }
    try read(source, section: section, aggregator.columns, flag, onProgress) { batch, groups in
      groups += repeatElement(UInt32(truncatingIfNeeded: group), count: batch.rowCount)
      return batch.columns
    }
  }

  private mutating func add(rows: Int, group: Int) {
    aggregator.append(rows: rows, group: group)
    total?.append(rows: rows, group: 0)
  }

  /// Reads all rows and determines their groups by keys.
  mutating func readGroups(
    _ keys: inout GroupKeys, flag: CancelFlag, onProgress: (Int) -> Void
  ) throws(TableError) {
    aggregator.makeRoom(forGroups: keys.counts.count)
    var columns = keys.columns
    for column in aggregator.columns where !columns.contains(column) { columns.append(column) }
    let keyCount = keys.columns.count
    let places = aggregator.columns.map { columns.firstIndex(of: $0) ?? 0 }
    var section = 0
    while try source.numberOfSections(knowing: section + 1).value > section {
      if columns.isEmpty {
        add(rows: try source.exactNumberOfRows(inSection: section), group: 0)
      } else {
        try read(source, section: section, columns, flag, onProgress) { batch, groups in
          keys.number(
            Batch(rowCount: batch.rowCount, columns: Array(batch.columns.prefix(keyCount))),
            &groups)
          return places.map { batch.columns[$0] }
        }
      }
      section += 1
    }
  }

  /// Reads a section. `assign` appends the group of each row, and returns the columns of the aggregator.
  /// It must not use the source, because a thread reads the next rows during the call. Nor may `onProgress`.
  private mutating func read(
    _ source: any TableDataSource, section: Int, _ columns: [Int], _ flag: CancelFlag,
    _ onProgress: (Int) -> Void, _ assign: (Batch, inout [UInt32]) -> [ColumnBatch]
  ) throws(TableError) {
    var (first, appended) = (0, 0)
    var failed: Int?
    do throws(TableError) {
      try readAhead { () throws(TableError) -> Batch? in
        let batch = try source.rows(
          RowRequest(
            section: section, first: first, count: MappedSource.batchSize, columns: columns))
        try flag.check()
        first += batch.rowCount
        return batch.rowCount == 0 ? nil : batch
      } _: { batch throws(TableError) in
        groups.removeAll(keepingCapacity: true)
        let cells = assign(batch, &groups)
        failed = appended
        try append(cells)
        failed = nil
        appended += batch.rowCount
        rowsDone += batch.rowCount
        onProgress(rowsDone)
      }
    } catch {
      guard let failed else { throw error }
      throw try error.inBase(of: source, section: section, first: failed)
    }
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

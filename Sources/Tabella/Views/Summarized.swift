/// A table with one row per group of another table's rows: the values of the group, then its aggregates.
///
/// The table is computed when it is created. It holds its cells, and changes only by ``TableChanges/pull()``. Groups are
/// in the order of their values, with missing values last.
public final class SummarizedSource: TableDataSource {
  public private(set) var columns: [Column]
  /// Whether the order of the source's rows could differ at its next opening. The order of groups does not depend on it.
  public let hasVolatileOrder = false
  private var batches: [Batch]
  /// The number of rows in front of each batch, and the total.
  private var starts: [Int]
  private(set) var known: Version?
  private let description: [String]
  /// The means to follow the source; nil if it does not change.
  private let live: LiveSummary?

  /// Reads `source`. See ``TableDataSource/summarized(by:computing:in:flag:onProgress:)``.
  init(
    _ source: any TableDataSource, by groupings: [Grouping], computing aggregates: [Aggregate],
    in zone: Zone, flag: CancelFlag, onProgress: (Int) -> Void
  ) throws(TableError) {
    let version = try source.version()
    let groups = try source.aggregatedGroups(
      groupings, aggregates, in: zone, flag: flag, onProgress: onProgress)
    guard try source.version() == version else {
      throw TableError(.conflict, "the table changed while it was read; read it again")
    }
    let summary = Summary(
      groupings, ColumnNames(source.columns), groups.keys, groups.order, groups.results)
    columns = summary.columns
    batches = summary.batches
    starts = batches.starts
    let place = groupings.contains { $0.by.isOfDates } ? [zone.name] : []
    description =
      ["summary"] + place + groupings.map { "\($0.column) \($0.by.name)" }
      + aggregates.map { "\($0.function.rawValue) \($0.column ?? -1)" }
    live =
      source.changes == nil
      ? nil
      : LiveSummary(
        source, by: groupings, computing: aggregates, in: zone, showing: summary, version)
    known = token(version)
  }

  /// The version of the summary of a version of the source.
  private func token(_ version: Version?) -> Version? {
    version.flatMap { version in
      let token = "\(version.token).\(fingerprint(of: description, digits: 8))"
      return token.utf8.count <= Version.maximumLength
        ? Version(token) : Version(fingerprint(token, digits: 16))
    }
  }

  private var count: Int { starts[starts.count - 1] }

  public func version() throws(TableError) -> Version? { known }

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    return .exact(count)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    guard request.first <= count else {
      throw .noRow(request.first, inSection: 0, of: count)
    }
    let (number, row) = place(min(request.first, max(0, count - 1)))
    let batch = SummarizedSource.part(batches[number], request.columns)
    let first = request.first == count ? batch.rowCount : row
    return batch[first..<min(batch.rowCount, first.advancedUp(by: request.count))]
  }

  /// The batch that contains a row, and the row in it.
  private func place(_ row: Int) -> (batch: Int, row: Int) {
    let number = max(0, starts.partitioningIndex { $0 > row } - 1)
    return (min(number, batches.count - 1), row - starts[min(number, batches.count - 1)])
  }

  private static func part(_ batch: Batch, _ columns: [Int]) -> Batch {
    Batch(
      rowCount: batch.rowCount, columns: columns.map { batch.columns[$0] }, isUTF8: batch.isUTF8)
  }

  public var gathering: (any TableGathering)? { self }
  public var changes: (any TableChanges)? { live.map { _ in self } }
}

extension SummarizedSource: TableChanges {
  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try live?.source.changes?.listen(notify)
  }

  /// Moves the source to its newest version, and computes the groups whose rows changed.
  ///
  /// Throws the errors of the source. After an error, the summary shows its old version.
  /// - Complexity: O(groups) and that of reading the rows of the changed groups. The first change reads all rows. So
  ///   does each change without groupings.
  public func pull() throws(TableError) -> ChangeBatch {
    let before = known
    guard let live, let summary = try live.pull() else {
      return ChangeBatch(from: before, to: before, changes: [])
    }
    let changes = columns == summary.columns ? live.shown.changes(to: summary) : nil
    live.shown = summary
    (columns, batches) = (summary.columns, summary.batches)
    starts = batches.starts
    known = token(live.version)
    return ChangeBatch(from: before, to: known, changes: changes)
  }
}

extension SummarizedSource: TableGathering {
  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    var picks: [RowSelection] = []
    picks.reserveCapacity(paths.count)
    for path in paths {
      guard path.section == 0 else { throw .noSection(path.section) }
      guard path.row < count else { throw .noRow(path.row, inSection: 0, of: count) }
      let (batch, row) = place(path.row)
      picks.append(
        RowSelection(
          batch: Int32(truncatingIfNeeded: batch), row: Int32(truncatingIfNeeded: row)))
    }
    return Batch(picking: picks, from: batches.map { SummarizedSource.part($0, columns) })
  }
}

extension TableDataSource {
  /// Computes a table with one row per group: one column per grouping, then one per aggregate, named `sum amount`. Reads
  /// the columns that it needs once, to their end.
  ///
  /// Without groupings, all rows are one group, even if there are none. Grouped columns keep their type; classes are
  /// text. Sums, means and medians of integers and decimal numbers are integers, or text that reads as numbers if one of them
  /// has decimals or exceeds 64 bits. Aggregates of reals are reals.
  ///
  /// `zone` is the zone of days and hours. `flag` cancels the call from any thread. `onProgress` receives the number of
  /// rows read so far; it must not use the source. Throws
  /// ``TableError`` with `.invalidArgument` for a column that does not exist or has no such groups or aggregate. Throws
  /// `.wrongData` for text that should be a number, with the position of its row. Throws `.conflict` if the source moves on, and
  /// `.cancelled`.
  public func summarized(
    by groupings: [Grouping] = [], computing aggregates: [Aggregate] = [.rows],
    in zone: Zone = .utc, flag: CancelFlag = CancelFlag(),
    onProgress: (_ rowsDone: Int) -> Void = { _ in }
  ) throws(TableError) -> SummarizedSource {
    try SummarizedSource(
      self, by: groupings, computing: aggregates, in: zone, flag: flag, onProgress: onProgress)
  }
}

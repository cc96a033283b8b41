/// A table with one row per group of another table's rows: the values of the group, then its aggregates.
///
/// Groups and aggregates are computed when the table is created, and cells when they are read. The table changes only by
/// ``TableChanges/pull()``. Groups are in the order of their values, with missing values last.
public final class SummarizedSource: TableDataSource {
  public var columns: [Column] { summary.columns }
  /// Whether the order of the source's rows could differ at its next opening. The order of groups does not depend on it.
  public let hasVolatileOrder = false
  private var summary: Summary
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
    summary = Summary(
      groupings, ColumnNames(source.columns), groups.keys, groups.order, groups.results)
    let place = groupings.contains { $0.by.isOfDates } ? [zone.name] : []
    description =
      ["summary"] + place + groupings.map { "\($0.column) \($0.by.name)" }
      + aggregates.map { "\($0.function.rawValue) \($0.column ?? -1)" }
    live =
      source.changes == nil
      ? nil : LiveSummary(source, by: groupings, computing: aggregates, in: zone, version)
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

  public func version() throws(TableError) -> Version? { known }

  public func numberOfRows(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    return .exact(summary.count)
  }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    return try summary.batch(request, of: 0..<summary.count)
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
    guard let live, let newer = try live.pull() else {
      return ChangeBatch(from: before, to: before, changes: [])
    }
    let changes = columns == newer.columns ? summary.changes(to: newer) : nil
    summary = newer
    known = token(live.version)
    return ChangeBatch(from: before, to: known, changes: changes)
  }
}

extension SummarizedSource: TableGathering {
  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    for path in paths {
      guard path.section == 0 else { throw .noSection(path.section) }
      guard path.row < summary.count else {
        throw .noRow(path.row, inSection: 0, of: summary.count)
      }
    }
    return summary.batch(at: paths.map(\.row), columns: columns)
  }
}

extension SummarizedSource: RowSharing {
  package func shares(
    ofSection section: Int, from first: Int, size: Int
  ) throws(TableError) -> (any RowShares)? {
    guard section == 0 else { throw .noSection(section) }
    let rows = min(first, summary.count)..<summary.count
    return rows.count > MappedSource.batchSize ? SummaryShares(summary, rows) : nil
  }
}

/// The rows of a summary from one of them on, divided into shares of one batch.
private final class SummaryShares: RowShares {
  private let summary: Summary
  private let parts: [Range<Int>]

  init(_ summary: Summary, _ rows: Range<Int>) {
    (self.summary, parts) = (summary, Array(rows.chunks))
  }

  var count: Int { parts.count }

  func share(_ number: Int) throws(TableError) -> any TableDataSource {
    SummaryShare(summary, parts[number])
  }

  /// Every share is right, because its borders are no guesses.
  func take(_ share: any TableDataSource) throws(TableError) {}
}

/// Consecutive rows of a summary.
private final class SummaryShare: TableDataSource {
  private let summary: Summary
  private let part: Range<Int>

  init(_ summary: Summary, _ part: Range<Int>) { (self.summary, self.part) = (summary, part) }

  var columns: [Column] { summary.columns }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    guard section == 0 else { throw .noSection(section) }
    return .exact(part.count)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    guard request.section == 0 else { throw .noSection(request.section) }
    return try summary.batch(request, of: part)
  }
}

extension Summary {
  /// The requested rows of a part of the summary, whose rows are numbered from 0.
  fileprivate func batch(_ request: RowRequest, of part: Range<Int>) throws(TableError) -> Batch {
    guard request.first <= part.count else {
      throw .noRow(request.first, inSection: 0, of: part.count)
    }
    let first = part.lowerBound + request.first
    let count = min(request.count, MappedSource.batchSize, part.upperBound - first)
    return batch(first..<first + count, columns: request.columns)
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

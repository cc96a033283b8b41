/// Follows a table from version to version, and lists every change.
///
/// A source can answer a pull with "read everything again". The follower then compares the rows with those that it saw
/// last. So a caller always receives a list, whatever the provider offers.
///
/// ```swift
/// let follower = try TableFollower(table)
/// try follower.listen { wakeUp() }        // or call `pull` from time to time
/// let changes = try follower.pull()       // on the thread of the table
/// ```
///
/// The follower belongs to the thread of its source, and needs no thread of its own.
public final class TableFollower {
  /// The changes of a pull.
  public struct Changes: Sendable {
    /// The changes. The list is never nil.
    public var batch: ChangeBatch
    /// Whether the follower compared all rows, because the source did not list its changes.
    public var isCompared: Bool
    /// The ids of the rows that the changes name, before the changes; empty if the follower keeps no ids.
    public var idsBefore: [IndexPath: String]

    /// The listed changes.
    public var list: [ChangeBatch.Change] { batch.changes ?? [] }
  }

  /// The followed source.
  public let source: any TableDataSource
  private let columns: [Int]
  private let keepsIDs: Bool
  private var snapshot: TableSnapshot
  private var version: Version?
  private var shape: [Column]
  /// Whether the source moved on and the snapshot did not.
  private var isBehind = false

  /// The number of sections whose counts are checked if no change is listed. Each can be a call to a worker.
  private static let mostChecked = 1000
  /// How often the follower reads a table that changes while it is read.
  private static let attempts = 10

  /// Reads all rows of a source. `columns` are the columns whose cells matter; nil means all that are not on request
  /// only. With `keepsIDs`, the follower tells the ids of deleted rows.
  ///
  /// Throws ``TableError`` with `.notSupported` if the source has no changes, and the errors of the source.
  /// - Complexity: O(cells). Memory: 24 bytes per row, and the ids if they are kept.
  public init(
    _ source: any TableDataSource, columns: [Int]? = nil, keepsIDs: Bool = false
  ) throws(TableError) {
    guard source.changes != nil else {
      throw TableError(.notSupported, "the table does not report changes")
    }
    self.source = source
    self.keepsIDs = keepsIDs
    shape = source.columns
    self.columns = columns ?? shape.indices.filter { [shape] in !shape[$0].isOnRequest }
    version = try source.version()
    snapshot = try TableSnapshot(of: source, columns: self.columns, keepsIDs: keepsIDs)
  }

  /// The number of rows of each section.
  public var rowCounts: [Int] { snapshot.rowCounts }

  /// Lets the next pull compare all rows, because the source was moved by somebody else. A pull detects this itself if the
  /// source has versions.
  package func fallBehind() { isBehind = true }

  /// Sets the function to call when a pull may find changes; nil removes it. See ``TableChanges/listen(_:)``.
  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try source.changes?.listen(notify)
  }

  /// Moves the source to its newest version and returns the changes.
  ///
  /// A reconfigured row whose cells in the followed columns are the same as before is not listed.
  ///
  /// Throws the errors of ``TableChanges/pull()``. Throws ``TableError`` with `.conflict` if the table has other columns
  /// now, or changes faster than it can be read. After an error, the next pull returns the changes since the last
  /// successful one.
  /// - Complexity: that of the source, plus a move of digests in the changed sections. If the source does not list its
  ///   changes, O(cells).
  public func pull() throws(TableError) -> Changes {
    guard let changes = source.changes else {
      throw TableError(.notSupported, "the table does not report changes")
    }
    let batch = try changes.pull()
    // Another follower, or an edit, has moved the source.
    if batch.from != version { isBehind = true }
    try checkColumns()
    if !isBehind, let list = batch.changes {
      do throws(TableError) {
        return try apply(list, of: batch)
      } catch {
        isBehind = true
        guard error.code == .conflict else { throw error }
      }
    }
    isBehind = true
    return try compare(changes)
  }

  /// Applies listed changes to the snapshot.
  private func apply(
    _ list: [ChangeBatch.Change], of batch: ChangeBatch
  ) throws(TableError) -> Changes {
    let before = version
    let ids = idsBefore(list)
    var cells: [IndexPath: UInt64] = [:]
    for case .reconfigure(let path) in list where !path.isSection && snapshot.hasRow(at: path) {
      cells[path] = snapshot.cells(at: path)
    }
    let plan = try snapshot.plan(of: list)
    // A version without changes has the counts of the last one.
    if list.isEmpty, batch.to != before {
      try check(plan, Array(snapshot.sections.indices.prefix(TableFollower.mostChecked)))
    }
    if !list.isEmpty {
      try check(plan, Array(plan.rows.keys))
      try snapshot.apply(list, from: source)
    }
    version = batch.to
    let kept = list.filter { change in
      guard case .reconfigure(let path) = change, let old = cells[path],
        let now = plan.path(of: path)
      else { return true }
      return old != snapshot.cells(at: now)
    }
    return Changes(
      batch: ChangeBatch(from: before, to: version, changes: kept), isCompared: false,
      idsBefore: ids)
  }

  /// Throws ``TableError`` with `.misbehaved` if the changes do not lead to the counts of the source, for these sections.
  private func check(_ plan: BatchPlan, _ checked: [Int]) throws(TableError) {
    var before = KnownCounts(sections: .exact(snapshot.sections.count))
    var needs: [Int: Int] = [:]
    for section in checked {
      before.rows[section] = .exact(snapshot.sections[section].rows.count)
      if let now = plan.sectionAfter(of: section) { needs[now] = 0 }
    }
    try plan.check(before: before, after: KnownCounts(of: source, knowing: needs))
  }

  /// Reads all rows again, and compares them with those that were seen last.
  private func compare(_ changes: any TableChanges) throws(TableError) -> Changes {
    for attempt in 1...Self.attempts {
      do throws(TableError) {
        let after = try source.version()
        let newer = try TableSnapshot(of: source, columns: columns, keepsIDs: keepsIDs)
        let list = snapshot.changes(to: newer)
        let ids = idsBefore(list)
        let batch = ChangeBatch(from: version, to: after, changes: list)
        (snapshot, version, isBehind) = (newer, after, false)
        return Changes(batch: batch, isCompared: true, idsBefore: ids)
      } catch {
        guard error.code == .conflict, attempt < Self.attempts else { throw error }
        _ = try changes.pull()
        try checkColumns()
      }
    }
    throw TableError(.conflict, "the table changes faster than it can be read")
  }

  /// Throws ``TableError`` with `.conflict` if a pull changed the columns.
  private func checkColumns() throws(TableError) {
    guard source.columns != shape else { return }
    isBehind = true
    throw TableError(.conflict, "the columns of the table changed; open it again")
  }

  /// The ids that the snapshot keeps of the rows that changes name.
  private func idsBefore(_ changes: [ChangeBatch.Change]) -> [IndexPath: String] {
    guard keepsIDs else { return [:] }
    var ids: [IndexPath: String] = [:]
    for change in changes {
      if let path = change.source, let id = snapshot.id(at: path) { ids[path] = id }
    }
    return ids
  }
}

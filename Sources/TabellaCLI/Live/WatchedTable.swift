import Tabella
import TabellaHost

/// A table that `--watch` shows: an opening of the locations, and what is needed to recognise changes.
final class WatchedTable {
  let table: ShapedTable
  /// Whether the sources of all locations report changes. Otherwise the locations are opened again.
  let reportsChanges: Bool
  /// Opens the table.
  typealias Opening = () throws(Failure) -> ShapedTable
  private let open: Opening
  private let columns: [Column]
  private var follower: TableFollower?
  private var snapshot: TableSnapshot?

  /// Opens the table. `open` opens it again if it cannot be refreshed.
  init(_ open: @escaping Opening) throws(Failure) {
    table = try open()
    self.open = open
    columns = table.source.columns
    reportsChanges =
      table.source.changes != nil && table.tables.allSatisfy { $0.source.changes != nil }
    // The progress of the opening would overwrite the screen.
    Progress.end()
  }

  /// The number of rows of each section, if ``remember()`` was called.
  var rowCounts: [Int] { follower?.rowCounts ?? snapshot?.rowCounts ?? [] }

  deinit { try? table.source.changes?.listen(nil) }

  /// Calls a function when the table may have changes.
  func listen(_ notify: @escaping @Sendable () -> Void) throws(Failure) {
    try Failure.about(table.subject) { () throws(TableError) in
      try table.source.changes?.listen(notify)
    }
  }

  /// Reads all rows, so that the next refresh recognises changes.
  func remember() throws(Failure) {
    guard follower == nil, snapshot == nil else { return }
    try Failure.about(table.subject) { () throws(TableError) in
      if reportsChanges {
        follower = try TableFollower(table.source, columns: table.columns)
      } else {
        snapshot = try TableSnapshot(of: table.source, columns: table.columns)
      }
    }
  }

  /// The newest version of the table, and the changes that lead to it; nil if they are unknown.
  func refreshed() throws(Failure) -> (table: WatchedTable, changes: [ChangeBatch.Change]?) {
    if reportsChanges, let changes = try pulled() { return (self, changes) }
    let next = try WatchedTable(open)
    guard !reportsChanges else { return (next, nil) }
    try next.remember()
    guard let snapshot, let newer = next.snapshot, columns == next.columns,
      table.columns == next.table.columns
    else { return (next, nil) }
    return (next, snapshot.changes(to: newer))
  }

  /// The changes of a pull; nil if the table must be opened again, because its columns changed.
  private func pulled() throws(Failure) -> [ChangeBatch.Change]? {
    try remember()
    do throws(TableError) {
      return try follower?.pull().list
    } catch {
      if table.source.columns != columns { return nil }
      throw .of(error, subject: table.subject)
    }
  }
}

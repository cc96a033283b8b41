import Tabella

/// A follower behind a `tabella_embed_follower`.
final class EmbeddedFollower {
  let table: EmbeddedTable
  private let follower: TableFollower
  /// The stamp of the table's position after the last pull.
  private var seen: Int
  var listening: Listening?

  /// Reads all rows.
  init(_ table: EmbeddedTable) throws(TableError) {
    self.table = table
    follower = try TableFollower(table.source)
    seen = table.position.stamp
  }

  /// Moves the table to its newest version. Returns the changes since the last pull, also those by edits and by pulls of
  /// other tables.
  func pull() throws(TableError) -> ChangeBatch {
    let position = table.position
    if position.stamp != seen { follower.fallBehind() }
    let changes = try position.pulling { () throws(TableError) in try follower.pull().batch }
    seen = position.stamp
    return changes
  }
}

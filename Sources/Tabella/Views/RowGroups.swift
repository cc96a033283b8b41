/// The groups of rows, by the numbers that the groups have in ``GroupKeys``.
struct RowGroups {
  /// The groups of the first rows.
  private var first: [UInt32] = []
  /// The number of the other rows. Each is the only row of its group, in the order of the groups.
  private var singles = 0
  /// The group of the first of them.
  private var firstSingle: UInt32 = 0
  /// The groups that were removed since then.
  private var repeats: Repeats?

  init(_ groups: [UInt32] = []) { first = groups }

  var count: Int { first.count + singles }

  /// The group of each row.
  var all: [UInt32] {
    if singles == 0 { return first }
    var groups = first
    let others = firstSingle..<firstSingle + UInt32(truncatingIfNeeded: singles)
    groups.makeRoom(for: others.count)
    if let repeats {
      for group in others { groups.append(repeats.newNumber(of: group)) }
    } else {
      groups += others
    }
    return groups
  }

  /// Adds rows. The first of them has group `group`, and each following one has the next group.
  mutating func appendSingles(_ count: Int, from group: UInt32) {
    if singles == 0 { firstSingle = group }
    singles += count
  }

  /// Stores each group, for rows of any group.
  mutating func store() {
    if singles > 0 { self = RowGroups(all) }
  }

  /// Calls `body` with the groups of all rows. All groups are stored.
  mutating func change(_ body: (inout [UInt32]) -> Void) {
    var groups: [UInt32] = []
    swap(&groups, &first)
    body(&groups)
    swap(&groups, &first)
  }

  /// Gives the rows of repeats the groups of the first values.
  mutating func remove(_ repeats: Repeats) {
    for row in first.indices { first[row] = repeats.newNumber(of: first[row]) }
    self.repeats = repeats
  }
}

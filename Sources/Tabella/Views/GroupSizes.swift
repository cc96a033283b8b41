/// The number of rows of each group.
///
/// A size takes 8 bytes. If nearly all values differ, nearly all groups have one row. The sizes of such groups take one or
/// two bits, and 4 bytes if there are more rows.
struct GroupSizes {
  /// The sizes of the first groups.
  private var first: [Int]
  /// The number of the other groups.
  private var rest = 0
  /// Those of the other groups that have several rows, numbered from the first other group on, and the number of further
  /// rows of each.
  private var larger: (groups: NumberSet, more: [UInt32])?

  init(_ sizes: [Int] = []) { first = sizes }

  /// The number of groups.
  var count: Int { first.count + rest }

  subscript(group: UInt32) -> Int {
    if group < first.count { return first[Int(group)] }
    let other = group - UInt32(truncatingIfNeeded: first.count)
    guard let larger, larger.groups.contains(other) else { return 1 }
    return 1 + Int(larger.more[Int(larger.groups.count(below: other))])
  }

  /// Whether each group has one row, and no size is stored.
  var areSingles: Bool { first.isEmpty && larger == nil }

  /// The number of rows of all groups.
  var total: Int { first.reduce(0, +) + rest + (larger?.more.reduce(0) { $0 + Int($1) } ?? 0) }

  /// Whether a group has no rows.
  var hasEmpty: Bool { first.contains(0) }

  /// All sizes.
  var all: [Int] {
    first + (first.count..<count).map { self[UInt32(truncatingIfNeeded: $0)] }
  }

  /// Adds groups of one row.
  mutating func appendSingles(_ count: Int) {
    if larger != nil { store() }
    rest += count
  }

  /// Stores each size, for changes of any group.
  mutating func store() {
    if rest > 0 { self = GroupSizes(all) }
  }

  /// Adds rows to groups. All sizes are stored. A new group follows the others.
  mutating func add(_ groups: some Sequence<UInt32>) {
    for group in groups { add(1, to: group) }
  }

  /// Adds rows to a group. All sizes are stored. A new group follows the others.
  @inline(__always)
  mutating func add(_ rows: Int, to group: UInt32) {
    if group == first.count { first.append(0) }
    first[Int(group)] += rows
  }

  /// Removes the groups of repeats, and adds their rows to the groups of the first values. Each of the groups without a
  /// stored size has one row.
  mutating func remove(_ repeats: Repeats) {
    let start = UInt32(truncatingIfNeeded: first.count)
    var kept = GroupSizes()
    for group in 0..<start { kept.add(self[group], to: repeats.newNumber(of: group)) }
    kept.rest = rest - repeats.count + Int(repeats.count(below: start))
    let others = UInt32(truncatingIfNeeded: kept.first.count)
    var larger: [UInt64] = []
    for group in repeats.newNumbers(from: start) {
      if group < others { kept.add(1, to: group) } else { larger.append(UInt64(group - others)) }
    }
    kept.setLarger(larger)
    self = kept
  }

  /// Adds a row to one of the groups without stored sizes for each element of `groups`.
  private mutating func setLarger(_ groups: [UInt64]) {
    guard !groups.isEmpty else { return }
    var groups = groups
    var unused = [UInt32](repeating: 0, count: groups.count)
    radixSort(&groups, &unused)
    var (different, more): ([UInt64], [UInt32]) = ([], [])
    for group in groups {
      if group == different.last {
        more[more.count - 1] += 1
      } else {
        different.append(group)
        more.append(1)
      }
    }
    larger = (NumberSet(different, below: rest), more)
  }
}

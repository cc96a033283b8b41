/// All values of groups, for aggregates that need them in order.
///
/// A value takes its own size and 4 bytes. An array per group would take more, and each of them grows alone.
struct GroupedValues<Value> {
  /// The values in the order of their rows, and the group of each of them.
  private var values: [Value] = []
  private var groups: [UInt32] = []

  mutating func append(_ value: Value, to group: Int) {
    values.append(value)
    groups.append(UInt32(truncatingIfNeeded: group))
  }

  /// Ensures room for more values.
  mutating func makeRoom(for more: Int) {
    values.makeRoom(for: more)
    groups.makeRoom(for: more)
  }

  /// Adds other values, which follow, or makes groups one if `other` is nil. `numbers` holds the number here of each group of
  /// the added or of these values.
  mutating func combine(_ other: GroupedValues?, _ numbers: [UInt32]) {
    guard let other else {
      for index in groups.indices { groups[index] = numbers[Int(groups[index])] }
      return
    }
    makeRoom(for: other.values.count)
    values += other.values
    for group in other.groups { groups.append(numbers[Int(group)]) }
  }

  /// The values of each of `count` groups, side by side, in the order of their rows.
  /// - Complexity: O(values + groups)
  func byGroup(_ count: Int) -> Slices {
    var ends = [Int](repeating: 0, count: count + 1)
    for group in groups { ends[Int(group) + 1] += 1 }
    // For each group, the index of its first value, then of the next one to be placed, and at last the end.
    for group in 0..<count { ends[group + 1] += ends[group] }
    let placed = [Value](unsafeUninitializedCapacity: values.count) { place, filled in
      guard let start = place.baseAddress else { return }
      for (value, group) in zip(values, groups) {
        (start + ends[Int(group)]).initialize(to: value)
        ends[Int(group)] += 1
      }
      filled = values.count
    }
    return Slices(values: placed, ends: ends)
  }

  /// Values by their groups.
  struct Slices {
    fileprivate let values: [Value]
    /// For each group, the index after its last value.
    fileprivate let ends: [Int]

    /// The values of a group.
    subscript(group: Int) -> ArraySlice<Value> {
      values[(group == 0 ? 0 : ends[group - 1])..<ends[group]]
    }
  }
}

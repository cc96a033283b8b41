/// All values of groups, for aggregates that need them in order.
///
/// A value takes its own size and 4 bytes. An array per group would take more, and each of them grows alone.
struct GroupedValues<Value> {
  /// The values in the order of their rows, and the group of each of them.
  private(set) var values: [Value] = []
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

  /// The values of each of `count` groups in their order.
  ///
  /// `words` has a word for each value, and their order is that of the values. If it is nil, `compare` compares values: it
  /// returns a negative number if the first one comes before the second one, and 0 if both are equal.
  /// - Complexity: O(values + groups) with words, as far as a radix sort is linear. Otherwise O(n log n).
  func inOrder(
    ofGroups count: Int, by words: [UInt64]?, or compare: (Value, Value) -> Int
  ) -> Ordered {
    precondition(values.count < UInt32.max, "aggregates have fewer than 2^32 values in order")
    var ends = [Int](repeating: 0, count: count + 1)
    for group in groups { ends[Int(group) + 1] += 1 }
    // For each group, the index of its first value, then of the next one to be placed, and at last the end.
    for group in 0..<count { ends[group + 1] += ends[group] }
    var placedWords = [UInt64](repeating: 0, count: words == nil ? 0 : values.count)
    var places = [UInt32](repeating: 0, count: values.count)
    for (index, group) in groups.enumerated() {
      let place = ends[Int(group)]
      places[place] = UInt32(truncatingIfNeeded: index)
      if let words { placedWords[place] = words[index] }
      ends[Int(group)] = place + 1
    }
    var start = 0
    for end in ends.dropLast() {
      if words != nil {
        radixSort(&placedWords, &places, start..<end)
      } else {
        places[start..<end].sort {
          let order = compare(values[Int($0)], values[Int($1)])
          return order < 0 || order == 0 && $0 < $1
        }
      }
      start = end
    }
    return Ordered(values: values, places: places, ends: ends)
  }

  /// Values by their groups, in their order. Equal values are in the order of their rows.
  struct Ordered {
    fileprivate let values: [Value]
    /// The index of each value, group after group.
    fileprivate let places: [UInt32]
    /// For each group, the index in `places` after its last value.
    fileprivate let ends: [Int]

    /// A value of a group, by its position in the order.
    subscript(group: Int, position: Int) -> Value {
      values[Int(places[(group == 0 ? 0 : ends[group - 1]) + position])]
    }
  }
}

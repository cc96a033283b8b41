/// All values of groups, for aggregates that need them in order.
///
/// A value takes the size that it has in its list, and 4 bytes. An array per group would take more, and each of them
/// grows alone. While the values are sorted, each takes 12 bytes in addition.
struct GroupedValues<Values: OrderedValues> {
  /// The values in the order of their rows, and the group of each of them.
  private var values = Values()
  private var groups: [UInt32] = []

  mutating func append(_ value: Values.Value, to group: Int) {
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
    makeRoom(for: other.groups.count)
    values.append(contentsOf: other.values)
    for group in other.groups { groups.append(numbers[Int(group)]) }
  }

  /// The values of each of `count` groups in their order.
  /// - Complexity: O(values + groups) if the values have words, as far as a radix sort is linear. Otherwise O(n log n).
  func inOrder(ofGroups count: Int) -> Ordered {
    precondition(groups.count < UInt32.max, "aggregates have fewer than 2^32 values in order")
    let word = values.word
    var ends = [Int](repeating: 0, count: count + 1)
    for group in groups { ends[Int(group) + 1] += 1 }
    // For each group, the index of its first value, then of the next one to be placed, and at last the end.
    for group in 0..<count { ends[group + 1] += ends[group] }
    var words = [UInt64](repeating: 0, count: word == nil ? 0 : groups.count)
    var places = [UInt32](repeating: 0, count: groups.count)
    for (index, group) in groups.enumerated() {
      let place = ends[Int(group)]
      places[place] = UInt32(truncatingIfNeeded: index)
      if let word { words[place] = word(index) }
      ends[Int(group)] = place + 1
    }
    var start = 0
    for end in ends.dropLast() {
      if word != nil {
        radixSort(&words, &places, start..<end)
      } else {
        places[start..<end].sort {
          let order = Values.compare(values[Int($0)], values[Int($1)])
          return order < 0 || order == 0 && $0 < $1
        }
      }
      start = end
    }
    return Ordered(values: values, places: places, ends: ends)
  }

  /// Values by their groups, in their order. Equal values are in the order of their rows.
  struct Ordered {
    fileprivate let values: Values
    /// The index of each value, group after group.
    fileprivate let places: [UInt32]
    /// For each group, the index in `places` after its last value.
    fileprivate let ends: [Int]

    /// A value of a group, by its position in the order.
    subscript(group: Int, position: Int) -> Values.Value {
      values[Int(places[(group == 0 ? 0 : ends[group - 1]) + position])]
    }
  }
}

/// A list of values that have an order.
protocol OrderedValues {
  associatedtype Value

  /// Creates an empty list.
  init()
  /// A value, by its position.
  subscript(index: Int) -> Value { get }
  mutating func append(_ value: Value)
  mutating func append(contentsOf other: Self)
  /// Ensures room for more values.
  mutating func makeRoom(for more: Int)

  /// Returns a word for the position of a value. The order of the words is that of the values. Nil if there are no such words.
  /// - Complexity: O(values) to decide.
  var word: ((Int) -> UInt64)? { get }
  /// Compares values. The result is negative, 0 or positive.
  static func compare(_ left: Value, _ right: Value) -> Int
}

extension [Double]: OrderedValues {
  var word: ((Int) -> UInt64)? { { self[$0].orderedBits } }

  static func compare(_ left: Double, _ right: Double) -> Int {
    left.orderedBits == right.orderedBits ? 0 : left.orderedBits < right.orderedBits ? -1 : 1
  }
}

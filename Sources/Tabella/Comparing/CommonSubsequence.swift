/// A long common subsequence of two lists of numbers.
///
/// It is a longest one if no number repeats, if the lists have at most ``mostDifferences`` elements together, or if
/// they differ in at most that many. Otherwise numbers that occur once in both lists divide the lists (patience
/// diff), and the parts between them are compared.
/// - Complexity: O(n log n) at worst, and nearly O(n) for lists that differ little. Memory: O(n).
struct CommonSubsequence {
  /// The maximum number of deletions and insertions of an exact comparison.
  static let mostDifferences = 512
  /// The maximum number of times that parts are divided further.
  private static let mostDivisions = 8

  /// For each element of the new list the index of its partner in the old list, or -1. Partners ascend.
  private(set) var partners: [Int32]

  private let old: [Int32]
  private let new: [Int32]
  private var numbers: NumberTallies
  private var alignment = GreedyAlignment()
  private var parts: [Part] = []

  private struct Part {
    var old: Range<Int>
    var new: Range<Int>
    var divisions: Int
  }

  private typealias Pair = GreedyAlignment.Pair

  /// Compares two lists. `tallies` admits their elements.
  init(_ old: [Int32], _ new: [Int32], _ tallies: inout NumberTallies) {
    self.old = old
    self.new = new
    partners = Array(repeating: -1, count: new.count)
    numbers = NumberTallies()
    swap(&numbers, &tallies)
    defer { swap(&numbers, &tallies) }
    let whole = Part(old: old.indices, new: new.indices, divisions: 0)
    if numbers.areUnique(old), numbers.areUnique(new) {
      note(increasing(uniquePairs(whole)))
      return
    }
    parts = [whole]
    while let part = parts.popLast() { compare(trimmed(part)) }
  }

  private mutating func note(_ pairs: [Pair]) {
    for pair in pairs { partners[pair.new] = Int32(truncatingIfNeeded: pair.old) }
  }

  /// Pairs the equal elements at both ends of a part, and returns the rest.
  private mutating func trimmed(_ part: Part) -> Part {
    var (old, new) = (part.old, part.new)
    while let (left, right) = old.first.flatMap({ left in new.first.map { (left, $0) } }),
      self.old[left] == self.new[right]
    {
      note([(left, right)])
      old.removeFirst()
      new.removeFirst()
    }
    while let (left, right) = old.last.flatMap({ left in new.last.map { (left, $0) } }),
      self.old[left] == self.new[right]
    {
      note([(left, right)])
      old.removeLast()
      new.removeLast()
    }
    return Part(old: old, new: new, divisions: part.divisions)
  }

  private mutating func compare(_ part: Part) {
    if part.old.isEmpty || part.new.isEmpty { return }
    if let way = shortestWay(part) { return note(way.pairs) }
    let anchors = part.divisions < Self.mostDivisions ? increasing(uniquePairs(part)) : []
    guard !anchors.isEmpty else { return note(increasing(occurrences(part))) }
    note(anchors)
    var (old, new) = (part.old.lowerBound, part.new.lowerBound)
    for anchor in anchors + [(part.old.upperBound, part.new.upperBound)] {
      parts.append(
        Part(
          old: old..<anchor.old, new: new..<anchor.new, divisions: part.divisions + 1))
      (old, new) = (anchor.old + 1, anchor.new + 1)
    }
  }

  private mutating func shortestWay(_ part: Part) -> GreedyAlignment.Way? {
    old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in
        alignment.wholeWay(old[part.old], new[part.new], most: Self.mostDifferences)
      }
    }
  }

  // The divisions

  /// The pairs of numbers that occur once in both sides of a part, in the order of the new list.
  private mutating func uniquePairs(_ part: Part) -> [Pair] {
    numbers.uniquePairs(old, part.old, new, part.new)
  }

  /// The pairs of the first, second, … occurrence of each number in both sides of a part, in the order of the new list.
  private mutating func occurrences(_ part: Part) -> [Pair] {
    numbers.pairs(old, part.old, new, part.new)
  }

  /// A longest selection of pairs, ascending in both lists.
  private func increasing(_ pairs: [Pair]) -> [Pair] {
    if pairs.indices.dropFirst().allSatisfy({ pairs[$0 - 1].old < pairs[$0].old }) { return pairs }
    return longestIncreasing(pairs.map { Int32(truncatingIfNeeded: $0.old) }).map { pairs[$0] }
  }
}

/// The indices of a longest selection of numbers that increases strictly.
/// - Complexity: O(n log n), and O(n) if the numbers already increase.
func longestIncreasing(_ numbers: [Int32]) -> [Int] {
  // For each length, the index of the smallest number that ends a selection of this length.
  var ends: [Int32] = []
  var previous = [Int32](repeating: -1, count: numbers.count)
  for (index, number) in numbers.enumerated() {
    let length: Int
    if let last = ends.last, numbers[Int(last)] >= number {
      length = ends.partitioningIndex { numbers[Int($0)] >= number }
    } else {
      length = ends.count
    }
    if length > 0 { previous[index] = ends[length - 1] }
    if length == ends.count {
      ends.append(Int32(truncatingIfNeeded: index))
    } else {
      ends[length] = Int32(truncatingIfNeeded: index)
    }
  }
  var selection: [Int] = []
  selection.reserveCapacity(ends.count)
  var index = ends.last ?? -1
  while index >= 0 {
    selection.append(Int(index))
    index = previous[Int(index)]
  }
  return selection.reversed()
}

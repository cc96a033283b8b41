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
  private var parts: [Part] = []

  private struct Part {
    var old: Range<Int>
    var new: Range<Int>
    var divisions: Int
  }

  private typealias Pair = (old: Int, new: Int)

  /// Compares two lists. Their elements are at least 0 and less than `bound`.
  init(_ old: [Int32], _ new: [Int32], bound: Int) {
    self.old = old
    self.new = new
    partners = Array(repeating: -1, count: new.count)
    numbers = NumberTallies(bound: bound)
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
    if let pairs = longest(part) { return note(pairs) }
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

  // The exact comparison

  /// A longest common subsequence of a part; nil if the part has too many differences.
  ///
  /// This is the greedy algorithm of Myers: "An O(ND) Difference Algorithm and Its Variations" (1986).
  private func longest(_ part: Part) -> [Pair]? {
    let (rows, columns) = (part.old.count, part.new.count)
    let most = min(rows + columns, Self.mostDifferences)
    // Equal elements cost a step, too. Long runs of them must not be compared again and again.
    var steps = 4 * (rows + columns) + (1 << 19)
    let middle = most + 1
    var reached = [Int](repeating: 0, count: 2 * most + 3)
    var trace: [[Int]] = []
    for differences in 0...most {
      for diagonal in stride(from: -differences, through: differences, by: 2) {
        var row = Self.next(diagonal, differences) { reached[middle + $0] }
        let start = row
        while row < rows, row - diagonal < columns,
          old[part.old.lowerBound + row] == new[part.new.lowerBound + row - diagonal]
        {
          row += 1
        }
        steps -= row - start + 1
        reached[middle + diagonal] = row
        if row >= rows, row - diagonal >= columns { return pairs(part, trace) }
      }
      guard steps > 0 else { return nil }
      trace.append(Array(reached[middle - differences...middle + differences]))
    }
    return nil
  }

  /// The row at which a path enters a diagonal, after the farthest paths with one difference less.
  private static func next(_ diagonal: Int, _ differences: Int, _ reached: (Int) -> Int) -> Int {
    guard differences > 0 else { return 0 }
    let isInsertion =
      diagonal == -differences
      || diagonal != differences && reached(diagonal - 1) < reached(diagonal + 1)
    return isInsertion ? reached(diagonal + 1) : reached(diagonal - 1) + 1
  }

  /// The equal elements on the path whose ends after each number of differences are in `trace`.
  private func pairs(_ part: Part, _ trace: [[Int]]) -> [Pair] {
    var pairs: [Pair] = []
    var (row, column) = (part.old.count, part.new.count)
    for differences in stride(from: trace.count, through: 0, by: -1) {
      let diagonal = row - column
      let entry = Self.next(diagonal, differences) { trace[differences - 1][$0 + differences - 1] }
      while row > entry {
        row -= 1
        column -= 1
        pairs.append((part.old.lowerBound + row, part.new.lowerBound + column))
      }
      guard differences > 0 else { break }
      // The entry came from the diagonal on the left (a deletion) or on the right (an insertion).
      let isInsertion =
        diagonal == -differences
        || diagonal != differences
          && trace[differences - 1][diagonal - 1 + differences - 1]
            < trace[differences - 1][diagonal + 1 + differences - 1]
      if isInsertion { column -= 1 } else { row -= 1 }
    }
    return pairs
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

/// How often and where each number occurs in two lists. The memory is reused.
struct NumberTallies {
  private var old: [Int32]
  private var new: [Int32]
  /// The first index in the old list.
  private var first: [Int32]

  init(bound: Int) {
    old = Array(repeating: 0, count: bound)
    new = old
    first = old
  }

  /// Whether no number repeats in a list.
  mutating func areUnique(_ list: [Int32]) -> Bool {
    defer { for number in list { old[Int(number)] = 0 } }
    for number in list {
      guard old[Int(number)] == 0 else { return false }
      old[Int(number)] = 1
    }
    return true
  }

  /// The pairs of numbers that occur once at both lists of indices, in the order of the new list.
  mutating func uniquePairs(
    _ oldList: [Int32], _ olds: some Collection<Int>, _ newList: [Int32],
    _ news: some Collection<Int>
  ) -> [(old: Int, new: Int)] {
    for index in olds {
      let number = Int(oldList[index])
      old[number] += 1
      first[number] = Int32(truncatingIfNeeded: index)
    }
    for index in news { new[Int(newList[index])] += 1 }
    defer {
      for index in olds { old[Int(oldList[index])] = 0 }
      for index in news { new[Int(newList[index])] = 0 }
    }
    return news.compactMap { index in
      let number = Int(newList[index])
      guard old[number] == 1, new[number] == 1 else { return nil }
      return (Int(first[number]), index)
    }
  }

  /// The pairs of the first, second, … occurrence of each number in two ranges, in the order of the new list.
  mutating func pairs(
    _ oldList: [Int32], _ oldRange: some BidirectionalCollection<Int>, _ newList: [Int32],
    _ newRange: some Sequence<Int>
  ) -> [(old: Int, new: Int)] {
    // A chain of the indices of each number: `first` is its head, and `next` has an entry per index.
    var next: [Int32] = []
    var links: [Int32] = []
    for index in oldRange.reversed() {
      let number = Int(oldList[index])
      next.append(old[number] == 0 ? -1 : first[number])
      links.append(Int32(truncatingIfNeeded: index))
      old[number] = 1
      first[number] = Int32(truncatingIfNeeded: links.count - 1)
    }
    defer { for index in links { old[Int(oldList[Int(index)])] = 0 } }
    var pairs: [(old: Int, new: Int)] = []
    for index in newRange {
      let number = Int(newList[index])
      guard old[number] == 1, first[number] >= 0 else { continue }
      let link = Int(first[number])
      pairs.append((Int(links[link]), index))
      first[number] = next[link]
    }
    return pairs
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

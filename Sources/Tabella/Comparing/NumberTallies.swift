/// How often and where each number occurs in two lists. The memory is reused.
struct NumberTallies {
  private var old: [Int32] = []
  private var new: [Int32] = []
  /// The first index in the old list.
  private var first: [Int32] = []

  /// Tallies of numbers less than `bound`.
  init(bound: Int = 0) { makeRoom(bound: bound) }

  /// Admits numbers less than `bound`.
  mutating func makeRoom(bound: Int) {
    guard bound > old.count else { return }
    let more = repeatElement(0 as Int32, count: bound - old.count)
    old += more
    new += more
    first += more
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

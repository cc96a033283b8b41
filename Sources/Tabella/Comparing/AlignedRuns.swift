/// The runs of equal rows in two lists that differ little, and the rest of both lists.
///
/// It goes through both lists at once, and needs no table of all rows. At a difference, it looks for the next long run of
/// equal rows. It ends where there is none nearby.
///
/// The runs are a longest common subsequence of the lists before the rest if no row repeats in a list, or if they differ
/// in at most ``CommonSubsequence/mostDifferences`` rows. Short lists are a rest, apart from equal rows at their ends.
/// - Complexity: O(n) for lists that differ in few places.
struct AlignedRuns {
  /// Equal rows that follow each other in both lists.
  struct Run {
    var old: Int
    var new: Int
    var count: Int
  }

  typealias Rows = UnsafeBufferPointer<RowDigest>

  /// The runs of the common subsequence, not in order.
  private(set) var runs: [Run] = []
  /// The rows that are not compared. Rows are left on both sides, or on none.
  private(set) var rest: (old: Range<Int>, new: Range<Int>) = (0..<0, 0..<0)

  private let old: Rows
  private let new: Rows

  /// Compares some rows of two tables.
  init(
    _ old: Rows, _ oldRange: Range<Int>, _ new: Rows, _ newRange: Range<Int>,
    _ alignment: inout GreedyAlignment
  ) {
    (self.old, self.new) = (old, new)
    let middle = trimmed(oldRange, newRange)
    guard middle.old.count + middle.new.count > CommonSubsequence.mostDifferences else {
      if !middle.old.isEmpty, !middle.new.isEmpty { rest = middle }
      return
    }
    let ends = runs
    let differences = walk(middle.old, middle.new, &alignment)
    // A way with one or two differences is the shortest one, because the lists differ.
    guard let differences, differences > 2, differences <= CommonSubsequence.mostDifferences,
      let way = alignment.wholeWay(old[middle.old], new[middle.new], most: differences - 1)
    else { return }
    runs = ends
    add(way.pairs)
  }

  private mutating func add(_ old: Int, _ new: Int, _ count: Int) {
    if count > 0 { runs.append(Run(old: old, new: new, count: count)) }
  }

  /// Adds pairs, from the last one to the first.
  private mutating func add(_ pairs: [GreedyAlignment.Pair]) {
    for pair in pairs {
      if let last = runs.last, last.old == pair.old + 1, last.new == pair.new + 1 {
        runs[runs.count - 1] = Run(old: pair.old, new: pair.new, count: last.count + 1)
      } else {
        add(pair.old, pair.new, 1)
      }
    }
  }

  /// The number of equal rows from two rows on.
  private func equalRows(_ oldRange: Range<Int>, _ newRange: Range<Int>) -> Int {
    var count = 0
    let most = min(oldRange.count, newRange.count)
    while count < most, old[oldRange.lowerBound + count] == new[newRange.lowerBound + count] {
      count += 1
    }
    return count
  }

  /// Adds the equal rows at both ends, and returns the others.
  private mutating func trimmed(
    _ oldRange: Range<Int>, _ newRange: Range<Int>
  ) -> (old: Range<Int>, new: Range<Int>) {
    let first = equalRows(oldRange, newRange)
    add(oldRange.lowerBound, newRange.lowerBound, first)
    let (olds, news) = (oldRange.dropFirst(first), newRange.dropFirst(first))
    var last = 0
    while last < min(olds.count, news.count),
      old[olds.upperBound - 1 - last] == new[news.upperBound - 1 - last]
    {
      last += 1
    }
    add(olds.upperBound - last, news.upperBound - last, last)
    return (olds.dropLast(last), news.dropLast(last))
  }

  /// Goes from run to run. Returns the number of deleted and inserted rows; nil if there is a rest.
  private mutating func walk(
    _ oldRange: Range<Int>, _ newRange: Range<Int>, _ alignment: inout GreedyAlignment
  ) -> Int? {
    var (olds, news) = (oldRange, newRange)
    var differences = 0
    while !olds.isEmpty, !news.isEmpty {
      guard
        let way = alignment.wayToRun(
          old[olds], new[news], most: CommonSubsequence.mostDifferences)
      else {
        rest = (olds, news)
        return nil
      }
      add(way.pairs)
      differences += way.differences
      (olds, news) = (way.end.old..<olds.upperBound, way.end.new..<news.upperBound)
      let count = equalRows(olds, news)
      add(olds.lowerBound, news.lowerBound, count)
      (olds, news) = (olds.dropFirst(count), news.dropFirst(count))
    }
    return differences + olds.count + news.count
  }
}

/// Finds a way from one list to another with the fewest deletions and insertions, which are its differences.
///
/// This is the greedy algorithm of Myers: "An O(ND) Difference Algorithm and Its Variations" (1986). The memory is
/// reused.
/// - Complexity: O(d²) memory for d differences, and O(n + d²) time for lists without many repetitions.
struct GreedyAlignment {
  typealias Pair = (old: Int, new: Int)
  typealias Elements<Element> = Slice<UnsafeBufferPointer<Element>>

  /// A way, as the pairs of equal elements on it.
  struct Way {
    /// The pairs, from the last one to the first.
    var pairs: [Pair]
    /// The number of deletions and insertions.
    var differences: Int
    /// The indices of the elements after the way.
    var end: Pair
  }

  /// The number of the old elements on the farthest way on each diagonal: the number of an old element less the number of
  /// its new one. The diagonal 0 is in the middle.
  private var reached: [Int] = []
  /// The part of ``reached`` that is in use after each number of differences `d`: 2d + 1 entries from d² on.
  private var trace: [Int] = []

  /// The shortest way from the starts of two lists to their ends. Nil if it has more than `most` differences, or if lists
  /// with many repetitions would take too long.
  mutating func wholeWay<Element: Equatable>(
    _ old: Elements<Element>, _ new: Elements<Element>, most: Int
  ) -> Way? {
    way(old, new, most) { _, _ in .max }
  }

  /// The shortest way from the starts of two lists to the next long run of equal elements, or to the ends of the lists. Nil
  /// in the same cases.
  ///
  /// The run is at least as long as the way in each list. If no element repeats in a list, such a run is part of a longest
  /// common subsequence: pairs that cross the run have an element on the way, so they are not more than the pairs of the
  /// run.
  mutating func wayToRun<Element: Equatable>(
    _ old: Elements<Element>, _ new: Elements<Element>, most: Int
  ) -> Way? {
    way(old, new, most) { max(4, $0, $1) }
  }

  /// A way that ends before a run of the length that `length` returns for the numbers of elements before it.
  @inline(__always)
  private mutating func way<Element: Equatable>(
    _ olds: Elements<Element>, _ news: Elements<Element>, _ most: Int, _ length: (Int, Int) -> Int
  ) -> Way? {
    let (old, new) = (
      UnsafeBufferPointer(rebasing: olds), UnsafeBufferPointer(rebasing: news)
    )
    let (rows, columns) = (old.count, new.count)
    let most = min(rows + columns, most)
    let middle = most + 1
    // Equal elements cost a step, too. Long runs of them must not be compared again and again.
    var steps = 4 * (rows + columns) + (1 << 19)
    if reached.count < 2 * most + 3 { reached = Array(repeating: 0, count: 2 * most + 3) }
    trace.removeAll(keepingCapacity: true)
    for differences in stride(from: 0, through: most, by: 1) {
      for diagonal in stride(from: -differences, through: differences, by: 2) {
        let start = Self.next(diagonal, differences) { reached[middle + $0] }
        let run = length(start, start - diagonal)
        var row = start
        while row < rows, row - diagonal < columns, row - start < run,
          old[row] == new[row - diagonal]
        {
          row += 1
        }
        steps -= row - start + 1
        reached[middle + diagonal] = row
        let isAtEnd = row >= rows && row - diagonal >= columns
        guard isAtEnd || row - start == run else { continue }
        let end = isAtEnd ? row : start
        let pairs = pairs(to: (end, end - diagonal), differences)
        return Way(
          pairs: pairs.map { (olds.startIndex + $0.old, news.startIndex + $0.new) },
          differences: differences,
          end: (olds.startIndex + end, news.startIndex + end - diagonal))
      }
      guard steps > 0 else { return nil }
      trace += reached[middle - differences...middle + differences]
    }
    return nil
  }

  /// The old element at which a way enters a diagonal, after the farthest ways with one difference less.
  @inline(__always)
  private static func next(_ diagonal: Int, _ differences: Int, _ reached: (Int) -> Int) -> Int {
    guard differences > 0 else { return 0 }
    return isInsertion(diagonal, differences, reached)
      ? reached(diagonal + 1) : reached(diagonal - 1) + 1
  }

  @inline(__always)
  private static func isInsertion(
    _ diagonal: Int, _ differences: Int, _ reached: (Int) -> Int
  ) -> Bool {
    diagonal == -differences
      || diagonal != differences && reached(diagonal - 1) < reached(diagonal + 1)
  }

  /// The pairs on the way to an end.
  private func pairs(to end: Pair, _ count: Int) -> [Pair] {
    var pairs: [Pair] = []
    var (row, column) = end
    for differences in stride(from: count, through: 0, by: -1) {
      let diagonal = row - column
      /// The entry of the trace for one difference less.
      func reached(_ diagonal: Int) -> Int {
        trace[(differences - 1) * (differences - 1) + diagonal + differences - 1]
      }
      let entry = Self.next(diagonal, differences, reached)
      while row > entry {
        row -= 1
        column -= 1
        pairs.append((row, column))
      }
      guard differences > 0 else { break }
      if Self.isInsertion(diagonal, differences, reached) { column -= 1 } else { row -= 1 }
    }
    return pairs
  }
}

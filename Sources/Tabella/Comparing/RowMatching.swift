/// The rows of two tables that belong together. Rows are numbered across all sections.
struct RowMatching {
  /// For each row of the new table the row of the old one, or -1.
  private(set) var oldRow: [Int32]
  /// For each row of the old table the row of the new one, or -1.
  private(set) var newRow: [Int32]
  /// For each row of the new table whether it belongs to a row of the paired section, and all such rows ascend.
  private(set) var isInOrder: [Bool]
  /// For each row of the new table whether its cells differ from those of its partner.
  private(set) var isChanged: [Bool] = []

  private let old: ComparedRows
  private let new: ComparedRows
  /// The numbers of the rows without a partner, as soon as they are needed.
  private var numbers: UnpairedRowNumbers?

  init(_ old: ComparedRows, _ new: ComparedRows) {
    self.old = old
    self.new = new
    oldRow = Array(repeating: -1, count: new.count)
    newRow = Array(repeating: -1, count: old.count)
    isInOrder = Array(repeating: false, count: new.count)
  }

  /// Whether an old row has a partner and keeps its order.
  func staysInOrder(old row: Int) -> Bool { newRow[row] >= 0 && isInOrder[Int(newRow[row])] }

  /// Pairs two rows between rows that keep their order.
  mutating func pair(_ old: Int, _ new: Int) {
    match(old, new)
    isInOrder[new] = true
  }

  private mutating func match(_ old: Int, _ new: Int) {
    oldRow[new] = Int32(truncatingIfNeeded: old)
    newRow[old] = Int32(truncatingIfNeeded: new)
  }

  /// Pairs equal rows that keep their order, section by section.
  mutating func matchEqualRows(_ sections: SectionMatching, _ digests: TableDigests) {
    var rests: [(old: Range<Int>, new: Range<Int>)] = []
    var alignment = GreedyAlignment()
    digests.oldRows.withUnsafeBufferPointer { olds in
      digests.newRows.withUnsafeBufferPointer { news in
        for (section, partner) in sections.oldSection.enumerated() {
          guard let partner else { continue }
          let aligned = AlignedRuns(
            olds, old.range(ofSection: partner), news, new.range(ofSection: section), &alignment)
          for run in aligned.runs {
            for index in 0..<run.count { pair(run.old + index, run.new + index) }
          }
          if !aligned.rest.new.isEmpty { rests.append(aligned.rest) }
        }
      }
    }
    guard !rests.isEmpty else { return }
    let numbers = numbersOfUnpairedRows(digests)
    var tallies = NumberTallies(bound: numbers.bound)
    for rest in rests {
      let subsequence = CommonSubsequence(
        Array(numbers.old[rest.old]), Array(numbers.new[rest.new]), &tallies)
      for (row, other) in subsequence.partners.enumerated() where other >= 0 {
        pair(rest.old.lowerBound + Int(other), rest.new.lowerBound + row)
      }
    }
  }

  /// Pairs the other equal rows, first within sections that belong together, then with `movesRows` across sections.
  mutating func matchMovedRows(
    _ sections: SectionMatching, _ digests: TableDigests, movesRows: Bool
  ) {
    guard newRow.contains(-1), oldRow.contains(-1) else { return }
    let numbers = numbersOfUnpairedRows(digests)
    var tallies = NumberTallies(bound: numbers.bound)
    func matchRows(_ olds: [Int], _ news: [Int]) {
      if olds.isEmpty || news.isEmpty { return }
      for pair in tallies.pairs(numbers.old, olds, numbers.new, news) {
        match(pair.old, pair.new)
      }
    }
    func rest(_ section: Int, _ partner: Int) -> (old: [Int], new: [Int]) {
      (
        old.range(ofSection: partner).filter { newRow[$0] < 0 },
        new.range(ofSection: section).filter { oldRow[$0] < 0 }
      )
    }
    var (olds, news): ([Int], [Int]) = ([], [])
    for (section, partner) in sections.oldSection.enumerated() {
      guard let partner else { continue }
      var (old, new) = rest(section, partner)
      matchRows(old, new)
      (old, new) = rest(section, partner)
      olds += old
      news += new
    }
    if movesRows { matchRows(olds.sorted(), news) }
  }

  /// Numbers for the rows without a partner: equal rows have equal numbers. Other rows have the number 0.
  private mutating func numbersOfUnpairedRows(_ digests: TableDigests) -> UnpairedRowNumbers {
    // Rows only get partners, so earlier numbers stay valid.
    if let numbers { return numbers }
    let made = UnpairedRowNumbers(digests, oldRow: oldRow, newRow: newRow)
    numbers = made
    return made
  }

  /// Pairs rows with equal keys, first within sections that belong together, then across them if only one row of each
  /// table is left with the key. `reordersRows` allows pairs in another order within a section, and `movesRows` pairs
  /// in two sections.
  mutating func matchKeys(
    _ sections: SectionMatching, _ digests: TableDigests, reordersRows: Bool, movesRows: Bool
  ) {
    var byKey = [Int32](repeating: -1, count: digests.keyCount)
    var (olds, news): ([Int], [Int]) = ([], [])
    for (section, partner) in sections.oldSection.enumerated() {
      guard let partner else { continue }
      let oldRange = old.range(ofSection: partner)
      let newRange = new.range(ofSection: section)
      for row in oldRange {
        byKey[Int(digests.oldKeys[row])] = Int32(truncatingIfNeeded: row)
      }
      let partners = newRange.map { byKey[Int(digests.newKeys[$0])] }
      let matching = ListMatching(partners: partners)
      for (index, row) in newRange.enumerated() where partners[index] >= 0 {
        if matching.isInOrder[index] {
          pair(Int(partners[index]), row)
        } else if reordersRows {
          match(Int(partners[index]), row)
        }
      }
      for row in oldRange {
        byKey[Int(digests.oldKeys[row])] = -1
        if newRow[row] < 0 { olds.append(row) }
      }
      news += newRange.filter { oldRow[$0] < 0 }
    }
    if movesRows { matchUniqueKeys(olds, news, digests) }
  }

  /// Pairs the rows whose keys occur once on both sides.
  private mutating func matchUniqueKeys(_ olds: [Int], _ news: [Int], _ digests: TableDigests) {
    var tallies = NumberTallies(bound: digests.keyCount)
    for pair in tallies.uniquePairs(digests.oldKeys, olds, digests.newKeys, news) {
      match(pair.old, pair.new)
    }
  }

  /// Compares the cells of the rows that belong together.
  mutating func noteChanges(_ digests: TableDigests) {
    // All rows have their partners, so the memory can go.
    numbers = nil
    isChanged = oldRow.enumerated().map { row, partner in
      partner >= 0 && digests.oldRows[Int(partner)] != digests.newRows[row]
    }
  }

  /// The rows without partners between rows that keep their order, in two sections that belong together.
  func gaps(_ oldRange: Range<Int>, _ newRange: Range<Int>) -> [(old: [Int], new: [Int])] {
    var gaps: [(old: [Int], new: [Int])] = []
    var (oldStart, newStart) = (oldRange.lowerBound, newRange.lowerBound)
    func add(_ oldEnd: Int, _ newEnd: Int) {
      if oldStart == oldEnd || newStart == newEnd { return }
      let olds = (oldStart..<oldEnd).filter { newRow[$0] < 0 }
      let news = (newStart..<newEnd).filter { oldRow[$0] < 0 }
      if !olds.isEmpty, !news.isEmpty { gaps.append((olds, news)) }
    }
    for row in newRange where isInOrder[row] {
      add(Int(oldRow[row]), row)
      (oldStart, newStart) = (Int(oldRow[row]) + 1, row + 1)
    }
    add(oldRange.upperBound, newRange.upperBound)
    return gaps
  }
}

/// Numbers of rows that have no partner yet: equal rows have equal numbers.
private struct UnpairedRowNumbers {
  private(set) var old: [Int32] = []
  private(set) var new: [Int32] = []
  let bound: Int

  /// Numbers the rows whose partner is -1.
  init(_ digests: TableDigests, oldRow: [Int32], newRow: [Int32]) {
    var numbers = DigestNumbers()
    numbers.append(digests.oldRows, to: &old) { newRow[$0] < 0 }
    numbers.append(digests.newRows, to: &new) { oldRow[$0] < 0 }
    bound = numbers.count
  }
}

/// Finds the deleted and inserted rows that are versions of one row.
struct ChangedRows {
  /// Rows that are compared with each other.
  struct Window {
    var old: [Int]
    var new: [Int]
  }

  /// The maximum number of comparisons in a window, and of rows in each side of a divided window.
  private static let most = (comparisons: 1 << 12, rows: 64)

  /// The number of old rows up to which all pairs are compared at once.
  private static let few = 8

  let columnCount: Int

  /// Divides large gaps, so that the work is proportional to the number of rows.
  static func windows(_ old: [Int], _ new: [Int]) -> [Window] {
    if old.count * new.count <= most.comparisons { return [Window(old: old, new: new)] }
    let count = (max(old.count, new.count) + most.rows - 1) / most.rows
    return (0..<count).map { number in
      func part(_ rows: [Int]) -> [Int] {
        Array(rows[rows.count * number / count..<rows.count * (number + 1) / count])
      }
      return Window(old: part(old), new: part(new))
    }
  }

  /// The pairs of rows in order with the largest number of equal cells in total. Each has at least half of its cells,
  /// rounded down, equal. `old` and `new` hold a digest for each cell, row by row.
  func pairs(
    _ old: [RowDigest], _ oldRows: Range<Int>, _ new: [RowDigest], _ newRows: Range<Int>
  ) -> [(old: Int, new: Int)] {
    old.withUnsafeBufferPointer { old in
      new.withUnsafeBufferPointer { new in pairs(old, oldRows, new, newRows) }
    }
  }

  private typealias Digests = UnsafeBufferPointer<RowDigest>

  private func pairs(
    _ old: Digests, _ oldRows: Range<Int>, _ new: Digests, _ newRows: Range<Int>
  ) -> [(old: Int, new: Int)] {
    let most =
      oldRows.count > ChangedRows.few ? mostEqual(old, oldRows, new, newRows) : columnCount
    if most < leastEqual { return [] }
    // If no two rows have more equal cells than the first rows, some best pairs include these: the pair takes the place of at
    // most one other, because pairs do not cross.
    var first = 0
    while first < min(oldRows.count, newRows.count),
      score(old, oldRows.lowerBound + first, new, newRows.lowerBound + first) == most
    {
      first += 1
    }
    let rest = bestPairs(old, oldRows.dropFirst(first), new, newRows.dropFirst(first))
    return (0..<first).map { ($0, $0) } + rest.map { ($0.old + first, $0.new + first) }
  }

  /// A number of equal cells that no old row exceeds with any new row.
  private func mostEqual(
    _ old: Digests, _ oldRows: Range<Int>, _ new: Digests, _ newRows: Range<Int>
  ) -> Int {
    var olds = DigestFilter()
    func isShared(_ digest: (Digests, Int) -> UInt64) -> Bool {
      olds.removeAll()
      for row in oldRows { olds.insert(digest(old, row)) }
      return newRows.contains { olds.mayContain(digest(new, $0)) }
    }
    let shared = (0..<columnCount).count { column in
      isShared { cells, row in cells[row * columnCount + column].first }
    }
    let mayBeEqual =
      shared == columnCount
      && isShared { cells, row in
        (0..<columnCount).reduce(0) {
          digestFold($0 ^ cells[row * columnCount + $1].first, 1 << 63 | 1)
        }
      }
    return mayBeEqual ? columnCount : min(shared, columnCount - 1)
  }

  private func bestPairs(
    _ old: Digests, _ oldRows: Range<Int>, _ new: Digests, _ newRows: Range<Int>
  ) -> [(old: Int, new: Int)] {
    let width = newRows.count + 1
    // The best total for the rows from an old and a new row on.
    var best = [Int](repeating: 0, count: (oldRows.count + 1) * width)
    var scores = best
    for left in (0..<oldRows.count).reversed() {
      for right in (0..<newRows.count).reversed() {
        let at = left * width + right
        scores[at] = score(old, oldRows.lowerBound + left, new, newRows.lowerBound + right)
        best[at] = max(best[at + 1], best[at + width])
        if scores[at] > 0 { best[at] = max(best[at], scores[at] + best[at + width + 1]) }
      }
    }
    var pairs: [(old: Int, new: Int)] = []
    var (left, right) = (0, 0)
    while left < oldRows.count, right < newRows.count {
      let at = left * width + right
      if scores[at] > 0, best[at] == scores[at] + best[at + width + 1] {
        pairs.append((left, right))
        (left, right) = (left + 1, right + 1)
      } else if best[at] == best[at + width] {
        left += 1
      } else {
        right += 1
      }
    }
    return pairs
  }

  /// The least number of equal cells of two versions of a row.
  private var leastEqual: Int { max(1, columnCount / 2) }

  /// The number of equal cells of two rows; 0 if it is less than half of the cells, rounded down.
  @inline(__always)
  private func score(_ old: Digests, _ oldRow: Int, _ new: Digests, _ newRow: Int) -> Int {
    let (oldStart, newStart) = (oldRow * columnCount, newRow * columnCount)
    var unequal = 0
    for column in 0..<columnCount where old[oldStart + column] != new[newStart + column] {
      unequal += 1
      // Most rows are no versions of each other.
      if unequal > columnCount - leastEqual { return 0 }
    }
    return columnCount - unequal
  }
}

/// A set of digests in which some others seem to be, too: one in 131,072 for each of its members.
private struct DigestFilter {
  private var bits = [UInt64](repeating: 0, count: 1 << 11)
  private var used: [Int] = []

  private static func place(_ digest: UInt64) -> (word: Int, bit: UInt64) {
    (Int(digest >> 6 & (1 << 11 - 1)), 1 << (digest & 63))
  }

  mutating func insert(_ digest: UInt64) {
    let (word, bit) = DigestFilter.place(digest)
    bits[word] |= bit
    used.append(word)
  }

  func mayContain(_ digest: UInt64) -> Bool {
    let (word, bit) = DigestFilter.place(digest)
    return bits[word] & bit != 0
  }

  mutating func removeAll() {
    for word in used { bits[word] = 0 }
    used.removeAll(keepingCapacity: true)
  }
}

/// Sorts row numbers by the keys of columns, in place.
///
/// Rows are sorted by a word of 64 bits: a number, or eight bytes of a text's code. Rows with equal words form a run,
/// which is then sorted by the next eight bytes or by the next column. Rows of a range ascend until they are sorted, so
/// a sort that keeps rows with equal words in ascending order is stable.
struct RowSorter {
  typealias Rank = SortColumn.Rank

  /// In the order of priority.
  let columns: [SortColumn.View]
  /// One word per row: at first the words of the first column.
  let words: UnsafeMutablePointer<UInt64>
  let rows: UnsafeMutablePointer<UInt32>
  /// Sorts rows with equal keys; nil if they ascend. Several threads call it.
  let sortEqualRows: ((UnsafeMutableBufferPointer<UInt32>) -> Void)?
  var isCancelled: () -> Bool
  /// Whether several threads already share the rows.
  var isShared = false

  /// Sorts a range by the columns from `column` on.
  func sort(_ range: Range<Int>, by column: Int) {
    guard range.count > 1 else { return }
    guard column < columns.count else {
      sortEqualRows?(UnsafeMutableBufferPointer(start: rows + range.lowerBound, count: range.count))
      return
    }
    if range.count > 1 << 12, isCancelled() { return }
    guard let ranks = columns[column].ranks else {
      return sort(range, by: column, columns[column].rank)
    }
    withUnsafeTemporaryAllocation(of: Int.self, capacity: Rank.allCases.count) { ends in
      partition(words, rows, range, into: ends) { _, row in Int(ranks[Int(row)]) }
      var start = range.lowerBound
      for (rank, end) in zip(Rank.allCases, ends) {
        sort(start..<end, by: column, rank)
        start = end
      }
    }
  }

  /// Sorts rows with missing cells by their numbers, which a partition does not keep in order.
  private func sortMissing(_ range: Range<Int>, by column: Int, _ ranks: UnsafePointer<UInt8>) {
    guard column == 0 else {
      // Their words are equal.
      return radixSort(words, rows, range, isShared: isShared, isCancelled: isCancelled)
    }
    // They are all missing rows of the table.
    var row = 0
    for place in range {
      while ranks[row] != Rank.missing.rawValue { row += 1 }
      rows[place] = UInt32(truncatingIfNeeded: row)
      row += 1
    }
  }

  /// Sorts a range of rows with the same rank.
  private func sort(_ range: Range<Int>, by column: Int, _ rank: Rank) {
    switch rank {
    case .missing:
      if let ranks = columns[column].ranks { sortMissing(range, by: column, ranks) }
      sort(range, by: column + 1)
    case .number: sortNumbers(range, by: column)
    case .text: sortTexts(range, by: column)
    }
  }

  /// Whether the order of rows with equal keys in a column is still to be determined.
  private func continues(after column: Int) -> Bool {
    column + 1 < columns.count || sortEqualRows != nil
  }

  /// Calls `body` with the ranges of two or more rows with equal words. `body` may change the words of its range.
  @inline(__always)
  private func forEachRun(_ range: Range<Int>, _ body: (Range<Int>) -> Void) {
    var start = range.lowerBound
    while start < range.upperBound {
      let end = endOfRun(from: start, in: range)
      if end - start > 1 { body(start..<end) }
      start = end
    }
  }

  /// Like ``forEachRun(_:_:)``, but several threads share many rows. `body` uses the sorter that it receives.
  private func shareRuns(_ range: Range<Int>, _ body: (RowSorter, Range<Int>) -> Void) {
    let threads = isShared ? 1 : threadsSharing(rows: range.count)
    guard threads > 1 else { return forEachRun(range) { body(self, $0) } }
    // Each piece ends with the run that contains its last row. Runs differ in work, so each thread gets several pieces.
    let pieces = threads * 8
    var ends: [Int] = []
    var start = range.lowerBound
    for piece in 1...pieces {
      let last = max(start, range.lowerBound + range.count / pieces * piece - 1)
      let end = piece == pieces ? range.upperBound : endOfRun(from: last, in: range)
      ends.append(end)
      start = min(end, range.upperBound - 1)
    }
    shareWork(among: threads, isCancelled: isCancelled) { next, isCancelled in
      var sorter = self
      (sorter.isShared, sorter.isCancelled) = (true, isCancelled)
      while let piece = next(), piece < ends.count {
        let first = piece == 0 ? range.lowerBound : ends[piece - 1]
        guard first < ends[piece] else { continue }
        sorter.forEachRun(first..<ends[piece]) { body(sorter, $0) }
      }
    }
  }

  /// The end of the rows from `start` on whose words are equal.
  @inline(__always)
  private func endOfRun(from start: Int, in range: Range<Int>) -> Int {
    var end = start + 1
    while end < range.upperBound, words[end] == words[start] { end += 1 }
    return end
  }

  /// Fetches the first word of each row.
  private func fetchWords(_ range: Range<Int>, _ column: SortColumn.View) {
    if let keys = column.words {
      for index in range { words[index] = keys[Int(rows[index])] ^ column.turn }
    } else if column.turn != 0 {
      for index in range { words[index] ^= column.turn }
    }
  }

  // Numbers

  private func sortNumbers(_ range: Range<Int>, by number: Int) {
    let column = columns[number]
    fetchWords(range, column)
    radixSort(words, rows, range, isShared: isShared, isCancelled: isCancelled)
    guard continues(after: number) || column.hasLongNumbers else { return }
    shareRuns(range) { sorter, run in
      let hasLong = column.hasLongNumbers && run.contains { !column.rest(rows[$0]).isEmpty }
      if hasLong { sorter.sortLong(run, by: number) } else { sorter.sort(run, by: number + 1) }
    }
  }

  /// Sorts rows with the same double by all their digits.
  private func sortLong(_ run: Range<Int>, by number: Int) {
    let column = columns[number]
    let double = Double(orderedBits: words[run.lowerBound] ^ column.turn)
    let old = run.map { rows[$0] }
    let numbers = old.map { row in
      let text = column.rest(row)
      return text.isEmpty ? DecimalText(double) : DecimalText(text)
    }
    let order = numbers.indices.sorted { left, right in
      let order = DecimalText.compare(numbers[left], numbers[right])
      return order == 0 ? left < right : (order < 0) != (column.turn != 0)
    }
    for (place, index) in order.enumerated() { rows[run.lowerBound + place] = old[index] }
    var start = 0
    for index in 1...order.count {
      let isEqual =
        index < order.count
        && DecimalText.compare(numbers[order[start]], numbers[order[index]]) == 0
      if isEqual { continue }
      sort(run.lowerBound + start..<run.lowerBound + index, by: number + 1)
      start = index
    }
  }

  // Texts

  private func sortTexts(_ range: Range<Int>, by number: Int) {
    fetchWords(range, columns[number])
    sortTexts(range, by: number, from: 0)
  }

  /// Sorts rows whose codes are equal in front of the current words. `offset` is the offset behind the words in the
  /// rests of the codes.
  private func sortTexts(_ range: Range<Int>, by number: Int, from offset: Int) {
    let column = columns[number]
    var (range, offset) = (range, offset)
    while true {
      radixSort(words, rows, range, isShared: isShared, isCancelled: isCancelled)
      if range.count > 1 << 12, isCancelled() { return }
      // The longest run is sorted last, by the next step of the loop. So the recursion halves its range each time.
      var longest = 0..<0
      forEachRun(range) { if $0.count > longest.count { longest = $0 } }
      guard !longest.isEmpty else { return }
      shareRuns(range) { sorter, run in
        if run.lowerBound == longest.lowerBound { return }
        guard column.rest(rows[run.lowerBound]).count > offset else {
          return sorter.sort(run, by: number + 1)
        }
        sorter.fetchRests(run, column, offset)
        sorter.sortTexts(run, by: number, from: offset + SortColumn.wordSize)
      }
      // No code is a prefix of another one, so all codes of a run end together.
      guard column.rest(rows[longest.lowerBound]).count > offset else {
        return sort(longest, by: number + 1)
      }
      fetchRests(longest, column, offset)
      range = longest
      offset += SortColumn.wordSize
    }
  }

  private func fetchRests(_ range: Range<Int>, _ column: SortColumn.View, _ offset: Int) {
    for index in range {
      words[index] = column.word(ofRest: rows[index], at: offset) ^ column.turn
    }
  }
}

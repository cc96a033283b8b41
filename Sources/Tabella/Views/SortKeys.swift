/// A column to sort by, and the direction.
///
/// Integers, reals (NaN after all numbers), booleans, dates and binary are ordered by value. Of text,
/// what is a number comes first, by value; then all other text in natural order (runs of digits by
/// value, case of ASCII ignored). Descending turns that round within numbers and within text. Missing
/// cells are last in both directions, and equal ones keep their order.
public struct SortDescriptor: Hashable, Sendable {
  public var column: Int
  public var isDescending: Bool

  public init(column: Int, isDescending: Bool = false) {
    self.column = column
    self.isDescending = isDescending
  }
}

/// The keys of rows that are to be sorted, taken out of batches.
///
/// Memory: 8 bytes a row and key, and the bytes of texts that are no numbers, or of more than 15 digits;
/// while it sorts another 4 bytes a row, and for keys of texts 16.
struct SortKeys {
  /// The columns to read, none twice; a batch has exactly these.
  let columns: [Int]
  /// The direction of each column that is read, the one that decides first.
  private let isDescending: [Bool]
  /// One for each column read.
  private var keys: [KeyColumn]
  private let sources: [Column]
  private var count = 0

  init(_ descriptors: [SortDescriptor], in columns: [Column]) {
    var wanted: [SortDescriptor] = []
    // A column that has decided already decides nothing more.
    for descriptor in descriptors where !wanted.contains(where: { $0.column == descriptor.column })
    {
      wanted.append(descriptor)
    }
    self.columns = wanted.map(\.column)
    isDescending = wanted.map(\.isDescending)
    keys = wanted.map { _ in KeyColumn() }
    sources = wanted.map { columns[$0.column] }
  }

  /// Takes the keys of more rows.
  mutating func append(_ batch: Batch) {
    for index in keys.indices {
      let source = sources[index]
      keys[index].append(
        source.values(of: batch.columns[index]), hasComma: source.hasDecimalComma)
    }
    count += batch.rowCount
  }

  /// The numbers of the rows in their new order; nil if it was cancelled. There are at most 2^32 rows.
  /// The keys are used up.
  ///
  /// - Complexity: O(rows) for numbers, O(rows × log rows) for text.
  mutating func sortedRows(isCancelled: () -> Bool) -> [UInt32]? {
    var rows: [UInt32] = []
    rows.makeRoom(for: count)
    rows += 0..<UInt32(truncatingIfNeeded: count)
    sort(&rows, by: 0, isCancelled)
    return isCancelled() ? nil : rows
  }

  /// Sorts rows, which ascend, by the keys from this one on.
  private mutating func sort(_ rows: inout [UInt32], by index: Int, _ isCancelled: () -> Bool) {
    guard index < keys.count, rows.count > 1, !isCancelled() else { return }
    let equal = keys[index].sort(
      &rows, isDescending: isDescending[index], findsEqual: index + 1 < keys.count, isCancelled)
    for range in equal {
      var some = Array(rows[range])
      sort(&some, by: index + 1, isCancelled)
      rows.replaceSubrange(range, with: some)
    }
  }
}

/// The keys of one column.
private struct KeyColumn {
  /// In their order: a value in either direction comes before all of the next rank.
  private enum Rank: UInt8, CaseIterable { case number, text, missing }

  /// For each row its number in the form that orders as bits do, or the number of its text.
  private var words: [UInt64] = []
  /// The rank of each row; empty as long as all are numbers.
  private var ranks: [UInt8] = []
  private var texts: [UInt8] = []
  /// Where each text ends.
  private var textEnds: [Int] = []

  /// The rows whose number has more digits than its double, ascending, and where their texts are.
  private var longRows: [UInt32] = []
  private var longTexts: [Int] = []

  mutating func append(_ column: ColumnBatch, hasComma: Bool) {
    words.makeRoom(for: column.count)
    for row in 0..<column.count {
      if column.missingCount > 0, column.isMissing(row) {
        append(0, .missing)
        continue
      }
      switch column.type {
      case .integer, .date: append(UInt64(bitPattern: column.integer(row)) ^ 1 << 63, .number)
      case .real: append(column.real(row).orderedBits, .number)
      case .boolean: append(column.boolean(row) ? 1 : 0, .number)
      case .binary: column.withBytes(at: row) { append(text: $0) }
      case .text:
        column.withBytes(at: row) { text in
          if let number = NumberText(text, hasComma: hasComma) {
            if !number.isShort { keepLong(text) }
            append(number.value.orderedBits, .number)
          } else {
            append(text: text)
          }
        }
      }
    }
    isBinary = column.type == .binary
  }

  /// Whether texts are ordered by bytes alone.
  private var isBinary = false

  private mutating func append(_ word: UInt64, _ rank: Rank) {
    if rank != .number, ranks.isEmpty {
      ranks = Array(repeating: Rank.number.rawValue, count: words.count)
      ranks.append(rank.rawValue)
    } else if !ranks.isEmpty {
      ranks.append(rank.rawValue)
    }
    words.append(word)
  }

  private mutating func append(text: UnsafeRawBufferPointer) {
    append(UInt64(textEnds.count), .text)
    keep(text)
  }

  /// Keeps the text of the number that is appended next.
  private mutating func keepLong(_ text: UnsafeRawBufferPointer) {
    longRows.append(UInt32(truncatingIfNeeded: words.count))
    longTexts.append(textEnds.count)
    keep(text)
  }

  private mutating func keep(_ text: UnsafeRawBufferPointer) {
    texts.append(contentsOf: text)
    textEnds.append(texts.count)
  }

  /// A text that was kept, by its number.
  private func text(_ number: Int) -> ArraySlice<UInt8> {
    texts[(number == 0 ? 0 : textEnds[number - 1])..<textEnds[number]]
  }

  /// Sorts rows, which ascend, by their keys; equal ones go on to ascend. Returns the ranges of equal ones
  /// if they are wanted.
  mutating func sort(
    _ rows: inout [UInt32], isDescending: Bool, findsEqual: Bool, _ isCancelled: () -> Bool
  ) -> [Range<Int>] {
    guard !ranks.isEmpty else {
      return sortNumbers(&rows, isDescending: isDescending, findsEqual, isCancelled)
    }
    var sorted: [UInt32] = []
    sorted.reserveCapacity(rows.count)
    var equal: [Range<Int>] = []
    for rank in Rank.allCases {
      var some = rows.filter { ranks[Int($0)] == rank.rawValue }
      var runs: [Range<Int>] = []
      switch rank {
      case .number:
        runs = sortNumbers(&some, isDescending: isDescending, findsEqual, isCancelled)
      case .text: runs = sortTexts(&some, isDescending: isDescending, findsEqual, isCancelled)
      case .missing: runs = findsEqual && some.count > 1 ? [0..<some.count] : []
      }
      equal += runs.map { $0.lowerBound + sorted.count..<$0.upperBound + sorted.count }
      sorted += some
    }
    rows = sorted
    return equal
  }

  private mutating func sortNumbers(
    _ rows: inout [UInt32], isDescending: Bool, _ findsEqual: Bool, _ isCancelled: () -> Bool
  ) -> [Range<Int>] {
    let turn: UInt64 = isDescending ? .max : 0
    var keys: [UInt64] = []
    if rows.count == words.count {
      // All rows, which ascend: the words are their keys, and needed only once.
      swap(&keys, &words)
      if isDescending { for index in keys.indices { keys[index] ^= turn } }
    } else {
      keys = rows.map { words[Int($0)] ^ turn }
    }
    radixSort(&keys, &rows, isCancelled: isCancelled)
    guard findsEqual || !longRows.isEmpty else { return [] }
    var equal: [Range<Int>] = []
    for run in runs(rows.count, where: { keys[$0] == keys[$1] }) {
      if isCancelled() { return [] }
      if longRows.isEmpty {
        equal.append(run)
      } else {
        let number = double(keys[run.lowerBound] ^ turn)
        equal += sortLong(&rows, run, number, isDescending: isDescending)
      }
    }
    return findsEqual ? equal : []
  }

  /// The ranges, of two and more, of which each is equal to the one before.
  private func runs(_ count: Int, where isEqual: (Int, Int) -> Bool) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start = 0
    for index in 1..<max(1, count + 1) where index == count || !isEqual(index - 1, index) {
      if index - start > 1 { runs.append(start..<index) }
      start = index
    }
    return runs
  }

  /// Puts rows that have the same double in the order of all their digits; returns the ranges of equal ones.
  private func sortLong(
    _ rows: inout [UInt32], _ run: Range<Int>, _ double: Double, isDescending: Bool
  ) -> [Range<Int>] {
    let numbers = rows[run].map { row in
      longText(ofRow: row).map { text in text.withUnsafeBytes { DecimalText($0) } }
        ?? DecimalText(double)
    }
    let order = numbers.indices.sorted { left, right in
      let order = DecimalText.compare(numbers[left], numbers[right])
      return order == 0 ? left < right : (order < 0) != isDescending
    }
    let old = Array(rows[run])
    for (place, index) in order.enumerated() { rows[run.lowerBound + place] = old[index] }
    return runs(order.count) {
      DecimalText.compare(numbers[order[$0]], numbers[order[$1]]) == 0
    }.map { $0.lowerBound + run.lowerBound..<$0.upperBound + run.lowerBound }
  }

  private func longText(ofRow row: UInt32) -> ArraySlice<UInt8>? {
    let index = longRows.partitioningIndex { $0 >= row }
    return index < longRows.count && longRows[index] == row ? text(longTexts[index]) : nil
  }

  /// What `orderedBits` made a word of.
  private func double(_ word: UInt64) -> Double {
    Double(bitPattern: word >> 63 == 1 ? word & ~(1 << 63) : ~word)
  }

  private struct TextKey {
    var prefix: UInt64
    var text: UInt32
    var place: UInt32
  }

  private func sortTexts(
    _ rows: inout [UInt32], isDescending: Bool, _ findsEqual: Bool, _ isCancelled: () -> Bool
  ) -> [Range<Int>] {
    texts.withUnsafeBytes { bytes in
      func text(_ number: UInt32) -> UnsafeRawBufferPointer {
        let start = number == 0 ? 0 : textEnds[Int(number) - 1]
        return UnsafeRawBufferPointer(rebasing: bytes[start..<textEnds[Int(number)]])
      }
      var keys = rows.enumerated().map { place, row in
        let number = UInt32(truncatingIfNeeded: words[Int(row)])
        return TextKey(
          prefix: isBinary ? 0 : NaturalOrder.prefix(text(number)), text: number,
          place: UInt32(truncatingIfNeeded: place))
      }
      func compare(_ left: TextKey, _ right: TextKey) -> Int {
        if left.prefix != right.prefix { return left.prefix < right.prefix ? -1 : 1 }
        return isBinary
          ? NaturalOrder.compareBytes(text(left.text), text(right.text))
          : NaturalOrder.compare(text(left.text), text(right.text))
      }
      var comparisons = 0
      var isOver = false
      keys.sort { left, right in
        comparisons &+= 1
        if comparisons & 0xFFF == 0, isCancelled() { isOver = true }
        // The order does not matter any more, only the end.
        if isOver { return left.place < right.place }
        let order = compare(left, right)
        return order == 0 ? left.place < right.place : (order < 0) != isDescending
      }
      let old = rows
      for (place, key) in keys.enumerated() { rows[place] = old[Int(key.place)] }
      return findsEqual ? runs(keys.count) { compare(keys[$0], keys[$1]) == 0 } : []
    }
  }
}

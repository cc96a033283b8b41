/// A column to sort by, and the direction.
///
/// Integers, reals (NaN after all numbers), booleans, dates and binary are ordered by value. In text columns, cells
/// that are numbers come first, by value. All other text follows in natural order (runs of digits by value, ASCII
/// case ignored). A descending sort reverses the order within numbers and within text. Missing cells are last in
/// both directions. Rows with equal cells keep their order.
public struct SortDescriptor: Hashable, Sendable {
  /// The number of the column.
  public var column: Int
  /// Whether the order is descending.
  public var isDescending: Bool

  /// Creates a sort descriptor.
  public init(column: Int, isDescending: Bool = false) {
    self.column = column
    self.isDescending = isDescending
  }
}

/// The sort keys of rows, collected from batches.
///
/// They use 8 bytes per row and key. Texts that are not numbers, and numbers of more than 15 digits, use their
/// bytes in addition. Sorting uses another 4 bytes per row, and 16 bytes per row for text keys.
struct SortKeys {
  /// The columns to read, without repetition. A batch has exactly these columns.
  let columns: [Int]
  /// The direction of each column, in the order of priority.
  private let isDescending: [Bool]
  /// The keys of each column, in the order of priority.
  private var keys: [KeyColumn]
  private let sources: [Column]
  private var count = 0

  init(_ descriptors: [SortDescriptor], in columns: [Column]) {
    var wanted: [SortDescriptor] = []
    // A repeated column has no effect, because its rows are already in order.
    for descriptor in descriptors where !wanted.contains(where: { $0.column == descriptor.column })
    {
      wanted.append(descriptor)
    }
    self.columns = wanted.map(\.column)
    isDescending = wanted.map(\.isDescending)
    keys = wanted.map { _ in KeyColumn() }
    sources = wanted.map { columns[$0.column] }
  }

  /// Adds the keys of more rows.
  mutating func append(_ batch: Batch) {
    for index in keys.indices {
      let source = sources[index]
      // Text that reads as numbers is compared with all its digits, which a value might not hold.
      let isNumber = source.type == .text && (source.reads == .real || source.reads == .integer)
      keys[index].append(
        isNumber ? batch.columns[index] : source.values(of: batch.columns[index]),
        hasComma: source.hasDecimalComma, isNumber: isNumber)
    }
    count += batch.rowCount
  }

  /// The numbers of the rows in their new order; nil if the call was cancelled. There are at most 2^32 rows. The
  /// call consumes the keys.
  ///
  /// - Complexity: O(rows) for numbers, O(rows × log rows) for text.
  mutating func sortedRows(isCancelled: () -> Bool) -> [UInt32]? {
    var rows: [UInt32] = []
    rows.makeRoom(for: count)
    rows += 0..<UInt32(truncatingIfNeeded: count)
    sort(&rows, by: 0, isCancelled)
    return isCancelled() ? nil : rows
  }

  /// Sorts rows, which are in ascending order, by the keys from `index` on.
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
  /// The kinds of keys, in the order of sorting. In both directions, keys of one kind precede all keys of the next.
  private enum Rank: UInt8, CaseIterable { case number, text, missing }

  /// For each row, its number as a word with the same order, or the index of its text.
  private var words: [UInt64] = []
  /// The rank of each row; empty while all rows are numbers.
  private var ranks: [UInt8] = []
  private var texts: [UInt8] = []
  /// The end of each text in ``texts``.
  private var textEnds: [Int] = []

  /// The rows whose number has more digits than its double, in ascending order, with the indices of their texts.
  private var longRows: [UInt32] = []
  private var longTexts: [Int] = []

  /// `isNumber` says that the texts are numbers, and that empty text is missing.
  mutating func append(_ column: ColumnBatch, hasComma: Bool, isNumber: Bool) {
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
          } else if isNumber {
            append(0, .missing)
          } else {
            append(text: text)
          }
        }
      }
    }
    isBinary = column.type == .binary
  }

  /// Whether texts are ordered by bytes only.
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

  /// Stores the text of the number that is appended next.
  private mutating func keepLong(_ text: UnsafeRawBufferPointer) {
    longRows.append(UInt32(truncatingIfNeeded: words.count))
    longTexts.append(textEnds.count)
    keep(text)
  }

  private mutating func keep(_ text: UnsafeRawBufferPointer) {
    texts.append(contentsOf: text)
    textEnds.append(texts.count)
  }

  /// A stored text, by its index.
  private func text(_ number: Int) -> ArraySlice<UInt8> {
    texts[(number == 0 ? 0 : textEnds[number - 1])..<textEnds[number]]
  }

  /// Sorts rows, which are in ascending order, by their keys. Rows with equal keys stay in ascending order. If
  /// `findsEqual` is true, returns the ranges of equal rows.
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
      // All rows in ascending order: the words are the keys, and no one needs the words again.
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

  /// The ranges of two or more consecutive equal elements.
  private func runs(_ count: Int, where isEqual: (Int, Int) -> Bool) -> [Range<Int>] {
    var runs: [Range<Int>] = []
    var start = 0
    for index in 1..<max(1, count + 1) where index == count || !isEqual(index - 1, index) {
      if index - start > 1 { runs.append(start..<index) }
      start = index
    }
    return runs
  }

  /// Sorts rows with the same double by all their digits. Returns the ranges of equal rows.
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

  /// The inverse of `orderedBits`.
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
        // After a cancellation the order does not matter. The sort only has to end.
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

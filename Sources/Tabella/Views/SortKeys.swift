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
/// while it sorts 24 bytes a row in all for one key of numbers.
struct SortKeys {
  /// The columns to read, none twice; a batch has exactly these.
  let columns: [Int]
  private let descriptors: [SortDescriptor]
  /// One for each column read.
  private var keys: [KeyColumn]
  private var count = 0

  init(_ descriptors: [SortDescriptor], in columns: [Column]) {
    self.descriptors = descriptors
    var wanted: [Int] = []
    for descriptor in descriptors where !wanted.contains(descriptor.column) {
      wanted.append(descriptor.column)
    }
    self.columns = wanted
    keys = wanted.map { _ in KeyColumn() }
  }

  /// Takes the keys of more rows.
  mutating func append(_ batch: Batch) {
    for index in keys.indices { keys[index].append(batch.columns[index]) }
    count += batch.rowCount
  }

  /// The numbers of the rows in their new order; nil if it was cancelled. There are at most 2^32 rows.
  ///
  /// - Complexity: O(rows) for numbers, O(rows × log rows) for text.
  func sortedRows(isCancelled: () -> Bool) -> [UInt32]? {
    var rows = [UInt32](unsafeUninitializedCapacity: count) { buffer, filled in
      for row in 0..<count { buffer[row] = UInt32(truncatingIfNeeded: row) }
      filled = count
    }
    // The last key first: each pass keeps the order of what it finds equal.
    for descriptor in descriptors.reversed() {
      guard let index = columns.firstIndex(of: descriptor.column) else { continue }
      if isCancelled() { return nil }
      keys[index].sort(&rows, isDescending: descriptor.isDescending, isCancelled)
    }
    return isCancelled() ? nil : rows
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

  mutating func append(_ column: ColumnBatch) {
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
          if let number = NumberText(text) {
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

  /// Sorts rows by their keys; equal ones keep their order.
  func sort(_ rows: inout [UInt32], isDescending: Bool, _ isCancelled: () -> Bool) {
    guard !ranks.isEmpty else {
      return sortNumbers(&rows, isDescending: isDescending, isCancelled)
    }
    var sorted: [UInt32] = []
    sorted.reserveCapacity(rows.count)
    for rank in Rank.allCases {
      var some = rows.filter { ranks[Int($0)] == rank.rawValue }
      switch rank {
      case .number: sortNumbers(&some, isDescending: isDescending, isCancelled)
      case .text: sortTexts(&some, isDescending: isDescending, isCancelled)
      case .missing: break
      }
      sorted += some
    }
    rows = sorted
  }

  private func sortNumbers(
    _ rows: inout [UInt32], isDescending: Bool, _ isCancelled: () -> Bool
  ) {
    let turn: UInt64 = isDescending ? .max : 0
    var keys = rows.map { words[Int($0)] ^ turn }
    radixSort(&keys, &rows, isCancelled: isCancelled)
    if !longRows.isEmpty { sortLong(&rows, keys, isDescending: isDescending, isCancelled) }
  }

  /// Puts rows that have the same double in the order of all their digits.
  private func sortLong(
    _ rows: inout [UInt32], _ keys: [UInt64], isDescending: Bool, _ isCancelled: () -> Bool
  ) {
    var start = 0
    while start < rows.count, !isCancelled() {
      let end = keys[start...].firstIndex { $0 != keys[start] } ?? keys.count
      defer { start = end }
      if end - start == 1 { continue }
      let numbers = rows[start..<end].map { row in
        longText(ofRow: row).map { text in text.withUnsafeBytes { DecimalText($0) } }
          ?? DecimalText(double(ofRow: row))
      }
      let order = numbers.indices.sorted { left, right in
        let order = DecimalText.compare(numbers[left], numbers[right])
        return order == 0 ? left < right : (order < 0) != isDescending
      }
      let old = Array(rows[start..<end])
      for (place, index) in order.enumerated() { rows[start + place] = old[index] }
    }
  }

  private func longText(ofRow row: UInt32) -> ArraySlice<UInt8>? {
    var low = 0
    var high = longRows.count
    while low < high {
      let middle = (low + high) / 2
      if longRows[middle] < row { low = middle + 1 } else { high = middle }
    }
    return low < longRows.count && longRows[low] == row ? text(longTexts[low]) : nil
  }

  private func double(ofRow row: UInt32) -> Double {
    let bits = words[Int(row)]
    return Double(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
  }

  private struct TextKey {
    var prefix: UInt64
    var text: UInt32
    var place: UInt32
  }

  private func sortTexts(
    _ rows: inout [UInt32], isDescending: Bool, _ isCancelled: () -> Bool
  ) {
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
      var comparisons = 0
      var isOver = false
      keys.sort { left, right in
        comparisons &+= 1
        if comparisons & 0xFFF == 0, isCancelled() { isOver = true }
        // The order does not matter any more, only the end.
        if isOver { return left.place < right.place }
        if left.prefix != right.prefix { return (left.prefix < right.prefix) != isDescending }
        let order =
          isBinary
          ? NaturalOrder.compareBytes(text(left.text), text(right.text))
          : NaturalOrder.compare(text(left.text), text(right.text))
        return order == 0 ? left.place < right.place : (order < 0) != isDescending
      }
      let old = rows
      for (place, key) in keys.enumerated() { rows[place] = old[Int(key.place)] }
    }
  }
}

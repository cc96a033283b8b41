/// The first or the last values of groups so far, in the order of ``SortDescriptor``.
///
/// A value takes 24 bytes, and a text or binary value its bytes in addition.
struct Extremes {
  private let column: Column
  private let isGreatest: Bool
  /// For each group, the ``OrderWords`` word of its value.
  private var words: [UInt64] = []
  private(set) var cells: GroupedCells

  /// Finds the last values if `isGreatest` is true, otherwise the first ones.
  init(_ column: Column, isGreatest: Bool) {
    (self.column, self.isGreatest) = (column, isGreatest)
    cells = GroupedCells(column.type)
  }

  /// Adds groups without values until there are `count`.
  mutating func makeRoom(forGroups count: Int) {
    words.makeRoom(for: count - words.count)
    words += repeatElement(0, count: count - words.count)
    cells.makeRoom(forGroups: count)
  }

  /// Adds the cells of a batch to groups. `values` are the words of these cells.
  mutating func add(
    _ batch: ColumnBatch, _ values: OrderWords, groups: UnsafeBufferPointer<UInt32>
  ) {
    for row in 0..<batch.count where values.hasValue[row] {
      let (group, word) = (Int(groups[row]), values.words[row])
      guard
        isBetter(word, in: group)
          || word == words[group] && batch.type.isBytes
            && batch.withBytes(at: row, { isBetter($0, in: group) })
      else { continue }
      words[group] = word
      cells.set(batch, row, for: group)
    }
  }

  /// Adds groups of other values. `groups` holds the number here of each of them.
  mutating func combine(_ other: Extremes, _ groups: [UInt32]) {
    for group in 0..<other.cells.count where !other.cells.isEmpty(group) {
      let (number, word) = (Int(groups[group]), other.words[group])
      guard
        isBetter(word, in: number)
          || word == words[number] && column.type.isBytes
            && other.cells.withText(ofGroup: group, { isBetter($0, in: number) })
      else { continue }
      words[number] = word
      cells.set(other.cells, group, for: number)
    }
  }

  /// Makes groups one: see ``Aggregator/renumber(_:)``.
  mutating func renumber(_ groups: [UInt32]) {
    var new = Extremes(column, isGreatest: isGreatest)
    new.makeRoom(forGroups: groups.max().map { Int($0) + 1 } ?? 0)
    new.combine(self, groups)
    self = new
  }

  /// Whether a value is better because of its word, or because the group has none.
  @inline(__always)
  private func isBetter(_ word: UInt64, in group: Int) -> Bool {
    cells.isEmpty(group) || (isGreatest ? word > words[group] : word < words[group])
  }

  /// Whether a text with the same word is a better value.
  @inline(never)
  private func isBetter(_ text: UnsafeRawBufferPointer, in group: Int) -> Bool {
    if OrderWords.areExact(column) { return false }
    let order = cells.withText(ofGroup: group) { OrderWords.compare(text, $0, in: column) }
    return isGreatest ? order > 0 : order < 0
  }
}

/// The values of a batch of cells as words, whose order is that of ``SortDescriptor``.
///
/// Texts with the same word can differ: see ``compare(_:_:in:)``.
struct OrderWords {
  /// Whether each cell is a value: not missing, not empty, and readable as the type of the column.
  private(set) var hasValue: [Bool]
  private(set) var words: [UInt64]

  init(_ column: Column, _ cells: ColumnBatch) {
    let values = OrderWords.areExact(column) ? column.values(of: cells) : cells
    hasValue = (0..<cells.count).map { row in
      cells.hasValue(row) && (values.missingCount == 0 || !values.isMissing(row))
    }
    words = Array(repeating: 0, count: cells.count)
    for row in words.indices where hasValue[row] {
      words[row] =
        switch values.type {
        case .text: values.withBytes(at: row) { OrderWords.word($0, column.hasDecimalComma) }
        case .binary: values.withBytes(at: row) { OrderWords.word($0) }
        case .real: values.real(row).orderedBits
        case .boolean: values.boolean(row) ? 1 : 0
        case .integer, .date: UInt64(bitPattern: values.integer(row)) ^ 1 << 63
        }
    }
  }

  /// Whether values of a column with the same word are equal. Text that is numbers is compared with all its digits.
  static func areExact(_ column: Column) -> Bool {
    switch column.valueType {
    case .text, .binary: false
    case .integer, .real: column.type != .text
    case .boolean, .date: true
    }
  }

  /// The word of a text. Numbers come before other texts.
  private static func word(_ text: UnsafeRawBufferPointer, _ hasComma: Bool) -> UInt64 {
    if let number = NumberText(text, hasComma: hasComma) { return number.value.orderedBits >> 1 }
    let (size, limit) = (NaturalCode.capacity(for: 0, limit: 8), 8)
    return withUnsafeTemporaryAllocation(byteCount: size, alignment: 8) { code in
      let count = NaturalCode.write(text, to: code.baseAddress!, limit: limit)
      return 1 << 63 | word(UnsafeRawBufferPointer(rebasing: code[..<min(count, limit)])) >> 1
    }
  }

  /// The first eight bytes.
  private static func word(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    var word: UInt64 = 0
    for (index, byte) in bytes.prefix(8).enumerated() { word |= UInt64(byte) << (56 - 8 * index) }
    return word
  }

  /// Compares texts or binary values. Negative if `left` comes first, 0 if both are equal, otherwise positive.
  static func compare(
    _ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer, in column: Column
  ) -> Int {
    if column.type == .binary { return NaturalOrder.compareBytes(left, right) }
    if areEqual(left, right) { return 0 }
    let hasComma = column.hasDecimalComma
    switch (NumberText(left, hasComma: hasComma), NumberText(right, hasComma: hasComma)) {
    case (let number?, let other?): return NumberText.compare(number, left, other, right)
    case (nil, nil): return NaturalOrder.compare(left, right)
    case (_?, nil): return -1
    case (nil, _?): return 1
    }
  }
}

extension ColumnBatch {
  /// Whether a cell is a value: not missing, and not empty text.
  @inline(__always)
  func hasValue(_ row: Int) -> Bool {
    if missingCount > 0, isMissing(row) { return false }
    return !type.isBytes || withBytes(at: row) { !$0.isEmpty }
  }
}

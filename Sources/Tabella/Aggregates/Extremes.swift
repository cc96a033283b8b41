/// The first or the last values of groups so far, in the order of ``SortDescriptor``.
///
/// A value takes 24 bytes, and a text or binary value its bytes in addition.
struct Extremes {
  /// The place of a value.
  private struct Slot {
    /// The offset in `bytes` of a text or binary value. The bits of any other value.
    var content = 0
    /// The number of bytes; ``none`` if there is no value.
    var count = Slot.none
    /// The number of bytes in `bytes` that belong to the value.
    var room: UInt32 = 0

    static let none = UInt32.max
  }

  private let column: Column
  private let isGreatest: Bool
  /// For each group, the ``OrderWords`` word of its value.
  private var words: [UInt64] = []
  private var slots: [Slot] = []
  /// Texts and binary values. Those that were replaced by longer ones remain between them.
  private var bytes: [UInt8] = []

  /// Finds the last values if `isGreatest` is true, otherwise the first ones.
  init(_ column: Column, isGreatest: Bool) { (self.column, self.isGreatest) = (column, isGreatest) }

  /// Adds groups without values until there are `count`.
  mutating func makeRoom(forGroups count: Int) {
    words.makeRoom(for: count - words.count)
    words += repeatElement(0, count: count - words.count)
    slots.makeRoom(for: count - slots.count)
    slots += repeatElement(Slot(), count: count - slots.count)
  }

  /// Adds the cells of a batch to groups. `values` are the words of these cells.
  mutating func add(
    _ cells: ColumnBatch, _ values: OrderWords, groups: UnsafeBufferPointer<UInt32>
  ) {
    for row in 0..<cells.count where values.hasValue[row] {
      let (group, word) = (Int(groups[row]), values.words[row])
      if cells.type.isBytes {
        cells.withBytes(at: row) { add(text: $0, word, to: group) }
      } else {
        add(bits: cells.bits(row), word, to: group)
      }
    }
  }

  /// Adds groups of other values. `groups` holds the number here of each of them.
  mutating func combine(_ other: Extremes, _ groups: [UInt32]) {
    other.bytes.withUnsafeBytes { bytes in
      for (group, slot) in other.slots.enumerated() where slot.count != Slot.none {
        let (group, word) = (Int(groups[group]), other.words[group])
        if column.type.isBytes {
          let text = bytes[slot.content..<slot.content + Int(slot.count)]
          add(text: UnsafeRawBufferPointer(rebasing: text), word, to: group)
        } else {
          add(bits: slot.content, word, to: group)
        }
      }
    }
  }

  /// Makes groups one: see ``Aggregator/renumber(_:)``.
  mutating func renumber(_ groups: [UInt32]) {
    var new = Extremes(column, isGreatest: isGreatest)
    new.makeRoom(forGroups: groups.max().map { Int($0) + 1 } ?? 0)
    new.combine(self, groups)
    self = new
  }

  @inline(__always)
  private mutating func add(bits: Int, _ word: UInt64, to group: Int) {
    guard slots[group].count == Slot.none || isBetter(word, than: words[group]) else { return }
    words[group] = word
    slots[group] = Slot(content: bits, count: 0)
  }

  @inline(__always)
  private mutating func add(text: UnsafeRawBufferPointer, _ word: UInt64, to group: Int) {
    let slot = slots[group]
    if slot.count == Slot.none || isBetter(word, than: words[group])
      || word == words[group] && isBetter(text, thanTextIn: slot)
    {
      words[group] = word
      store(text, in: group)
    }
  }

  @inline(__always)
  private func isBetter(_ word: UInt64, than known: UInt64) -> Bool {
    isGreatest ? word > known : word < known
  }

  /// Whether a text with the same word is a better value.
  @inline(never)
  private func isBetter(_ text: UnsafeRawBufferPointer, thanTextIn slot: Slot) -> Bool {
    if OrderWords.areExact(column) { return false }
    let order = bytes.withUnsafeBytes { bytes in
      let known = bytes[slot.content..<slot.content + Int(slot.count)]
      return OrderWords.compare(text, UnsafeRawBufferPointer(rebasing: known), in: column)
    }
    return isGreatest ? order > 0 : order < 0
  }

  private mutating func store(_ text: UnsafeRawBufferPointer, in group: Int) {
    var slot = slots[group]
    if text.count > Int(slot.room) {
      // The room doubles, so that all rooms of a group take at most twice as much as the last one.
      let room = max(text.count, min(2 * Int(slot.room), Int(Slot.none)))
      slot.content = bytes.count
      slot.room = UInt32(truncatingIfNeeded: room)
      bytes.makeRoom(for: room)
      bytes += repeatElement(0, count: room)
    }
    bytes.withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[slot.content...]).copyMemory(from: text)
    }
    slot.count = UInt32(truncatingIfNeeded: text.count)
    slots[group] = slot
  }

  /// The number of bytes of all texts and binary values, with those that were replaced.
  var byteCount: Int { bytes.count }

  /// The value of a group; missing if there is none.
  func cell(ofGroup group: Int) -> Cell {
    let slot = slots[group]
    if slot.count == Slot.none { return .missing }
    return switch column.type {
    case .text: .text(Array(bytes[slot.content..<slot.content + Int(slot.count)]))
    case .binary: .binary(Array(bytes[slot.content..<slot.content + Int(slot.count)]))
    case .integer: .integer(Int64(slot.content))
    case .real: .real(Double(bitPattern: UInt64(bitPattern: Int64(slot.content))))
    case .boolean: .boolean(slot.content != 0)
    case .date: .date(Timestamp(nanoseconds: Int64(slot.content)))
    }
  }

  /// Appends the values of groups to a column of the same type.
  func append(_ groups: ArraySlice<UInt32>, to builder: ColumnBuilder) {
    guard column.type.isBytes else {
      for group in groups { builder.append(cell(ofGroup: Int(group))) }
      return
    }
    // Groups lie anywhere in memory. If little else happens between their reads, the processor waits for many at once.
    let slots = groups.map { self.slots[Int($0)] }
    bytes.withUnsafeBytes { bytes in
      for slot in slots {
        if slot.count == Slot.none {
          builder.appendMissing()
        } else {
          let text = bytes[slot.content..<slot.content + Int(slot.count)]
          builder.append(bytes: UnsafeRawBufferPointer(rebasing: text))
        }
      }
    }
  }

  /// Whether the texts of groups have at most `limit` bytes.
  func fit(_ groups: ArraySlice<UInt32>, into limit: Int) -> Bool {
    bytes.count <= limit
      || groups.reduce(0) { sum, group in
        let count = slots[Int(group)].count
        return count == Slot.none ? sum : sum + Int(count)
      } <= limit
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

  /// The bits of a value that is no text or binary.
  fileprivate func bits(_ row: Int) -> Int {
    switch type {
    case .boolean: boolean(row) ? 1 : 0
    case .real: Int(truncatingIfNeeded: Int64(bitPattern: real(row).bitPattern))
    default: Int(truncatingIfNeeded: integer(row))
    }
  }
}

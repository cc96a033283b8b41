/// A cell for each group, or none.
///
/// A cell takes 16 bytes, and a text or binary cell its bytes in addition.
struct GroupedCells {
  /// The place of a cell.
  private struct Slot {
    /// The offset in `bytes` of a text or binary cell. The bits of any other cell.
    var content = 0
    /// The number of bytes; ``none`` if there is no cell.
    var count = Slot.none
    /// The number of bytes in `bytes` that belong to the group.
    var room: UInt32 = 0

    static let none = UInt32.max
  }

  private let type: ColumnType
  private var slots: [Slot] = []
  /// Texts and binary values. Those that were replaced by longer ones remain between them.
  private var bytes: [UInt8] = []

  init(_ type: ColumnType) { self.type = type }

  /// The number of groups.
  var count: Int { slots.count }

  /// The number of bytes of all texts and binary values, with those that were replaced.
  var byteCount: Int { bytes.count }

  /// Adds groups without cells until there are `count`.
  mutating func makeRoom(forGroups count: Int) {
    slots.makeRoom(for: count - slots.count)
    slots += repeatElement(Slot(), count: count - slots.count)
  }

  @inline(__always)
  func isEmpty(_ group: Int) -> Bool { slots[group].count == Slot.none }

  /// Replaces the cell of a group by a value that is neither text nor binary.
  @inline(__always)
  private mutating func set(bits: Int, for group: Int) {
    slots[group] = Slot(content: bits, count: 0)
  }

  /// Replaces the cell of a group by a text or binary value.
  private mutating func set(text: UnsafeRawBufferPointer, for group: Int) {
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

  /// Replaces the cell of a group by a cell of a batch, which is not missing.
  @inline(__always)
  mutating func set(_ cells: ColumnBatch, _ row: Int, for group: Int) {
    if cells.type.isBytes {
      cells.withBytes(at: row) { set(text: $0, for: group) }
    } else {
      set(bits: cells.bits(row), for: group)
    }
  }

  /// Calls `body` with the text or binary value of a group that has one.
  @inline(__always)
  func withText<Result>(ofGroup group: Int, _ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    let slot = slots[group]
    return bytes.withUnsafeBytes {
      body(UnsafeRawBufferPointer(rebasing: $0[slot.content..<slot.content + Int(slot.count)]))
    }
  }

  /// Replaces the cell of a group by that of a group of other cells of the same type, which has one.
  @inline(__always)
  mutating func set(_ cells: GroupedCells, _ other: Int, for group: Int) {
    if type.isBytes {
      cells.withText(ofGroup: other) { set(text: $0, for: group) }
    } else {
      set(bits: cells.slots[other].content, for: group)
    }
  }

  /// Replaces cells by those of groups of other cells. `groups` holds the number here of each of these groups. If `keepsOld`
  /// is true, only groups without a cell receive one.
  mutating func combine(_ next: GroupedCells, _ groups: [UInt32], keepsOld: Bool) {
    for group in 0..<next.count where !next.isEmpty(group) {
      let number = Int(groups[group])
      if !keepsOld || isEmpty(number) { set(next, group, for: number) }
    }
  }

  /// Makes groups one: see ``Aggregator/renumber(_:)``.
  mutating func renumber(_ groups: [UInt32], keepsOld: Bool) {
    var new = GroupedCells(type)
    new.makeRoom(forGroups: groups.max().map { Int($0) + 1 } ?? 0)
    new.combine(self, groups, keepsOld: keepsOld)
    self = new
  }

  /// The cell of a group; missing if there is none.
  func cell(ofGroup group: Int) -> Cell {
    if isEmpty(group) { return .missing }
    let content = Int64(slots[group].content)
    return switch type {
    case .text: .text(withText(ofGroup: group) { Array($0) })
    case .binary: .binary(withText(ofGroup: group) { Array($0) })
    case .integer: .integer(content)
    case .real: .real(Double(bitPattern: UInt64(bitPattern: content)))
    case .boolean: .boolean(content != 0)
    case .date: .date(Timestamp(nanoseconds: content))
    }
  }

  /// Appends the cells of groups to a column of the same type.
  func append(_ groups: ArraySlice<UInt32>, to builder: ColumnBuilder) {
    guard type.isBytes else {
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

extension ColumnBatch {
  /// The bits of a value that is no text or binary.
  fileprivate func bits(_ row: Int) -> Int {
    switch type {
    case .boolean: boolean(row) ? 1 : 0
    case .real: Int(truncatingIfNeeded: Int64(bitPattern: real(row).bitPattern))
    default: Int(truncatingIfNeeded: integer(row))
    }
  }
}

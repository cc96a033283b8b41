import Synchronization

/// Assigns numbers to byte strings, in the order of their first appearance.
///
/// A key takes its bytes, 4 bytes for their end, and a slot of 8 bytes. From half to three quarters of the slots are in
/// use, once the table has grown.
struct KeyTable {
  /// The bytes of the keys. Behind them, the array has zeros that later keys overwrite.
  private var bytes: [UInt8] = []
  private var ends = ByteOffsets()
  /// A hash table with open addressing. A slot holds a hash in its high half, and the number of a key in its low half.
  private var slots = [UInt64](repeating: KeyTable.free, count: 1 << 10)
  /// The number of slots in use. A number without a key has no slot.
  private var used = 0

  /// The result of reads in advance, which no one needs.
  private static let fetched = Atomic<UInt8>(0)

  private static let free = UInt64.max

  /// The number of numbers that are in use.
  var count: Int { ends.count }

  /// The number of bytes of all keys.
  private(set) var byteCount = 0

  /// Returns the number of a key, and adds the key if it is new.
  /// - Complexity: O(bytes)
  @inline(__always)
  mutating func number(of key: UnsafeRawBufferPointer) -> UInt32 {
    let hash = KeyTable.hash(key)
    let mask = slots.count - 1
    var slot = Int(hash) & mask
    while true {
      let found = slots[slot]
      if found == KeyTable.free { return add(key, hash, slot) }
      let number = UInt32(truncatingIfNeeded: found)
      if UInt32(truncatingIfNeeded: found >> 32) == hash, isKey(number, key) { return number }
      slot = (slot + 1) & mask
    }
  }

  /// Whether most slots lie outside the fast caches of a processor.
  var isLarge: Bool { slots.count > 1 << 15 }

  /// Reads what ``number(of:)`` needs to find the texts of some cells.
  ///
  /// The processor waits for all these reads at once. Otherwise it would wait for the slot and for the key of one cell
  /// after the other.
  func fetch(_ cells: ColumnBatch, _ rows: Range<Int>) {
    fetch(rows) { row in
      cells.missingCount > 0 && cells.isMissing(row)
        ? nil : cells.withBytes(at: row) { KeyTable.hash($0) }
    }
  }

  /// Reads what ``number(of:)`` needs to find some keys of another table.
  func fetch(_ other: KeyTable, _ numbers: Range<Int>) {
    fetch(numbers) { other.withKey(UInt32(truncatingIfNeeded: $0)) { KeyTable.hash($0) } }
  }

  @inline(__always)
  private func fetch(_ items: Range<Int>, _ hash: (Int) -> UInt32?) {
    let mask = slots.count - 1
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: items.count) { entries in
      entries.initialize(repeating: KeyTable.free)
      for item in items {
        // If the hashes are equal, the number remains.
        if let hash = hash(item) {
          entries[item - items.lowerBound] = slots[Int(hash) & mask] ^ UInt64(hash) << 32
        }
      }
      var read: UInt8 = 0
      for entry in entries where entry < UInt64(UInt32.max) {
        read &+= withKey(UInt32(truncatingIfNeeded: entry)) { $0.first ?? 0 }
      }
      KeyTable.fetched.store(read, ordering: .relaxed)
    }
  }

  private mutating func add(
    _ key: UnsafeRawBufferPointer, _ hash: UInt32, _ slot: Int
  ) -> UInt32 {
    let number = UInt32(truncatingIfNeeded: ends.count)
    // The number of the last possible key with the greatest hash would look like a free slot.
    precondition(number != .max, "a table has fewer than 2^32 keys")
    slots[slot] = UInt64(hash) << 32 | UInt64(number)
    if bytes.count - byteCount < key.count { makeRoom(for: key.count) }
    bytes.withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[byteCount...]).copyMemory(from: key)
    }
    byteCount += key.count
    ends.makeRoom(for: 1)
    ends.append(byteCount)
    used += 1
    if used * 4 > slots.count * 3 { grow() }
    return number
  }

  /// Returns a new number without a key.
  mutating func addAnonymous() -> UInt32 {
    ends.append(byteCount)
    return UInt32(truncatingIfNeeded: ends.count - 1)
  }

  /// Makes room for a key, and for others after it.
  private mutating func makeRoom(for count: Int) {
    let more = count + min(max(byteCount / 4, 64), 64 << 10)
    bytes.makeRoom(for: more)
    bytes += repeatElement(0, count: more)
  }

  @inline(__always)
  func withKey<R>(_ number: UInt32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { bytes in
      let start = number == 0 ? 0 : ends[Int(number) - 1]
      return body(UnsafeRawBufferPointer(rebasing: bytes[start..<ends[Int(number)]]))
    }
  }

  /// Calls `body` with some numbers and their keys. Keys of scattered numbers lie far apart.
  func forEachKey(
    _ numbers: ArraySlice<UInt32>, _ body: (UInt32, UnsafeRawBufferPointer) -> Void
  ) {
    var first = numbers.startIndex
    while first < numbers.endIndex {
      let some = numbers[first..<min(first + 64, numbers.endIndex)]
      if isLarge { fetch(some) }
      for number in some { withKey(number) { body(number, $0) } }
      first = some.endIndex
    }
  }

  /// Reads a byte of some keys. The processor waits for all of them at once.
  private func fetch(_ numbers: ArraySlice<UInt32>) {
    var read: UInt8 = 0
    for number in numbers { read &+= withKey(number) { $0.first ?? 0 } }
    KeyTable.fetched.store(read, ordering: .relaxed)
  }

  @inline(__always)
  private func isKey(_ number: UInt32, _ key: UnsafeRawBufferPointer) -> Bool {
    withKey(number) { areEqual($0, key) }
  }

  /// The halves of a product, combined by XOR, so that every input bit affects many output bits.
  @inline(__always)
  private static func hash(_ key: UnsafeRawBufferPointer) -> UInt32 {
    @inline(__always)
    func word<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type) -> UInt64 {
      UInt64(truncatingIfNeeded: key.loadUnaligned(fromByteOffset: offset, as: T.self))
    }
    let (first, last): (UInt64, UInt64)
    switch key.count {
    case 8...16: (first, last) = (word(0, UInt64.self), word(key.count - 8, UInt64.self))
    case 4...7: (first, last) = (word(0, UInt32.self), word(key.count - 4, UInt32.self))
    case 1...3:
      first = word(0, UInt8.self)
      last = word(key.count / 2, UInt8.self) << 8 | word(key.count - 1, UInt8.self)
    case 0: (first, last) = (0, 0)
    default: (first, last) = (digest64(key), 0)
    }
    let product = (first ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(
      by: last ^ 0xD6E8_FEB8_6659_FD93 &+ UInt64(truncatingIfNeeded: key.count))
    let folded = product.high ^ product.low
    return UInt32(truncatingIfNeeded: folded ^ folded >> 32)
  }

  private mutating func grow() {
    var larger: [UInt64] = []
    larger.makeRoom(for: slots.count * 2)
    larger += repeatElement(KeyTable.free, count: slots.count * 2)
    let mask = larger.count - 1
    for entry in slots where entry != KeyTable.free {
      var slot = Int(entry >> 32) & mask
      while larger[slot] != KeyTable.free { slot = (slot + 1) & mask }
      larger[slot] = entry
    }
    slots = larger
  }
}

import Synchronization

/// Assigns numbers to byte strings, in the order of their first appearance.
///
/// A key takes its bytes, 4 bytes for their end, and a slot of 8 bytes. From half to three quarters of the slots are in
/// use, once the table has grown.
///
/// A table can become a list: see ``startList()``.
struct KeyTable {
  /// The bytes of the keys. Behind them, the array has zeros that later keys overwrite.
  private var bytes: [UInt8] = []
  private var ends = ByteOffsets()
  /// A hash table with open addressing. A slot holds a hash in its high half, and the number of a key in its low half.
  /// Empty if the table is a list, and afterwards until a key is searched for.
  private var slots = [UInt64](repeating: KeyTable.free, count: 1 << 10)
  /// The number of slots in use. The missing key has no slot.
  private var used = 0
  /// The number of the missing key, once it was added.
  private(set) var missing: UInt32?

  /// The result of reads in advance, which no one needs.
  private static let fetched = Atomic<UInt8>(0)

  private static let free = UInt64.max

  private let hash = KeyHash.ofProcess

  /// Whether keys are stored without a search, so that an equal key gets another number.
  private(set) var isList = false

  /// The number of numbers that are in use.
  var count: Int { ends.count }

  /// The number of bytes of all keys.
  private(set) var byteCount = 0

  /// Returns the number of a key, and adds the key if it is new.
  /// - Complexity: O(bytes)
  @inline(__always)
  mutating func number(of key: UnsafeRawBufferPointer) -> UInt32 {
    if slots.isEmpty {
      if isList { return list(key) }
      hashKeys()
    }
    let hash = hash(key)
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

  /// Returns the number of the missing key, and adds it if it is new.
  mutating func numberOfMissing() -> UInt32 {
    if let missing { return missing }
    ends.append(byteCount)
    missing = UInt32(truncatingIfNeeded: ends.count - 1)
    return UInt32(truncatingIfNeeded: ends.count - 1)
  }

  // Many keys

  /// The number of keys that are found together.
  private static let together = 64
  /// The maximum number of their bytes.
  private static let bytesTogether = 1 << 14

  /// Appends the numbers of `count` keys, and adds the new ones. `key` returns the key of an item, which stays where it is
  /// during the call; nil for the missing key.
  mutating func append(
    _ count: Int, to numbers: inout [UInt32], key: (Int) -> UnsafeRawBufferPointer?
  ) {
    numbers.makeRoom(for: count)
    withUnsafeTemporaryAllocation(
      of: UnsafeRawBufferPointer?.self, capacity: KeyTable.together
    ) { keys in
      for start in stride(from: 0, to: count, by: KeyTable.together) {
        let items = start..<min(start + KeyTable.together, count)
        for item in items { keys[item - start] = key(item) }
        append(UnsafeBufferPointer(rebasing: keys[..<items.count]), to: &numbers)
      }
    }
  }

  /// Adds the keys of another table. Returns the number of each of them here.
  mutating func merge(_ other: KeyTable) -> [UInt32] {
    if isList, missing == nil || other.missing == nil {
      let first = UInt32(truncatingIfNeeded: count)
      list(other)
      return Array(first..<UInt32(truncatingIfNeeded: count))
    }
    var numbers: [UInt32] = []
    other.bytes.withUnsafeBytes { bytes in
      append(other.count, to: &numbers) { item in
        let number = UInt32(truncatingIfNeeded: item)
        guard number != other.missing else { return nil }
        return UnsafeRawBufferPointer(rebasing: bytes[other.ends.range(number)])
      }
    }
    return numbers
  }

  /// Appends the numbers of up to ``together`` keys.
  ///
  /// The processor waits for the slots of all keys at once. Otherwise it would wait for one after the other.
  private mutating func append(
    _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer?>, to numbers: inout [UInt32]
  ) {
    let size = keys.reduce(0) { $0 + ($1?.count ?? 0) }
    guard size <= KeyTable.bytesTogether, missing != nil || keys.allSatisfy({ $0 != nil }) else {
      for key in keys { numbers.append(key.map { number(of: $0) } ?? numberOfMissing()) }
      return
    }
    if slots.isEmpty {
      if isList {
        for key in keys { numbers.append(key.map { list($0) } ?? missing ?? 0) }
        return
      }
      hashKeys()
    }
    while (used + keys.count) * 4 > slots.count * 3 { grow() }
    if bytes.count - byteCount < size { makeRoom(for: size) }
    ends.makeRoom(for: keys.count)
    let hash = hash
    withUnsafeTemporaryAllocation(of: UInt32.self, capacity: keys.count) { hashes in
      for (index, key) in keys.enumerated() { hashes[index] = key.map { hash($0) } ?? 0 }
      if isLarge { fetch(keys, hashes) }
      find(keys, hashes, &numbers)
    }
  }

  /// Finds or adds keys. There is room for all of them.
  private mutating func find(
    _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer?>,
    _ hashes: UnsafeMutableBufferPointer<UInt32>, _ numbers: inout [UInt32]
  ) {
    // The arrays are moved out of the table, so that their addresses are taken only once.
    var (slots, bytes, ends): ([UInt64], [UInt8], ByteOffsets) = ([], [], ByteOffsets())
    swap(&slots, &self.slots)
    swap(&bytes, &self.bytes)
    swap(&ends, &self.ends)
    slots.withUnsafeMutableBufferPointer { slots in
      bytes.withUnsafeMutableBytes { bytes in
        let mask = slots.count - 1
        for (index, key) in keys.enumerated() {
          guard let key else {
            numbers.append(missing ?? 0)
            continue
          }
          let hash = hashes[index]
          var slot = Int(hash) & mask
          while true {
            let found = slots[slot]
            var number = UInt32(truncatingIfNeeded: found)
            if found == KeyTable.free {
              // As in `add`, but there is room, and no array checks whether it is shared.
              number = UInt32(truncatingIfNeeded: ends.count)
              precondition(number != .max, "a table has fewer than 2^32 keys")
              slots[slot] = UInt64(hash) << 32 | UInt64(number)
              UnsafeMutableRawBufferPointer(rebasing: bytes[byteCount...]).copyMemory(from: key)
              byteCount += key.count
              ends.append(byteCount)
              used += 1
            } else if UInt32(truncatingIfNeeded: found >> 32) != hash
              || !areEqual(key, UnsafeRawBufferPointer(rebasing: bytes[ends.range(number)]))
            {
              slot = (slot + 1) & mask
              continue
            }
            numbers.append(number)
            break
          }
        }
      }
    }
    swap(&slots, &self.slots)
    swap(&bytes, &self.bytes)
    swap(&ends, &self.ends)
  }

  /// Whether most keys and slots lie outside the fast caches of a processor.
  private var isLarge: Bool { count > 1 << 14 }

  /// Reads the slots of some keys, and the keys that they name.
  private func fetch(
    _ keys: UnsafeBufferPointer<UnsafeRawBufferPointer?>,
    _ hashes: UnsafeMutableBufferPointer<UInt32>
  ) {
    let mask = slots.count - 1
    withUnsafeTemporaryAllocation(of: UInt64.self, capacity: keys.count) { entries in
      // If the hashes are equal, the number remains.
      for (index, hash) in hashes.enumerated() {
        entries[index] = slots[Int(hash) & mask] ^ UInt64(hash) << 32
      }
      var read: UInt8 = 0
      for entry in entries where entry < UInt64(ends.count) {
        read &+= withKey(UInt32(truncatingIfNeeded: entry)) { $0.first ?? 0 }
      }
      KeyTable.fetched.store(read, ordering: .relaxed)
    }
  }

  private mutating func add(
    _ key: UnsafeRawBufferPointer, _ hash: UInt32, _ slot: Int
  ) -> UInt32 {
    let number = list(key)
    slots[slot] = UInt64(hash) << 32 | UInt64(number)
    used += 1
    if used * 4 > slots.count * 3 { grow() }
    return number
  }

  /// Stores a key behind the others.
  private mutating func list(_ key: UnsafeRawBufferPointer) -> UInt32 {
    let number = UInt32(truncatingIfNeeded: ends.count)
    // The number of the last possible key with the greatest hash would look like a free slot.
    precondition(number != .max, "a table has fewer than 2^32 keys")
    store(key)
    ends.makeRoom(for: 1)
    ends.append(byteCount)
    return number
  }

  private mutating func store(_ key: UnsafeRawBufferPointer) {
    if bytes.count - byteCount < key.count { makeRoom(for: key.count) }
    bytes.withUnsafeMutableBytes {
      UnsafeMutableRawBufferPointer(rebasing: $0[byteCount...]).copyMemory(from: key)
    }
    byteCount += key.count
  }

  /// Makes room for a key, and for others after it.
  private mutating func makeRoom(for count: Int) {
    let more = count + min(max(byteCount / 4, 64), 64 << 10)
    bytes.makeRoom(for: more)
    bytes += repeatElement(0, count: more)
  }

  /// The number of bytes of a key.
  func byteCount(of number: UInt32) -> Int { ends.range(number).count }

  @inline(__always)
  func withKey<R>(_ number: UInt32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { bytes in
      body(UnsafeRawBufferPointer(rebasing: bytes[ends.range(number)]))
    }
  }

  /// Calls `body` with some numbers and their keys. Keys of scattered numbers lie far apart.
  func forEachKey(
    _ numbers: ArraySlice<UInt32>, _ body: (UInt32, UnsafeRawBufferPointer) -> Void
  ) {
    var first = numbers.startIndex
    while first < numbers.endIndex {
      let some = numbers[first..<min(first + KeyTable.together, numbers.endIndex)]
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

  // Lists of keys

  /// Makes the table a list: from now on, keys are stored without a search.
  ///
  /// If nearly all keys differ, a search finds nothing and waits for memory. A list that is sorted has equal keys side by
  /// side. The list ends with ``remove(_:)`` or ``endList()``.
  mutating func startList() {
    (isList, slots, used) = (true, [], 0)
  }

  /// Stores the keys of another table behind the others. At most one of the two tables has the missing key.
  mutating func list(_ other: KeyTable) {
    let first = UInt32(truncatingIfNeeded: ends.count)
    let start = byteCount
    makeRoomInList(for: other.count)
    other.bytes.withUnsafeBytes { store(UnsafeRawBufferPointer(rebasing: $0[..<other.byteCount])) }
    for number in other.ends.indices { ends.append(start + other.ends[number]) }
    missing = missing ?? other.missing.map { first + $0 }
  }

  /// Stores the cells of a column of text behind the others. No cell is missing.
  mutating func list(_ cells: ColumnBatch) {
    makeRoomInList(for: cells.count)
    cells.withUnsafeLayout { layout in
      guard cells.count > 0 else { return }
      let offsets = layout.offsets! + layout.start
      let (first, start) = (Int(offsets[0]), byteCount)
      let bytes = UnsafeRawBufferPointer(
        start: layout.values.map { $0 + first }, count: Int(offsets[cells.count]) - first)
      store(bytes)
      for cell in 1...cells.count { ends.append(start + Int(offsets[cell]) - first) }
    }
  }

  private mutating func makeRoomInList(for more: Int) {
    precondition(ends.count + more < UInt32.max, "a table has fewer than 2^32 keys")
    ends.makeRoom(for: more)
  }

  /// The number of different keys; an estimate for a list.
  ///
  /// The sample has all keys with certain hashes, so it has as many repeats as the list.
  var differentKeys: Int {
    guard isList else { return count }
    let bits = min(Int.bitWidth - (count >> 12).leadingZeroBitCount, 16)
    let mask = (UInt32(1) << UInt32(bits) - 1) << 16
    var (sample, sampled) = (KeyTable(), 0)
    let hash = hash
    for number in 0..<UInt32(truncatingIfNeeded: count) {
      withKey(number) { key in
        guard hash(key) & mask == 0 else { return }
        sampled += 1
        _ = sample.number(of: key)
      }
    }
    return sampled == 0 ? count : count * sample.count / sampled
  }

  /// Ends the list, so that all keys differ. Returns the new number of each key.
  mutating func endList() -> [UInt32] {
    var table = KeyTable()
    let numbers = table.merge(self)
    self = table
    return numbers
  }

  /// Ends the list by removing the keys that repeat an earlier one. All others differ.
  /// - Complexity: O(keys)
  mutating func remove(_ repeats: Repeats) {
    isList = false
    guard !repeats.isEmpty else { return }
    var (start, end, kept) = (0, 0, 0)
    bytes.withUnsafeMutableBytes { bytes in
      for number in ends.indices {
        let next = ends[number]
        if !repeats.contains(UInt32(truncatingIfNeeded: number)) {
          UnsafeMutableRawBufferPointer(rebasing: bytes[end..<end + next - start])
            .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<next]))
          end += next - start
          ends[kept] = end
          kept += 1
        }
        start = next
      }
    }
    ends.removeLast(ends.count - kept)
    byteCount = end
    missing = missing.map { repeats.newNumber(of: $0) }
  }

  /// Makes the slots of keys that all differ.
  private mutating func hashKeys() { _ = endList() }

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

/// The hash function of keys. It has two random words, so that nobody can write a file whose keys have equal hashes.
private struct KeyHash {
  let first: UInt64
  let last: UInt64

  /// The function of all tables in this process.
  static let ofProcess = KeyHash(
    first: .random(in: .min ... .max), last: .random(in: .min ... .max))

  /// The halves of a product, combined by XOR, so that every input bit affects many output bits.
  @inline(__always)
  func callAsFunction(_ key: UnsafeRawBufferPointer) -> UInt32 {
    @inline(__always)
    func word<T: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, _: T.Type) -> UInt64 {
      UInt64(truncatingIfNeeded: key.loadUnaligned(fromByteOffset: offset, as: T.self))
    }
    let (start, end): (UInt64, UInt64)
    switch key.count {
    case 8...16: (start, end) = (word(0, UInt64.self), word(key.count - 8, UInt64.self))
    case 4...7: (start, end) = (word(0, UInt32.self), word(key.count - 4, UInt32.self))
    case 1...3:
      start = word(0, UInt8.self)
      end = word(key.count / 2, UInt8.self) << 8 | word(key.count - 1, UInt8.self)
    case 0: (start, end) = (0, 0)
    default: (start, end) = (digest64(key), 0)
    }
    let product = (start ^ first).multipliedFullWidth(
      by: end ^ last &+ UInt64(truncatingIfNeeded: key.count))
    let folded = product.high ^ product.low
    return UInt32(truncatingIfNeeded: folded ^ folded >> 32)
  }
}

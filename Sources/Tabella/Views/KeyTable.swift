/// Assigns numbers to byte strings, in the order of their first appearance.
struct KeyTable {
  /// Two words and the length of a key. They usually suffice to distinguish keys without comparing bytes.
  ///
  /// Up to 16 bytes, the two words contain the whole key. For a longer key, one word is a digest.
  private struct KeyDigest: Equatable {
    var first: UInt64
    var last: UInt64
    var count: Int

    @inline(__always)
    init(_ key: UnsafeRawBufferPointer) {
      func word<T: FixedWidthInteger>(_ offset: Int, _: T.Type) -> UInt64 {
        UInt64(truncatingIfNeeded: key.loadUnaligned(fromByteOffset: offset, as: T.self))
      }
      count = key.count
      switch count {
      case 8...16: (first, last) = (word(0, UInt64.self), word(count - 8, UInt64.self))
      case 4...7: (first, last) = (word(0, UInt32.self), word(count - 4, UInt32.self))
      case 1...3:
        first = word(0, UInt8.self)
        last = word(count / 2, UInt8.self) << 8 | word(count - 1, UInt8.self)
      case 0: (first, last) = (0, 0)
      default: (first, last) = (digest64(key), 0)
      }
    }

    var isWholeKey: Bool { count <= 16 }

    /// The two halves of a product, combined by XOR, so that every input bit affects many output bits.
    var hash: UInt64 {
      let product = (first ^ 0x9E37_79B9_7F4A_7C15).multipliedFullWidth(
        by: last ^ 0xD6E8_FEB8_6659_FD93 &+ UInt64(truncatingIfNeeded: count))
      return product.high ^ product.low
    }
  }

  private var bytes: [UInt8] = []
  private var ends: [Int] = []
  /// The digest of each key; nil for a number without a key.
  private var digests: [KeyDigest?] = []
  /// A hash table with open addressing. Each slot holds the number of a key, or `.max`.
  private var slots = [UInt32](repeating: .max, count: 1 << 10)

  /// The number of numbers that are in use.
  var count: Int { ends.count }

  /// Returns the number of a key, and adds the key if it is new.
  /// - Complexity: O(bytes)
  mutating func number(of key: UnsafeRawBufferPointer) -> UInt32 {
    let digest = KeyDigest(key)
    var slot = Int(truncatingIfNeeded: digest.hash) & (slots.count - 1)
    while slots[slot] != .max {
      let number = slots[slot]
      if digests[Int(number)] == digest, digest.isWholeKey || isKey(number, key) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    let number = UInt32(truncatingIfNeeded: ends.count)
    slots[slot] = number
    bytes.append(contentsOf: key)
    ends.append(bytes.count)
    digests.append(digest)
    if ends.count * 2 > slots.count { grow() }
    return number
  }

  /// Returns a new number without a key.
  mutating func addAnonymous() -> UInt32 {
    ends.append(bytes.count)
    digests.append(nil)
    return UInt32(truncatingIfNeeded: ends.count - 1)
  }

  func withKey<R>(_ number: UInt32, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    bytes.withUnsafeBytes { bytes in
      let start = number == 0 ? 0 : ends[Int(number) - 1]
      return body(UnsafeRawBufferPointer(rebasing: bytes[start..<ends[Int(number)]]))
    }
  }

  private func isKey(_ number: UInt32, _ key: UnsafeRawBufferPointer) -> Bool {
    withKey(number) { areEqual($0, key) }
  }

  private mutating func grow() {
    let old = slots
    slots = [UInt32](repeating: .max, count: old.count * 2)
    for number in old where number != .max {
      guard let digest = digests[Int(number)] else { continue }
      var slot = Int(truncatingIfNeeded: digest.hash) & (slots.count - 1)
      while slots[slot] != .max { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = number
    }
  }
}

/// A digest of a row, or of some of its cells.
///
/// Equal rows have equal digests. The chance that two different rows have equal digests is about 1 to 2^128, even
/// for rows that someone chose: the digest depends on random numbers of this process.
struct RowDigest: Hashable {
  fileprivate(set) var first: UInt64
  fileprivate(set) var second: UInt64

  fileprivate static let seeds = (
    first: UInt64.random(in: .min ... .max), second: UInt64.random(in: .min ... .max)
  )

  /// The digest of no cell.
  static let empty = RowDigest(first: seeds.first, second: seeds.second)

  @inline(__always)
  mutating func add(_ word: UInt64) {
    first = digestFold(first ^ word, 0xE703_7ED1_A0B4_28DB)
    second = digestFold(second ^ word, 0x8EBC_6AF0_9C88_C6E3)
  }

  @inline(__always)
  fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer) {
    add(UInt64(bytes.count) &+ 2)
    var at = 0
    while at + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian)
      at += 8
    }
    if at < bytes.count { add(digestTail(of: bytes)) }
  }
}

extension ColumnBatch {
  /// Adds the cell of each row to the digest of the row.
  ///
  /// With `asText`, the digest is that of the exact text of the cell (``Cell/description``), and a missing cell is
  /// empty text.
  func add(to digests: inout [RowDigest], asText: Bool) {
    for row in 0..<count { add(row, to: &digests[row], asText: asText) }
  }

  @inline(__always)
  private func add(_ row: Int, to digest: inout RowDigest, asText: Bool) {
    if missingCount > 0, isMissing(row) { return digest.add(asText ? 2 : 1) }
    if asText, type != .text {
      return addText(row, to: &digest)
    }
    switch type {
    case .text, .binary: withBytes(at: row) { digest.add($0) }
    case .integer, .date:
      digest.add(2)
      digest.add(UInt64(bitPattern: integer(row)))
    case .real:
      digest.add(2)
      digest.add(real(row).comparableBits)
    case .boolean: digest.add(boolean(row) ? 3 : 2)
    }
  }

  private func addText(_ row: Int, to digest: inout RowDigest) {
    if type == .binary {
      var text = self[row].description
      return text.withUTF8 { digest.add(UnsafeRawBufferPointer($0)) }
    }
    withUnsafeTemporaryAllocation(byteCount: ColumnBatch.longestText, alignment: 8) { text in
      let count = writeText(of: row, to: text.baseAddress!)
      digest.add(UnsafeRawBufferPointer(rebasing: text[..<count]))
    }
  }
}

extension Double {
  /// The bits of the number. All NaNs have the same.
  var comparableBits: UInt64 { isNaN ? Double.nan.bitPattern : bitPattern }
}

extension Cell {
  /// Whether a comparison of tables takes two cells as equal. With `asText`, it compares their exact texts, and a
  /// missing cell is empty text.
  public func isSame(as other: Cell, asText: Bool = false) -> Bool {
    switch (self, other) {
    case (.real(let left), .real(let right)): left.comparableBits == right.comparableBits
    case _ where asText: comparableText == other.comparableText
    default: self == other
    }
  }

  private var comparableText: [UInt8] {
    switch self {
    case .missing: []
    case .text(let text): text
    default: Array(description.utf8)
    }
  }
}

/// Numbers digests from 0 on: equal digests have equal numbers.
///
/// Memory: 16 bytes per different digest, and up to 16 bytes for the table.
struct DigestNumbers {
  private var digests: [RowDigest] = []
  /// A number plus 1 in the slot of its digest or in one of the next slots; 0 in free slots.
  private var slots = [Int32](repeating: 0, count: 1 << 10)

  /// The number of different digests.
  var count: Int { digests.count }

  mutating func number(of digest: RowDigest) -> Int32 {
    var slot = slot(of: digest)
    while slots[slot] > 0 {
      let number = slots[slot] - 1
      if digests[Int(number)] == digest { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    let number = Int32(truncatingIfNeeded: digests.count)
    digests.append(digest)
    slots[slot] = number + 1
    if digests.count * 2 > slots.count { grow() }
    return number
  }

  private func slot(of digest: RowDigest) -> Int {
    Int(truncatingIfNeeded: digest.first) & (slots.count - 1)
  }

  private mutating func grow() {
    slots = Array(repeating: 0, count: slots.count * 2)
    for (number, digest) in digests.enumerated() {
      var slot = slot(of: digest)
      while slots[slot] > 0 { slot = (slot + 1) & (slots.count - 1) }
      slots[slot] = Int32(truncatingIfNeeded: number) + 1
    }
  }
}

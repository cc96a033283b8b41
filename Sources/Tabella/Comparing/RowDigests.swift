import Synchronization

/// A digest of a row, or of some of its cells.
///
/// Equal rows have equal digests. The chance that two different rows have equal digests is about 1 to 2^128, even
/// for rows that someone chose: the digest depends on random numbers of the process that compares.
///
/// Each cell is a sequence of words that tells where it ends. So rows of other cells have other words, if the columns have
/// the same types.
package struct RowDigest: Hashable, BitwiseCopyable, Sendable {
  package private(set) var first: UInt64
  package private(set) var second: UInt64

  /// The digest with these words.
  package init(_ first: UInt64, _ second: UInt64) { (self.first, self.second) = (first, second) }

  /// The digest of no cell.
  package static let empty = RowDigest(.random(in: .min ... .max), .random(in: .min ... .max))

  @inline(__always)
  mutating func add(_ word: UInt64) {
    first = digestFold(first ^ word, 0xE703_7ED1_A0B4_28DB)
    second = digestFold(second ^ word, 0x8EBC_6AF0_9C88_C6E3)
  }

  /// Adds a missing cell.
  @inline(__always)
  fileprivate mutating func addMissing() { add(9 << 56) }

  /// Adds a cell of text or bytes. Up to seven bytes are one word, with their number in the highest byte.
  @inline(__always)
  fileprivate mutating func add(_ bytes: UnsafeRawBufferPointer) {
    if bytes.count < 8 { return add(UInt64(bytes.count + 1) << 56 | digestTail(of: bytes)) }
    add(1 << 63 | UInt64(bytes.count))
    var at = 0
    while at + 8 <= bytes.count {
      add(bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian)
      at += 8
    }
    if at < bytes.count { add(digestTail(of: bytes)) }
  }

  /// Adds the text that stands for a row; see ``RowDigesting``. Each byte `delimiter` counts as its separator.
  package mutating func add(
    text bytes: UnsafeRawBufferPointer, separatedBy delimiter: UInt8 = DigestBytes.separator
  ) {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let (olds, change) = (
      ones &* UInt64(delimiter), UInt64(delimiter ^ DigestBytes.separator)
    )
    func replaced(_ word: UInt64) -> UInt64 {
      // The highest bit of each byte of `same` tells whether the byte is the delimiter.
      let difference = word ^ olds
      let same = ~(((difference & ~(ones << 7)) &+ ~(ones << 7)) | difference) & ones << 7
      return word ^ (same >> 7) &* change
    }
    var digest = self
    digest.add(UInt64(bytes.count))
    var at = 0
    while at &+ 8 <= bytes.count {
      digest.add(
        replaced(bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian))
      at &+= 8
    }
    // The bytes after the last one are 0, whatever is replaced.
    let rest = UInt64(bytes.count &- at) &* 8
    if rest > 0 { digest.add(replaced(digestTail(of: bytes)) & (1 << rest &- 1)) }
    self = digest
  }
}

extension RowDigest {
  /// Adds the number that a text contains. Numbers are equal if all their digits are; a text that is no number counts as
  /// missing.
  fileprivate mutating func add(number text: UnsafeRawBufferPointer, hasComma: Bool) {
    guard let number = NumberText(text, hasComma: hasComma) else { return addMissing() }
    if !number.isShort {
      let decimal = DecimalText(text)
      // A double has at most one number of 15 digits.
      if decimal.digits.count > 15 || !number.value.isNormal && number.value != 0 {
        add(4)
        add(UInt64(bitPattern: Int64(decimal.point)) << 1 | (decimal.isNegative ? 1 : 0))
        return decimal.digits.withUnsafeBytes { add($0) }
      }
    }
    add(2)
    // -0 is 0.
    add(number.value == 0 ? 0 : number.value.bitPattern)
  }
}

extension Column {
  /// Adds some cells of the column to the digests of their rows, as a comparison compares their values.
  ///
  /// With `asText`, it compares the exact texts of the cells; see ``ColumnBatch/add(to:asText:)``.
  func add(_ cells: ColumnBatch, to digests: inout [RowDigest], asText: Bool) {
    guard !asText, reads == .real, cells.type == .text else {
      return (asText ? cells : values(of: cells)).add(to: &digests, asText: asText)
    }
    for row in 0..<cells.count {
      if cells.missingCount > 0, cells.isMissing(row) {
        digests[row].addMissing()
      } else {
        cells.withBytes(at: row) { digests[row].add(number: $0, hasComma: hasDecimalComma) }
      }
    }
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
    if missingCount > 0, isMissing(row) {
      return asText ? digest.add(.init(start: nil, count: 0)) : digest.addMissing()
    }
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
  /// The last number that was returned.
  private var last = -1

  /// The number of digests that ``append(_:to:where:)`` looks up at the same time.
  private static let together = 64
  /// The sum of what ``fetch(_:)`` read, so that the compiler keeps the reads.
  private static let fetched = Atomic<Int32>(0)

  /// The number of different digests.
  var count: Int { digests.count }

  /// Appends the numbers of the digests at the indices that `isWanted` chooses, and 0 for the others. Adds the new
  /// digests.
  mutating func append(
    _ digests: [RowDigest], to numbers: inout [Int32], where isWanted: (Int) -> Bool = { _ in true }
  ) {
    numbers.makeRoom(for: digests.count)
    for start in stride(from: 0, to: digests.count, by: Self.together) {
      let part = start..<min(start + Self.together, digests.count)
      if slots.count > 1 << 15, let next = part.first(where: isWanted), !isNext(digests[next]) {
        fetch(digests[part])
      }
      for index in part { numbers.append(isWanted(index) ? number(of: digests[index]) : 0) }
    }
  }

  mutating func number(of digest: RowDigest) -> Int32 {
    if isNext(digest) {
      last += 1
    } else {
      last = find(digest)
    }
    return Int32(truncatingIfNeeded: last)
  }

  /// Whether the digest has the number after the last one. It often has, because two tables that are compared have many
  /// rows in the same order.
  private func isNext(_ digest: RowDigest) -> Bool {
    last + 1 < digests.count && digests[last + 1] == digest
  }

  /// Reads the slots of some digests. The processor then waits for all of them at once.
  private func fetch(_ digests: ArraySlice<RowDigest>) {
    var read: Int32 = 0
    for digest in digests { read &+= slots[slot(of: digest)] }
    Self.fetched.store(read, ordering: .relaxed)
  }

  private mutating func find(_ digest: RowDigest) -> Int {
    var slot = slot(of: digest)
    while slots[slot] > 0 {
      let number = Int(slots[slot] - 1)
      if digests[number] == digest { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    digests.append(digest)
    slots[slot] = Int32(truncatingIfNeeded: digests.count)
    if digests.count * 2 > slots.count { grow() }
    return digests.count - 1
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

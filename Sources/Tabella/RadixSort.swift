/// Sorts rows by keys, in place: from the highest digit of the keys down, over the bits in which they
/// differ ("American flag sort", McIlroy, Bostic and McIlroy, 1993).
///
/// `keys[i]` is the key of `rows[i]`; both are sorted, and rows with the same key ascend. If
/// `isCancelled` says so, both are left in some order.
/// - Complexity: O(rows) for each digit of 11 bits that tells keys apart, three at most where keys are
///   spread; no memory to speak of.
public func radixSort(
  _ keys: inout [UInt64], _ rows: inout [UInt32], isCancelled: () -> Bool = { false }
) {
  precondition(keys.count == rows.count, "every row has a key")
  keys.withUnsafeMutableBufferPointer { keys in
    rows.withUnsafeMutableBufferPointer { rows in
      guard let keyStart = keys.baseAddress, let rowStart = rows.baseAddress else { return }
      withoutActuallyEscaping(isCancelled) { isCancelled in
        FlagSort(keys: keyStart, rows: rowStart, isCancelled: isCancelled)
          .sort(0..<keys.count, by: .key)
      }
    }
  }
}

/// The highest bits in which words differ, as one number: of two runs of such bits, because in the digits
/// of a text, say, there are some between that are always the same.
private struct Digit {
  let bits: Int
  private let high: (shift: UInt64, mask: UInt64)
  private let low: (shift: UInt64, mask: UInt64)

  /// `differing` is not 0; `bits` is how many there are at most.
  init(of differing: UInt64, bits: Int) {
    let first = Digit.run(in: differing, atMost: bits)
    let rest = differing & (1 << UInt64(first.start) - 1)
    let second = Digit.run(in: rest, atMost: bits - first.count)
    self.bits = first.count + second.count
    let mask: UInt64 = 1 << UInt64(second.count) - 1
    low = (UInt64(second.start), mask)
    high = (
      UInt64(first.start - second.count), (1 << UInt64(first.count) - 1) << UInt64(second.count)
    )
  }

  /// The highest bits of a word that are set one beside the other: where they begin, and how many.
  private static func run(in word: UInt64, atMost most: Int) -> (start: Int, count: Int) {
    let top = 64 - word.leadingZeroBitCount
    let ones = (~(word << UInt64(word.leadingZeroBitCount))).leadingZeroBitCount
    let count = min(ones, most)
    return (top - count, count)
  }

  @inline(__always)
  func value(in word: UInt64) -> Int {
    Int(word >> high.shift & high.mask | word >> low.shift & low.mask)
  }
}

private struct FlagSort {
  /// What a range is sorted by: its keys, or where those are all the same, its rows.
  enum Word { case key, row }

  let keys: UnsafeMutablePointer<UInt64>
  let rows: UnsafeMutablePointer<UInt32>
  let isCancelled: () -> Bool

  /// A range so short is sorted by insertion.
  private static let shortRange = 32

  private func word(_ index: Int, _ word: Word) -> UInt64 {
    word == .key ? keys[index] : UInt64(rows[index])
  }

  func sort(_ range: Range<Int>, by word: Word) {
    if range.count <= FlagSort.shortRange { return insert(range) }
    let first = self.word(range.lowerBound, word)
    var differing: UInt64 = 0
    for index in range { differing |= self.word(index, word) ^ first }
    guard differing != 0 else {
      if word == .key { sort(range, by: .row) }
      return
    }
    if range.count > 1 << 16, isCancelled() { return }
    // A part then has half a short range's members, if they are spread.
    let digit = Digit(
      of: differing, bits: min(11, max(4, Int.bitWidth - range.count.leadingZeroBitCount - 4)))
    let bits = digit.bits
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 2 << bits) { places in
      places.initialize(repeating: 0)
      // Where the next member of each part goes, and where the part ends.
      let next = UnsafeMutableBufferPointer(rebasing: places[..<(1 << bits)])
      let ends = UnsafeMutableBufferPointer(rebasing: places[(1 << bits)...])
      for index in range { ends[digit.value(in: self.word(index, word))] += 1 }
      var place = range.lowerBound
      for part in ends.indices {
        next[part] = place
        place += ends[part]
        ends[part] = place
      }
      // Each member of a part is put where it belongs, and what stood there comes in its place; until
      // all are in theirs. One need not wait for another as it would where the one that gave way is
      // taken along.
      var isSorted = false
      while !isSorted {
        isSorted = true
        for part in ends.indices where next[part] < ends[part] {
          isSorted = false
          for index in next[part]..<ends[part] {
            let (key, row) = (keys[index], rows[index])
            let value = digit.value(in: word == .key ? key : UInt64(row))
            let place = next[value]
            next[value] = place + 1
            (keys[index], rows[index]) = (keys[place], rows[place])
            (keys[place], rows[place]) = (key, row)
          }
        }
      }
      var start = range.lowerBound
      for end in ends where end > start {
        sort(start..<end, by: word)
        start = end
      }
    }
  }

  private func insert(_ range: Range<Int>) {
    for index in range.dropFirst() {
      let (key, row) = (keys[index], rows[index])
      var place = index
      while place > range.lowerBound,
        (keys[place - 1], rows[place - 1]) > (key, row)
      {
        keys[place] = keys[place - 1]
        rows[place] = rows[place - 1]
        place -= 1
      }
      (keys[place], rows[place]) = (key, row)
    }
  }
}

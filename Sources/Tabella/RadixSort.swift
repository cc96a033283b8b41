/// Sorts rows by keys, in place.
///
/// `keys[i]` is the key of `rows[i]`. Both arrays are sorted; rows with equal keys are in ascending order. The
/// algorithm starts with the highest digit and uses only the bits in which keys differ ("American flag sort",
/// McIlroy, Bostic and McIlroy, 1993). If `isCancelled` returns true, both arrays are left in some order.
/// - Complexity: O(rows) for each digit of 11 bits that distinguishes keys, with at most three digits if keys are
///   evenly distributed. The additional memory is negligible. Several threads share many rows.
public func radixSort(
  _ keys: inout [UInt64], _ rows: inout [UInt32], isCancelled: () -> Bool = { false }
) {
  radixSort(&keys, &rows, 0..<keys.count, isCancelled: isCancelled)
}

/// Sorts a range of rows and their keys. See ``radixSort(_:_:isCancelled:)``.
func radixSort(
  _ keys: inout [UInt64], _ rows: inout [UInt32], _ range: Range<Int>,
  isCancelled: () -> Bool = { false }
) {
  precondition(keys.count == rows.count, "every row has a key")
  precondition(range.lowerBound >= 0 && range.upperBound <= keys.count)
  keys.withUnsafeMutableBufferPointer { keys in
    rows.withUnsafeMutableBufferPointer { rows in
      guard let keyStart = keys.baseAddress, let rowStart = rows.baseAddress else { return }
      radixSort(keyStart, rowStart, range, isCancelled: isCancelled)
    }
  }
}

/// Sorts a range of rows and their keys. See ``radixSort(_:_:isCancelled:)``. `isShared` says that several threads already
/// share the rows.
func radixSort(
  _ keys: UnsafeMutablePointer<UInt64>, _ rows: UnsafeMutablePointer<UInt32>, _ range: Range<Int>,
  isShared: Bool = false, isCancelled: () -> Bool
) {
  withoutActuallyEscaping(isCancelled) { isCancelled in
    FlagSort(keys: keys, rows: rows, isCancelled: isCancelled, isShared: isShared)
      .sort(range, by: .key)
  }
}

/// Partitions a range of rows and their keys in place, in any order within a partition.
///
/// `number` returns the number of the partition of a row. Writes the index after the last member of each partition to
/// `ends`, which need not be initialized.
@inline(__always)
func partition(
  _ keys: UnsafeMutablePointer<UInt64>, _ rows: UnsafeMutablePointer<UInt32>, _ range: Range<Int>,
  into ends: UnsafeMutableBufferPointer<Int>, by number: (_ key: UInt64, _ row: UInt32) -> Int
) {
  // For each partition, the index of its next member.
  withUnsafeTemporaryAllocation(of: Int.self, capacity: ends.count) { next in
    ends.initialize(repeating: 0)
    for index in range { ends[number(keys[index], rows[index])] += 1 }
    var place = range.lowerBound
    for part in ends.indices {
      next.initializeElement(at: part, to: place)
      place += ends[part]
      ends[part] = place
    }
    // Each pass swaps each unplaced element with the element at its destination, until all elements are in their
    // partitions. Such swaps do not depend on each other. Following one displaced element after another would
    // wait for each memory access.
    var isDone = false
    while !isDone {
      isDone = true
      for part in ends.indices where next[part] < ends[part] {
        isDone = false
        for index in next[part]..<ends[part] {
          let (key, row) = (keys[index], rows[index])
          let number = number(key, row)
          let place = next[number]
          next[number] = place + 1
          (keys[index], rows[index]) = (keys[place], rows[place])
          (keys[place], rows[place]) = (key, row)
        }
      }
    }
  }
}

/// The highest bits in which words differ, as one number.
///
/// A digit consists of two runs of bits. In the digits of a text, for example, some bits between the two runs are
/// always the same.
private struct Digit {
  let bits: Int
  private let high: (shift: UInt64, mask: UInt64)
  private let low: (shift: UInt64, mask: UInt64)

  /// Chooses at most `bits` bits of `differing`, which is not 0.
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

  /// The highest run of consecutive 1 bits in a word: the number of its lowest bit, and its length.
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
  /// The sort key of a range: the keys, or the rows if all keys in the range are equal.
  enum Word { case key, row }

  let keys: UnsafeMutablePointer<UInt64>
  let rows: UnsafeMutablePointer<UInt32>
  var isCancelled: () -> Bool
  /// Whether several threads already share the rows.
  var isShared = false

  /// The maximum length of a range that is sorted by insertion.
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
    // If the values are evenly distributed, each partition then has half the length of a short range.
    let digit = Digit(
      of: differing, bits: min(11, max(4, Int.bitWidth - range.count.leadingZeroBitCount - 4)))
    withUnsafeTemporaryAllocation(of: Int.self, capacity: 1 << digit.bits) { ends in
      partition(keys, rows, range, into: ends) { key, row in
        digit.value(in: word == .key ? key : UInt64(row))
      }
      sortPartitions(range.lowerBound, ends, by: word)
    }
  }

  /// Sorts partitions that follow each other. Several threads share many rows.
  private func sortPartitions(
    _ start: Int, _ ends: UnsafeMutableBufferPointer<Int>, by word: Word
  ) {
    let count = (ends.last ?? start) - start
    let threads = isShared ? 1 : threadsSharing(rows: count)
    guard threads > 1 else {
      var start = start
      for end in ends where end > start {
        sort(start..<end, by: word)
        start = end
      }
      return
    }
    nonisolated(unsafe) let ends = UnsafeBufferPointer(ends)
    shareWork(among: threads, isCancelled: isCancelled) { next, isCancelled in
      var part = self
      (part.isShared, part.isCancelled) = (true, isCancelled)
      while let number = next(), number < ends.count {
        let first = number == 0 ? start : ends[number - 1]
        if first < ends[number] { part.sort(first..<ends[number], by: word) }
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

/// A set of numbers that counts the members below a number in constant time.
///
/// It takes 1.5 bits for each number that could be a member.
struct NumberSet {
  private var words: [UInt64]
  /// For each word, the number of members in front of it.
  private var before: [UInt32] = []

  /// `members` are different numbers below `count`.
  init(_ members: some Sequence<UInt64>, below count: Int) {
    words = Array(repeating: 0, count: count / UInt64.bitWidth + 1)
    for number in members { words[Int(number / 64)] |= 1 << (number % 64) }
    before.reserveCapacity(words.count)
    var sum: UInt32 = 0
    for word in words {
      before.append(sum)
      sum += UInt32(truncatingIfNeeded: word.nonzeroBitCount)
    }
  }

  @inline(__always)
  func contains(_ number: UInt32) -> Bool {
    words[Int(number / 64)] >> UInt64(number % 64) & 1 != 0
  }

  /// The number of members below a number.
  @inline(__always)
  func count(below number: UInt32) -> UInt32 {
    let word = words[Int(number / 64)] & (1 << UInt64(number % 64) - 1)
    return before[Int(number / 64)] + UInt32(truncatingIfNeeded: word.nonzeroBitCount)
  }
}

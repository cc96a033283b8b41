/// The order of texts that people expect: runs of digits by value, letters of ASCII without regard to
/// case; what is equal so far by fewer leading zeros, then by bytes.
enum NaturalOrder {
  /// Less than 0, 0 or more than 0, as `left` comes before, is, or comes after `right`.
  ///
  /// A total order of bytes: 0 means the same bytes.
  /// - Complexity: O(bytes)
  static func compare(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    var (i, j) = (0, 0)
    var zeros = 0
    while i < left.count, j < right.count {
      let (a, b) = (left[i], right[j])
      if isDigit(a), isDigit(b) {
        let (first, second) = (digits(left, i), digits(right, j))
        let order = compareDigits(left, first, right, second)
        if order != 0 { return order }
        if zeros == 0 { zeros = first.lowerBound - i - (second.lowerBound - j) }
        (i, j) = (first.upperBound, second.upperBound)
      } else {
        let (x, y) = (folded(a), folded(b))
        if x != y { return Int(x) - Int(y) }
        (i, j) = (i + 1, j + 1)
      }
    }
    let rest = (left.count - i) - (right.count - j)
    if rest != 0 { return rest }
    return zeros != 0 ? zeros : compareBytes(left, right)
  }

  /// By bytes, as C's `memcmp`; a shorter text before a longer one that begins with it.
  static func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    for index in 0..<min(left.count, right.count) where left[index] != right[index] {
      return Int(left[index]) - Int(right[index])
    }
    return left.count - right.count
  }

  /// A number that orders texts as far as it differs: the first eight bytes, up to a digit.
  static func prefix(_ text: UnsafeRawBufferPointer) -> UInt64 {
    var prefix: UInt64 = 0
    for index in 0..<min(8, text.count) {
      let byte = text[index]
      // Whatever is no digit compares with any digit as with the first.
      prefix |= UInt64(isDigit(byte) ? 48 : folded(byte)) << UInt64(56 - 8 * index)
      if isDigit(byte) { break }
    }
    return prefix
  }

  static func folded(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }

  /// The run of digits that begins at `start`, without leading zeros.
  private static func digits(_ text: UnsafeRawBufferPointer, _ start: Int) -> Range<Int> {
    var end = start
    while end < text.count, isDigit(text[end]) { end += 1 }
    var first = start
    while first < end - 1, text[first] == 48 { first += 1 }
    return first..<end
  }

  private static func compareDigits(
    _ left: UnsafeRawBufferPointer, _ first: Range<Int>, _ right: UnsafeRawBufferPointer,
    _ second: Range<Int>
  ) -> Int {
    if first.count != second.count { return first.count - second.count }
    for (i, j) in zip(first, second) where left[i] != right[j] {
      return Int(left[i]) - Int(right[j])
    }
    return 0
  }
}

/// The natural order of texts: runs of digits by value, ASCII letters regardless of case.
///
/// If two texts are equal so far, the one with fewer leading zeros comes first. After that, bytes decide.
enum NaturalOrder {
  /// Compares two texts. The result is negative if `left` comes first, and positive if `right` comes first.
  ///
  /// It is a total order of bytes: 0 means the same bytes.
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

  /// Compares by bytes, as C's `memcmp`. A prefix of a text comes before the text.
  static func compareBytes(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Int {
    for index in 0..<min(left.count, right.count) where left[index] != right[index] {
      return Int(left[index]) - Int(right[index])
    }
    return left.count - right.count
  }

  static func folded(_ byte: UInt8) -> UInt8 { byte &- 65 < 26 ? byte | 0x20 : byte }

  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }

  /// The run of digits at `start`, without leading zeros.
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

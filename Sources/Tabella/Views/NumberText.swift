/// The number that a text is, if it is one: JSON's syntax, a `+` allowed, blanks around allowed.
///
/// The nearest double, so that equal texts and equal numbers compare equal.
/// - Complexity: O(bytes). Up to 19 digits and small exponents take no memory.
func number(in text: UnsafeRawBufferPointer) -> Double? {
  var reader = NumberReader(text: text)
  return reader.read()
}

private struct NumberReader {
  let text: UnsafeRawBufferPointer
  var at = 0
  var end = 0
  var mantissa: UInt64 = 0
  var exponent = 0
  /// Whether digits were left out of the mantissa.
  var isLong = false

  /// Powers of ten that a double holds exactly.
  private static let powers: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]

  init(text: UnsafeRawBufferPointer) { self.text = text }

  mutating func read() -> Double? {
    end = text.count
    while at < end, text[at] == 32 { at += 1 }
    while end > at, text[end - 1] == 32 { end -= 1 }
    let start = at
    let isNegative = at < end && text[at] == UInt8(ascii: "-")
    if at < end, isNegative || text[at] == UInt8(ascii: "+") { at += 1 }
    let first = at
    let whole = digits()
    // JSON has no leading zeros: what looks like one is a code, not a number.
    guard whole == 1 || (whole > 1 && text[first] != 48) else { return nil }
    if at < end, text[at] == UInt8(ascii: ".") {
      at += 1
      let fraction = digits()
      guard fraction > 0 else { return nil }
      exponent -= fraction
    }
    if at < end, text[at] | 0x20 == UInt8(ascii: "e"), !readExponent() { return nil }
    guard at == end else { return nil }
    return value(isNegative, start)
  }

  /// Takes digits into the mantissa; returns how many there are.
  private mutating func digits() -> Int {
    let start = at
    while at < end {
      let digit = text[at] &- 48
      guard digit < 10 else { break }
      if mantissa < 100_000_000_000_000_000 {
        mantissa = mantissa &* 10 &+ UInt64(digit)
      } else {
        isLong = true
      }
      at += 1
    }
    return at - start
  }

  private mutating func readExponent() -> Bool {
    at += 1
    let isNegative = at < end && text[at] == UInt8(ascii: "-")
    if at < end, isNegative || text[at] == UInt8(ascii: "+") { at += 1 }
    let start = at
    var value = 0
    while at < end, text[at] &- 48 < 10 {
      value = min(value * 10 + Int(text[at] - 48), 100_000)
      at += 1
    }
    exponent += isNegative ? -value : value
    return at > start
  }

  private func value(_ isNegative: Bool, _ start: Int) -> Double? {
    if !isLong, mantissa <= 1 << 53, -22...22 ~= exponent {
      // Both are exact, so one operation rounds once.
      let magnitude =
        exponent < 0
        ? Double(mantissa) / NumberReader.powers[-exponent]
        : Double(mantissa) * NumberReader.powers[exponent]
      return isNegative ? -magnitude : magnitude
    }
    let digits = text[start] == UInt8(ascii: "+") ? start + 1 : start
    return Double(String(decoding: text[digits..<end], as: UTF8.self))
  }
}

extension Double {
  /// A number that orders as the double does, -0 as 0; any NaN is the largest.
  var orderedBits: UInt64 {
    if isNaN { return .max }
    let bits = (self == 0 ? 0 : self).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }
}

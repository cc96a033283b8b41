/// The number that a text contains, if it is one. The syntax is JSON's.
///
/// A leading `+` and spaces around the number are allowed, and a fraction needs no digit in front of it: `.5`. The
/// decimal separator is a comma if ``Column/hasDecimalComma`` says so. Then points can group the digits of a number,
/// as in `1.234,56` and `1.000.000`. A single group without a fraction, `1.234`, is no number, because it could also
/// have a decimal point.
/// - Complexity: O(bytes). Numbers of up to 15 digits with small exponents need no memory.
struct NumberText {
  /// The nearest double.
  let value: Double
  /// Whether no other short number has the same double. Numbers of 15 digits survive the conversion to a double and
  /// back.
  let isShort: Bool

  init?(_ text: UnsafeRawBufferPointer, hasComma: Bool = false) {
    var reader = NumberReader(text: text, point: UInt8(ascii: hasComma ? "," : "."))
    guard let value = reader.read() else { return nil }
    self.value = value
    isShort = reader.isShort
  }

  /// Compares numbers exactly, for any number of digits. The result is negative, 0 or positive.
  static func compare(
    _ left: NumberText, _ leftText: UnsafeRawBufferPointer,
    _ right: NumberText, _ rightText: UnsafeRawBufferPointer
  ) -> Int {
    if left.value != right.value { return left.value < right.value ? -1 : 1 }
    if left.isShort && right.isShort { return 0 }
    return DecimalText.compare(DecimalText(leftText), DecimalText(rightText))
  }
}

/// The nearest double of the number in a text; nil if the text is no number. See ``NumberText``.
func number(in text: UnsafeRawBufferPointer, hasComma: Bool = false) -> Double? {
  NumberText(text, hasComma: hasComma)?.value
}

/// A number of any length, digit by digit: 0.d₁d₂d₃… × 10^point.
struct DecimalText {
  private(set) var isNegative = false
  /// The digits from the first to the last non-zero one; empty for zero.
  private(set) var digits: [UInt8] = []
  private(set) var point = 0

  /// Reads the number in a text, which must be valid for ``NumberText``.
  init(_ text: UnsafeRawBufferPointer) {
    var fraction = 0
    var isFraction = false
    var exponent: (value: Int, isNegative: Bool)?
    let hasGroups = text.hasGroupedDigits
    for byte in text {
      switch byte {
      case UInt8(ascii: ".") where hasGroups: break
      case 48...57:
        if let (value, isNegative) = exponent {
          // No text is long enough to distinguish larger exponents.
          exponent = (min(value * 10 + Int(byte - 48), 1 << 53), isNegative)
        } else {
          if !digits.isEmpty || byte != 48 { digits.append(byte - 48) }
          if isFraction { fraction += 1 }
        }
      case UInt8(ascii: "."), UInt8(ascii: ","): isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = (0, false)
      case UInt8(ascii: "-"):
        if exponent == nil { isNegative = true } else { exponent = (0, true) }
      default: break
      }
    }
    point = digits.count - fraction
    if let (value, isNegative) = exponent { point += isNegative ? -value : value }
    while digits.last == 0 { digits.removeLast() }
    if digits.isEmpty { (isNegative, point) = (false, 0) }
  }

  /// The number of at most 15 digits that a double was made from.
  init(_ value: Double) {
    self = Array(value.description.utf8).withUnsafeBytes { DecimalText($0) }
  }

  static func compare(_ left: DecimalText, _ right: DecimalText) -> Int {
    if left.sign != right.sign { return left.sign < right.sign ? -1 : 1 }
    let order =
      left.point != right.point
      ? left.point < right.point ? -1 : 1
      : left.digits == right.digits
        ? 0 : left.digits.lexicographicallyPrecedes(right.digits) ? -1 : 1
    return left.isNegative ? -order : order
  }

  private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

  /// The next integers below and above. If the number is an integer, both are the number itself.
  ///
  /// Beyond 30 digits, both are the minimum or the maximum of `Int128`.
  var bounds: (below: Int128, above: Int128) {
    guard point <= 30 else { return isNegative ? (.min, .min) : (.max, .max) }
    var whole: Int128 = 0
    for index in 0..<max(0, point) {
      whole = whole * 10 + Int128(index < digits.count ? digits[index] : 0)
    }
    if isNegative { whole = -whole }
    if digits.count <= max(0, point) { return (whole, whole) }
    return isNegative ? (whole - 1, whole) : (whole, whole + 1)
  }
}

extension UnsafeRawBufferPointer {
  /// Whether the points in a number group its digits.
  var hasGroupedDigits: Bool {
    let points = count { $0 == UInt8(ascii: ".") }
    return points > 1 || points == 1 && contains(UInt8(ascii: ","))
  }
}

private struct NumberReader {
  let text: UnsafeRawBufferPointer
  /// The decimal separator.
  let point: UInt8
  var at = 0
  var end = 0
  var mantissa: UInt64 = 0
  var exponent = 0
  /// Whether the mantissa lacks some of the digits.
  var isLong = false
  /// Whether the double has only one text, apart from additional zeros.
  var isShort: Bool { !isLong && mantissa < 1_000_000_000_000_000 && -22...22 ~= exponent }

  /// The powers of ten that a double holds exactly.
  private static let powers: [Double] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
  ]

  init(text: UnsafeRawBufferPointer, point: UInt8) {
    self.text = text
    self.point = point
  }

  mutating func read() -> Double? {
    end = text.count
    while at < end, text[at] == 32 { at += 1 }
    while end > at, text[end - 1] == 32 { end -= 1 }
    let start = at
    let isNegative = at < end && text[at] == UInt8(ascii: "-")
    if at < end, isNegative || text[at] == UInt8(ascii: "+") { at += 1 }
    let first = at
    let whole = digits()
    let hasFraction = at < end && text[at] == point
    // JSON has no leading zeros. Text like 007 is a code, not a number.
    guard whole == 0 ? hasFraction : whole == 1 || text[first] != 48 else { return nil }
    if point == UInt8(ascii: ","), at < end, text[at] == UInt8(ascii: ".") {
      guard 1...3 ~= whole, text[first] != 48, readGroups() else { return nil }
    }
    if at < end, text[at] == point {
      at += 1
      let fraction = digits()
      guard fraction > 0 else { return nil }
      exponent -= fraction
    }
    if at < end, text[at] | 0x20 == UInt8(ascii: "e"), !readExponent() { return nil }
    guard at == end else { return nil }
    return value(isNegative, start)
  }

  /// Reads groups of three digits after points. Without a fraction, there must be at least two.
  private mutating func readGroups() -> Bool {
    var groups = 0
    while at < end, text[at] == UInt8(ascii: ".") {
      at += 1
      guard digits() == 3 else { return false }
      groups += 1
    }
    return groups > 1 || at < end && text[at] == point
  }

  /// Adds digits to the mantissa and returns their count.
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
      // Both operands are exact, so the operation rounds only once.
      let magnitude =
        exponent < 0
        ? Double(mantissa) / NumberReader.powers[-exponent]
        : Double(mantissa) * NumberReader.powers[exponent]
      return isNegative ? -magnitude : magnitude
    }
    let digits = text[start] == UInt8(ascii: "+") ? start + 1 : start
    let hasGroups = text.hasGroupedDigits
    let plain = text[digits..<end].filter { !hasGroups || $0 != UInt8(ascii: ".") }
      .map { $0 == point ? UInt8(ascii: ".") : $0 }
    return Double(String(decoding: plain, as: UTF8.self))
  }
}

extension Double {
  /// An integer with the order of the doubles. -0 equals 0, and every NaN is the largest.
  var orderedBits: UInt64 {
    if isNaN { return .max }
    let bits = (self == 0 ? 0 : self).bitPattern
    return bits >> 63 == 0 ? bits | 1 << 63 : ~bits
  }

  /// The double with these ``orderedBits``.
  init(orderedBits bits: UInt64) {
    self.init(bitPattern: bits >> 63 == 1 ? bits & ~(1 << 63) : ~bits)
  }
}

/// A decimal number, without rounding.
enum ExactNumber {
  /// The number `mantissa` × 10^-`scale`, with a scale from 0 to 18.
  case small(Int64, scale: Int8)
  /// A number with more digits.
  indirect case large(ExactDecimal)

  /// The powers of ten that fit into 64 bits.
  static let powers: [Int64] = (0...18).map { exponent in
    (0..<exponent).reduce(1) { power, _ in power * 10 }
  }

  /// The maximum number of digits in front of the decimal point and after it that an exponent can make.
  static let exponentLimit = 1000

  /// Reads a number; see ``NumberText``. Nil for other text, and for an exponent beyond ``exponentLimit``.
  @inline(__always)
  init?(_ text: UnsafeRawBufferPointer, hasComma: Bool) {
    guard let short = ExactNumber(short: text, point: UInt8(ascii: hasComma ? "," : ".")) else {
      self.init(long: text, hasComma: hasComma)
      return
    }
    self = short
  }

  /// Reads a number of at most 18 digits without an exponent.
  @inline(__always)
  private init?(short text: UnsafeRawBufferPointer, point: UInt8) {
    guard 1...20 ~= text.count else { return nil }
    let isNegative = text[0] == UInt8(ascii: "-")
    let start = isNegative ? 1 : 0
    var mantissa: Int64 = 0
    var pointAt = -1
    for index in start..<text.count {
      let digit = text[index] &- 48
      if digit < 10 {
        mantissa = mantissa &* 10 &+ Int64(digit)
      } else if text[index] == point, pointAt < 0 {
        pointAt = index
      } else {
        return nil
      }
    }
    let whole = (pointAt < 0 ? text.count : pointAt) - start
    let scale = pointAt < 0 ? 0 : text.count - pointAt - 1
    // JSON has neither leading zeros nor a point without digits around it.
    guard whole > 0, whole == 1 || text[start] != 48, pointAt < 0 || scale > 0,
      whole + scale <= 18
    else { return nil }
    self = .small(isNegative ? -mantissa : mantissa, scale: Int8(truncatingIfNeeded: scale))
  }

  @inline(never)
  private init?(long text: UnsafeRawBufferPointer, hasComma: Bool) {
    guard NumberText(text, hasComma: hasComma) != nil else { return nil }
    var digits: [UInt8] = []
    var (isNegative, isFraction, scale) = (false, false, 0)
    var exponent: (value: Int, isNegative: Bool)?
    let hasGroups = text.hasGroupedDigits
    for byte in text {
      switch byte {
      case UInt8(ascii: ".") where hasGroups: break
      case 48...57:
        if let (value, isNegative) = exponent {
          exponent = (min(value * 10 + Int(byte - 48), 1 << 32), isNegative)
        } else {
          digits.append(byte - 48)
          if isFraction { scale += 1 }
        }
      case UInt8(ascii: "."), UInt8(ascii: ","): isFraction = true
      case UInt8(ascii: "e"), UInt8(ascii: "E"): exponent = (0, false)
      case UInt8(ascii: "-"):
        if exponent == nil { isNegative = true } else { exponent = (0, true) }
      default: break
      }
    }
    if let (value, isNegative) = exponent {
      guard value <= ExactNumber.exponentLimit else { return nil }
      scale += isNegative ? value : -value
    }
    if scale < 0 {
      digits += repeatElement(0, count: -scale)
      scale = 0
    }
    self.init(ExactDecimal(isNegative: isNegative, digits: digits, scale: scale))
  }

  /// The number that the shortest text of a double means; nil for NaN and infinities.
  init?(_ value: Double) {
    var text = Cell.real(value).description
    guard
      let number = text.withUTF8({
        ExactNumber(UnsafeRawBufferPointer($0), hasComma: false)
      })
    else { return nil }
    self = number
  }

  init(_ value: Int64) { self = .small(value, scale: 0) }

  init(_ decimal: ExactDecimal) { self = decimal.small ?? .large(decimal) }

  /// The number as an integer of 64 bits; nil if it has decimals or does not fit.
  var integer: Int64? {
    switch self {
    case .small(let mantissa, let scale): scale == 0 ? mantissa : nil
    case .large(let decimal): decimal.integer
    }
  }

  /// The maximum number of bytes of the text of a ``small(_:scale:)``: a sign, 19 digits and a point.
  static let longestSmall = 21

  /// Calls `body` with the bytes of ``ExactDecimal/text(hasComma:)``.
  func withText<R>(hasComma: Bool, _ body: (UnsafeRawBufferPointer) -> R) -> R {
    guard case .small(let mantissa, let scale) = self else {
      return decimal.bytes(hasComma: hasComma).withUnsafeBytes { body($0) }
    }
    return withUnsafeTemporaryAllocation(
      byteCount: ExactNumber.longestSmall, alignment: 1
    ) { text in
      var (rest, start, digits) = (mantissa.magnitude, text.count, 0)
      while rest > 0 || digits <= scale {
        if digits == scale, scale > 0 {
          start -= 1
          text[start] = UInt8(ascii: hasComma ? "," : ".")
        }
        start -= 1
        text[start] = 48 + UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
        digits += 1
      }
      if mantissa < 0 {
        start -= 1
        text[start] = UInt8(ascii: "-")
      }
      return body(UnsafeRawBufferPointer(rebasing: text[start...]))
    }
  }

  /// The number with all its digits.
  var decimal: ExactDecimal {
    switch self {
    case .small(let mantissa, let scale): ExactDecimal(Int128(mantissa), scale: Int(scale))
    case .large(let decimal): decimal
    }
  }

  /// The largest integer that is at most the number × 10^`scale`; nil if it has more than 128 bits.
  func floor(scale: Int) -> Int128? {
    switch self {
    case .small(let mantissa, let own):
      let shift = scale - Int(own)
      if shift >= 0 {
        let (product, overflow) = Int128(mantissa).multipliedReportingOverflow(
          by: Int128(ExactNumber.powers[shift]))
        return overflow ? nil : product
      }
      let (quotient, rest) = mantissa.quotientAndRemainder(dividingBy: ExactNumber.powers[-shift])
      return Int128(rest < 0 ? quotient - 1 : quotient)
    case .large(let decimal): return decimal.floor(scale: scale)
    }
  }

  /// Compares numbers. The result is negative, 0 or positive.
  static func compare(_ left: ExactNumber, _ right: ExactNumber) -> Int {
    if case .small(let a, let scaleA) = left, case .small(let b, let scaleB) = right {
      // Both products have at most 37 digits.
      let first = Int128(a) * Int128(powers[max(0, Int(scaleB - scaleA))])
      let second = Int128(b) * Int128(powers[max(0, Int(scaleA - scaleB))])
      return first == second ? 0 : first < second ? -1 : 1
    }
    return ExactDecimal.compare(left.decimal, right.decimal)
  }
}

/// A decimal number with any number of digits.
struct ExactDecimal: Hashable {
  private(set) var isNegative: Bool
  /// The digits of an integer without leading zeros; empty for 0.
  private(set) var digits: [UInt8]
  /// The number of digits after the decimal point, at least 0.
  private(set) var scale: Int

  init(isNegative: Bool, digits: [UInt8], scale: Int) {
    let zeros = digits.prefix { $0 == 0 }.count
    self.digits = zeros == 0 ? digits : Array(digits.dropFirst(zeros))
    self.isNegative = isNegative && !self.digits.isEmpty
    self.scale = scale
  }

  /// The number `mantissa` × 10^-`scale`.
  init(_ mantissa: Int128, scale: Int) {
    isNegative = mantissa < 0
    digits = ExactDecimal.digits(of: mantissa.magnitude)
    self.scale = scale
  }

  /// The digits of an integer; empty for 0.
  private static func digits(of magnitude: UInt128) -> [UInt8] {
    guard var rest = UInt64(exactly: magnitude) else {
      return String(magnitude).utf8.map { $0 - 48 }
    }
    // An integer of 64 bits has at most 20 digits.
    return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 20) { digits in
      var start = digits.count
      while rest > 0 {
        start -= 1
        digits[start] = UInt8(truncatingIfNeeded: rest % 10)
        rest /= 10
      }
      return Array(digits[start...])
    }
  }

  /// The number in 18 digits; nil if it has more.
  var small: ExactNumber? {
    guard digits.count <= 18, scale <= 18 else { return nil }
    let magnitude = digits.reduce(0 as Int64) { $0 * 10 + Int64($1) }
    return .small(isNegative ? -magnitude : magnitude, scale: Int8(truncatingIfNeeded: scale))
  }

  /// The number as an integer of 64 bits; nil if it has decimals or does not fit.
  var integer: Int64? {
    guard scale == 0, digits.count <= 19 else { return nil }
    let magnitude = digits.reduce(0 as Int128) { $0 * 10 + Int128($1) }
    return Int64(exactly: isNegative ? -magnitude : magnitude)
  }

  /// The digits, with a decimal point or comma.
  func text(hasComma: Bool) -> String {
    String(decoding: bytes(hasComma: hasComma), as: UTF8.self)
  }

  /// The bytes of ``text(hasComma:)``.
  func bytes(hasComma: Bool) -> [UInt8] {
    let padding = max(0, scale + 1 - digits.count)
    let whole = padding + digits.count - scale
    var bytes: [UInt8] = []
    bytes.reserveCapacity(padding + digits.count + 2)
    if isNegative { bytes.append(UInt8(ascii: "-")) }
    for index in 0..<whole + scale {
      if index == whole { bytes.append(UInt8(ascii: hasComma ? "," : ".")) }
      bytes.append(48 + (index < padding ? 0 : digits[index - padding]))
    }
    return bytes
  }

  /// The same number without zeros at its end, with at least `decimals` digits after the point.
  func trimmed(to decimals: Int) -> ExactDecimal {
    var number = self
    while number.scale > decimals, number.digits.last ?? 0 == 0 {
      if !number.digits.isEmpty { number.digits.removeLast() }
      number.scale -= 1
    }
    return number
  }

  /// The number divided by a count, which is below 2^60.
  ///
  /// The quotient has all its digits if `significant` ones suffice. Otherwise it is rounded, away from zero at a tie, to
  /// as many digits as the number has after its point, and to at least `significant` digits in all.
  /// - Complexity: O(digits)
  func divided(by count: Int, significant: Int) -> ExactDecimal {
    let divisor = UInt64(count)
    var (quotient, rest): ([UInt8], UInt64) = ([], 0)
    func append(_ digit: UInt8) {
      let (next, remainder) = (rest * 10 + UInt64(digit)).quotientAndRemainder(dividingBy: divisor)
      rest = remainder
      if next != 0 || !quotient.isEmpty { quotient.append(UInt8(truncatingIfNeeded: next)) }
    }
    for digit in digits { append(digit) }
    var decimals = scale
    while rest != 0, quotient.count < significant {
      append(0)
      decimals += 1
    }
    if rest * 2 >= divisor {
      var place = quotient.count - 1
      while place >= 0, quotient[place] == 9 {
        quotient[place] = 0
        place -= 1
      }
      if place < 0 { quotient.insert(1, at: 0) } else { quotient[place] += 1 }
    }
    return ExactDecimal(isNegative: isNegative, digits: quotient, scale: decimals)
      .trimmed(to: scale)
  }

  /// See ``ExactNumber/floor(scale:)``.
  fileprivate func floor(scale: Int) -> Int128? {
    let kept = digits.count - self.scale + scale
    guard kept <= 38 else { return nil }
    var whole: Int128 = 0
    for index in 0..<max(0, kept) {
      let (scaled, tooLarge) = whole.multipliedReportingOverflow(by: 10)
      let (sum, overflow) = scaled.addingReportingOverflow(
        Int128(index < digits.count ? digits[index] : 0))
      if tooLarge || overflow { return nil }
      whole = sum
    }
    let isWhole = digits.dropFirst(max(0, kept)).allSatisfy { $0 == 0 }
    return isNegative ? -whole - (isWhole ? 0 : 1) : whole
  }

  /// Compares numbers. The result is negative, 0 or positive.
  static func compare(_ left: ExactDecimal, _ right: ExactDecimal) -> Int {
    if left.sign != right.sign { return left.sign < right.sign ? -1 : 1 }
    let order = compareMagnitudes(left, right)
    return left.isNegative ? -order : order
  }

  private var sign: Int { digits.isEmpty ? 0 : isNegative ? -1 : 1 }

  private static func compareMagnitudes(_ left: ExactDecimal, _ right: ExactDecimal) -> Int {
    let (a, b) = (left.digits, right.digits)
    let order = (a.count - left.scale) - (b.count - right.scale)
    if order != 0 { return order }
    for index in 0..<max(a.count, b.count) {
      let (x, y) = (index < a.count ? a[index] : 0, index < b.count ? b[index] : 0)
      if x != y { return x < y ? -1 : 1 }
    }
    return 0
  }
}

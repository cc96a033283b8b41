/// Functions that read short texts as values, eight bytes at a time.
///
/// They know only the usual notations, and return nil for all others. ``TextForm`` then asks ``TextValue``, which
/// defines what is a value. ``room`` bytes from the start of a text must be readable.
enum ShortText {
  /// The number of bytes that must be readable from the start of a text.
  static let room = 40

  /// Reads an integer of at most 19 digits.
  @inline(__always)
  static func integer(_ text: UnsafeRawPointer, _ count: Int) -> Int64? {
    let sign = byte(text, 0) == minus ? 1 : 0
    guard let magnitude = number(text + sign, count &- sign),
      let value = Int64(exactly: magnitude)
    else { return nil }
    return sign == 0 ? value : -value
  }

  /// Reads a number without an exponent, with at most 19 digits.
  @inline(__always)
  static func real(_ text: UnsafeRawPointer, _ count: Int, point: UInt8) -> Double? {
    guard let (mantissa, places, isNegative) = decimal(text, count, point: point) else {
      return nil
    }
    let value = places == 0 ? Double(mantissa) : quotient(mantissa, places)
    return isNegative ? -value : value
  }

  /// Reads such a number as `mantissa` / 10^`places`.
  @inline(__always)
  static func decimal(
    _ text: UnsafeRawPointer, _ count: Int, point: UInt8
  ) -> (mantissa: UInt64, places: Int, isNegative: Bool)? {
    let sign = byte(text, 0) == minus ? 1 : 0
    let (start, length) = (text + sign, count &- sign)
    guard length < room - 8 else { return nil }
    let whole = offset(of: point, in: start, length)
    guard let units = number(start, whole) else { return nil }
    if whole == length { return (units, 0, sign != 0) }
    let places = length &- whole &- 1
    guard places &+ whole <= 19, places <= 18, let fraction = digits(start + whole + 1, places)
    else { return nil }
    return (units &* powers[places] &+ fraction, places, sign != 0)
  }

  /// Reads `true` or `false`, in upper or lower case.
  @inline(__always)
  static func boolean(_ text: UnsafeRawPointer, _ count: Int) -> Bool? {
    let four = text.loadUnaligned(as: UInt32.self) | 0x2020_2020
    if count == 4, four == 0x6575_7274 { return true }
    if count == 5, four == 0x736C_6166, byte(text, 4) | 0x20 == 0x65 { return false }
    return nil
  }

  /// Reads a date of RFC 3339, or a date and time with a zone, as nanoseconds since 1970.
  @inline(__always)
  static func date(_ text: UnsafeRawPointer, _ count: Int) -> Int64? {
    var isWrong = false
    func pair(_ at: Int) -> Int64 {
      let (tens, ones) = (byte(text, at) &- 48, byte(text, at &+ 1) &- 48)
      isWrong = isWrong || tens > 9 || ones > 9
      return Int64(tens) &* 10 &+ Int64(ones)
    }
    guard count == 10 || 20...35 ~= count, byte(text, 4) == dash, byte(text, 7) == dash else {
      return nil
    }
    let (year, month, day) = (pair(0) &* 100 &+ pair(2), pair(5), pair(8))
    guard !isWrong, 1...12 ~= month, day >= 1, day <= 28 || day <= daysInMonth(year, month) else {
      return nil
    }
    let midnight = daysFromCivil(year, month, day) &* 86400
    if count == 10 { return nanoseconds(midnight, 0) }
    guard byte(text, 10) | 0x20 == UInt8(ascii: "t") || byte(text, 10) == 32,
      byte(text, 13) == colon, byte(text, 16) == colon
    else { return nil }
    let (hour, minute, second) = (pair(11), pair(14), pair(17))
    guard !isWrong, hour < 24, minute < 60, second < 60 else { return nil }
    var at = 19
    var fraction: Int64 = 0
    if byte(text, at) == UInt8(ascii: ".") {
      at = 20
      while at < 30, at < count, byte(text, at) &- 48 < 10 {
        fraction = fraction &* 10 &+ Int64(byte(text, at) &- 48)
        at &+= 1
      }
      guard 21...29 ~= at else { return nil }
      fraction = fraction &* Int64(truncatingIfNeeded: powers[29 &- at])
    }
    let time = midnight &+ hour &* 3600 &+ minute &* 60 &+ second
    let zone = byte(text, at)
    if zone | 0x20 == UInt8(ascii: "z") {
      return at &+ 1 == count ? nanoseconds(time, fraction) : nil
    }
    guard zone == dash || zone == UInt8(ascii: "+"), at &+ 6 == count,
      byte(text, at &+ 3) == colon
    else { return nil }
    let (hours, minutes) = (pair(at &+ 1), pair(at &+ 4))
    guard !isWrong, hours < 24, minutes < 60 else { return nil }
    let east = hours &* 3600 &+ minutes &* 60
    return nanoseconds(zone == dash ? time &+ east : time &- east, fraction)
  }

  // Parts

  private static var minus: UInt8 { UInt8(ascii: "-") }
  private static var dash: UInt8 { UInt8(ascii: "-") }
  private static var colon: UInt8 { UInt8(ascii: ":") }

  /// The powers of ten from 0 to 19.
  private static let powers: [UInt64] = [
    1, 10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000, 1_000_000_000,
    10_000_000_000, 100_000_000_000, 1_000_000_000_000, 10_000_000_000_000, 100_000_000_000_000,
    1_000_000_000_000_000, 10_000_000_000_000_000, 100_000_000_000_000_000,
    1_000_000_000_000_000_000, 10_000_000_000_000_000_000,
  ]

  @inline(__always)
  private static func byte(_ text: UnsafeRawPointer, _ at: Int) -> UInt8 {
    text.load(fromByteOffset: at, as: UInt8.self)
  }

  /// Nil if the time is out of range, or if only a wider integer can tell.
  @inline(__always)
  private static func nanoseconds(_ seconds: Int64, _ fraction: Int64) -> Int64? {
    let (scaled, isLarge) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflows) = scaled.addingReportingOverflow(fraction)
    return isLarge || overflows ? nil : sum
  }

  /// Reads 1 to 19 digits without leading zeros.
  @inline(__always)
  private static func number(_ text: UnsafeRawPointer, _ count: Int) -> UInt64? {
    byte(text, 0) == 48 && count != 1 ? nil : digits(text, count)
  }

  /// Reads 1 to 19 digits.
  @inline(__always)
  private static func digits(_ text: UnsafeRawPointer, _ count: Int) -> UInt64? {
    if count <= 8 {
      guard count > 0 else { return nil }
      let word = padded(text, count)
      return areDigits(word) ? value(word) : nil
    }
    let low = word(text + count - 8)
    guard areDigits(low) else { return nil }
    if count <= 16 {
      let high = padded(text, count &- 8)
      return areDigits(high) ? value(high) &* 100_000_000 &+ value(low) : nil
    }
    guard count <= 19 else { return nil }
    let (high, middle) = (padded(text, count &- 16), word(text + count - 16))
    guard areDigits(high), areDigits(middle) else { return nil }
    return (value(high) &* 100_000_000 &+ value(middle)) &* 100_000_000 &+ value(low)
  }

  /// Eight bytes, the first one in the lowest byte.
  @inline(__always)
  private static func word(_ text: UnsafeRawPointer) -> UInt64 {
    UInt64(littleEndian: text.loadUnaligned(as: UInt64.self))
  }

  /// The first 1 to 8 bytes of a text, with zeros in front.
  @inline(__always)
  private static func padded(_ text: UnsafeRawPointer, _ count: Int) -> UInt64 {
    let bits = UInt64(truncatingIfNeeded: count &- 1) &* 8
    return word(text) &<< (56 &- bits) | (0x3030_3030_3030_3030 &>> bits) &>> 8
  }

  @inline(__always)
  private static func areDigits(_ word: UInt64) -> Bool {
    let high: UInt64 = 0xF0F0_F0F0_F0F0_F0F0
    return word & high | ((word &+ 0x0606_0606_0606_0606) & high) &>> 4 == 0x3333_3333_3333_3333
  }

  /// The number of eight digits. Each step joins neighbours: digits, pairs, groups of four.
  @inline(__always)
  private static func value(_ digits: UInt64) -> UInt64 {
    let pairs = ((digits & 0x0F0F_0F0F_0F0F_0F0F) &* 2561) &>> 8
    let fours = ((pairs & 0x00FF_00FF_00FF_00FF) &* 6_553_601) &>> 16
    return ((fours & 0x0000_FFFF_0000_FFFF) &* 42_949_672_960_001) &>> 32
  }

  /// The offset of the first such byte; `count` if there is none.
  @inline(__always)
  private static func offset(of byte: UInt8, in text: UnsafeRawPointer, _ count: Int) -> Int {
    let pattern = UInt64(byte) &* 0x0101_0101_0101_0101
    var at = 0
    while at < count {
      let different = word(text + at) ^ pattern
      let found =
        (different &- 0x0101_0101_0101_0101) & ~different & 0x8080_8080_8080_8080
      if found != 0 { return min(count, at &+ found.trailingZeroBitCount &>> 3) }
      at &+= 8
    }
    return count
  }

  /// For each power of ten d, shifted until its highest bit is set: 2^128 / d - 2^64, rounded down.
  private static let reciprocals: [UInt64] = [
    0xFFFF_FFFF_FFFF_FFFF, 0x9999_9999_9999_9999, 0x47AE_147A_E147_AE14, 0x0624_DD2F_1A9F_BE76,
    0xA36E_2EB1_C432_CA57, 0x4F8B_588E_368F_0846, 0x0C6F_7A0B_5ED8_D36B, 0xAD7F_29AB_CAF4_8578,
    0x5798_EE23_08C3_9DF9, 0x12E0_BE82_6D69_4B2E, 0xB7CD_FD9D_7BDB_AB7D, 0x5FD7_FE17_9649_55FD,
    0x1979_9812_DEA1_1197, 0xC25C_2684_9768_1C26, 0x6849_B86A_12B9_B01E, 0x203A_F9EE_7561_59B2,
    0xCD2B_297D_889B_C2B6, 0x70EF_5464_6D49_6892, 0x2725_DD1D_243A_BA0E, 0xD83C_94FB_6D2A_C34A,
  ]

  /// The double nearest to `mantissa` / 10^`places`.
  @inline(__always)
  private static func quotient(_ mantissa: UInt64, _ places: Int) -> Double {
    if mantissa <= 1 << 53 {
      // Both operands are exact, so the division rounds only once.
      return Double(Int64(truncatingIfNeeded: mantissa))
        / Double(Int64(truncatingIfNeeded: powers[places]))
    }
    return longQuotient(mantissa, places)
  }

  /// The same for a mantissa above 2^53.
  ///
  /// Shifts both operands until their highest bits are set. Then the quotient has 64 exact bits, and its lowest bit also
  /// records whether the division has a remainder. The conversion to a double rounds these bits once.
  private static func longQuotient(_ mantissa: UInt64, _ places: Int) -> Double {
    let divisor = powers[places]
    let shifts = (mantissa.leadingZeroBitCount, divisor.leadingZeroBitCount)
    let (top, bottom) = (mantissa &<< UInt64(shifts.0), divisor &<< UInt64(shifts.1))
    let isLarge = top >= bottom
    let (quotient, rest) = divide(
      isLarge ? (top &>> 1, top &<< 63) : (top, 0), by: bottom, reciprocals[places])
    let exponent = shifts.1 &- shifts.0 &- 64 &+ (isLarge ? 1 : 0)
    return Double(quotient | (rest == 0 ? 0 : 1))
      * Double(bitPattern: UInt64(1023 + exponent) &<< 52)
  }

  /// Divides without a division, which takes longer: Möller and Granlund, "Improved division by invariant integers", 2011.
  ///
  /// The highest bit of the divisor is set, and the divisor is larger than `dividend.high`.
  @inline(__always)
  private static func divide(
    _ dividend: (high: UInt64, low: UInt64), by divisor: UInt64, _ reciprocal: UInt64
  ) -> (quotient: UInt64, rest: UInt64) {
    let product = reciprocal.multipliedFullWidth(by: dividend.high)
    let (low, carries) = product.low.addingReportingOverflow(dividend.low)
    var quotient = product.high &+ dividend.high &+ (carries ? 1 : 0) &+ 1
    var rest = dividend.low &- quotient &* divisor
    if rest > low {
      quotient &-= 1
      rest = rest &+ divisor
    }
    if rest >= divisor {
      quotient &+= 1
      rest &-= divisor
    }
    return (quotient, rest)
  }
}

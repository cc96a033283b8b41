/// A moment, in nanoseconds since 1970-01-01T00:00:00Z. The range is from 1677 to 2262.
public struct Timestamp: Hashable, Sendable, Comparable {
  /// The nanoseconds since 1970-01-01T00:00:00Z; negative for earlier moments.
  public var nanoseconds: Int64

  /// Creates a moment.
  public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  /// Creates the moment of a Unix time; nil if it is out of range.
  public init?(seconds: Int64, nanoseconds: Int64 = 0) {
    // Rounding the seconds towards zero first avoids an overflow for the earliest moments.
    let isEarly = seconds < 0 && nanoseconds > 0
    let (scaled, tooLarge) = (isEarly ? seconds + 1 : seconds)
      .multipliedReportingOverflow(by: 1_000_000_000)
    let (sum, overflow) = scaled.addingReportingOverflow(
      isEarly ? nanoseconds - 1_000_000_000 : nanoseconds)
    if tooLarge || overflow { return nil }
    self.nanoseconds = sum
  }

  public static func < (left: Timestamp, right: Timestamp) -> Bool {
    left.nanoseconds < right.nanoseconds
  }
}

extension Timestamp: CustomStringConvertible {
  /// RFC 3339 in UTC, with 0, 3, 6 or 9 digits of a second, as needed.
  public var description: String {
    var text = ""
    withRFC3339 { bytes in text = String(decoding: bytes, as: UTF8.self) }
    return text
  }

  /// Calls `body` with the ASCII bytes of ``description``. Allocates no memory.
  public func withRFC3339(_ body: (UnsafeRawBufferPointer) -> Void) {
    let second = floorDivide(nanoseconds, 1_000_000_000)
    let rest = nanoseconds % 1_000_000_000
    let fraction = rest < 0 ? rest + 1_000_000_000 : rest
    let day = floorDivide(second, 86400)
    let time = second - day * 86400
    let date = civilDate(day)
    withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 32) { buffer in
      func put(_ value: Int64, _ digits: Int, at place: Int) {
        // A division of 32 bits takes half as long.
        var rest = UInt32(truncatingIfNeeded: value)
        var index = place + digits
        while index > place {
          index -= 1
          buffer[index] = UInt8(truncatingIfNeeded: 48 + rest % 10)
          rest /= 10
        }
      }
      func put(_ character: Unicode.Scalar, at place: Int) {
        buffer[place] = UInt8(truncatingIfNeeded: character.value)
      }
      // All moments within the range have years of four digits.
      put(date.year, 4, at: 0)
      put("-", at: 4)
      put(date.month, 2, at: 5)
      put("-", at: 7)
      put(date.day, 2, at: 8)
      put("T", at: 10)
      put(time / 3600, 2, at: 11)
      put(":", at: 13)
      put(time / 60 % 60, 2, at: 14)
      put(":", at: 16)
      put(time % 60, 2, at: 17)
      var end = 19
      if fraction != 0 {
        let digits = fraction % 1_000_000 == 0 ? 3 : fraction % 1000 == 0 ? 6 : 9
        put(".", at: end)
        put(
          digits == 3 ? fraction / 1_000_000 : digits == 6 ? fraction / 1000 : fraction, digits,
          at: 20)
        end += 1 + digits
      }
      put("Z", at: end)
      end += 1
      body(UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(buffer)[0..<end]))
    }
  }

  /// Parses an RFC 3339 date (`2024-02-29`) or a date and time with a zone (`2024-02-29T12:00:00.5+01:00`).
  ///
  /// A space may replace the T. Returns nil for any other text.
  public init?(rfc3339 text: UnsafeRawBufferPointer) {
    guard let nanoseconds = Timestamp.nanoseconds(rfc3339: text).flatMap({ Int64(exactly: $0) })
    else { return nil }
    self.nanoseconds = nanoseconds
  }

  /// Parses the same formats, and a date and time without a zone: `2024-02-29 12:00`. That is the moment at which a
  /// clock in UTC shows the time.
  package init?(clock text: UnsafeRawBufferPointer) {
    guard let stated = StatedTime(text), let nanoseconds = Int64(exactly: stated.nanosecondsInUTC)
    else { return nil }
    self.nanoseconds = nanoseconds
  }

  /// Parses the formats of RFC 3339 for the years 0 to 9999. Returns nanoseconds since 1970.
  static func nanoseconds(rfc3339 text: UnsafeRawBufferPointer) -> Int128? {
    guard let stated = StatedTime(text), stated.offset != nil || stated.extent == .day else {
      return nil
    }
    return stated.nanosecondsInUTC
  }
}

/// A date, or a date and time, as a text states it: `2024-02-29`, `2024-02-29 12:30`, `2024-02-29T12:30:00.5+01:00`.
struct StatedTime {
  /// The smallest unit that the text states.
  enum Extent { case day, hour, minute, second, nanosecond }

  /// The seconds from 1970-01-01T00:00:00 to the stated time, both on the clock of the text.
  private(set) var second: Int64 = 0
  /// The nanoseconds after the second.
  private(set) var nanosecond: Int64 = 0
  /// The offset of the stated zone, in seconds east of UTC; nil if the text states no zone.
  private(set) var offset: Int64?
  private(set) var extent = Extent.day

  /// Reads a text of the years 0 to 9999; nil for any other text. Only a time with seconds can have a zone.
  init?(_ text: UnsafeRawBufferPointer) {
    var reader = RFC3339Reader(text: text)
    guard let day = reader.day() else { return nil }
    second = day * 86400
    if reader.isAtEnd { return }
    guard reader.takeDivider() else { return nil }
    if let seconds = reader.timeOfDay() {
      (second, extent) = (second + seconds, .second)
    } else {
      guard let hour = reader.number(below: 24) else { return nil }
      (second, extent) = (second + hour * 3600, .hour)
      if reader.isAtEnd { return }
      guard reader.take(":"), let minute = reader.number(below: 60), reader.isAtEnd else {
        return nil
      }
      (second, extent) = (second + minute * 60, .minute)
    }
    if reader.take(".") {
      guard let fraction = reader.fraction() else { return nil }
      (nanosecond, extent) = (fraction, .nanosecond)
    }
    if reader.isAtEnd { return }
    guard let zone = reader.zone(), reader.isAtEnd else { return nil }
    offset = zone
  }

  /// Reads the date and time, with at least a minute, at the start of a text that continues; nil if there is none.
  init?(leading text: UnsafeRawBufferPointer) {
    guard text.count > 10 else { return nil }
    func isSign(_ byte: UInt8) -> Bool {
      byte == UInt8(ascii: ":") || byte == UInt8(ascii: "-") || byte == UInt8(ascii: "+")
        || byte == UInt8(ascii: ".")
    }
    func isPart(_ byte: UInt8) -> Bool {
      48...57 ~= byte || isSign(byte) || byte | 0x20 == UInt8(ascii: "z")
    }
    var end = 11
    while end < text.count, isPart(text[end]) { end += 1 }
    // In `2024-02-29 12:30: started`, the last colon ends the time.
    while end > 11, isSign(text[end - 1]) { end -= 1 }
    self.init(UnsafeRawBufferPointer(rebasing: text[..<end]))
    guard extent != .day, extent != .hour else { return nil }
  }

  /// Reads the date, and the time if there is one, at the start of a text that continues; nil if there is none.
  init?(startOf text: UnsafeRawBufferPointer) {
    if let time = StatedTime(otherFormAtStartOf: text) {
      self = time
      return
    }
    guard text.count > 10, text[4] == UInt8(ascii: "-"), !(48...57 ~= text[10]) else { return nil }
    if let time = StatedTime(leading: text) {
      self = time
    } else {
      self.init(UnsafeRawBufferPointer(rebasing: text[..<10]))
    }
  }

  /// A day; nil if the month has no such day.
  init?(year: Int64, _ month: Int64, _ day: Int64) {
    guard 1...12 ~= month, day >= 1, day <= daysInMonth(year, month) else { return nil }
    second = daysFromCivil(year, month, day) * 86400
  }

  /// The time this many seconds after the stated one.
  func adding(_ seconds: Int64, _ extent: Extent) -> StatedTime {
    var time = self
    (time.second, time.extent) = (second + seconds, extent)
    return time
  }

  /// The same time in a zone.
  func with(offset: Int64) -> StatedTime {
    var time = self
    time.offset = offset
    return time
  }

  /// The nanoseconds from 1970 to the stated time, in UTC if the text states no zone.
  var nanosecondsInUTC: Int128 {
    Int128(second - (offset ?? 0)) * 1_000_000_000 + Int128(nanosecond)
  }

  /// The stated time on the clock of the text.
  var civil: CivilTime { CivilTime(second: second, nanosecond: nanosecond) }
}

/// Reads a date and time, character by character.
private struct RFC3339Reader {
  let text: UnsafeRawBufferPointer
  private var at = 0

  init(text: UnsafeRawBufferPointer) { self.text = text }

  var isAtEnd: Bool { at == text.count }

  /// Reads a date. Returns the number of days since 1970-01-01.
  @inline(__always)
  mutating func day() -> Int64? {
    guard at + 10 <= text.count, let start = DigitWord(text, at, .yearAndMonth) else { return nil }
    at += 8
    let (year, month) = (start.number(0) * 100 + start.number(2), start.number(5))
    guard let day = digits(2), 1...12 ~= month, day >= 1, day <= daysInMonth(year, month)
    else { return nil }
    return daysFromCivil(year, month, day)
  }

  /// Reads a time with seconds. Returns the seconds since midnight; nil for any other text, which is then not skipped.
  @inline(__always)
  mutating func timeOfDay() -> Int64? {
    guard at + 8 <= text.count, let time = DigitWord(text, at, .time) else { return nil }
    let (hour, minute, second) = (time.number(0), time.number(3), time.number(6))
    guard hour < 24, minute < 60, second < 60 else { return nil }
    at += 8
    return hour * 3600 + minute * 60 + second
  }

  /// Skips the character between date and time.
  mutating func takeDivider() -> Bool { take("T") || take("t") || take(" ") }

  /// Reads two digits.
  mutating func number(below limit: Int64) -> Int64? {
    digits(2).flatMap { $0 < limit ? $0 : nil }
  }

  @inline(__always)
  private mutating func digits(_ count: Int) -> Int64? {
    guard at + count <= text.count else { return nil }
    var value: Int64 = 0
    for index in at..<at + count {
      guard case 48...57 = text[index] else { return nil }
      value = value * 10 + Int64(text[index] - 48)
    }
    at += count
    return value
  }

  @inline(__always)
  mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard at < text.count, text[at] == UInt8(truncatingIfNeeded: character.value) else {
      return false
    }
    at += 1
    return true
  }

  /// Reads the digits after the decimal point, in nanoseconds.
  mutating func fraction() -> Int64? {
    let start = at
    var fraction: Int64 = 0
    var scale: Int64 = 100_000_000
    while at < text.count, case 48...57 = text[at] {
      // A nanosecond has nine digits. Further digits are an error, because they could not be kept.
      guard scale > 0 else { return nil }
      fraction += Int64(text[at] - 48) * scale
      scale /= 10
      at += 1
    }
    return at > start ? fraction : nil
  }

  /// The offset of the zone from UTC in seconds; positive east of Greenwich.
  mutating func zone() -> Int64? {
    if take("Z") || take("z") { return 0 }
    let isEast = take("+")
    guard isEast || take("-"), let hours = digits(2), take(":"), let minutes = digits(2),
      hours < 24, minutes < 60
    else { return nil }
    return (isEast ? 1 : -1) * (hours * 3600 + minutes * 60)
  }
}

/// The digits of eight bytes of a known form, read as one word.
private struct DigitWord {
  /// Digits and separators at known places.
  struct Form {
    /// The word whose digits are all 0.
    let zeros: UInt64
    /// For each digit a byte with its greatest value, and for each separator a 0.
    let greatest: UInt64

    /// `2024-02-`
    @inline(__always)
    static var yearAndMonth: Form {
      Form(zeros: 0x2D30_302D_3030_3030, greatest: 0x0009_0900_0909_0909)
    }

    /// `12:30:59`
    @inline(__always)
    static var time: Form { Form(zeros: 0x3030_3A30_303A_3030, greatest: 0x0909_0009_0900_0909) }
  }

  /// The value of each digit. The lowest byte is the first one.
  private let values: UInt64

  /// Reads eight bytes at an offset; nil if they do not have the form.
  @inline(__always)
  init?(_ text: UnsafeRawBufferPointer, _ offset: Int, _ form: Form) {
    let word = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    values = word ^ form.zeros
    // The highest bit of a byte says that it is too great.
    let low: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
    guard ((values & low) &+ (low &- form.greatest) | values) & ~low == 0 else { return nil }
  }

  /// The number of the two digits from a place on.
  @inline(__always)
  func number(_ place: Int) -> Int64 {
    let digits = values &>> UInt64(8 &* place)
    return Int64(digits & 15) &* 10 &+ Int64(digits &>> 8 & 15)
  }
}

func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
  let quotient = value / divisor
  return value % divisor < 0 ? quotient - 1 : quotient
}

// Conversions between days and dates: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
func civilDate(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
  let shifted = days + 719_468
  let era = floorDivide(shifted, 146_097)
  let dayOfEra = shifted - era * 146_097
  let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
  let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
  let month = (5 * dayOfYear + 2) / 153
  let civilMonth = month < 10 ? month + 3 : month - 9
  return (
    yearOfEra + era * 400 + (civilMonth <= 2 ? 1 : 0), civilMonth,
    dayOfYear - (153 * month + 2) / 5 + 1
  )
}

func daysFromCivil(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
  let shifted = month <= 2 ? year - 1 : year
  let era = floorDivide(shifted, 400)
  let yearOfEra = shifted - era * 400
  let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
  return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
}

func daysInMonth(_ year: Int64, _ month: Int64) -> Int64 {
  switch month {
  case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
  case 4, 6, 9, 11: 30
  default: 31
  }
}

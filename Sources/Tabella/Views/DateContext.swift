import Glibc

/// The zone and the present moment by which conditions read dates.
public struct DateContext: Sendable {
  /// The zone of days, hours and times that state no zone.
  public var zone: Zone
  /// The present moment, for values such as `today` and `-7d`; nil if there is none, so that date columns refuse them.
  public var now: Timestamp?

  /// UTC, without a present moment.
  public static let utc = DateContext(zone: .utc)

  /// The zone of this computer and the present moment, as in the command line.
  public static var local: DateContext { DateContext(zone: .local, now: .now) }

  /// Creates a context.
  public init(zone: Zone, now: Timestamp? = nil) {
    self.zone = zone
    self.now = now
  }
}

extension DateContext {
  /// The meaning of a condition's value, for the digest of a view: its bytes, and the dates that it means.
  func meaning(of value: [UInt8]) -> String {
    guard let date = DateValue(value, in: self) else { return described(value) }
    return "\(described(value)), which is \(date) in \(zone.name)"
  }
}

extension Timestamp {
  /// The present moment, by the clock of the system.
  public static var now: Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
      // The clock is within the range until 2262.
      ?? Timestamp(nanoseconds: .max)
  }
}

/// The dates that the value of a condition means.
enum DateValue: Hashable {
  /// A period of civil time: the clock shows its first time or a later one, but not yet its end.
  case period(Range<CivilTime>)
  /// A moment in nanoseconds since 1970, and the civil time that the clock shows then.
  case moment(Int128, CivilTime)

  /// Reads the value of a condition; nil if it names no date.
  ///
  /// The value is a date or the beginning of one (`2024`, `2024-05-01 12`), or relative to the present:
  /// `today`, `yesterday` and `tomorrow`, also with a number of days (`today-7d`), `now`, `now-2h`, `-7d`.
  init?(_ value: [UInt8], in context: DateContext) {
    guard
      let date = value.withUnsafeBytes({ DateValue.absolute($0, context.zone) })
        ?? context.now.flatMap({ DateValue.relative(value, $0, context.zone) })
    else { return nil }
    self = date
  }

  /// Reads the date of a cell, or the beginning of one, as the value of a condition; nil if it is none.
  init?(cell: UnsafeRawBufferPointer, _ zone: Zone) {
    guard let first = cell.first, 48...57 ~= first || first == UInt8(ascii: "["),
      let date = DateValue.absolute(cell, zone)
    else { return nil }
    self = date
  }

  /// Whether a value is relative to the present.
  static func isRelative(_ value: [UInt8]) -> Bool {
    relative(value, Timestamp(nanoseconds: 0), .utc) != nil
  }

  private static func moment(_ second: Int64, _ nanosecond: Int64, _ zone: Zone) -> DateValue {
    .moment(
      Int128(second) * 1_000_000_000 + Int128(nanosecond),
      CivilTime(second: second + Int64(zone.offset(atSecond: second)), nanosecond: nanosecond))
  }

  // Absolute dates

  private static func absolute(_ text: UnsafeRawBufferPointer, _ zone: Zone) -> DateValue? {
    if let months = months(text) {
      return .period(
        CivilTime(dayNumber: months.lowerBound)..<CivilTime(dayNumber: months.upperBound))
    }
    guard let stated = StatedTime(anyForm: text) else { return nil }
    if let offset = stated.offset {
      return moment(stated.second - offset, stated.nanosecond, zone)
    }
    let seconds: Int64? =
      switch stated.extent {
      case .day: 86_400
      case .hour: 3_600
      case .minute: 60
      case .second: 1
      case .nanosecond: nil
      }
    if let seconds {
      return .period(stated.civil..<CivilTime(second: stated.second + seconds, nanosecond: 0))
    }
    return .period(stated.civil..<stated.civil.next)
  }

  /// The days of a year or month (`2024`, `2024-05`) of the years 0 to 9999.
  private static func months(_ text: UnsafeRawBufferPointer) -> Range<Int64>? {
    func number(_ digits: Range<Int>) -> Int64? {
      digits.reduce(0 as Int64?) { value, index in
        48...57 ~= text[index] ? value.map { $0 * 10 + Int64(text[index] - 48) } : nil
      }
    }
    switch text.count {
    case 4:
      guard let year = number(0..<4) else { return nil }
      return daysFromCivil(year, 1, 1)..<daysFromCivil(year + 1, 1, 1)
    case 7:
      guard let year = number(0..<4), text[4] == UInt8(ascii: "-"), let month = number(5..<7),
        1...12 ~= month
      else { return nil }
      let first = daysFromCivil(year, month, 1)
      return first..<first + daysInMonth(year, month)
    default: return nil
    }
  }

  // Relative dates

  private static func relative(_ value: [UInt8], _ now: Timestamp, _ zone: Zone) -> DateValue? {
    let text = value.filter { $0 != 32 }.map { NaturalOrder.folded($0) }
    let word = text.prefix { 97...122 ~= $0 }
    guard let shift = Shift(text[word.endIndex...]) else { return nil }
    switch String(decoding: word, as: UTF8.self) {
    case "now": break
    case "": if shift.isEmpty { return nil }
    case "yesterday": return day(-1, shift, now, zone)
    case "today": return day(0, shift, now, zone)
    case "tomorrow": return day(1, shift, now, zone)
    default: return nil
    }
    let second = floorDivide(now.nanoseconds, 1_000_000_000)
    return moment(
      second + shift.seconds + shift.days * 86_400,
      now.nanoseconds &- second &* 1_000_000_000, zone)
  }

  /// A whole day, this many days after the present one. Hours cannot shift a day.
  private static func day(
    _ days: Int64, _ shift: Shift, _ now: Timestamp, _ zone: Zone
  ) -> DateValue? {
    guard !shift.hasTime else { return nil }
    let number = zone.civil(now).dayNumber + days + shift.days
    return .period(CivilTime(dayNumber: number)..<CivilTime(dayNumber: number + 1))
  }

  /// A shift in time: `-7d`, `+1h30m`. A sign applies to all numbers up to the next sign.
  private struct Shift {
    private(set) var days: Int64 = 0
    private(set) var seconds: Int64 = 0
    private(set) var hasTime = false
    private(set) var isEmpty = true

    /// Reads a text without blanks; nil if it is no shift. An empty text is a shift by nothing.
    init?(_ text: ArraySlice<UInt8>) {
      var rest = text
      var sign: Int64?
      while let first = rest.first {
        if first == UInt8(ascii: "-") || first == UInt8(ascii: "+") {
          sign = first == UInt8(ascii: "-") ? -1 : 1
          rest = rest.dropFirst()
        }
        let digits = rest.prefix { 48...57 ~= $0 }
        // Nine digits of weeks are 19 million years, and fit.
        guard let sign, 1...9 ~= digits.count,
          let count = Int64(String(decoding: digits, as: UTF8.self)),
          let unit = rest.dropFirst(digits.count).first
        else { return nil }
        rest = rest.dropFirst(digits.count + 1)
        isEmpty = false
        switch unit {
        case UInt8(ascii: "s"): (seconds, hasTime) = (seconds + sign * count, true)
        case UInt8(ascii: "m"): (seconds, hasTime) = (seconds + sign * count * 60, true)
        case UInt8(ascii: "h"): (seconds, hasTime) = (seconds + sign * count * 3600, true)
        case UInt8(ascii: "d"): days += sign * count
        case UInt8(ascii: "w"): days += sign * count * 7
        default: return nil
        }
      }
    }
  }

  // Comparisons: negative if the cell is before the value, 0 within it, positive after it

  /// The order of a moment and the value.
  @inline(__always)
  func order(of cell: Timestamp, _ converter: inout Zone.Converter) -> Int {
    switch self {
    case .moment(let moment, _):
      let cell = Int128(cell.nanoseconds)
      return cell < moment ? -1 : cell > moment ? 1 : 0
    case .period(let period): return DateValue.order(of: converter.civil(cell), period)
    }
  }

  /// The order of a date in a text and the value. A text without a zone is compared as it is.
  func order(of cell: StatedTime, _ converter: inout Zone.Converter) -> Int {
    switch self {
    case .moment(let moment, let civil):
      guard let offset = cell.offset else {
        return cell.civil < civil ? -1 : cell.civil > civil ? 1 : 0
      }
      let cell = Int128(cell.second - offset) * 1_000_000_000 + Int128(cell.nanosecond)
      return cell < moment ? -1 : cell > moment ? 1 : 0
    case .period(let period): return DateValue.order(of: converter.civil(cell), period)
    }
  }

  @inline(__always)
  private static func order(of cell: CivilTime, _ period: Range<CivilTime>) -> Int {
    cell < period.lowerBound ? -1 : cell < period.upperBound ? 0 : 1
  }
}

extension CivilTime {
  /// The time one nanosecond later.
  fileprivate var next: CivilTime {
    nanosecondOfDay + 1 < 86_400_000_000_000
      ? CivilTime(dayNumber: dayNumber, nanosecondOfDay: nanosecondOfDay + 1)
      : CivilTime(dayNumber: dayNumber + 1)
  }
}

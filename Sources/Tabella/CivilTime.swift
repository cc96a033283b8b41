/// A date and a time of day as a clock shows them, without a zone.
public struct CivilTime: Hashable, Sendable, Comparable {
  /// The number of days since 1970-01-01; negative for earlier days.
  public var dayNumber: Int64
  /// The nanoseconds since midnight on the clock, from 0 to 86,399,999,999,999.
  public var nanosecondOfDay: Int64

  /// Creates the time of a day. `nanosecondOfDay` is from 0 to 86,399,999,999,999.
  public init(dayNumber: Int64, nanosecondOfDay: Int64 = 0) {
    self.dayNumber = dayNumber
    self.nanosecondOfDay = nanosecondOfDay
  }

  /// Creates the time that is this many seconds after 1970-01-01T00:00:00. `nanosecond` is from 0 to 999,999,999.
  init(second: Int64, nanosecond: Int64) {
    dayNumber = floorDivide(second, 86400)
    nanosecondOfDay = (second &- dayNumber &* 86400) &* 1_000_000_000 &+ nanosecond
  }

  /// The year, the month from 1, and the day from 1, in the Gregorian calendar.
  public var date: (year: Int64, month: Int64, day: Int64) { civilDate(dayNumber) }

  /// The day of the week, from 1 (Monday) to 7 (Sunday), as in ISO 8601.
  public var weekday: Int { Int(dayNumber + 3 - floorDivide(dayNumber + 3, 7) * 7) + 1 }

  /// The week by ISO 8601, and the year that it belongs to: the year of its Thursday.
  public var week: (year: Int64, number: Int64) {
    let thursday = dayNumber + 4 - Int64(weekday)
    let year = civilDate(thursday).year
    return (year, (thursday - daysFromCivil(year, 1, 1)) / 7 + 1)
  }

  /// The hour, from 0 to 23.
  public var hour: Int64 { nanosecondOfDay / 3_600_000_000_000 }
  /// The minute, from 0 to 59.
  public var minute: Int64 { nanosecondOfDay / 60_000_000_000 % 60 }
  /// The second, from 0 to 59.
  public var second: Int64 { nanosecondOfDay / 1_000_000_000 % 60 }

  /// The date in ISO 8601: `2024-02-29`.
  public var dateText: String {
    let date = date
    let year = "\(date.year)"
    return String(repeating: "0", count: max(0, 4 - year.utf8.count))
      + "\(year)-\(CivilTime.two(date.month))-\(CivilTime.two(date.day))"
  }

  /// The time to the minute: `14:05`.
  public var minuteText: String { "\(CivilTime.two(hour)):\(CivilTime.two(minute))" }

  /// The time to the second: `14:05:09`.
  package var secondText: String { "\(minuteText):\(CivilTime.two(second))" }

  private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

  public static func < (left: CivilTime, right: CivilTime) -> Bool {
    left.dayNumber != right.dayNumber
      ? left.dayNumber < right.dayNumber : left.nanosecondOfDay < right.nanosecondOfDay
  }
}

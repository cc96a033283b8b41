/// A moment as fields of the calendar, in UTC.
struct CivilTime {
  let year: Int64
  /// 1 to 12.
  let month: Int64
  /// 1 to 31.
  let day: Int64
  /// 0 to 23.
  let hour: Int64
  /// The number of the day, counted from 1970-01-01.
  private let days: Int64

  /// Creates the fields of a moment, in nanoseconds since 1970-01-01T00:00:00Z.
  init(nanoseconds: Int128) {
    let hour: Int128 = 3_600_000_000_000
    let hours = Int64(nanoseconds / hour) - (nanoseconds % hour < 0 ? 1 : 0)
    days = floorDivide(hours, 24)
    self.hour = hours - days * 24
    (year, month, day) = civilDate(days)
  }

  /// The day of the week, from 1 for Monday to 7 for Sunday.
  var weekday: Int64 {
    // 1970-01-01 was a Thursday.
    let (days, week) = (days + 3, 7 as Int64)
    return days - floorDivide(days, week) * week + 1
  }

  /// The week by ISO 8601, and the year that it belongs to: the year of its Thursday.
  var week: (year: Int64, number: Int64) {
    let thursday = civilDate(days + 4 - weekday)
    let isLeap =
      thursday.year % 4 == 0 && thursday.year % 100 != 0 || thursday.year % 400 == 0
    let before: [Int64] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334]
    let leapDay: Int64 = isLeap && thursday.month > 2 ? 1 : 0
    let dayOfYear = before[Int(thursday.month) - 1] + leapDay + thursday.day
    return (thursday.year, (dayOfYear - 1) / 7 + 1)
  }
}

/// A birthday. The year, or month and day, can be unknown.
struct Birthday: Equatable {
  var year: Int?
  var month: Int?
  var day: Int?

  /// Reads `1985-04-12`, `19850412`, `--04-12`, `--0412`, `1985-04`, `1985`, and each of them with a time after it.
  init?(_ bytes: [UInt8]) {
    let date = string(bytes).prefix { $0 != "T" }
    let isYearUnknown = date.hasPrefix("--")
    let digits = date.filter { $0 != "-" }
    guard digits.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
    func number(_ range: Range<Int>) -> Int? {
      Int(digits.dropFirst(range.lowerBound).prefix(range.count))
    }
    let hyphens = date.count - digits.count
    switch (digits.count, isYearUnknown) {
    case (8, false) where [0, 2].contains(hyphens):
      (year, month, day) = (number(0..<4), number(4..<6), number(6..<8))
    case (4, true) where [2, 3].contains(hyphens): (month, day) = (number(0..<2), number(2..<4))
    case (6, false) where hyphens == 1: (year, month) = (number(0..<4), number(4..<6))
    case (4, false) where hyphens == 0: year = number(0..<4)
    default: return nil
    }
    let days = [
      31, year.map { Birthday.isLeap($0) ? 29 : 28 } ?? 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31,
    ]
    if let month, !(1...12 ~= month) { return nil }
    if let month, let day, !(1...days[month - 1] ~= day) { return nil }
  }

  private static func isLeap(_ year: Int) -> Bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
  }

  private func parts(_ separator: String) -> String {
    func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let year = year.map { String(repeating: "0", count: 4 - "\($0)".count) + "\($0)" }
    guard let month else { return year ?? "" }
    guard let day else { return "\(year ?? "")-\(two(month))" }
    return (year.map { $0 + separator } ?? "--") + two(month) + separator + two(day)
  }

  /// The form of cells: `1985-04-12`, `--04-12`, `1985-04`, `1985`.
  var text: [UInt8] { Array(parts("-").utf8) }

  /// The form of the file: vCard 4.0 writes `19850412`, vCard 3.0 the form of cells.
  func text(inVersion version: String) -> [UInt8] {
    version == "4.0" ? Array(parts("").utf8) : text
  }

  /// The number of days from a date to the next birthday; nil if month or day is unknown.
  func daysLeft(from today: (year: Int, month: Int, day: Int)) -> Int? {
    guard let month, let day else { return nil }
    let start = Birthday.dayNumber(today.year, today.month, today.day)
    return [today.year, today.year + 1].map { Birthday.dayNumber($0, month, day) - start }
      .first { $0 >= 0 }
  }

  /// The number of a day in the Gregorian calendar, from a fixed start. February 29 counts as March 1 in other years.
  private static func dayNumber(_ year: Int, _ month: Int, _ day: Int) -> Int {
    let years = month > 2 ? year : year - 1
    let months = month > 2 ? month - 3 : month + 9
    return 365 * years + years / 4 - years / 100 + years / 400 + (153 * months + 2) / 5 + day
  }
}

import Foundation
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Zones with the rules of Foundation, compared with Foundation's calendar.
@Suite(.needs(.zones)) struct ZoneTests {
  static let names = [
    "America/New_York", "Europe/Berlin", "Asia/Kolkata", "Australia/Lord_Howe", "Pacific/Apia",
    "America/St_Johns", "Africa/Casablanca", "UTC",
  ]

  @Test(arguments: names)
  func showsTheClockOfFoundation(_ name: String) throws {
    let foundation = try #require(TimeZone(identifier: name))
    let calendar = calendar(foundation)
    var converter = Zone.Converter(zone(foundation))
    var generator = SeededGenerator(seed: 25)
    var seconds: [Int64] = (0..<500).map { _ in
      Int64.random(in: -9_223_372_036...9_223_372_036, using: &generator)
    }
    // Moments at all changes of a few years, in the order of time and in no order.
    for change in changes(of: foundation, years: [1945, 1986, 2006, 2011, 2026]) {
      seconds += [-3601, -1, 0, 1, 1799, 3600, 86_400].map { change + $0 }
    }
    for second in seconds + seconds.shuffled(using: &generator) {
      let moment = try #require(Timestamp(seconds: second, nanoseconds: 1))
      let civil = converter.civil(moment)
      let expected = calendar.dateComponents(
        [.year, .month, .day, .hour, .minute, .second, .weekday],
        from: Date(timeIntervalSince1970: Double(second)))
      #expect(
        [
          civil.date.year, civil.date.month, civil.date.day, civil.hour, civil.minute, civil.second,
        ].map(Int.init) == [
          expected.year, expected.month, expected.day, expected.hour, expected.minute,
          expected.second,
        ], "\(second)")
      // Foundation begins the week with Sunday.
      #expect(civil.weekday % 7 + 1 == expected.weekday)
      #expect(civil.nanosecondOfDay % 1_000_000_000 == 1)
      #expect(converter.offset(atSecond: second) == foundation.secondsFromGMT(for: date(second)))
    }
  }

  /// The offset changes within a period of the converter, at any of its seconds.
  @Test func findsAChangeToTheSecond() {
    let period: Int64 = 1 << 18
    for change in [0, 1, 2, 5000, period - 1, period, period + 1] {
      let zone = Zone("test") { $0 < change ? 3600 : -7200 }
      var converter = Zone.Converter(zone)
      for second in [change - 1, change, change + 1, 0, period, -1, 1 << 40, -1 << 40] {
        #expect(converter.offset(atSecond: second) == (second < change ? 3600 : -7200))
      }
    }
  }

  @Test func skipsTheDayThatApiaSkipped() throws {
    let apia = try #require(TimeZone(identifier: "Pacific/Apia"))
    var converter = Zone.Converter(zone(apia))
    let change: Int64 = 1_325_239_200  // 2011-12-30T10:00:00Z
    let days = try [change - 1, change].map {
      converter.civil(try #require(Timestamp(seconds: $0))).date.day
    }
    #expect(days == [29, 31])
  }

  @Test func keepsTheEndsOfTheRange() {
    var converter = Zone.Converter(Zone("test") { _ in -86_399 })
    let first = converter.civil(Timestamp(nanoseconds: .min))
    #expect(first.date == (1677, 9, 20))
    #expect(first.nanosecondOfDay % 1_000_000_000 == 145_224_192)
    #expect(converter.civil(Timestamp(nanoseconds: .max)).date == (2262, 4, 10))
  }

  @Test(arguments: [
    ("2024-02-29", "2024-02-29 00:00:00.0"), ("2024-02-29 12", "2024-02-29 12:00:00.0"),
    ("2024-02-29T23:59", "2024-02-29 23:59:00.0"),
    ("2024-02-29 23:59:58.5", "2024-02-29 23:59:58.500000000"),
    ("2024-02-29T23:30:00Z", "2024-03-01 05:00:00.0"),
    ("2024-02-29t23:30:00.000000007-01:00", "2024-03-01 06:00:00.7"),
    ("9999-12-31T23:59:59Z", "10000-01-01 05:29:59.0"),
    ("0000-01-01", "0-01-01 00:00:00.0"),
  ])
  func readsTexts(_ text: String, _ expected: String) throws {
    var converter = Zone.Converter(Zone("test") { _ in 19_800 })
    var text = text
    let civil = try #require(
      text.withUTF8 { converter.civil(text: UnsafeRawBufferPointer($0)) })
    func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }
    let date = civil.date
    #expect(
      "\(date.year)-\(two(date.month))-\(two(date.day)) \(two(civil.hour)):\(two(civil.minute)):\(two(civil.second)).\(civil.nanosecondOfDay % 1_000_000_000)"
        == expected)
  }

  @Test(arguments: [
    "", "2024", "2024-02", "2024-02-30", "2024-02-29 ", "2024-02-29 24", "2024-02-29 23:",
    "2024-02-29 23:59Z", "2024-02-29Z", "2024-02-29 23:59:60", "2024-02-29 23:59:59.", "12:30",
  ])
  func refusesTexts(_ text: String) {
    var converter = Zone.Converter(.utc)
    var text = text
    #expect(text.withUTF8 { converter.civil(text: UnsafeRawBufferPointer($0)) } == nil)
  }

  /// A zone with the rules of Foundation.
  private func zone(_ zone: TimeZone) -> Zone {
    Zone(zone.identifier) { zone.secondsFromGMT(for: Date(timeIntervalSince1970: Double($0))) }
  }

  private func date(_ second: Int64) -> Date { Date(timeIntervalSince1970: Double(second)) }

  private func calendar(_ zone: TimeZone) -> Calendar {
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = zone
    return calendar
  }

  /// The seconds at which the offset changes in these years.
  private func changes(of zone: TimeZone, years: [Int64]) -> [Int64] {
    var changes: [Int64] = []
    for year in years {
      let start = daysFromCivil(year, 1, 1) * 86_400
      for day in stride(from: start, to: start + 366 * 86_400, by: 86_400) {
        let before = zone.secondsFromGMT(for: date(day))
        guard before != zone.secondsFromGMT(for: date(day + 86_400)) else { continue }
        changes.append(
          (day...day + 86_400).partitioned { zone.secondsFromGMT(for: date($0)) != before })
      }
    }
    return changes
  }
}

extension ClosedRange<Int64> {
  /// The first element that satisfies a condition; all elements after it satisfy the condition, too.
  fileprivate func partitioned(_ isAfter: (Int64) -> Bool) -> Int64 {
    var (low, high) = (lowerBound, upperBound)
    while low < high {
      let middle = low + (high - low) / 2
      if isAfter(middle) { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

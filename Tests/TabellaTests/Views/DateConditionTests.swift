import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Conditions on dates, in a zone and at a present moment.
@Suite struct DateConditionTests {
  /// One hour east of UTC in winter, two hours from the end of March to the end of October, as in Berlin in 2026.
  static let zone = Zone("test") { 1_774_746_000..<1_792_890_000 ~= $0 ? 7200 : 3600 }
  /// 2026-07-01 00:30 in the zone, and 2026-06-30 in UTC.
  static let summer = DateContext(zone: zone, now: moment("2026-06-30T22:30:00Z"))

  static func moment(_ text: String) -> Timestamp {
    Array(text.utf8).withUnsafeBytes { Timestamp(rfc3339: $0)! }
  }

  private func passing(
    _ cells: [Cell], _ column: Column, _ condition: String, _ dates: DateContext
  ) throws -> [Cell] {
    var filter = try RowFilter(
      [try Condition(Array("\(column.name) \(condition)".utf8), ColumnNames([column]))],
      search: nil, in: [column], dates: dates)
    return filter.passing(AwkwardCells.batch([cells], [column.type])).map { cells[Int($0)] }
  }

  /// Dates of logs and of other countries were only text: `04.06.2025` was in no month and before no other day.
  @Test func otherFormsOfDatesAreRead() throws {
    let text = Column("d")
    let cells: [Cell] = [
      "04.06.2025", "5.6.2025 12:30", "31.06.2025", "06/04/2025", "20/Nov/2026:09:12:31 +0100",
      "[20/Nov/2026:09:14:02", "[21/nov/2026:00:00:00 +0000] GET", "10.1.2024.5", "5.6.25",
      "24.12.2025: closed", "2025-06-04",
    ]
    func rows(_ condition: String) throws -> [Int] {
      try passing(cells, text, condition, .utc).map { cells.firstIndex(of: $0)! }
    }
    #expect(try rows("= 2025-06-04") == [0, 10])
    #expect(try rows("= 4.6.2025") == [0, 10])
    #expect(try rows("< 2026") == [0, 1, 9, 10])
    #expect(try rows(">= 20.11.2026") == [4, 5, 6])
    #expect(try rows("= 2026-11-20T08:12:31Z") == [4])
    #expect(try rows("> 2025-06-05 12:00") == [1, 4, 5, 6, 9])
    var day = ClassKeys(.day, of: text, in: .utc)
    let batch = AwkwardCells.batch([cells], [.text]).columns[0]
    let titles = cells.indices.map { row in
      day.withKey(batch, row) { String(decoding: $0, as: UTF8.self) }
    }
    #expect(
      titles == [
        "2025-06-04", "2025-06-05", "other", "other", "2026-11-20", "2026-11-20", "2026-11-21",
        "other", "other", "2025-12-24", "2025-06-04",
      ])
  }

  /// `summarize --by date:month --having 'date:month >= 2026-02'` was empty, because a month was a value and no cell.
  @Test func monthsInTextAreDates() throws {
    let cells: [Cell] = ["2025-12", "2026-01", "2026-02", "2026-13", "2026-2", "2026-02x", "x"]
    func rows(_ condition: String) throws -> [Int] {
      try passing(cells, Column("m"), condition, .utc).map { cells.firstIndex(of: $0)! }
    }
    #expect(try rows(">= 2026-02") == [2] && rows("< 2026-02") == [0, 1])
    #expect(try rows("= 2026") == [1, 2] && rows("= 2026-01") == [1] && rows("= 2026-13") == [3])
    #expect(try rows("<= 2026-01-31") == [0, 1] && rows("> 2026-01-15") == [2])
    #expect(try rows("!= 2026") == [0, 3, 4, 5, 6])
  }

  private func dates(_ texts: String...) -> [Cell] { texts.map { .date(Self.moment($0)) } }

  private let column = Column("d", .date)

  /// A cell equals the beginning of a date if the clock shows this beginning. It is less or greater in the order of the
  /// clock. So the moments of a repeated hour are equal to it, and each cell is less, equal or greater.
  @Test(arguments: [4, 7, 10, 13, 16, 19])
  func comparesTheClock(_ length: Int) throws {
    var generator = SeededGenerator(seed: UInt64(length))
    var moments = (0..<300).map { _ in
      Timestamp(nanoseconds: Int64.random(in: .min...(.max), using: &generator))
    }
    // The hours around both changes of the clock.
    for change in [1_774_746_000, 1_792_890_000] as [Int64] {
      moments += (0..<100).compactMap { _ in
        Timestamp(seconds: change + Int64.random(in: -7200...7200, using: &generator))
      }
    }
    let cells = moments.map { Cell.date($0) }
    func shown(_ moment: Timestamp) -> String {
      String(Self.zone.description(of: moment).prefix(length))
    }
    for moment in moments.shuffled(using: &generator).prefix(40) {
      let value = shown(moment)
      for comparison in Condition.Comparison.allCases.prefix(6) {
        let found = try passing(cells, column, "\(comparison.rawValue) \(value)", Self.summer)
        let expected = moments.filter { cell in
          let cell = shown(cell)
          return comparison.holds(cell < value ? -1 : cell > value ? 1 : 0)
        }
        #expect(found == expected.map { .date($0) }, "\(comparison.rawValue) \(value)")
      }
    }
  }

  @Test(arguments: [
    ("= today", [1, 2]), ("= TODAY", [1, 2]), ("= yesterday", [0]), ("= tomorrow", [3]),
    ("= today-1d", [0]), ("= today + 1d", [3]), ("= tomorrow-1w", []), ("< today", [0]),
    (">= yesterday", [0, 1, 2, 3]), ("> today", [3]), ("!= today", [0, 3]),
    ("> now", [2, 3]), ("> now-1h", [1, 2, 3]), ("> now - 1h", [1, 2, 3]), ("> -1h", [1, 2, 3]),
    ("> -31m", [1, 2, 3]), ("> -30m", [2, 3]), (">= -30m", [1, 2, 3]),
    ("> -1h30m", [1, 2, 3]), ("< +1d", [0, 1, 2, 3]), ("<= now+23h29m59s", [0, 1, 2]),
    ("<= now+23h30m", [0, 1, 2, 3]), ("> -1w", [0, 1, 2, 3]),
    ("> now-1w+6d22h", [1, 2, 3]), ("> now-2w+13d22h", [1, 2, 3]), ("> now-7d+6d22h", [1, 2, 3]),
    ("= 2026-07", [1, 2, 3]), ("< 2026-07-01T00:00:00Z", [0, 1]),
    ("= 2026-06-30T22:00:00Z", [1]), ("= 2026-07-01 00:00", [1]),
  ])
  func relativeDates(_ condition: String, _ expected: [Int]) throws {
    let cells = dates(
      "2026-06-30T12:00:00Z", "2026-06-30T22:00:00Z", "2026-07-01T08:00:00Z",
      "2026-07-01T22:00:00Z")
    #expect(try passing(cells, column, condition, Self.summer) == expected.map { cells[$0] })
  }

  /// A day of the zone has 23 or 25 hours at a change of the clock.
  @Test func daysHaveTheirOwnLength() throws {
    let cells = dates(
      "2026-03-28T23:00:00Z", "2026-03-29T21:59:59Z", "2026-03-29T22:00:00Z",
      "2026-10-24T22:00:00Z", "2026-10-25T22:59:59Z", "2026-10-25T23:00:00Z")
    #expect(try passing(cells, column, "= 2026-03-29", Self.summer) == Array(cells[...1]))
    #expect(try passing(cells, column, "= 2026-10-25", Self.summer) == Array(cells[3...4]))
    let hours = dates("2026-10-25T00:15:00Z", "2026-10-25T01:15:00Z", "2026-10-25T01:45:00Z")
    #expect(try passing(hours, column, "= 2026-10-25 02:15", Self.summer) == Array(hours[...1]))
    #expect(try passing(hours, column, "= 2026-10-25T02:15:00+01:00", Self.summer) == [hours[1]])
    // Clocks skipped this hour.
    #expect(
      try passing(dates("2026-03-29T01:30:00Z"), column, "= 2026-03-29 02:30", Self.summer) == [])
  }

  /// A date without a zone never shifts, in text and in inferred dates.
  @Test(arguments: [nil, ColumnType.date])
  func textWithoutAZoneNeverShifts(_ reads: ColumnType?) throws {
    let column = Column("d", reads: reads)
    let cells: [Cell] = [
      "2026-06-30", "2026-07-01", "2026-06-30T22:00:00Z", "2026-07-01T00:10:00+02:00", "",
      .missing,
    ]
    #expect(try passing(cells, column, "= today", Self.summer) == Array(cells[1...3]))
    #expect(try passing(cells, column, "= 2026-06-30", Self.summer) == [cells[0]])
    #expect(try passing(cells, column, "> -2h", Self.summer) == Array(cells[1...3]))
    #expect(try passing(cells, column, "< today", Self.summer) == [cells[0]])
    #expect(try passing(cells, column, "!= today", Self.summer) == [cells[0], "", .missing])
  }

  /// A word or a product code remains findable in a text column.
  @Test func wordsAreWords() throws {
    let cells: [Cell] = ["today", "Today", "-7d", "word", "2026-07-01"]
    let column = Column("d")
    #expect(try passing(cells, column, "= today", Self.summer) == ["today", "2026-07-01"])
    #expect(try passing(cells, column, "= -7d", Self.summer) == ["-7d"])
    #expect(try passing(cells, column, "~ ^today", Self.summer) == ["today"])
    #expect(try passing(cells, column, "= word", Self.summer) == ["word"])
    #expect(try passing(cells, column, "< today", Self.summer) == [])
    // Without a present moment, a word is only a word.
    #expect(try passing(cells, column, "= today", .utc) == ["today"])
  }

  @Test(arguments: [
    "today-1h", "now-", "now-1", "now-1y", "-7", "7d", "-d", "now 7d", "todayx", "-1234567890d",
    "today-", "2024-13", "2024-1", "", "-+7d", "now-7dx",
  ])
  func refuses(_ value: String) throws {
    let error = #expect(throws: TableError.self) {
      try passing(dates("2026-06-30"), column, "= \(value)", Self.summer)
    }
    #expect(error?.code == .invalidArgument && error?.message.contains("not a date") == true)
  }

  @Test func relativeDatesNeedThePresent() {
    let error = #expect(throws: TableError.self) {
      try passing(dates("2026-06-30"), column, "= today", .utc)
    }
    #expect(
      error?.message == "today needs the present time, which the program does not provide")
  }

  /// The versions of two views agree exactly if relative dates mean the same in both.
  @Test func versionsContainTheMeaning() throws {
    let source = InMemorySource([column], rows: [dates("2026-06-30")])
    func version(_ value: String, _ dates: DateContext) throws -> Version? {
      try source.filtered(
        by: [Condition(column: 0, comparison: .greater, value: Array(value.utf8))], dates: dates
      ).version()
    }
    var later = Self.summer
    later.now = Self.moment("2026-06-30T22:31:00Z")
    var tomorrow = Self.summer
    tomorrow.now = Self.moment("2026-07-01T22:31:00Z")
    #expect(try version("today", Self.summer) != nil)
    #expect(try version("today", Self.summer) == version("today", later))
    #expect(try version("today", Self.summer) != version("today", tomorrow))
    #expect(try version("now", Self.summer) != version("now", later))
    #expect(try version("2026", Self.summer) == version("2026", tomorrow))
    #expect(try version("2026", Self.summer) != version("2026", .utc))
  }

  @Test func describesMomentsInAZone() {
    let moment = Self.moment("2026-06-30T22:30:05.250Z")
    #expect(Self.zone.description(of: moment) == "2026-07-01T00:30:05.250+02:00")
    #expect(Zone.utc.description(of: moment) == "2026-06-30T22:30:05.250Z")
    let west = Zone("west") { _ in -(3 * 3600 + 30 * 60) }
    #expect(west.description(of: moment) == "2026-06-30T19:00:05.250-03:30")
    let old = Zone("old") { _ in -(4 * 3600 + 56 * 60 + 2) }
    #expect(old.description(of: moment) == "2026-06-30T17:34:03.250-04:56:02")
    #expect(
      old.description(of: Timestamp(nanoseconds: .min)) == "1677-09-20T19:16:41.145224192-04:56:02")
  }
}

import Testing

@testable import Tabella
@testable import TabellaTestSupport

@Suite struct RowFilterTests {
  private func passing(
    _ cells: [Cell], _ column: Column, _ comparison: Condition.Comparison, _ value: String
  ) throws -> [Cell] {
    var filter = try RowFilter(
      [Condition(column: 0, comparison: comparison, value: Array(value.utf8))], search: nil,
      in: [column])
    return filter.passing(AwkwardCells.batch([cells], [column.type])).map { cells[Int($0)] }
  }

  /// Comparing with a value agrees with the sort order, among values of the same kind.
  @Test(arguments: 0..<80)
  func comparisonsAgreeWithTheOrder(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let type = [ColumnType.integer, .real, .boolean, .date, .text, .binary].randomElement(
      using: &generator)!
    let cells = (0..<60).map { _ in AwkwardCells.cell(type, &generator) }
    var value = Cell.missing
    while value == .missing || value == .real(.nan) || "\(value)" == "nan" {
      value = AwkwardCells.cell(type, &generator)
    }
    if case .date(let date) = value, date.nanoseconds == .max { return }
    // Infinity cannot be written as a number.
    if case .real(let real) = value, real.isInfinite { return }
    var bytes = Array(value.description.utf8)
    if case .text(let text) = value { bytes = text }
    if case .binary(let text) = value { bytes = text }
    func isNumber(_ cell: Cell) -> Bool {
      guard case .text(let text) = cell else { return true }
      return NaiveOrder.number(text) != nil
    }
    // Text that is a date compares with a date or a year. An order also reads a date at the start of a text.
    let dates = type == .text ? DateValue(bytes, in: .utc) : nil
    var utc = Zone.Converter(.utc)
    func dateOrder(_ cell: Cell, _ comparison: Condition.Comparison) -> Int? {
      guard let dates, case .text(let text) = cell else { return nil }
      let isOrder = comparison != .equal && comparison != .notEqual
      let date = text.withUnsafeBytes {
        StatedTime($0) ?? (isOrder ? StatedTime(startOf: $0) : nil)
      }
      return date.map { dates.order(of: $0, &utc) }
    }
    for comparison in Condition.Comparison.allCases.prefix(6) {
      var filter = try RowFilter(
        [Condition(column: 0, comparison: comparison, value: bytes)], search: nil,
        in: [Column("c", type)])
      let found = Set(filter.passing(AwkwardCells.batch([cells], [type])).map(Int.init))
      for (row, cell) in cells.enumerated() {
        let dateOrder = dateOrder(cell, comparison)
        let order = dateOrder ?? NaiveOrder.compare(cell, value)
        let isNaN = if case .real(let real) = cell { real.isNaN } else { false }
        let isSameKind =
          dateOrder != nil
          || isNumber(cell) == isNumber(value) && (dates == nil || isNumber(value))
        let isComparable = cell != .missing && isSameKind && !isNaN
        let isEqual = cell == value || isComparable && order == 0
        let wanted =
          switch comparison {
          case .equal: isEqual
          case .notEqual: !isEqual
          default: isComparable && comparison.holds(order)
          }
        #expect(found.contains(row) == wanted, "\(cell) \(comparison.rawValue) \(value)")
      }
    }
  }

  @Test func numbersWithUnits() throws {
    let sizes = Column("size", .integer, unit: .bytes)
    let cells: [Cell] = [1023, 1024, 1536, 1_048_576, .missing]
    #expect(try passing(cells, sizes, .equal, "1K") == [1024])
    #expect(try passing(cells, sizes, .equal, "1.5 KiB") == [1536])
    #expect(try passing(cells, sizes, .greaterOrEqual, "1m") == [1_048_576])
    #expect(try passing(cells, sizes, .less, "1024B") == [1023])
    #expect(try passing(cells, sizes, .notEqual, "1024") == [1023, 1536, 1_048_576, .missing])
    #expect(
      try passing([.real(5), .real(6)], Column("cpu", .real, unit: .percent), .greater, "5%")
        == [.real(6)])
    for value in ["x", "", "1X", "0x10", "1K2"] {
      #expect(throws: TableError.self) { try passing(cells, sizes, .equal, value) }
    }
  }

  /// Integers are compared exactly with numbers between or beyond them.
  @Test func integersAreExact() throws {
    let column = Column("n", .integer)
    let cells: [Cell] = [.integer(.min), 2, 3, .integer(.max - 1), .integer(.max)]
    #expect(try passing(cells, column, .less, "2.5") == [.integer(.min), 2])
    #expect(try passing(cells, column, .equal, "2.5") == [])
    #expect(try passing(cells, column, .greaterOrEqual, "9223372036854775807") == [.integer(.max)])
    #expect(try passing(cells, column, .greater, "1e30") == [])
    #expect(try passing(cells, column, .greater, "-1e30") == cells)
    #expect(try passing(cells, column, .equal, "-1e30") == [])
    #expect(try passing(cells, column, .equal, "3.0") == [3])
  }

  /// A whole number and a fraction were compared as doubles.
  @Test func integersAndFractionsAreExact() throws {
    let column = Column("n", .integer)
    let cells: [Cell] = [1, .integer(.max)]
    #expect(try passing(cells, column, .less, "9223372036854775807.5") == cells)
    #expect(try passing(cells, column, .greater, "9223372036854775800.0") == [.integer(.max)])
    #expect(try passing(cells, column, .equal, "9223372036854775807.0") == [.integer(.max)])
    #expect(try passing(cells, column, .greater, "9223372036854775806.99") == [.integer(.max)])
    #expect(try passing(cells, column, .less, "1e99999999999999999999") == cells)
    #expect(try passing([-1, 0], column, .greater, "-0.5") == [0])
    #expect(try passing([-1, 0], column, .equal, "-1e0") == [-1])
  }

  /// Ids of 17 or more digits were equal to their neighbours.
  @Test func longNumbersInTextAreExact() throws {
    let column = Column("id")
    let cells: [Cell] = ["9007199254740993", "9007199254740992", "9007199254740992.000000000001"]
    #expect(try passing(cells, column, .equal, "9007199254740993") == [cells[0]])
    #expect(try passing(cells, column, .greater, "9007199254740992") == [cells[0], cells[2]])
    #expect(try passing(["1e400", "1e9999"], column, .less, "1e401") == ["1e400"])
    #expect(try passing(["1e-400", "0", "-1e-400"], column, .greater, "0") == ["1e-400"])
    #expect(try passing(["0.1"], column, .less, "0.10000000000000000001") == ["0.1"])
  }

  /// Dates beyond the range of timestamps still work as bounds.
  @Test func farDatesAreBounds() throws {
    let column = Column("d", .date)
    let cells: [Cell] = [.date(Timestamp(nanoseconds: .min)), .date(Timestamp(nanoseconds: 0))]
    #expect(try passing(cells, column, .less, "9999-12-31") == cells)
    #expect(try passing(cells, column, .greaterOrEqual, "1678") == [cells[1]])
    #expect(try passing(cells, column, .greater, "0001") == cells)
    #expect(
      try passing(["9999-12-31", "3000-01-01"], Column("t"), .greater, "3000")
        == ["9999-12-31"])
  }

  @Test func datesAreIntervals() throws {
    let column = Column("d", .date)
    func date(_ text: String) -> Cell {
      .date(Array(text.utf8).withUnsafeBytes { Timestamp(rfc3339: $0)! })
    }
    let cells = [
      date("2023-12-31T23:59:59.999Z"), date("2024-01-01"), date("2024-12-31T23:59:59Z"),
      date("2025-01-01"),
    ]
    #expect(try passing(cells, column, .equal, "2024") == Array(cells[1...2]))
    #expect(try passing(cells, column, .equal, "2024-12") == [cells[2]])
    #expect(try passing(cells, column, .lessOrEqual, "2024") == Array(cells[...2]))
    #expect(try passing(cells, column, .greater, "2024") == [cells[3]])
    #expect(try passing(cells, column, .less, "2024-01-01") == [cells[0]])
    #expect(try passing(cells, column, .equal, "2024-12-31 23:59") == [cells[2]])
    #expect(try passing(cells, column, .equal, "2024-12-31T23:59:59Z") == [cells[2]])
    #expect(try passing(cells, column, .equal, "2024-12-31T23") == [cells[2]])
    for value in ["2024-13", "yesterday", "", "24", "2024-1"] {
      #expect(throws: TableError.self) { try passing(cells, column, .equal, value) }
    }
  }

  /// In text dates, `day < 2025` found nothing, and `day <= 2024-04` lost all of April.
  @Test func textDatesAreDates() throws {
    let column = Column("day")
    let cells: [Cell] = [
      "2024-03-31", "2024-04-01 08:30", "2024-04-30T23:30:00-01:00", "2025-01-01", "2024-04-31",
      "soon", "", "3000", .missing,
    ]
    #expect(try passing(cells, column, .less, "2025") == Array(cells[...2]))
    #expect(try passing(cells, column, .lessOrEqual, "2024-04") == Array(cells[...1]))
    #expect(try passing(cells, column, .equal, "2024-05-01") == [cells[2]])
    #expect(try passing(cells, column, .greaterOrEqual, "2024-04-01 08:30") == Array(cells[1...3]))
    #expect(try passing(cells, column, .greater, "2024") == [cells[3], cells[7]])
    #expect(try passing(cells, column, .equal, "2024-04-31") == [cells[4]])
    #expect(
      try passing(cells, column, .notEqual, "2024") == Array(cells[3...]))
    #expect(try passing(cells, column, .less, "2024-04-01T08") == [cells[0]])
  }

  /// In a log, `line > 2026-11-21` found nothing, although `line:day` read the dates.
  @Test func linesBeginWithDates() throws {
    let column = Column("line")
    let cells: [Cell] = [
      "2026-11-20 23:59:01 start", "2026-11-21T04:10:00Z error", "2026-11-21: day",
      "2026-11-21", "2026-11-211 no date", "at 2026-11-22", "", .missing,
    ]
    #expect(try passing(cells, column, .greaterOrEqual, "2026-11-21") == Array(cells[1...3]))
    #expect(try passing(cells, column, .less, "2026-11-21") == [cells[0]])
    #expect(try passing(cells, column, .greater, "2026-11-21 04:00") == [cells[1]])
    // Equality is about the whole text.
    #expect(try passing(cells, column, .equal, "2026-11-21") == [cells[3]])
    #expect(try passing(cells, column, .notEqual, "2026-11-21").count == 7)
  }

  @Test func textNumbers() throws {
    let column = Column("t")
    let cells: [Cell] = ["10", "10.0", "9", "n/a", "", "x10", .missing]
    #expect(try passing(cells, column, .equal, "10") == ["10", "10.0"])
    #expect(try passing(cells, column, .less, "10") == ["9"])
    #expect(try passing(cells, column, .greater, "m") == ["n/a", "x10"])
    #expect(try passing(cells, column, .equal, "") == [""])
    #expect(try passing(cells, column, .notEqual, "10") == ["9", "n/a", "", "x10", .missing])
    #expect(try passing(cells, column, .matches, "^\\d+$") == ["10", "9"])
    #expect(try passing(cells, column, .doesNotMatch, "\\d") == ["n/a", "", .missing])
  }

  @Test func patternsSeeTheExactText() throws {
    #expect(
      try passing(
        [.date(Timestamp(nanoseconds: 0)), .missing], Column("d", .date), .matches, "^1970-01")
        == [.date(Timestamp(nanoseconds: 0))])
    #expect(try passing([12, 21], Column("n", .integer), .matches, "1$") == [21])
    #expect(throws: TableError.self) { try passing(["a"], Column("t"), .matches, "(") }
  }

  /// A search covers all columns. Upper-case letters make it case-sensitive.
  @Test(arguments: 0..<40)
  func searchesAreNaiveSearches(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let types: [ColumnType] = [.text, .integer, .date, .text]
    let cells = types.map { type in (0..<50).map { _ in AwkwardCells.cell(type, &generator) } }
    for needle in ["a", "A", "1", "9b", "é", "", "70-01", "ab\n", "file10B"] {
      var filter = try RowFilter(
        [], search: Array(needle.utf8), in: types.map { Column("c", $0) })
      let found = filter.passing(AwkwardCells.batch(cells, types)).map(Int.init)
      func fold(_ text: [UInt8]) -> [UInt8] {
        needle.contains { $0.isUppercase && $0.isASCII }
          ? text : text.map { 65...90 ~= $0 ? $0 + 32 : $0 }
      }
      let wanted = (0..<50).filter { row in
        cells.contains { column in
          let bytes: [UInt8]
          switch column[row] {
          case .missing: return false
          case .text(let text): bytes = text
          default: bytes = Array(column[row].description.utf8)
          }
          let (text, part) = (fold(bytes), fold(Array(needle.utf8)))
          return part.isEmpty
            || (0...max(0, text.count - part.count)).contains { text[$0...].starts(with: part) }
        }
      }
      #expect(found == wanted, "\(needle)")
    }
  }

  @Test func conditionsAreJoinedByAnd() throws {
    var filter = try RowFilter(
      [
        Condition(column: 1, comparison: .greater, value: Array("1".utf8)),
        Condition(column: 0, comparison: .matches, value: Array("b".utf8)),
      ], search: Array("x".utf8), in: [Column("a"), Column("n", .integer)])
    #expect(filter.columns == [0, 1])
    let batch = AwkwardCells.batch([["xb", "xb", "b", "x"], [1, 2, 3, 4]], [.text, .integer])
    #expect(filter.passing(batch) == [1])
    #expect(throws: TableError.self) {
      try RowFilter([Condition(column: 2, comparison: .equal, value: [])], search: nil, in: [])
    }
  }
}

import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Conditions that compare two columns of a row. They did not exist, so `spent > limit` compared with a word.
@Suite struct OtherColumnTests {
  private func passing(
    _ rows: [(Cell, Cell)], _ columns: [Column], _ comparison: Condition.Comparison
  ) throws -> [Int] {
    var filter = try RowFilter(
      [Condition(column: 0, comparison: comparison, otherColumn: 1)], search: nil, in: columns)
    let batch = AwkwardCells.batch([rows.map(\.0), rows.map(\.1)], columns.map(\.type))
    return filter.passing(batch).map(Int.init)
  }

  /// A text cell compares with another text cell as with this text, written into the condition.
  @Test(arguments: 0..<30)
  func textsCompareAsValues(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let columns = [Column("a"), Column("b")]
    let rows = (0..<60).map { _ in
      (AwkwardCells.cell(.text, &generator), AwkwardCells.cell(.text, &generator))
    }
    for comparison in Condition.Comparison.allCases.prefix(6) {
      let found = try passing(rows, columns, comparison)
      let expected = try rows.indices.filter { row in
        guard case .text(let value) = rows[row].1 else { return comparison == .notEqual }
        var filter = try RowFilter(
          [Condition(column: 0, comparison: comparison, value: value)], search: nil,
          in: [columns[0]])
        return !filter.passing(AwkwardCells.batch([[rows[row].0]], [.text])).isEmpty
      }
      #expect(found == expected, "\(comparison.rawValue)")
    }
  }

  /// Cells of one type compare in the order of the type. NaN is only unequal.
  @Test(arguments: [ColumnType.integer, .real, .date, .boolean, .binary])
  func valuesOfOneTypeCompareByValue(_ type: ColumnType) throws {
    var generator = SeededGenerator(seed: UInt64(type.rawValue))
    let rows = (0..<200).map { _ in
      (AwkwardCells.cell(type, &generator), AwkwardCells.cell(type, &generator))
    }
    for comparison in Condition.Comparison.allCases.prefix(6) {
      let expected = rows.indices.filter { row in
        let (a, b) = rows[row]
        func isNaN(_ cell: Cell) -> Bool {
          if case .real(let real) = cell { return real.isNaN }
          return false
        }
        if a == .missing || b == .missing || isNaN(a) || isNaN(b) { return comparison == .notEqual }
        return comparison.holds(NaiveOrder.compare(a, b))
      }
      #expect(
        try passing(rows, [Column("a", type), Column("b", type)], comparison) == expected,
        "\(comparison.rawValue)")
    }
  }

  @Test func integersCompareExactlyWithReals() throws {
    let columns = [Column("n", .integer), Column("r", .real)]
    let rows: [(Cell, Cell)] = [
      (9_007_199_254_740_993, .real(9_007_199_254_740_992)), (3, .real(2.5)), (2, .real(2)),
      (.integer(.max), .real(9_223_372_036_854_775_808)), (1, .real(.infinity)), (1, .real(.nan)),
    ]
    #expect(try passing(rows, columns, .greater) == [0, 1])
    #expect(try passing(rows, columns, .equal) == [2])
    #expect(try passing(rows, columns, .less) == [3, 4])
    #expect(try passing(rows, columns, .notEqual) == [0, 1, 3, 4, 5])
  }

  @Test func numbersAndDatesCompareWithTexts() throws {
    let (numbers, texts) = (
      [Column("n", .integer), Column("t")], [Column("t"), Column("d", .date)]
    )
    #expect(
      try passing([(5, "4.5"), (5, "05"), (5, ""), (5, "x")], numbers, .greater) == [0])
    let day = Cell.date(DateConditionTests.moment("2026-02-03T12:00:00Z"))
    #expect(
      try passing(
        [("2026-02-04", day), ("2026-02-03T11:59:59Z", day), ("3.2.2026 12:30", day)], texts,
        .greater) == [0, 2])
    #expect(
      try passing(
        [("1,5", "1.5"), ("1.000,5", "1000")],
        [
          Column("a", hasDecimalComma: true), Column("b"),
        ], .equal) == [0])
  }

  /// A day in one of two columns of dates was the whole day, so `e > {d}` and `d < {e}` differed.
  @Test func datesInTextCompareByValue() throws {
    let columns = [Column("d", reads: .date), Column("e", reads: .date)]
    let (day, time): (Cell, Cell) = ("2024-01-01", "2024-01-01T05:00:00Z")
    let rows: [(Cell, Cell)] = [(day, time), (time, day), (day, day), ("", day), (day, .missing)]
    #expect(try passing(rows, columns, .less) == [0])
    #expect(try passing(rows, columns, .greater) == [1])
    #expect(try passing(rows, columns, .equal) == [2])
    #expect(try passing(rows, columns, .notEqual) == [0, 1, 3, 4])
    let typed = [Column("d", .date), Column("e", reads: .date)]
    let midnight = Cell.date(DateConditionTests.moment("2024-01-01T00:00:00Z"))
    #expect(try passing([(midnight, time), (midnight, day)], typed, .less) == [0])
  }

  @Test func columnsThatCannotBeComparedAreRefused() throws {
    let columns = [Column("n", .integer), Column("d", .date)]
    let error = #expect(throws: TableError.self) { try passing([], columns, .less) }
    #expect(error?.message == "n is integer and d is date; they cannot be compared")
    #expect(throws: TableError.self) {
      try RowFilter(
        [Condition(column: 0, comparison: .less, otherColumn: 2)], search: nil, in: columns)
    }
    #expect(throws: TableError.self) {
      try RowFilter(
        [Condition(column: 0, comparison: .matches, otherColumn: 1)], search: nil, in: columns)
    }
  }

  /// Only a name of a column in braces and without quotes is a column, so that other filters mean what they meant.
  @Test func bracesNameAColumn() throws {
    let names = ColumnNames([Column("spent"), Column("limit"), Column("a}b")])
    func condition(_ text: String) throws -> Condition { try Condition(Array(text.utf8), names) }
    #expect(
      try condition("spent > {limit}")
        == Condition(column: 0, comparison: .greater, otherColumn: 1))
    #expect(
      try condition("spent={a}b}") == Condition(column: 0, comparison: .equal, otherColumn: 2))
    for (text, value) in [
      ("spent > limit", "limit"), ("spent = '{limit}'", "{limit}"), ("spent = {}", "{}"),
      ("spent = {other}", "{other}"), ("spent = {limit", "{limit"), ("spent ~ {limit}", "{limit}"),
      ("spent = x{limit}", "x{limit}"),
    ] {
      let read = try condition(text)
      #expect(read.otherColumn == nil && read.value == Array(value.utf8), "\(text)")
    }
    let error = #expect(throws: TableError.self) { try condition("spent > {limt}") }
    #expect(error?.message.contains("did you mean limit?") == true)
  }

  /// An edit in a view of compared columns reaches the row that the view shows.
  @Test func editsReachTheShownRow() throws {
    let rows: [[Cell]] = [[1, 2], [5, 3], [4, 4], [9, 1]]
    let base = InMemorySource([Column("spent", .integer), Column("limit", .integer)], rows: rows)
    let view = try base.shaped(filter: "spent > {limit}", sort: "spent:desc")
    var edits = TableEdits(of: view)
    try edits.set(where: "limit = 3", to: ["limit": 7])
    _ = try edits.commit()
    #expect(try Naive(reading: base).sections[0].rows == [[1, 2], [5, 7], [4, 4], [9, 1]])
    #expect(try Naive(reading: view).sections[0].rows == [[9, 1]])
  }
}

import Tabella
import Testing

@testable import TabellaTestSupport

/// Shapes by column names, as a program that embeds the library makes them.
@Suite struct TableShapeTests {
  private let names = ColumnNames([
    Column("city"), Column("amount"), Column("amount > 3"), Column("a,b"), Column("city"),
  ])

  @Test(arguments: [
    ("city = Rome", 0, Condition.Comparison.equal, "Rome"), ("amount>=3", 1, .greaterOrEqual, "3"),
    ("amount > 3 = x", 2, .equal, "x"), ("city 2 !~ '^ '", 4, .doesNotMatch, "^ "),
    ("a,b<  7 ", 3, .less, "7"), ("city = =x", 0, .equal, "=x"),
  ])
  func conditionsAreRead(
    _ text: String, _ column: Int, _ comparison: Condition.Comparison, _ value: String
  ) throws {
    try Condition.check(Array(text.utf8))
    let condition = try Condition(Array(text.utf8), names)
    #expect(
      condition == Condition(column: column, comparison: comparison, value: Array(value.utf8)))
    #expect(!condition.isExact)
  }

  @Test func valuesAreAnyBytes() throws {
    let condition = try Condition(Array("city = ".utf8) + [0xFF], names)
    #expect(condition.value == [0xFF])
  }

  @Test(arguments: [
    ("amount", "must be COLUMN OP VALUE"), ("amuont = 1", "did you mean amount?"),
    ("city == Rome", "there is no operator ==; use =, or put a space before"),
    ("city <> Rome", "there is no operator <>; use !=, or"), ("city =~ Ro", "use ~, or"),
    ("city >> Rome", "there is no operator >>; put a space"), ("", "must be COLUMN OP VALUE"),
  ])
  func wrongConditions(_ text: String, _ message: String) {
    let error = #expect(throws: TableError.self) { try Condition(Array(text.utf8), names) }
    #expect(error?.code == .invalidArgument && error?.message.contains(message) == true)
  }

  /// `delete --filter 'amount != 1 and city != x'` removed all rows, because it was one condition with a long value.
  @Test(arguments: [
    "amount != 1 and city != x", "amount > 1 AND city = x", "city = a or city = b",
    "amount<1&&city~x",
    "amount = 1 || amount = 2", "amount > 1, city = x", "city = 'a' and city 2 = 'b'",
    "amount > 1 and ctiy = x", "city ~ a and amount > 1", "city = \"a\" or amount > \"1\"",
  ])
  func severalConditionsInOneAreRefused(_ text: String) {
    let error = #expect(throws: TableError.self) { try Condition(Array(text.utf8), names) }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains("a filter is one condition, without ") == true, "\(text)")
  }

  @Test(arguments: [
    ("city = Sand and Sea", "Sand and Sea"), ("city = 'a and amount > 1'", "a and amount > 1"),
    ("city = \"it's a or b = c\"", "it's a or b = c"), ("city = x,y", "x,y"),
    ("city ~ disk and size=[0-9]", "disk and size=[0-9]"), ("city = a, b=c", "a, b=c"),
    ("city != and = or", "and = or"), ("city ~ a||b", "a||b"),
  ])
  func textsWithWordsBetweenConditionsAreValues(_ text: String, _ value: String) throws {
    let condition = try Condition(Array(text.utf8), names)
    #expect(condition.column == 0 && condition.value == Array(value.utf8))
  }

  /// `delete FOLDER --filter 'name = "10"'` also deleted the file 1e1, because quotes had no meaning.
  @Test func valuesInQuotesAreExact() throws {
    let cells = ["10", "1e1", "10.0", "2024-05", "2024-05-01", "today", "x"]
    let table = InMemorySource(
      [Column("name")], rows: cells.map { [.text(Array($0.utf8))] })
    func kept(_ text: String) throws -> [String] {
      let view = try table.filtered(
        by: [try Condition(Array(text.utf8), ColumnNames(table.columns))])
      return try readAll(view).map { $0[0].description }
    }
    #expect(try kept("name = 10") == ["10", "1e1", "10.0"])
    for value in cells {
      for quote in ["'", "\""] {
        #expect(try kept("name = \(quote)\(value)\(quote)") == [value])
        #expect(try kept("name != \(quote)\(value)\(quote)") == cells.filter { $0 != value })
      }
    }
    #expect(try kept("name >= '10'") == kept("name >= 10"))
    // A column that reads as numbers compares numbers.
    let numbers = InMemorySource(
      [Column("n", reads: .integer)], rows: [[.text(Array("7".utf8))]])
    let seven = try Condition(Array("n = '7.0'".utf8), ColumnNames(numbers.columns))
    #expect(try readAll(numbers.filtered(by: [seven])).count == 1)
  }

  /// A text without an operator is refused even without a table, because no table makes it a condition.
  @Test func conditionsAreCheckedWithoutATable() {
    #expect(throws: TableError.self) { try Condition.check(Array("amount".utf8)) }
  }

  @Test func groupingsAndOrdersAreRead() throws {
    #expect(try Grouping.list("city:letter", names) == [Grouping(column: 0, by: .letter)])
    #expect(try Grouping.list("a,b", names) == [Grouping(column: 3)])
    let several = [
      Grouping(column: 0, by: .weekday), Grouping(column: 1, by: .bins(BinWidth("0.5")!)),
      Grouping(column: 3, by: .fileExtension), Grouping(column: 0, by: .week),
    ]
    let text = "city:weekday,amount:0.5,a,b:extension,city:week"
    #expect(try Grouping.list(text, names) == several)
    #expect(several.map { $0.text(names) }.joined(separator: ",") == text)
    for (text, message) in [
      ("city:colour", "unknown suffix :colour"), ("amount:0", "width of bins"),
      ("amount:1x", "unknown suffix"), ("amuont", "did you mean amount?"), ("city,", "missing"),
      ("city,city", "named twice"),
    ] {
      let error = #expect(throws: TableError.self) { try Grouping.list(text, names) }
      #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
    }
    #expect(
      try SortDescriptor.list("amount:desc,a,b,city:asc", names) == [
        SortDescriptor(column: 1, isDescending: true), SortDescriptor(column: 3),
        SortDescriptor(column: 0),
      ])
    #expect(throws: TableError.self) { try SortDescriptor.list("amount:up", names) }
  }

  @Test func aggregatesAndOrdersOfSectionsAreRead() throws {
    #expect(
      try Aggregate.list("rows,sum amount,  mean a,b , min  city 2, distinct amount > 3", names)
        == [
          .rows, Aggregate(.sum, ofColumn: 1), Aggregate(.mean, ofColumn: 3),
          Aggregate(.min, ofColumn: 4), Aggregate(.distinct, ofColumn: 2),
        ])
    #expect(Aggregate(.mean, ofColumn: 3).name(names) == "mean a,b")
    #expect(try SectionOrder("rows:desc", names) == SectionOrder(.rows, isDescending: true))
    #expect(
      try SectionOrder("sum amount:asc", names) == SectionOrder(Aggregate(.sum, ofColumn: 1)))
    for (text, message) in [
      ("avg amount", "did you mean mean?"), ("sun amount", "did you mean sum?"),
      ("rows, count", "did you mean rows?"), ("rows city", "rows has no column"),
      ("sum", "needs a column"),
      ("sum amuont", "did you mean amount?"), ("", "an aggregate is missing"), ("rows,", "missing"),
    ] {
      let error = #expect(throws: TableError.self) { try Aggregate.list(text, names) }
      #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
    }
    #expect(throws: TableError.self) { try Aggregate.check("avg amount") }
    #expect(throws: TableError.self) { try SectionOrder("rows, sum amount", names) }
    #expect(throws: TableError.self) { try SectionOrder("sum amount:up", names) }
    try Aggregate.check("sum anything, avg x")
  }

  /// `p95` was unknown, and nothing meant every column.
  @Test func percentilesAndEveryColumnAreRead() throws {
    let names = ColumnNames([
      Column("city"), Column("n", .integer), Column("t", reads: .real),
      Column("costly", .integer, isOnRequest: true),
    ])
    #expect(
      try Aggregate.list("p95 n,empty *, sum  * , p1 t", names) == [
        Aggregate(.percentile(95), ofColumn: 1), Aggregate(.empty, ofColumn: 0),
        Aggregate(.empty, ofColumn: 1), Aggregate(.empty, ofColumn: 2),
        Aggregate(.sum, ofColumn: 1),
        Aggregate(.sum, ofColumn: 2), Aggregate(.percentile(1), ofColumn: 2),
      ])
    #expect(Aggregate(.percentile(95), ofColumn: 1).name(names) == "p95 n")
    #expect(
      try Aggregate.list("sum *", ColumnNames([Column("*"), Column("n", .integer)]))
        == [Aggregate(.sum, ofColumn: 0)])
    for function in Aggregate.Function.usual + (1...99).map({ .percentile($0) }) {
      #expect(Aggregate.Function(rawValue: function.rawValue) == function)
    }
    for (text, message) in [
      ("p0 n", "did you mean min?"), ("p100 n", "did you mean max?"), ("p095 n", "and p1 to p99"),
      ("p95", "needs a column"), ("rows *", "rows has no column"), ("distinct *x", "no column *x"),
    ] {
      let error = #expect(throws: TableError.self) { try Aggregate.list(text, names) }
      #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
    }
    let texts = #expect(throws: TableError.self) {
      try Aggregate.list("mean *", ColumnNames([Column("a")]))
    }
    #expect(texts?.message.contains("no column has a type of numbers; name the columns") == true)
  }

  /// Names are found by their lengths and bytes; here, by trying all of them, the longest first.
  @Test func namesAreFoundAsByTryingAll() throws {
    var random = SeededGenerator(seed: 11)
    let letters = ["a", "b", ",", "\u{E9}", "e\u{301}", ":", "=", ""]
    func text(_ most: Int) -> String {
      (0..<Int.random(in: 0...most, using: &random)).map { _ in
        letters.randomElement(using: &random)!
      }.joined()
    }
    for _ in 0..<3000 {
      let names = ColumnNames(
        (0..<Int.random(in: 0...6, using: &random)).map { _ in Column(text(3)) })
      #expect(Set(names.names.map { Array($0.utf8) }).count == names.names.count)
      let name = text(4)
      let found = names.names.firstIndex { $0.utf8.elementsEqual(name.utf8) }
      #expect((try? names.number(name)) == found)
      let follows = { (rest: Substring) in rest.isEmpty || rest.utf8.first == UInt8(ascii: ",") }
      var rest = name[...]
      let taken = names.take(from: &rest, where: follows)
      let fitting = names.names.indices.filter { number in
        let own = names.names[number].utf8
        return name.utf8.starts(with: own)
          && follows(Substring(decoding: name.utf8.dropFirst(own.count), as: UTF8.self))
      }
      let longest = fitting.max { names.names[$0].utf8.count < names.names[$1].utf8.count }
      #expect(taken == longest)
      let length = longest.map { names.names[$0].utf8.count } ?? 0
      #expect(rest.utf8.elementsEqual(name.utf8.dropFirst(length)))
    }
    let many = ColumnNames((0..<1001).map { Column("c\($0)") })
    let error = #expect(throws: TableError.self) {
      try SortDescriptor.list(many.names.joined(separator: ","), many)
    }
    #expect(error?.message == "an order has at most 1000 columns, not 1001")
    let order = many.names.dropLast().joined(separator: ",")
    #expect(try SortDescriptor.list(order, many).map(\.column) == Array(0..<1000))
  }

  /// Columns could be chosen, but none could be left out.
  @Test func columnsAreChosenAndLeftOut() throws {
    let names = ColumnNames([
      Column("a"), Column("b,c"), Column("!d"), Column("e"), Column("costly", isOnRequest: true),
    ])
    #expect(try names.shown("e,a") == [3, 0])
    #expect(try names.shown("!d") == [2])
    #expect(try names.shown("!a,!b,c") == [2, 3])
    #expect(try names.shown("!!d,!costly") == [0, 1, 3])
    #expect(try names.shown("costly,!d") == [4, 2])
    for (text, message) in [
      ("!a,e", "in front of all names"), ("e,!a", "in front of all names"),
      ("!x", "there is no column x"), ("!", "missing"), ("!a,!b,c,!!d,!e", "no column remains"),
      ("x", "there is no column x"),
    ] {
      let error = #expect(throws: TableError.self) { try names.shown(text) }
      #expect(error?.message.contains(message) == true, "\(text): \(error?.message ?? "")")
    }
  }

  /// The last of several texts of a search replaced the others.
  @Test func rowsContainAllTextsOfASearch() throws {
    let rows: [[Cell]] = [["Chair", "North"], ["Chair", "South"], ["Desk", "North"]]
    let source = InMemorySource([Column("product"), Column("region")], rows: rows)
    let shape = TableShape(searches: [Array("chair".utf8), Array("north".utf8)])
    #expect(try Naive(reading: source.shaped(by: shape)).sections[0].rows == [rows[0]])
  }

  @Test func shapesFilterThenGroupThenSort() throws {
    let rows: [[Cell]] = [("Rome", 3), ("Bonn", 1), ("Rome", 5), ("Bonn", 4), ("Oslo", 0)].map {
      [.text(Array($0.utf8)), .integer($1)]
    }
    let source = InMemorySource([Column("city"), Column("amount", .integer)], rows: rows)
    let names = ColumnNames(source.columns)
    let shape = TableShape(
      conditions: [try Condition(Array("amount > 0".utf8), names)],
      groupings: try Grouping.list("city", names),
      order: try SortDescriptor.list("amount:desc", names))
    var views: [String] = []
    let table = try source.shaped(by: shape) { views.append("\(type(of: $0))") }
    #expect(views == ["FilteredSource", "GroupedSource", "SortedSource"])
    let shown = try (0..<2).map { section in
      let count = try table.exactNumberOfRows(inSection: section)
      let batch = try table.rows(
        RowRequest(section: section, first: 0, count: count, columns: [1], includesIDs: false))
      return (0..<batch.rowCount).map { batch.row($0)[0] }
    }
    #expect(shown == [[.integer(4), .integer(1)], [.integer(5), .integer(3)]])
    let totals = try source.summarized(
      by: Grouping.list("city", names), computing: Aggregate.list("rows, sum amount", names))
    let batch = try totals.rows(RowRequest(first: 0, count: 9, columns: [0, 1, 2]))
    #expect(
      (0..<batch.rowCount).map { batch.row($0) } == [
        ["Bonn", 2, 5], ["Oslo", 1, 0], ["Rome", 2, 8],
      ])
    #expect(try source.shaped(by: TableShape()) === source)
  }
}

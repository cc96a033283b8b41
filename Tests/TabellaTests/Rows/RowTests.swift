import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Rows by names of columns are the rows that requests return.
@Suite struct RowTests {
  private typealias Path = Tabella.IndexPath

  /// All rows of a cursor, by sections.
  private func read(
    _ source: any TableDataSource, columns: [String]? = nil, inSection section: Int? = nil
  ) throws -> [Path: [Cell]] {
    var rows: [Path: [Cell]] = [:]
    var last: Path?
    var cursor = try source.rows(columns: columns, inSection: section)
    while let row = try cursor.next() {
      #expect(last.map { $0 < row.path } ?? true)
      last = row.path
      rows[row.path] = row.cells
    }
    #expect(try cursor.next() == nil)
    return rows
  }

  private func naive(_ source: any TableDataSource) throws -> [Path: [Cell]] {
    var rows: [Path: [Cell]] = [:]
    for (section, content) in try NaiveTable(of: source).sections.enumerated() {
      for (row, content) in content.rows.enumerated() {
        rows[Path(section: section, row: row)] = content.cells
      }
    }
    return rows
  }

  @Test(arguments: 0..<60 as Range<UInt64>)
  func rowsAreThoseOfRequests(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let table = LiveTable(&generator, rows: 0..<400)
    table.batchLimit = [1, 7, 100, .max].randomElement(using: &generator)!
    let wrap = Views.all.randomElement(using: &generator)!
    let source = seed % 3 == 0 ? table : try wrap.wrap(table)
    let expected = try naive(source)
    #expect(try read(source) == expected, "\(wrap.name)")
    #expect(try source.exactNumberOfRows() == expected.count)
    let names = ColumnNames(source.columns).names.shuffled(using: &generator).prefix(2)
    let numbers = try names.map { try ColumnNames(source.columns).number($0) }
    #expect(
      try read(source, columns: Array(names))
        == expected.mapValues { row in numbers.map { row[$0] } })
    for section in try source.allSections() {
      let own = expected.filter { $0.key.section == section.number }
      #expect(try read(source, inSection: section.number) == own)
      #expect(try section.numberOfRows() == own.count)
      #expect(try section.title == source.sections?.title(.header, ofSection: section.number))
      // Each cell by its name and by its number.
      try source.forEachRow(columns: Array(names), inSection: section.number) { row in
        for (name, number) in zip(names, numbers) {
          let cell = own[row.path]?[number]
          let (byName, byNumber) = (try row[name], try row[number, as: Cell.self])
          #expect(byName == cell && byNumber == cell)
          if case .text(let bytes) = byName {
            let text = try row[name, as: [UInt8].self]
            #expect(text == bytes)
          }
        }
      }
    }
  }

  /// A cursor reads no further than its caller asks, and the first rows in a small batch.
  @Test func theWorkIsProportional() throws {
    let table = LiveTable(count: 100_000)
    var rows = try table.rows(columns: ["n"])
    #expect(table.rowsRead == 0)
    for _ in 0..<200 { _ = try rows.next() }
    #expect(table.rowsRead == 256)
    var copy = rows
    #expect(try rows.next()?.path.row == 200 && copy.next()?.path.row == 200)
    while try rows.next() != nil {}
    #expect(table.rowsRead == 100_000)
  }

  private let types = InMemorySource(
    [
      Column("text"), Column("integer", .integer), Column("real", .real),
      Column("boolean", .boolean), Column("date", .date), Column("binary", .binary),
      Column("price", reads: .real, hasDecimalComma: true),
    ],
    rows: [
      ["300", 300, 2.0, true, .date(Timestamp(nanoseconds: 0)), .binary([1, 255]), "1,5"],
      ["", -1, 2.5, false, .missing, .missing, ""],
      [.text([0xFF]), .integer(.max), .missing, .missing, .missing, .binary([]), "x"],
      ["2024-02-29", 0, .real(.nan), true, .missing, .missing, .missing],
    ])

  private func row(_ number: Int) throws -> TableRow {
    var rows = try types.rows()
    for _ in 0..<number { _ = try rows.next() }
    return try #require(try rows.next())
  }

  @Test func cellsConvert() throws {
    let first = try row(0)
    #expect(try first["text", as: Int.self] == 300 && first["text", as: UInt16.self] == 300)
    #expect(try first["text", as: Double.self] == 300 && first["text", as: String.self] == "300")
    #expect(try first["integer", as: String.self] == "300" && first["real", as: Int.self] == 2)
    #expect(try first["integer", as: Double.self] == 300 && first["real", as: String.self] == "2")
    #expect(try first["boolean", as: Bool.self] && first["boolean", as: String.self] == "true")
    #expect(try first["date", as: Timestamp.self] == Timestamp(nanoseconds: 0))
    #expect(try first["date", as: String.self] == "1970-01-01T00:00:00Z")
    #expect(try first["binary", as: [UInt8].self] == [1, 255])
    #expect(try first["price", as: Double.self] == 1.5 && first["price", as: Float?.self] == 1.5)
    let second = try row(1)
    #expect(try second["text", as: Int?.self] == nil && second["text", as: String?.self] == "")
    #expect(try second["date", as: Timestamp?.self] == nil && second["date"] == .missing)
    #expect(try second["price", as: Double?.self] == nil)
    #expect(try row(2)["text", as: [UInt8].self] == [0xFF])
    let date = try row(3)["text", as: Timestamp.self]
    #expect("\(date)" == "2024-02-29T00:00:00Z")
  }

  @Test(arguments: [
    (0, "text", "Bool", "text: 300 is not true or false"),
    (0, "text", "UInt8", "text: 300 is not an integer of type UInt8"),
    (0, "binary", "String", "binary: 01ff is not text in UTF-8; read it as [UInt8]"),
    (1, "text", "Int", "text: is empty (row 1)"),
    (1, "real", "Int", "real: 2.5 is not an integer (row 1)"),
    (1, "date", "Timestamp", "date: is missing (row 1)"),
    (2, "text", "String", "text: \u{FFFD} is not text in UTF-8; read it as [UInt8] (row 2)"),
    (2, "price", "Double?", "price: x is not a number (row 2)"),
    (3, "real", "Int", "real: nan is not an integer (row 3)"),
  ])
  func wrongTypesAreErrors(_ number: Int, _ column: String, _ type: String, _ message: String)
    throws
  {
    let row = try row(number)
    let error = #expect(throws: TableError.self) {
      switch type {
      case "Bool": _ = try row[column, as: Bool.self]
      case "UInt8": _ = try row[column, as: UInt8.self]
      case "String": _ = try row[column, as: String.self]
      case "Int": _ = try row[column, as: Int.self]
      case "Timestamp": _ = try row[column, as: Timestamp.self]
      default: _ = try row[column, as: Double?.self]
      }
    }
    #expect(error.map { "\($0)" }?.hasPrefix(message) == true, "\(error.map { "\($0)" } ?? "")")
    #expect(error?.code == .constraint && error?.row == number && error?.section == 0)
    #expect(error?.column == types.columns.firstIndex { $0.name == column })
  }

  @Test func wrongColumnsAreErrors() throws {
    var rows = try types.rows(columns: ["text"])
    let row = try #require(try rows.next())
    let absent = #expect(throws: TableError.self) { try row["txet", as: Int.self] }
    #expect(
      absent?.code == .invalidArgument && absent?.message.contains("did you mean text?") == true)
    let unread = #expect(throws: TableError.self) { try row["real", as: Int?.self] }
    #expect(unread?.message == "column real is not among the columns that are read")
    #expect(throws: TableError.self) { try row[99, as: Int.self] }
    #expect(throws: TableError.self) { try types.rows(columns: ["text", "text"]) }
    #expect(throws: TableError.self) { try types.rows(columns: ["none"]) }
    #expect(throws: TableError.self) { try types.rows(inSection: 3).last() }
  }

  /// The entries of the section index are the titles of the source, each with its path.
  @Test func indexEntriesAreThoseOfTheSource() throws {
    let table = LiveTable(count: 40)
    let grouped = try table.shaped(sectionBy: "kind")
    var found = 0
    let indexed = InMemorySource(
      [Column("name")],
      sections: [("A", nil, "A", [["Ada"]]), ("B", nil, "B", [["Bob"], ["Bea"]])])
    for source in [table, grouped, types, indexed] as [any TableDataSource] {
      let entries = try source.sectionIndexEntries()
      let titles = try source.sectionIndex?.sectionIndexTitles() ?? []
      #expect(entries.map(\.title) == titles)
      for (number, entry) in entries.enumerated() {
        #expect(
          try source.sectionIndex?.indexPath(forIndexTitle: entry.title, at: number) == entry.path)
      }
      found += entries.count
    }
    #expect(found > 1)
  }

  /// Names are compared by bytes, and repeated names have numbers, as in filters.
  @Test func namesAreThoseOfFilters() throws {
    let source = InMemorySource(
      [Column("a"), Column("a"), Column("e\u{301}"), Column("é")], rows: [["1", "2", "3", "4"]])
    var rows = try source.rows()
    let row = try #require(try rows.next())
    #expect(try row["a 2"] == "2" && row["e\u{301}"] == "3" && row["é 2"] == "4")
  }

  @Test func shapesByNameAreThoseOfShapes() throws {
    var generator = SeededGenerator(seed: 5)
    let table = LiveTable(&generator, rows: 20..<40)
    let names = ColumnNames(table.columns)
    let shape = try TableShape(
      filters: ["n > 1", "kind != b"], search: "t", sectionBy: "kind,n:2", sort: "amount:desc,tag",
      sectionsBy: "rows:desc", names)
    let expected = try table.shaped(by: shape)
    let view = try table.shaped(
      filter: "n > 1", "kind != b", search: "t", sectionBy: "kind,n:2", sort: "amount:desc,tag",
      sectionsBy: "rows:desc")
    #expect(try NaiveTable(of: view) == NaiveTable(of: expected))
    #expect(try !naive(view).isEmpty)
    #expect(try table.shaped() === table)
    #expect(throws: TableError.self) { try table.shaped(filter: "m > 1") }
    #expect(throws: TableError.self) { try table.shaped(sort: "n:up") }
  }
}

extension RowCursor {
  /// Reads to the end.
  fileprivate func last() throws -> TableRow? {
    var (copy, last) = (self, TableRow?.none)
    while let row = try copy.next() { last = row }
    return last
  }
}

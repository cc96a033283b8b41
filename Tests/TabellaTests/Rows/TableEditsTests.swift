import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Edits by names land on the rows that they name, in tables and in views of tables.
@Suite struct TableEditsTests {
  private typealias Path = Tabella.IndexPath

  private static let columns = [
    Column("key", .integer), Column("note"), Column("kind"), Column("amount", reads: .real),
  ]

  private func table(_ generator: inout SeededGenerator, count: Int = 30) -> InMemorySource {
    InMemorySource(
      Self.columns,
      rows: (0..<count).map { key in
        [
          .integer(Int64(key)), .text("n\(key)"),
          .text(["a", "b", "c"].randomElement(using: &generator)!),
          .text("\(Int.random(in: 0..<9, using: &generator)).50"),
        ]
      })
  }

  /// The rows by their keys.
  private func rows(_ source: any TableDataSource) throws -> [Int64: [Cell]] {
    var rows: [Int64: [Cell]] = [:]
    try source.forEachRow { row in
      let key = try row["key", as: Int64.self]
      #expect(rows.updateValue(row.cells, forKey: key) == nil)
    }
    return rows
  }

  private static let shapes: [@Sendable (any TableDataSource) throws -> any TableDataSource] = [
    { $0 }, { try $0.shaped(filter: "amount > 2") }, { try $0.shaped(sort: "amount:desc,note") },
    { try $0.shaped(sectionBy: "kind", sort: "amount") },
    { try $0.shaped(filter: "kind != b", sectionBy: "kind", sectionsBy: "rows:desc") },
  ]

  /// Random edits through views, by row, by id, by path and by condition, against a dictionary.
  @Test(arguments: 0..<100 as Range<UInt64>)
  func editsLandOnTheirRows(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let base = table(&generator)
    let view = try Self.shapes[Int(seed) % Self.shapes.count](base)
    let other: any TableDataSource = seed % 2 == 0 ? view : NoIDs(view)
    var expected = try rows(base)
    var edits = TableEdits(of: other)
    var cursor = try other.rows(columns: ["key", "kind"], forEditing: true)
    while let row = try cursor.next() {
      let key = try row["key", as: Int64.self]
      #expect((row.id != nil) == (seed % 2 == 0))
      switch Int.random(in: 0..<8, using: &generator) {
      case 0:
        try edits.delete(row)
        expected[key] = nil
      case 1:
        try edits.set(row, to: ["note": .integer(key * 2)])
        expected[key]?[1] = .text("\(key * 2)")
      case 2:
        try edits.set(.path(row.path), to: ["note": true])
        expected[key]?[1] = "true"
      case 3:
        guard let id = row.id else { continue }
        try edits.set(.id(id), to: ["note": nil])
        expected[key]?[1] = .missing
      default: continue
      }
    }
    let shown = try rows(other)
    if edits.count == 0 {
      let changed = try edits.set(where: "kind = a", "amount >= 3", to: ["note": "by match"])
      let meant = shown.filter { $0.value[2] == "a" && amount($0.value) >= 3 }
      #expect(changed == meant.count)
      for key in meant.keys { expected[key]?[1] = "by match" }
    }
    let before = try NaiveTable(of: base)
    _ = try edits.commit(isDryRun: true)
    #expect(try NaiveTable(of: base) == before)
    let result = try edits.commit()
    #expect(result.outcomes.allSatisfy { $0.code == nil } && result.outcomes.count == edits.count)
    #expect(try rows(base) == expected)
  }

  private func amount(_ cells: [Cell]) -> Double { Double(cells[3].description) ?? -1 }

  /// Rows that are inserted without a position come last, in their order, whatever else the edits do.
  @Test(arguments: 0..<30 as Range<UInt64>)
  func rowsAreAppended(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let source = table(&generator, count: Int.random(in: 0..<6, using: &generator))
    var keys = try rows(source).keys.sorted()
    var edits = TableEdits(of: source)
    let appended: [Int64] = [100, 101, 102].prefix(Int.random(in: 1...3, using: &generator)).map {
      $0
    }
    for key in appended { try edits.insert(["key": .integer(key), "kind": "a"]) }
    if Bool.random(using: &generator) {
      try edits.insert(["key": 50], at: Path(section: 0, row: 0))
      keys.insert(50, at: 0)
    }
    if keys.count > 2 {
      let gone = Int64.random(in: 0..<2, using: &generator)
      #expect(try edits.delete(where: "key = \(gone)") == 1)
      keys.removeAll { $0 == gone }
    }
    try edits.commit()
    let now = try source.decode(Int64.self, columns: ["key"])
    #expect(now == keys + appended)
  }

  /// A batch that also deleted, inserted or moved a section appended rows to the section that got the old number.
  @Test(arguments: 0..<40)
  func appendedRowsKeepTheirSections(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let count = Int.random(in: 2...5, using: &generator)
    var expected = (0..<count).map { section in
      (0..<Int.random(in: 1...3, using: &generator)).map { Int64(section * 100 + $0) }
    }
    let source = InMemorySource(
      [Column("key", .integer)],
      sections: expected.enumerated().map { section, keys in
        ("\(section)", nil, nil, keys.map { [.integer($0)] })
      })
    var edits = TableEdits(of: source)
    let order = (0..<count).shuffled(using: &generator)
    let (moved, deleted) = (order[0], order[1])
    if Bool.random(using: &generator) {
      try edits.move(.path(.section(moved)), to: .section(0))
    }
    if Bool.random(using: &generator) {
      try edits.insert([:], at: .section(Int.random(in: 1..<count, using: &generator)))
    }
    let deletes = Bool.random(using: &generator)
    if deletes {
      try edits.delete(.path(.section(deleted)))
      expected[deleted] = []
    }
    for section in 0..<count where !deletes || section != deleted {
      if Bool.random(using: &generator) {
        try edits.delete(.path(Path(section: section, row: 0)))
        expected[section].removeFirst()
      }
      for number in 0..<Int.random(in: 0...2, using: &generator) {
        let key = Int64(section * 100 + 50 + number)
        try edits.insert(["key": .integer(key)], inSection: section)
        expected[section].append(key)
      }
    }
    try edits.commit()
    var found = expected.map { _ in [Int64]() }
    let table: any TableDataSource = source
    for section in 0..<(try table.numberOfSections(knowing: .max).value) {
      let rows = try table.exactNumberOfRows(inSection: section)
      let batch = try table.rows(
        RowRequest(section: section, first: 0, count: max(1, rows), columns: [0]))
      let title = try table.sections?.title(.header, ofSection: section)
      guard let number = title.flatMap({ Int($0) }) else {
        #expect(rows == 0)
        continue
      }
      found[number] = (0..<batch.rowCount).map { batch.columns[0].integer($0) }
    }
    #expect(found == expected)
    if deletes {
      var late = TableEdits(
        of: InMemorySource([Column("key", .integer)], sections: [("0", nil, nil, [[1]])]))
      try late.delete(.path(.section(0)))
      try late.insert(["key": 2])
      #expect(throws: TableError.self) { try late.commit() }
    }
  }

  @Test func rowsMove() throws {
    var generator = SeededGenerator(seed: 1)
    let source = table(&generator, count: 4)
    var edits = TableEdits(of: source)
    try edits.move(.path(Path(section: 0, row: 3)), to: Path(section: 0, row: 0))
    try edits.commit()
    #expect(try source.decode(Int.self, columns: ["key"]) == [3, 0, 1, 2])
    var rows = try source.rows(forEditing: true)
    let first = try #require(try rows.next())
    var back = TableEdits(of: source)
    try back.move(first, to: Path(section: 0, row: 3))
    try back.insert(["key": 4])
    try back.commit()
    #expect(try source.decode(Int.self, columns: ["key"]) == [0, 1, 2, 3, 4])
  }

  @Test func staleEditsAreConflicts() throws {
    var generator = SeededGenerator(seed: 2)
    let source = table(&generator, count: 4)
    let seen = source.version()
    var late = TableEdits(of: source)
    try late.set(.path(Path(section: 0, row: 0)), to: ["note": "late"])
    var early = TableEdits(of: source)
    try early.delete(where: "key = 3")
    var byPath = try NoIDs(source).rows(forEditing: true)
    let row = try #require(try byPath.next())
    var byID = try source.rows(forEditing: true)
    let named = try #require(try byID.next())
    try early.commit()
    let conflict = #expect(throws: TableError.self) { try late.commit() }
    #expect(conflict?.code == .conflict)
    // A row without an id is of its version. A row with an id is not.
    var edits = TableEdits(of: NoIDs(source))
    try edits.set(row, to: ["note": "old"])
    #expect(throws: TableError.self) { try edits.commit() }
    var mixed = TableEdits(of: NoIDs(source), version: source.version())
    let mix = #expect(throws: TableError.self) { try mixed.set(row, to: ["note": "old"]) }
    #expect(mix?.code == .conflict)
    var good = TableEdits(of: source)
    try good.set(named, to: ["note": "new"])
    try good.commit()
    #expect(try rows(source)[0]?[1] == "new")
    var asSeen = TableEdits(of: source, version: seen)
    try asSeen.set(named, to: ["note": "newer"])
    #expect(throws: TableError.self) { try asSeen.commit() }
  }

  @Test func wrongEditsAreErrors() throws {
    var generator = SeededGenerator(seed: 3)
    let source = table(&generator, count: 4)
    var edits = TableEdits(of: source)
    func expect(_ message: String, _ body: () throws -> Void) {
      let error = #expect(throws: TableError.self, performing: body)
      #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
    }
    expect("there is no column nope") { try edits.set(.id("r1"), to: ["nope": 1]) }
    expect("key: x is not an integer") { try edits.insert(["key": "x"]) }
    expect("amount: x is not a number") { try edits.insert(["amount": "x"]) }
    expect("note: ff is not text") { try edits.insert(["note": .binary([255])]) }
    expect("a condition is missing") { try edits.delete() }
    expect("kind: must be") { try edits.delete(where: "kind") }
    var rows = try source.rows()
    let row = try #require(try rows.next())
    expect("the row was not read for editing") { try edits.delete(row) }
    #expect(edits.count == 0)
    let fixed = TableEdits(of: NoIDs(LiveTable(count: 20)))
    expect("the table is read-only") { try fixed.commit() }
  }

  /// The cell that a column stores reads as the value.
  @Test func valuesAreStored() {
    let text = Column("t")
    let real = Column("r", .real)
    let comma = Column("c", reads: .real, hasDecimalComma: true)
    let date = Timestamp(nanoseconds: 0)
    let stored: [(Column, Cell, Cell?)] = [
      (text, 5, "5"), (text, 2.5, "2.5"), (text, true, "true"), (text, nil, .missing),
      (text, .date(date), "1970-01-01T00:00:00Z"), (text, .binary([1]), nil),
      (real, 5, 5.0), (real, "2.5", 2.5), (real, "", .missing), (real, "x", nil), (real, true, nil),
      (comma, 2.5, "2,5"), (comma, "2,5", "2,5"), (comma, "2.5", nil), (comma, "", ""),
      (comma, .real(.infinity), nil), (comma, 3, "3"),
      // A column of reals became one of integers, because a whole number lost its fraction.
      (text, 2.0, "2.0"), (text, -0.0, "-0.0"), (text, 1e300, "1e+300"), (comma, 3.0, "3,0"),
      (Column("r", reads: .real), 3.0, "3.0"), (Column("i", reads: .integer), 3.0, "3"),
      (Column("i", .integer), 3.0, 3), (Column("i", .integer), 3.5, nil),
      (Column("i", .integer), "3", 3), (Column("d", .date), "1970-01-01", .date(date)),
      (Column("d", .date), 5, nil), (Column("b", .boolean), "TRUE", true),
      (Column("y", .binary), "ab", .binary([97, 98])),
    ]
    for (column, value, cell) in stored {
      #expect(column.cell(storing: value) == cell, "\(column.name) \(value)")
    }
  }
}

/// A table without the ids of its base.
private final class NoIDs: TableDataSource {
  let base: any TableDataSource

  init(_ base: any TableDataSource) { self.base = base }

  var columns: [Column] { base.columns }
  var sections: (any TableSections)? { base.sections }
  var editing: (any TableEditing)? { base.editing }
  var hasVolatileOrder: Bool { base.hasVolatileOrder }
  func version() throws(TableError) -> Version? { try base.version() }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    var request = request
    request.includesIDs = false
    return try base.rows(request)
  }
}

import TabellaBridge
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// A table as arrays of values: the reference for views.
struct Naive {
  struct Section {
    var header: String?
    var footer: String?
    var rows: [[Cell]]
  }

  var columns: [Column]
  var sections: [Section]

  /// A few sections, some empty, of rows with cells of all types: equal and missing ones, numbers in text, text that is
  /// not UTF-8. The first column numbers the rows.
  static func random(_ generator: inout SeededGenerator) -> Naive {
    var number = 0
    func cell(_ type: ColumnType, _ generator: inout SeededGenerator) -> Cell {
      let value = Int.random(in: 0..<6, using: &generator)
      if Int.random(in: 0..<6, using: &generator) == 0 { return .missing }
      switch type {
      case .text:
        return [
          .text([0xFF, 0x41]), "", "10", .text("b\(value)"), .text("B\(value)"), .text("é\(value)"),
        ].randomElement(using: &generator)!
      case .integer: return .integer(Int64(value - 2))
      case .real: return .real(value == 5 ? .nan : Double(value) / 4)
      case .boolean: return .boolean(value % 2 == 0)
      case .date: return .date(Timestamp(nanoseconds: Int64(value) * 86_400_000_000_000))
      case .binary: return .binary([UInt8(value), 0xFF])
      }
    }
    let columns =
      [Column("number", .integer)]
      + ColumnType.allCases.map { Column($0.name, $0, unit: $0 == .integer ? .bytes : nil) }
    let sections = (0..<Int.random(in: 1..<5, using: &generator)).map { section in
      let count = [0, 1, 7, 40].randomElement(using: &generator)!
      return Section(
        header: section % 2 == 0 ? "section \(section)" : nil,
        footer: section % 3 == 1 ? "\(count) rows" : nil,
        rows: (0..<count).map { _ in
          number += 1
          return [.integer(Int64(number))]
            + columns.dropFirst().map { cell($0.type, &generator) }
        })
    }
    return Naive(columns: columns, sections: sections)
  }

  init(columns: [Column], sections: [Section]) {
    self.columns = columns
    self.sections = sections
  }

  /// The whole content of a source.
  init(reading source: any TableDataSource) throws {
    columns = source.columns
    sections = []
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      var rows: [[Cell]] = []
      while true {
        let batch = try source.rows(
          RowRequest(
            section: section, first: rows.count, count: 1000, columns: Array(columns.indices)))
        if batch.rowCount == 0 { break }
        rows += (0..<batch.rowCount).map { batch.row($0) }
      }
      sections.append(
        Section(
          header: try source.sections?.title(.header, ofSection: section),
          footer: try source.sections?.title(.footer, ofSection: section), rows: rows))
    }
  }

  var source: InMemorySource {
    InMemorySource(columns, sections: sections.map { ($0.header, $0.footer, nil, $0.rows) })
  }

  // The naive views. Their rules for values are those of the types that the views use, too; these types have their own
  // tests.

  func filtered(by conditions: [Condition], search: [UInt8]? = nil) throws -> Naive {
    var filter = try RowFilter(conditions, search: search, in: columns)
    var result = self
    for section in sections.indices {
      result.sections[section].rows = sections[section].rows.filter { row in
        !filter.passing(batch([row], filter.columns)).isEmpty
      }
    }
    return result
  }

  func sorted(by descriptors: [SortDescriptor]) -> Naive {
    var result = self
    for section in sections.indices {
      let rows = sections[section].rows
      var keys = SortKeys(descriptors, in: columns)
      for row in rows { keys.append(batch([row], keys.columns)) }
      result.sections[section].rows = keys.sortedRows { false }!.map { rows[Int($0)] }
    }
    return result
  }

  func grouped(by groupings: [Grouping]) throws -> Naive {
    var keys = try GroupKeys(groupings, in: columns)
    let rows = sections.flatMap(\.rows)
    for row in rows { keys.append(batch([row], keys.columns)) }
    let groups = keys.finish()
    return Naive(
      columns: columns,
      sections: groups.titles.enumerated().map { group, title in
        Section(
          header: title, footer: nil,
          rows: rows.indices.filter { groups.groupOfRow[$0] == group }.map { rows[$0] })
      })
  }

  /// Sections in the order of an aggregate of each section alone.
  func sectionsSorted(by order: SectionOrder) throws -> Naive {
    let values = try sections.map { section in
      try Naive(columns: columns, sections: [section]).source.summarized(
        computing: [order.aggregate])
    }
    let cells = try values.map { try Naive(reading: $0).sections[0].rows[0] }
    // A sum of some sections may be an integer, and another one text with decimals.
    let types = Set(values.map(\.columns[0].type))
    let column = types.count > 1 ? Column("", .text) : values.first?.columns[0] ?? Column("")
    let rows = cells.map { row in
      row.map { types.count > 1 && $0 != .missing ? .text($0.description) : $0 }
    }
    let naive = Naive(
      columns: [column, Column("", .integer)],
      sections: [
        Section(
          header: nil, footer: nil,
          rows: rows.enumerated().map { $0.element + [.integer(Int64($0.offset))] })
      ])
    let sorted = naive.sorted(
      by: [SortDescriptor(column: 0, isDescending: order.isDescending)])
    return Naive(
      columns: columns,
      sections: sorted.sections[0].rows.map { row in
        guard case .integer(let section) = row[1] else { preconditionFailure("a number") }
        return sections[Int(section)]
      })
  }

  private func batch(_ rows: [[Cell]], _ numbers: [Int]) -> Batch {
    let builder = BatchBuilder(numbers.map { columns[$0].type })
    for row in rows {
      for (column, number) in zip(builder.columns, numbers) { column.append(row[number]) }
    }
    return builder.finish(rowCount: rows.count)
  }

  /// Tables one after the other, according to the contract of Joined.
  static func joined(_ parts: [(name: String, table: Naive)]) -> Naive {
    var columns: [Column] = []
    for part in parts {
      for column in part.table.columns {
        if let at = columns.firstIndex(where: { $0.name == column.name }) {
          if columns[at].type != column.type { columns[at].type = .text }
          if columns[at].unit != column.unit { columns[at].unit = nil }
        } else {
          columns.append(column)
        }
      }
    }
    let sections = parts.flatMap { name, table in
      table.sections.map { section in
        Section(
          header: section.header.map { "\(name): \($0)" } ?? name, footer: section.footer,
          rows: section.rows.map { row in
            columns.map { column in
              guard let own = table.columns.firstIndex(where: { $0.name == column.name }) else {
                return .missing
              }
              let cell = row[own]
              return cell.type == nil || cell.type == column.type
                ? cell : .text(cell.description)
            }
          })
      }
    }
    return Naive(columns: columns, sections: sections)
  }
}

/// Cells as text that distinguishes all of them, except NaN from NaN.
private func spelled(_ table: Naive) -> [String] {
  table.sections.flatMap { section in
    ["# \(section.header ?? "-") \(section.footer ?? "-")"] + section.rows.map { "\($0)" }
  }
}

/// Checks that a source shows the content of a naive table: complete, in batches, with selected columns, and gathered.
private func expectSame(
  _ source: any TableDataSource, _ twin: Naive, _ generator: inout SeededGenerator,
  sourceLocation: SourceLocation = #_sourceLocation
) throws {
  #expect(source.columns == twin.columns, sourceLocation: sourceLocation)
  #expect(spelled(try Naive(reading: source)) == spelled(twin), sourceLocation: sourceLocation)
  let paths = twin.sections.enumerated().flatMap { section, content in
    content.rows.indices.map { IndexPath(section: section, row: $0) }
  }
  for section in twin.sections.indices {
    #expect(
      try source.exactNumberOfRows(inSection: section) == twin.sections[section].rows.count,
      sourceLocation: sourceLocation)
  }
  for _ in 0..<6 where !paths.isEmpty {
    let columns = twin.columns.indices.filter { _ in Bool.random(using: &generator) }.shuffled(
      using: &generator)
    let path = paths.randomElement(using: &generator)!
    let count = Int.random(in: 1..<50, using: &generator)
    let batch = try source.rows(
      RowRequest(section: path.section, first: path.row, count: count, columns: columns))
    let rows = twin.sections[path.section].rows[path.row...].prefix(batch.rowCount)
    #expect(batch.rowCount > 0, sourceLocation: sourceLocation)
    #expect(
      (0..<batch.rowCount).map { "\(batch.row($0))" }
        == rows.map { row in "\(columns.map { row[$0] })" }, sourceLocation: sourceLocation)
    let wanted = (0..<count).map { _ in paths.randomElement(using: &generator)! }
    let gathered = try source.gather(wanted, columns: columns, includesIDs: false)
    #expect(gathered.rowCount > 0, sourceLocation: sourceLocation)
    #expect(
      (0..<gathered.rowCount).map { "\(gathered.row($0))" }
        == wanted.prefix(gathered.rowCount).map { path in
          "\(columns.map { twin.sections[path.section].rows[path.row][$0] })"
        }, sourceLocation: sourceLocation)
  }
}

@Suite struct ViewTests {
  /// The construction of a view from a source, and naively.
  enum Kind: CaseIterable {
    case filtered, searched, sorted, grouped, sectionsSorted

    func view(
      of source: any TableDataSource, _ generator: inout SeededGenerator
    ) throws -> (any TableDataSource, (Naive) throws -> Naive) {
      let column = Int.random(in: 1..<source.columns.count, using: &generator)
      let other = Int.random(in: 1..<source.columns.count, using: &generator)
      switch self {
      case .filtered:
        let conditions = [
          Condition(
            column: 2, comparison: [.equal, .notEqual, .less].randomElement(using: &generator)!,
            value: Array("1".utf8)),
          Condition(column: 1, comparison: .notEqual, value: Array("10".utf8)),
        ]
        return (
          try source.filtered(by: conditions), { try $0.filtered(by: conditions) }
        )
      case .searched:
        let search = Array("1".utf8)
        return (
          try source.filtered(by: [], search: search), { try $0.filtered(by: [], search: search) }
        )
      case .sorted:
        let descriptors = [
          SortDescriptor(column: column, isDescending: Bool.random(using: &generator)),
          SortDescriptor(column: other, isDescending: Bool.random(using: &generator)),
        ]
        return (try source.sorted(by: descriptors), { $0.sorted(by: descriptors) })
      case .grouped:
        let classes = Grouping.Class.named + [.value, .bins(BinWidth("2.5")!)]
        let groupings = [column, other].prefix(Int.random(in: 1...2, using: &generator)).map {
          column in
          let possible = classes.filter { $0.fits(source.columns[column].type) }
          return Grouping(column: column, by: possible.randomElement(using: &generator)!)
        }
        return (try source.grouped(by: groupings), { try $0.grouped(by: groupings) })
      case .sectionsSorted:
        let possible = Aggregate.Function.usual.map { Aggregate($0, ofColumn: column) }.filter {
          // Text that is no number has no sum.
          source.columns[column].type != .text || !$0.function.needsNumbers
        }.filter { (try? Aggregator([$0], in: source.columns)) != nil }
        let order = SectionOrder(
          possible.randomElement(using: &generator)!,
          isDescending: Bool.random(using: &generator))
        return (try source.sectionsSorted(by: order), { try $0.sectionsSorted(by: order) })
      }
    }
  }

  @Test(arguments: Kind.allCases)
  func equalsItsNaiveTwin(_ kind: Kind) throws {
    for seed in 0..<80 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let table = Naive.random(&generator)
      let base = Recording(table.source)
      base.gathers = seed % 2 == 0
      base.countsAtLeast = seed % 3 == 0
      base.batchLimit = [Int.max, 1, 5].randomElement(using: &generator)!
      let (view, twin) = try kind.view(of: base, &generator)
      try expectSame(view, twin(table), &generator)
    }
  }

  @Test(arguments: Kind.allCases, Kind.allCases)
  func viewsOfViewsEqualTheirNaiveTwins(_ inner: Kind, _ outer: Kind) throws {
    for seed in 0..<20 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let table = Naive.random(&generator)
      let (first, firstTwin) = try inner.view(of: table.source, &generator)
      let (second, secondTwin) = try outer.view(of: first, &generator)
      let imported = try importSource(exportSource(second), provider: "test")
      try expectSame(
        seed % 2 == 0 ? imported : second, secondTwin(firstTwin(table)), &generator)
    }
  }

  /// The rows of many groups are sorted together, and those of a few groups alone. Both give the same order.
  @Test(arguments: 0..<12) func manySortedGroupsEqualFew(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let columns = [Column("key"), Column("number", .integer), Column("row", .integer)]
    let rows = (0..<900).map { row -> [Cell] in
      [
        .text("\(Int.random(in: 0..<200, using: &generator))"),
        .integer(Int64.random(in: 0..<4, using: &generator)), .integer(Int64(row)),
      ]
    }
    let base = Tables.divided(columns, rows, &generator)
    let groups = try base.grouped(by: Grouping(column: 0, by: .value))
    let count = try groups.numberOfSections(knowing: .max).value
    #expect(count > 2 * SortedSource.mostSortedAlone)
    let order = [SortDescriptor(column: 1, isDescending: seed % 2 == 0)]
    let view = try groups.sorted(by: order)
    for section in (0..<count).shuffled(using: &generator) {
      let rows = try readAll(groups, section: section)
      let alone = try InMemorySource(columns, rows: rows).sorted(by: order)
      if Bool.random(using: &generator) {
        let first = try view.rows(
          RowRequest(section: section, first: 0, count: 1, columns: [0, 1, 2]))
        #expect(first.row(0) == (try readAll(alone))[0])
      }
      #expect(try readAll(view, section: section) == readAll(alone))
    }
  }

  @Test func joinedEqualsItsNaiveTwin() throws {
    for seed in 0..<60 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let parts = (0..<Int.random(in: 0..<4, using: &generator)).map { number in
        var table = Naive.random(&generator)
        // Some columns have other names, have other types under the same name, or are missing.
        for column in table.columns.indices.reversed() {
          switch Int.random(in: 0..<5, using: &generator) {
          case 0: table.columns[column].name = "only \(number)"
          case 1: table.columns[column].name = "shared"
          case 2:
            table.columns.remove(at: column)
            for section in table.sections.indices {
              for row in table.sections[section].rows.indices {
                table.sections[section].rows[row].remove(at: column)
              }
            }
          default: break
          }
          let names = table.columns.map(\.name)
          for (at, name) in names.enumerated() where names[..<at].contains(name) {
            table.columns[at].name += " \(at)"
          }
        }
        return (name: "table \(number)", table: table)
      }
      let view = joined(
        parts.map { name, table in
          let base = Recording(table.source)
          base.gathers = seed % 2 == 0
          base.batchLimit = seed % 3 == 0 ? 4 : .max
          return (name, base)
        })
      try expectSame(view, .joined(parts), &generator)
    }
  }

  @Test func repeatedColumnsAreJoinedByRepetition() throws {
    let left = InMemorySource([Column("a"), Column("a", .integer)], rows: [["x", 1]])
    let right = InMemorySource(
      [Column("b", .integer), Column("a"), Column("a", .integer), Column("a")],
      rows: [[2, "y", 3, "z"]])
    let view = joined([("l", left), ("r", right)])
    #expect(view.columns.map(\.name) == ["a", "a", "b", "a"])
    #expect(view.columns.map(\.type) == [.text, .integer, .integer, .text])
    let table = try Naive(reading: view)
    #expect(table.sections.map(\.rows) == [[["x", 1, nil, nil]], [["y", 3, 2, "z"]]])
  }

  @Test func idsLeadThereAndBack() throws {
    for seed in sample(20, of: 0..<40 as Range<UInt64>) {
      var generator = SeededGenerator(seed: seed)
      let table = Naive.random(&generator)
      for kind in Kind.allCases {
        let (view, _) = try kind.view(of: table.source, &generator)
        try expectIDs(view, column: 0) { "r\($0)" }
        try expectIDs(joined([("a", Tables.plain()), ("b", view)]), column: 2) { "1~r\($0)" }
      }
    }
  }

  /// Checks that every row has the id of its number and is found by it, and that hidden rows are not found.
  private func expectIDs(
    _ view: any TableDataSource, column: Int, _ id: (Int64) -> String
  ) throws {
    var shown: Set<String> = []
    let identity = try #require(view.identity)
    for section in 0..<(try view.numberOfSections(knowing: .max).value) {
      let count = try view.exactNumberOfRows(inSection: section)
      guard count > 0 else { continue }
      let batch = try view.gather(
        (0..<count).map { IndexPath(section: section, row: $0) }, columns: [column],
        includesIDs: true)
      for row in 0..<batch.rowCount {
        guard case .integer(let number) = batch.columns[0][row] else { continue }
        #expect(batch.id(row) == id(number))
        #expect(try identity.indexPath(forID: id(number)) == IndexPath(section: section, row: row))
        shown.insert(id(number))
      }
    }
    for number in 1..<200 as Range<Int64> where !shown.contains(id(number)) {
      #expect(throws: TableError.self) { try identity.indexPath(forID: id(number)) }
    }
  }

  @Test func largeRowsAreGivenInPieces() throws {
    let large = [UInt8](repeating: 65, count: 1 << 20)
    let base = Recording(
      InMemorySource(
        [Column("n", .integer), Column("text")],
        rows: (0..<200).map { [.integer(-$0), .text(large + [UInt8($0)])] }))
    let view = try base.sorted(by: [SortDescriptor(column: 0, isDescending: false)])
    var first = 0
    var read = 0
    while first < 200 {
      base.onRows = { read += $0.count }
      let batch = try view.rows(RowRequest(first: first, count: 200, columns: [0, 1]))
      #expect((0..<batch.rowCount).allSatisfy { batch.columns[0].integer($0) == first + $0 - 199 })
      guard batch.rowCount > 0 else { break }
      first += batch.rowCount
    }
    #expect(first == 200)
    // The keys, then every row a few times at most.
    #expect(read < 8192 * 2 + 200 * 8)
  }

  /// A filter reads only as far as necessary, and does not read the same rows twice in a row.
  @Test func aFilterIsLazy() throws {
    let base = Recording(
      InMemorySource(
        [Column("n", .integer), Column("text")],
        rows: (0..<50_000).map { [.integer($0), .text("row \($0)")] }))
    let view = try base.filtered(by: [
      Condition(column: 0, comparison: .notEqual, value: Array("3".utf8))
    ])
    let batch = try view.rows(RowRequest(first: 0, count: 20, columns: [1]))
    #expect(
      (0..<20).map { batch.columns[0][$0].string }
        == (0..<21).filter { $0 != 3 }.map { "row \($0)" })
    #expect(base.requests.count == 1)
    #expect(try view.numberOfRows(inSection: 0, knowing: 0) == .atLeast(8191))
    #expect(try view.numberOfRows(inSection: 0, knowing: .max) == .exact(49_999))
    #expect(base.requests.count == 8)
  }

  /// If the rows of a base are already in the requested order, its batches pass unchanged.
  @Test func runsPassUntouched() throws {
    let base = Recording(Tables.everything())
    let view = try base.sorted(by: [])
    let batch = try view.rows(RowRequest(first: 3, count: 20, columns: [1, 0]))
    #expect(batch.rowCount == 20)
    #expect(base.requests.last == RowRequest(first: 3, count: 20, columns: [1, 0]))
    #expect(base.gathered.isEmpty)
  }
}

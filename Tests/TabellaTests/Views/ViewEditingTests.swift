import TabellaBridge
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// Edits through views reach the right rows of the base.
@Suite struct ViewEditingTests {
  static let columns = [Column("n", .integer), Column("kind"), Column("note")]

  /// A table with rows numbered through the sections, of the kinds a, b and c, or without a kind.
  static func table(_ generator: inout SeededGenerator) -> InMemorySource {
    var number: Int64 = 0
    return InMemorySource(
      columns,
      sections: (0..<3).map { section in
        (
          "s\(section)", nil, nil,
          (0..<Int.random(in: 0..<12, using: &generator)).map { _ in
            number += 1
            return [
              .integer(number), ["a", "b", "c", .missing].randomElement(using: &generator)!, "old",
            ]
          }
        )
      }, persistence: .byAuthor)
  }

  /// The first column of all rows, by section.
  static func numbers(_ source: any TableDataSource) throws -> [[Cell]] {
    try Naive(reading: source).sections.map { $0.rows.map { $0[0] } }
  }

  static let isA = [Condition(column: 1, comparison: .equal, value: Array("a".utf8))]
  static let down = [SortDescriptor(column: 0, isDescending: true)]

  enum Kind: CaseIterable {
    case filtered, sorted, grouped, joined, filteredGrouped, sortedFiltered, imported
    case groupedTwice, sectionsSorted, sectionsSortedGrouped

    func view(of base: any TableDataSource) throws -> any TableDataSource {
      switch self {
      case .filtered: try base.filtered(by: isA)
      case .sorted: try base.sorted(by: down)
      case .grouped: try base.grouped(by: Grouping(column: 1, by: .value))
      case .groupedTwice:
        try base.grouped(by: [Grouping(column: 1), Grouping(column: 0, by: .bins(BinWidth("5")!))])
      case .sectionsSorted: try base.sectionsSorted(by: SectionOrder(.rows, isDescending: true))
      case .sectionsSortedGrouped:
        try base.grouped(by: Grouping(column: 1)).sorted(by: down)
          .sectionsSorted(by: SectionOrder(Aggregate(.sum, ofColumn: 0), isDescending: true))
      case .joined:
        Tabella.joined([("x", InMemorySource(columns, rows: [[0, "x", "x"]])), ("base", base)])
      case .filteredGrouped:
        try base.grouped(by: Grouping(column: 1, by: .value)).filtered(by: isA)
      case .sortedFiltered: try base.filtered(by: isA).sorted(by: down)
      case .imported:
        try importSource(exportSource(base.filtered(by: isA).sorted(by: down)), provider: "test")
      }
    }
  }

  /// Edits by index path and by id change exactly the rows of the base that the view showed.
  @Test(arguments: Kind.allCases)
  func setAndDeleteReachTheRow(_ kind: Kind) throws {
    for seed in 0..<60 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Self.table(&generator)
      let view = try kind.view(of: base)
      let editing = try #require(view.editing)
      for _ in 0..<4 {
        let before = try Naive(reading: base)
        let shown = try Naive(reading: view)
        var paths = shown.sections.enumerated().flatMap { section, content in
          content.rows.indices.map { IndexPath(section: section, row: $0) }
        }
        if kind == .joined { paths.removeAll { $0.section == 0 } }
        let chosen = paths.shuffled(using: &generator).prefix(
          Int.random(in: 1..<5, using: &generator))
        var (set, deleted): (Set<Cell>, Set<Cell>) = ([], [])
        var edits: [EditBatch.Edit] = []
        for path in chosen {
          let number = shown.sections[path.section].rows[path.row][0]
          let batch = try view.rows(
            RowRequest(
              section: path.section, first: path.row, count: 1, columns: [0], includesIDs: true))
          let reference: RowReference =
            Bool.random(using: &generator) ? .path(path) : .id(try #require(batch.id(0)))
          if Bool.random(using: &generator) {
            deleted.insert(number)
            edits.append(.delete(reference))
          } else {
            set.insert(number)
            edits.append(.set(reference, cells: [2: .text("new \(number)")]))
          }
        }
        let version = try view.version()
        let dry = try editing.commit(EditBatch(edits, version: version, isDryRun: true))
        #expect(dry.outcomes.count == edits.count)
        #expect(try view.version() == version)
        let result = try editing.commit(EditBatch(edits, version: version))
        #expect(result.outcomes.count == edits.count)
        if !edits.isEmpty {
          #expect(result.changes.from == version)
          #expect(try result.changes.to == view.version())
          #expect(result.changes.changes != nil)
          // A cell may have been set to its old value.
          let isSame = try "\(Naive(reading: base).sections)" == "\(before.sections)"
          #expect(try (view.version() == version) == isSame)
        }
        var expected = before
        for section in expected.sections.indices {
          expected.sections[section].rows.removeAll { deleted.contains($0[0]) }
          for row in expected.sections[section].rows.indices {
            let number = expected.sections[section].rows[row][0]
            if set.contains(number) {
              expected.sections[section].rows[row][2] = .text("new \(number)")
            }
          }
        }
        let after = try Naive(reading: base)
        #expect(after.sections.map(\.rows) == expected.sections.map(\.rows))
        // The view moves on with its base.
        let fresh = try Naive(reading: kind.view(of: base))
        #expect(try Naive(reading: view).sections.map(\.rows) == fresh.sections.map(\.rows))
        if let receipt = result.receipt, seed % 2 == 0 {
          _ = try view.undoing?.undo(receipt, isDryRun: false)
          #expect(try Naive(reading: base).sections.map(\.rows) == before.sections.map(\.rows))
          #expect(try Naive(reading: view).sections.map(\.rows) == shown.sections.map(\.rows))
        }
      }
    }
  }

  /// An edit of a filtered view equals the edit of a table of its rows, and hidden rows keep their order.
  @Test func aFilteredViewIsEditedLikeATable() throws {
    for seed in 0..<300 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Self.table(&generator)
      let view = try base.filtered(by: Self.isA)
      let twin = try Naive(reading: view).source
      let hidden = try Self.hidden(base)
      let (shown, old) = (try Self.numbers(view), try Self.numbers(base))
      let edits = Self.edits(of: twin, &generator)
      let version = seed % 2 == 0 ? try view.version() : nil
      _ = try view.editing?.commit(EditBatch(edits, version: version))
      _ = try twin.commit(EditBatch(edits))
      let (left, right) = (try Naive(reading: view), try Naive(reading: twin))
      #expect(left.sections.map(\.rows) == right.sections.map(\.rows), "seed \(seed), \(edits)")
      #expect(try Self.hidden(base) == hidden)
      let arrived = try Self.arrivals(edits, shown)
      for (section, (shown, all)) in zip(
        try Self.numbers(view), try Self.numbers(base)
      ).enumerated() {
        for (row, number) in shown.enumerated() where arrived.contains(number) {
          // A row that is moved to its own index path stays among the hidden rows.
          let others = Set(hidden[section] + [number])
          if all.filter(others.contains) == old[section].filter(others.contains) { continue }
          let place = try #require(all.firstIndex(of: number))
          #expect(
            shown.dropFirst(row + 1).first == all.dropFirst(place + 1).first,
            "what is put before a row stands directly before it in the base")
        }
      }
    }
  }

  /// The numbers of the inserted or moved rows.
  private static func arrivals(
    _ edits: [EditBatch.Edit], _ shown: [[Cell]]
  ) throws -> [Cell] {
    edits.compactMap { edit in
      switch edit {
      case .insert(_, let cells): cells[0]
      case .move(.path(let path), _): shown[path.section][path.row]
      default: nil
      }
    }
  }

  private static func hidden(_ base: InMemorySource) throws -> [[Cell]] {
    try Naive(reading: base).sections.map { $0.rows.filter { $0[1] != "a" }.map { $0[0] } }
  }

  /// A valid batch by UIKit's rule: every target is a distinct index path in the result.
  private static func edits(
    of twin: InMemorySource, _ generator: inout SeededGenerator
  ) -> [EditBatch.Edit] {
    let counts = (0..<3).map { (try? twin.exactNumberOfRows(inSection: $0)) ?? 0 }
    var paths = counts.enumerated().flatMap { section, count in
      (0..<count).map { IndexPath(section: section, row: $0) }
    }.shuffled(using: &generator)
    var edits: [EditBatch.Edit] = []
    var remaining = counts
    var arrivals = [0, 0, 0]
    var moved: [IndexPath] = []
    for _ in 0..<Int.random(in: 0..<3, using: &generator) {
      guard let path = paths.popLast() else { break }
      edits.append(.delete(.path(path)))
      remaining[path.section] -= 1
    }
    for _ in 0..<Int.random(in: 0..<3, using: &generator) {
      guard let path = paths.popLast() else { break }
      moved.append(path)
      remaining[path.section] -= 1
      arrivals[Int.random(in: 0..<3, using: &generator)] += 1
    }
    for _ in 0..<Int.random(in: 0..<3, using: &generator) {
      arrivals[Int.random(in: 0..<3, using: &generator)] += 1
    }
    var targets = (0..<3).flatMap { section in
      (0..<remaining[section] + arrivals[section]).shuffled(using: &generator)
        .prefix(arrivals[section]).map { IndexPath(section: section, row: $0) }
    }.shuffled(using: &generator)
    for path in moved { edits.append(.move(.path(path), to: targets.removeLast())) }
    for (number, target) in targets.enumerated() {
      edits.append(.insert(at: target, cells: [0: .integer(Int64(900 + number)), 1: "a"]))
    }
    return edits.shuffled(using: &generator)
  }

  /// A move ends at the target that the base predicts, mapped to the view.
  @Test func targetsOfMovesAreMapped() throws {
    for seed in 0..<300 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Recording(Self.table(&generator))
      let view = try base.filtered(by: Self.isA)
      let shown = try Self.numbers(view)
      let paths = shown.enumerated().flatMap { section, rows in
        rows.indices.map { IndexPath(section: section, row: $0) }
      }
      guard let source = paths.randomElement(using: &generator) else { continue }
      let number = shown[source.section][source.row]
      let moving = try #require(view.moving)
      #expect(try moving.movability(ofRows: 0..<1, inSection: source.section) == [true])
      #expect(try moving.target(ofMoveFrom: source, to: source) == source)
      let section = Int.random(in: 0..<3, using: &generator)
      let count = try Naive(reading: base).sections[section].rows.count
      let end = IndexPath(
        section: section,
        row: Int.random(
          in: 0..<count + (section == source.section ? 0 : 1), using: &generator))
      base.redirection = end
      let target = try moving.target(ofMoveFrom: source, to: source)
      let from = try #require(
        try Self.numbers(base)[source.section].firstIndex(of: number))
      let move = EditBatch.Edit.move(
        .path(IndexPath(section: source.section, row: from)), to: end)
      _ = try base.base.commit(EditBatch([move]))
      let after = try Self.numbers(base.filtered(by: Self.isA))
      #expect(target.section == section)
      #expect(after[section].firstIndex(of: number) == target.row, "seed \(seed)")
    }
  }

  @Test func insertsIntoASortedViewAreAppended() throws {
    for seed in 0..<60 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Self.table(&generator)
      let before = try Self.numbers(base)
      let view = try base.sorted(by: Self.down)
      var edits: [EditBatch.Edit] = [
        .insert(at: IndexPath(section: 1, row: 0), cells: [0: 901]),
        .insert(at: IndexPath(section: 2, row: 0), cells: [0: 902]),
      ]
      var expected = before
      if let last = before[1].indices.last {
        // The view's first row is the base's last.
        edits.append(.delete(.path(IndexPath(section: 1, row: 0))))
        expected[1].remove(at: last)
      }
      expected[1].append(901)
      expected[2].append(902)
      _ = try view.editing?.commit(EditBatch(edits, version: view.version()))
      #expect(try Self.numbers(base) == expected)
      #expect(try Self.numbers(view)[1].first == 901)
    }
  }

  @Test func insertsIntoAGroupTakeItsValue() throws {
    for seed in 0..<60 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Self.table(&generator)
      let view = try base.grouped(by: Grouping(column: 1, by: .value))
      for group in 0..<(try view.numberOfSections(knowing: .max).value) {
        let before = try Naive(reading: base)
        let title = try view.title(.header, ofSection: group)
        _ = try view.editing?.commit(
          EditBatch([.insert(at: IndexPath(section: group, row: 0), cells: [0: 900])]))
        var expected = before.sections.map(\.rows)
        expected[2].append([900, title.map { .text($0) } ?? .missing, .missing])
        #expect(try Naive(reading: base).sections.map(\.rows) == expected)
        #expect(try Naive(reading: view).sections[group].rows.last?[0] == 900)
      }
    }
    let base = InMemorySource(Self.columns, rows: [[1, "apple", nil], [2, "bee", nil]])
    let letters = try base.grouped(by: Grouping(column: 1, by: .letter))
    let target = IndexPath(section: 1, row: 0)
    #expect(throws: TableError.self) {
      try letters.editing?.commit(EditBatch([.insert(at: target, cells: [0: 3])]))
    }
    _ = try letters.editing?.commit(EditBatch([.insert(at: target, cells: [0: 3, 1: "bat"])]))
    #expect(try Self.numbers(base) == [[1, 2, 3]])
    #expect(try Self.numbers(letters) == [[1], [2, 3]])
  }

  /// A move ends at the target that a grouped view predicts, and a move that it rules out fails.
  @Test(arguments: [false, true])
  func movesInGroupsEndWhereTheViewSays(_ isFiltered: Bool) throws {
    for seed in 0..<400 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Self.table(&generator)
      let grouped = try base.grouped(by: Grouping(column: 1, by: .value))
      let view: any TableDataSource =
        isFiltered
        ? try grouped.filtered(
          by: [Condition(column: 0, comparison: .notEqual, value: Array("3".utf8))]) : grouped
      let shown = try Self.numbers(view)
      let paths = shown.enumerated().flatMap { section, rows in
        rows.indices.map { IndexPath(section: section, row: $0) }
      }
      guard let source = paths.randomElement(using: &generator) else { continue }
      let moving = try #require(view.moving)
      let group = Int.random(in: shown.indices, using: &generator)
      let proposed = IndexPath(
        section: group,
        row: Int.random(
          in: 0..<shown[group].count + (group == source.section ? 0 : 1), using: &generator))
      let mayMove = try moving.movability(
        ofRows: source.row..<source.row + 1, inSection: source.section)[0]
      #expect(mayMove == (shown.count > 1 || shown[source.section].count > 1) || isFiltered)
      let target: IndexPath
      do throws(TableError) {
        target = try moving.target(ofMoveFrom: source, to: proposed)
      } catch {
        // Rows of different sections of the base.
        #expect(error.code == .constraint && group == source.section)
        #expect(throws: TableError.self) {
          try view.editing?.commit(EditBatch([.move(.path(source), to: proposed)]))
        }
        continue
      }
      #expect(target.section == group)
      #expect(group != source.section || target == proposed)
      let title = try view.sections?.title(.header, ofSection: group)
      _ = try view.editing?.commit(EditBatch([.move(.path(source), to: target)]))
      let number = shown[source.section][source.row]
      let after = try Self.numbers(view)
      let section = try #require(after.firstIndex { $0.contains(number) })
      #expect(after[section].firstIndex(of: number) == target.row, "seed \(seed)")
      #expect(try view.sections?.title(.header, ofSection: section) == title)
    }
  }

  /// A move between groups of two keys sets the columns in which the groups differ, if the values are known.
  @Test func movesBetweenGroupsOfTwoKeys() throws {
    for seed in 0..<200 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let rows = (0..<Int.random(in: 2..<12, using: &generator)).map { number -> [Cell] in
        [
          .integer(Int64(number)), ["a", "b", .missing].randomElement(using: &generator)!,
          ["apple", "axe", "bee", .missing].randomElement(using: &generator)!,
        ]
      }
      let base = InMemorySource(Self.columns, rows: rows, persistence: .byAuthor)
      let view = try base.grouped(by: [Grouping(column: 1), Grouping(column: 2, by: .letter)])
      func key(_ row: [Cell]) -> [Cell] {
        [row[1], row[2] == .missing ? .missing : .text(row[2].description.prefix(1).uppercased())]
      }
      let shown = try Naive(reading: view).sections
      let section = Int.random(in: shown.indices, using: &generator)
      let group = Int.random(in: shown.indices, using: &generator)
      guard section != group else { continue }
      let row = Int.random(in: shown[section].rows.indices, using: &generator)
      let (moved, member) = (shown[section].rows[row], shown[group].rows[0])
      let mayMove = key(moved)[1] == key(member)[1] || member[2] == .missing
      let movable = try view.movability(ofRows: row..<row + 1, inSection: section)[0]
      let others = shown.indices.filter { $0 != section }
      let hasTarget = others.contains { other in
        let member = shown[other].rows[0]
        return key(moved)[1] == key(member)[1] || member[2] == .missing
      }
      #expect(movable == (hasTarget || shown[section].rows.count > 1), "seed \(seed)")
      let edit = EditBatch.Edit.move(
        .path(IndexPath(section: section, row: row)), to: IndexPath(section: group, row: 0))
      guard mayMove else {
        let error = #expect(throws: TableError.self) { try view.commit(EditBatch([edit])) }
        #expect(error?.code == .constraint && error?.message.contains("set note") == true)
        continue
      }
      _ = try view.commit(EditBatch([edit]))
      var expected = moved
      expected[1] = member[1]
      if member[2] == .missing { expected[2] = .missing }
      var all = rows
      all[all.firstIndex { $0[0] == moved[0] }!] = expected
      #expect(try Naive(reading: base).sections[0].rows == all)
    }
  }

  /// An insertion into a group of two keys takes the values that the group determines, and needs the others.
  @Test func insertsIntoGroupsOfTwoKeys() throws {
    let base = InMemorySource(
      Self.columns, rows: [[1, "a", "apple"], [2, "b", "bee"], [3, nil, nil]],
      persistence: .byAuthor)
    let view = try base.grouped(by: [Grouping(column: 1), Grouping(column: 2, by: .letter)])
    func insert(_ section: Int, _ cells: [Int: Cell]) throws {
      _ = try view.commit(
        EditBatch([.insert(at: IndexPath(section: section, row: 0), cells: cells)]))
    }
    var error = #expect(throws: TableError.self) { try insert(0, [0: 4]) }
    #expect(error?.message == "a row of \"a · A\" needs a value for note")
    error = #expect(throws: TableError.self) { try insert(0, [0: 4, 2: "bat"]) }
    #expect(error?.message.contains("does not belong to \"a · A\"") == true)
    error = #expect(throws: TableError.self) { try insert(0, [0: 4, 1: "b", 2: "axe"]) }
    #expect(error?.message.contains("leave kind out") == true)
    try insert(0, [0: 4, 2: "axe"])
    try insert(2, [0: 5])
    #expect(
      try Naive(reading: base).sections[0].rows.suffix(2) == [[4, "a", "axe"], [5, nil, nil]])
    #expect(try Self.numbers(view) == [[1, 4], [2], [3, 5]])
  }

  /// Edits in sorted sections land in their section of the base, at the same row.
  @Test func sortedSectionsKeepTheirRows() throws {
    for seed in 0..<100 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let base = Self.table(&generator)
      let order = SectionOrder(Aggregate(.sum, ofColumn: 0), isDescending: seed % 2 == 0)
      let view = try base.sectionsSorted(by: order)
      let before = try Self.numbers(base)
      let shown = try Self.numbers(view)
      let section = Int.random(in: 0..<3, using: &generator)
      let own = try view.numberInBase(ofSection: section)
      #expect(shown[section] == before[own])
      #expect(try view.title(.header, ofSection: section) == "s\(own)")
      let row = Int.random(in: 0...shown[section].count, using: &generator)
      let kind = before[own].isEmpty || seed % 3 == 0 ? 0 : seed % 3 == 1 ? 1 : 2
      var expected = before
      let edit: EditBatch.Edit
      switch kind {
      case 0:
        edit = .insert(at: IndexPath(section: section, row: row), cells: [0: 900])
        expected[own].insert(900, at: row)
      case 1:
        let last = min(row, shown[section].count - 1)
        edit = .delete(.path(IndexPath(section: section, row: last)))
        expected[own].remove(at: last)
      default:
        let last = min(row, shown[section].count - 1)
        edit = .move(
          .path(IndexPath(section: section, row: 0)), to: IndexPath(section: section, row: last))
        expected[own].insert(expected[own].remove(at: 0), at: last)
      }
      _ = try view.commit(EditBatch([edit], version: view.version()))
      #expect(try Self.numbers(base) == expected)
    }
  }

  /// Rows cannot be moved into groups of several values, but into the group of missing values.
  @Test func movesIntoClasses() throws {
    let base = InMemorySource(
      Self.columns, rows: [[1, "apple", nil], [2, "bee", nil], [3, nil, nil], [4, "axe", nil]])
    let letters = try base.grouped(by: Grouping(column: 1, by: .letter))
    let moving = try #require(letters.moving)
    func path(_ section: Int, _ row: Int) -> IndexPath { IndexPath(section: section, row: row) }
    #expect(try moving.movability(ofRows: 0..<1, inSection: 1) == [true])
    #expect(try moving.movability(ofRows: 0..<1, inSection: 2) == [false])
    for body in [
      { _ = try moving.target(ofMoveFrom: path(1, 0), to: path(0, 0)) },
      { _ = try letters.commit(EditBatch([.move(.path(path(1, 0)), to: path(0, 0))])) },
    ] {
      do {
        try body()
        Issue.record("a row was moved to a letter")
      } catch let error as TableError {
        #expect(error.code == .constraint && error.message.contains("set kind"), "\(error)")
      }
    }
    #expect(try moving.target(ofMoveFrom: path(1, 0), to: path(2, 1)) == path(2, 0))
    _ = try letters.commit(EditBatch([.move(.id("r2"), to: path(2, 1))]))
    #expect(try Self.numbers(letters) == [[1, 4], [2, 3]])
    #expect(try Self.numbers(base) == [[1, 2, 3, 4]])
    // Within a group, the row moves in the table and keeps its edited cells.
    let result = try letters.commit(
      EditBatch([
        .set(.id("r4"), cells: [2: "new"]), .move(.id("r4"), to: path(0, 0)),
        .move(.id("r2"), to: path(1, 1)),
      ]))
    #expect(result.outcomes.map(\.id) == ["r4", "r4", "r2"])
    #expect(try Self.numbers(base) == [[4, 1, 3, 2]])
    // A row that is moved to another group and set is set only once.
    let kinds = try base.grouped(by: Grouping(column: 1, by: .value))
    let both = try kinds.commit(
      EditBatch([.move(.id("r1"), to: path(2, 0)), .set(.id("r1"), cells: [2: "both"])]))
    #expect(both.outcomes.map(\.id) == ["r1", "r1"])
    #expect(try Naive(reading: base).sections[0].rows[1] == [1, nil, "both"])
    do throws(TableError) {
      _ = try kinds.commit(
        EditBatch([.move(.id("r3"), to: path(0, 0)), .set(.id("r3"), cells: [1: "other"])]))
      Issue.record("a row was moved to one group and set to another")
    } catch { #expect(error.code == .invalidArgument) }
  }

  @Test func refusals() throws {
    let base = InMemorySource(Self.columns, rows: [[1, "a", nil], [2, "b", nil], [3, "a", nil]])
    let first = IndexPath(section: 0, row: 0)
    let other = IndexPath(section: 1, row: 0)
    let grouped = try base.grouped(by: Grouping(column: 1, by: .value))
    let filtered = try base.filtered(by: Self.isA)
    let sorted = try base.sorted(by: Self.down)
    let pair = joined([
      ("left", base), ("right", InMemorySource(Self.columns, rows: [[9, "z", nil]])),
    ])
    let cases: [(any TableDataSource, [EditBatch.Edit], TableError.Code)] = [
      (sorted, [.move(.path(first), to: first)], .notSupported),
      (sorted, [.move(.path(.section(0)), to: .section(1))], .notFound),
      (grouped, [.delete(.path(.section(0)))], .notSupported),
      (filtered, [.delete(.path(.section(0))), .insert(at: first, cells: [:])], .notFound),
      (filtered, [.delete(.path(IndexPath(section: 0, row: 2)))], .notFound),
      (filtered, [.delete(.id("r2"))], .notFound),
      (filtered, [.insert(at: IndexPath(section: 0, row: 3), cells: [:])], .notFound),
      (sorted, [.delete(.path(IndexPath(section: 0, row: 3)))], .notFound),
      (grouped, [.insert(at: IndexPath(section: 2, row: 0), cells: [:])], .notFound),
      (pair, [.delete(.path(first)), .delete(.path(other))], .notSupported),
      (pair, [.move(.path(first), to: other)], .constraint),
      (pair, [.delete(.id("2~r1"))], .notFound), (pair, [.delete(.id("00~r1"))], .notFound),
      (pair, [.set(.path(first), cells: [9: 1])], .invalidArgument),
    ]
    for (view, edits, code) in cases {
      for isDryRun in [true, false] {
        do throws(TableError) {
          _ = try view.editing?.commit(EditBatch(edits, isDryRun: isDryRun))
          Issue.record("\(edits) was accepted")
        } catch { #expect(error.code == code, "\(edits): \(error)") }
      }
    }
    let before = base.version()
    for view in [filtered, sorted, grouped, pair] as [any TableDataSource] {
      do throws(TableError) {
        _ = try view.editing?.commit(EditBatch([], version: base.version()))
        Issue.record("a version of the base passed for one of the view")
      } catch { #expect(error.code == .conflict) }
    }
    #expect(sorted.moving == nil && grouped.moving != nil && filtered.moving != nil)
    #expect(try Self.numbers(base) == [[1, 2, 3]])
    #expect(base.version() == before)
  }

  @Test func unitedColumnsAreSetAsTheirTablesHaveThem() throws {
    let left = InMemorySource([Column("v", .integer)], rows: [[1]])
    let right = InMemorySource([Column("v", .date), Column("w")], rows: [[nil, "x"]])
    let view = joined([("left", left), ("right", right)])
    _ = try view.commit(
      EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: [0: "-7"])]))
    _ = try view.commit(
      EditBatch([.set(.path(IndexPath(section: 1, row: 0)), cells: [0: "2024-05-01T00:00:00Z"])]))
    #expect(
      try Naive(reading: view).sections.map(\.rows)
        == [[["-7", nil]], [["2024-05-01T00:00:00Z", "x"]]])
    for cells in [[0: "many"], [1: "w"]] as [[Int: Cell]] {
      do throws(TableError) {
        _ = try view.commit(EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: cells)]))
        Issue.record("\(cells) was accepted")
      } catch { #expect(error.code == .constraint) }
    }
  }

  @Test func textReadsBackAsTheValue() throws {
    var generator = SeededGenerator(seed: 1)
    for type in ColumnType.allCases where type != .real {
      for _ in 0..<200 {
        let bits = Int64.random(in: .min ... .max, using: &generator)
        let cell: Cell =
          switch type {
          case .integer: .integer(bits)
          case .boolean: .boolean(bits > 0)
          case .date: .date(Timestamp(nanoseconds: bits))
          case .binary: .binary(withUnsafeBytes(of: bits) { Array($0.prefix(Int(bits & 7))) })
          default: .text("\(bits)")
          }
        let builder = BatchBuilder([type])
        builder.columns[0].append(cell)
        let text = builder.finish().columns[0].asText()
        #expect(text[0] == .text(cell.description))
        guard case .text(let bytes) = text[0] else { continue }
        #expect(Cell(bytes, as: type) == cell)
      }
    }
  }

  /// The version of a folder identifies the files, not their sizes. So a script that named the first row of a view by
  /// size with a known version deleted another file.
  @Test func viewsOfVolatileTablesHaveVersionsOfTheirPlaces() throws {
    let base = InMemorySource(Self.columns, rows: [[1, "a", "x"], [2, "b", "x"], [3, "a", "x"]])
    let volatile = Unsteady(base)
    func views() throws -> [any TableDataSource] {
      let small = Condition(column: 0, comparison: .less, value: Array("3".utf8))
      return [
        try volatile.sorted(by: Self.down), try volatile.filtered(by: [small]),
        try volatile.grouped(by: Grouping(column: 0, by: .value)),
        Tabella.joined([("x", base), ("y", try volatile.sorted(by: Self.down))]),
        try volatile.sorted(by: Self.down).filtered(by: Self.isA),
      ]
    }
    func versions() throws -> [Version?] {
      var versions: [Version?] = []
      for view in try views() { versions.append(try view.version()) }
      return versions
    }
    let before = try versions()
    #expect(try versions() == before)
    _ = try base.commit(EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: [0: 9])]))
    for (number, view) in try views().enumerated() {
      #expect(try view.version() != before[number], "view \(number)")
      let row = IndexPath(section: number == 3 ? 1 : 0, row: 0)
      let error = #expect(throws: TableError.self) {
        _ = try view.editing?.commit(EditBatch([.delete(.path(row))], version: before[number]))
      }
      #expect(error?.code == .conflict, "view \(number)")
    }
    #expect(try base.numberOfRows(inSection: 0, knowing: .max) == .exact(3))
  }

  /// A row dropped at its own index path was moved after the rows up to the next shown one.
  @Test func aMoveToItsOwnPlaceChangesNothing() throws {
    for kind in Kind.allCases {
      for seed in 0..<20 as Range<UInt64> {
        var generator = SeededGenerator(seed: seed)
        let base = Self.table(&generator)
        let view = try kind.view(of: base)
        guard view.moving != nil else { continue }
        let before = try Naive(reading: base)
        for (section, content) in try Naive(reading: view).sections.enumerated() {
          for row in content.rows.indices {
            let path = IndexPath(section: section, row: row)
            do throws(TableError) {
              _ = try view.editing?.commit(EditBatch([.move(.path(path), to: path)]))
            } catch {
              #expect(error.code == .constraint || error.code == .notSupported, "\(error)")
            }
            #expect(
              try Naive(reading: base).sections.map(\.rows) == before.sections.map(\.rows),
              "\(kind), seed \(seed): \(path)")
          }
        }
      }
    }
  }

  /// An inserted row went to the end of a wrong group.
  @Test func anInsertIntoAGroupHasItsValue() throws {
    let base = InMemorySource(
      Self.columns, rows: [[1, "a", "x"], [2, "b", "x"], [3, .missing, "x"]])
    let view = try base.grouped(by: Grouping(column: 1, by: .value))
    let others: [Cell] = ["b", "a", "a"]
    for group in [0, 2] {
      let (target, kind) = (IndexPath(section: group, row: 0), others[group])
      let error = #expect(throws: TableError.self) {
        _ = try view.commit(EditBatch([.insert(at: target, cells: [1: kind])]))
      }
      #expect(error?.code == .constraint)
    }
    _ = try view.commit(EditBatch([.insert(at: IndexPath(section: 1, row: 0), cells: [1: "b"])]))
    #expect(try Naive(reading: view).sections[1].rows.count == 2)
  }

  /// Errors named the row of the base, which the user does not see.
  @Test func errorsNameTheRowOfTheView() throws {
    let base = InMemorySource(Self.columns, rows: [[1, "a", "x"], [2, "b", "x"]])
    let view = try base.sorted(by: Self.down)
    let row = RowReference.path(IndexPath(section: 0, row: 0))
    let error = #expect(throws: TableError.self) {
      _ = try view.commit(EditBatch([.set(row, cells: [2: "y"]), .set(row, cells: [2: "z"])]))
    }
    #expect(error?.message.contains("row 0:0 ") == true, "\(error?.message ?? "")")
  }

  /// After a completed edit with a false report, the view showed the old rows.
  @Test(arguments: [Kind.filtered, .sorted, .grouped, .joined])
  func aMisreportedEditIsFollowed(_ kind: Kind) throws {
    let base = InMemorySource(Self.columns, rows: [[1, "a", "x"], [2, "a", "x"]])
    let unsteady = Unsteady(base)
    let view = try kind.view(of: unsteady)
    _ = try Naive(reading: view)
    unsteady.lies = true
    let section = kind == .joined ? 1 : 0
    let error = #expect(throws: TableError.self) {
      _ = try view.editing?.commit(
        EditBatch([.delete(.path(IndexPath(section: section, row: 0)))]))
    }
    #expect(error?.code == .misbehaved)
    #expect(
      error?.receipt == Array((kind == .joined ? "1~receipt" : "receipt").utf8),
      "\(String(describing: error?.receipt))")
    #expect(try Naive(reading: view).sections[section].rows.count == 1)
  }

  /// A user of a view must learn which edits no receipt can undo.
  @Test(arguments: Kind.allCases.filter { $0 != .imported })
  func aFinalEditIsSaid(_ kind: Kind) throws {
    let base = InMemorySource(Self.columns, rows: [[1, "a", "x"], [2, "a", "x"]])
    let unsteady = Unsteady(base)
    unsteady.deletesForGood = true
    let view = try kind.view(of: unsteady)
    _ = try Naive(reading: view)
    let section = kind == .joined ? 1 : 0
    let result = try #require(view.editing).commit(
      EditBatch([
        .set(.path(IndexPath(section: section, row: 0)), cells: [2: "y"]),
        .delete(.path(IndexPath(section: section, row: 1))),
      ]))
    #expect(result.outcomes.map(\.isFinal) == [false, true])
  }
}

/// A table whose version does not cover its cells, like that of a folder.
private final class Unsteady: TableDataSource, TableEditing {
  let base: InMemorySource
  /// Whether it performs an edit and then breaks the contract.
  var lies = false
  var deletesForGood = false

  init(_ base: InMemorySource) { self.base = base }

  var columns: [Column] { base.columns }
  var identity: (any TableIdentity)? { base.identity }
  var editing: (any TableEditing)? { self }
  var hasVolatileOrder: Bool { true }

  func version() -> Version? {
    Version("rows-\((try? base.numberOfRows(inSection: 0, knowing: .max).value) ?? 0)")
  }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch { try base.rows(request) }

  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try base.editability(ofRows: rows, inSection: section)
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    guard batch.version == nil || batch.version == version() else {
      throw TableError(.conflict, "is at another version")
    }
    var result = try base.commit(EditBatch(batch.edits, isDryRun: batch.isDryRun))
    for (number, edit) in batch.edits.enumerated() {
      if case .delete = edit { result.outcomes[number].isFinal = deletesForGood }
    }
    guard lies else { return result }
    var error = TableError(.misbehaved, "not so")
    error.receipt = Array("receipt".utf8)
    throw error
  }
}

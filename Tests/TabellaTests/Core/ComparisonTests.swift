import Testing

import class Foundation.ProcessInfo

@testable import Tabella
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

/// Comparisons of lists and tables: applying the changes always leads from the old one to the new one.
@Suite struct ComparisonTests {
  /// `TABELLA_CASES` sets the number of pairs of tables (1,000 by default; CI 2,000).
  static let cases = Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 1000

  // Lists

  /// A list of numbers, in which numbers repeat unless `isUnique`.
  private func list(_ generator: inout SeededGenerator, isUnique: Bool) -> [Int] {
    let count = Int.random(in: 0..<9, using: &generator)
    if isUnique { return Array((0..<12).shuffled(using: &generator).prefix(count)) }
    let most = Int.random(in: 1..<6, using: &generator)
    return (0..<count).map { _ in Int.random(in: 0..<most, using: &generator) }
  }

  /// The length of a longest common subsequence, computed naively.
  private func longest(_ old: [Int], _ new: [Int]) -> Int {
    var best = [[Int]](
      repeating: Array(repeating: 0, count: new.count + 1), count: old.count + 1)
    for left in old.indices {
      for right in new.indices {
        best[left + 1][right + 1] =
          old[left] == new[right]
          ? best[left][right] + 1 : max(best[left][right + 1], best[left + 1][right])
      }
    }
    return best[old.count][new.count]
  }

  private func common(_ old: [Int], _ new: [Int]) -> Int {
    Set(old).reduce(0) { sum, number in
      sum + min(old.count { $0 == number }, new.count { $0 == number })
    }
  }

  private func applied(_ difference: ListDifference, _ old: [Int], _ new: [Int]) -> [Int] {
    let gone = Set(difference.deleted + difference.moved.map(\.from))
    var result = old.indices.filter { !gone.contains($0) }.map { old[$0] }
    var arrivals = difference.inserted.map { ($0, new[$0]) }
    arrivals += difference.moved.map { ($0.to, old[$0.from]) }
    for (index, element) in arrivals.sorted(by: { $0.0 < $1.0 }) {
      result.insert(element, at: index)
    }
    return result
  }

  @Test func aListDifferenceIsTheSmallest() throws {
    for seed in 0..<4000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let isUnique = seed % 2 == 0
      let old = list(&generator, isUnique: isUnique)
      let new = list(&generator, isUnique: isUnique)
      let difference = ListDifference(from: old, to: new)
      #expect(applied(difference, old, new) == new, "\(old) \(new) \(difference)")
      let common = common(old, new)
      #expect(difference.deleted.count == old.count - common)
      #expect(difference.inserted.count == new.count - common)
      #expect(
        difference.moved.count == common - longest(old, new), "\(old) \(new) \(difference)")
    }
  }

  @Test func changesOfAListAreABatch() throws {
    for seed in 0..<500 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let (old, new) = (list(&generator, isUnique: true), list(&generator, isUnique: true))
      let changes = ListDifference(from: old, to: new).changes(ofRowsIn: 2, after: 2)
      let plan = try BatchPlan(
        changes, numberOfSections: { _ in .exact(3) }, numberOfRows: { _, _ in .exact(old.count) })
      let result = plan.rows[2]?.applied(to: old) { arrival in
        switch changes[arrival.change] {
        case .insert(let path): new[path.row]
        case .move(let from, _): old[from.row]
        default: -1
        }
      }
      #expect(result ?? old == new)
    }
  }

  /// Long lists with many differences are divided, and the result is still a common subsequence.
  @Test func longListsHaveACommonSubsequence() {
    for seed in 0..<60 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let bound = [3, 100, 5000, 100_000][Int(seed % 4)]
      let old = (0..<3000).map { _ in Int32.random(in: 0..<Int32(bound), using: &generator) }
      var new = old
      for _ in 0..<[10, 1000, 3000][Int(seed % 3)] {
        let index = Int.random(in: 0..<new.count, using: &generator)
        switch Int.random(in: 0..<3, using: &generator) {
        case 0: new.remove(at: index)
        case 1: new.insert(Int32.random(in: 0..<Int32(bound), using: &generator), at: index)
        default: new.swapAt(index, Int.random(in: 0..<new.count, using: &generator))
        }
      }
      var tallies = NumberTallies(bound: bound)
      let partners = CommonSubsequence(old, new, &tallies).partners
      let paired = partners.indices.filter { partners[$0] >= 0 }
      #expect(paired.allSatisfy { old[Int(partners[$0])] == new[$0] })
      #expect(zip(paired, paired.dropFirst()).allSatisfy { partners[$0] < partners[$1] })
      #expect(paired.count > (seed % 3 == 0 ? 2900 : 150), "seed \(seed): \(paired.count)")
    }
  }

  // Runs of equal rows

  /// The pairs of the runs of two lists, and of a common subsequence of the rest.
  private func aligned(_ old: [Int], _ new: [Int]) -> (pairs: [(old: Int, new: Int)], rest: Int) {
    func digests(_ list: [Int]) -> [RowDigest] { list.map { RowDigest(UInt64($0), 1) } }
    var alignment = GreedyAlignment()
    let (olds, news) = (digests(old), digests(new))
    let runs = olds.withUnsafeBufferPointer { olds in
      news.withUnsafeBufferPointer { news in
        AlignedRuns(olds, olds.indices, news, news.indices, &alignment)
      }
    }
    var pairs = runs.runs.flatMap { run in
      (0..<run.count).map { (old: run.old + $0, new: run.new + $0) }
    }
    var tallies = NumberTallies(bound: 1 + max(old.max() ?? 0, new.max() ?? 0))
    let partners = CommonSubsequence(
      old[runs.rest.old].map { Int32($0) }, new[runs.rest.new].map { Int32($0) }, &tallies
    ).partners
    for (index, partner) in partners.enumerated() where partner >= 0 {
      pairs.append((runs.rest.old.lowerBound + Int(partner), runs.rest.new.lowerBound + index))
    }
    return (pairs.sorted { $0.new < $1.new }, runs.rest.new.count)
  }

  @Test func runsOfShortListsAreALongestCommonSubsequence() {
    for seed in 0..<4000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let old = list(&generator, isUnique: seed % 2 == 0)
      let new = list(&generator, isUnique: seed % 2 == 0)
      let pairs = aligned(old, new).pairs
      #expect(pairs.allSatisfy { old[$0.old] == new[$0.new] })
      #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.old < $1.old })
      #expect(pairs.count == longest(old, new), "\(old) \(new) \(pairs)")
    }
  }

  /// Lists that differ in thousands of places: single elements, and blocks that were deleted, inserted, moved or reversed.
  @Test func runsOfLongListsAreALongestCommonSubsequence() {
    var (withRest, withoutRest) = (0, 0)
    for seed in 0..<120 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let old = Array(0..<8000)
      var new = old
      var fresh = 8000
      for _ in 0..<[40, 700, 1500][Int(seed % 3)] {
        let index = Int.random(in: 0..<new.count - 10, using: &generator)
        let block = index..<index + Int.random(in: 1..<10, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: new.removeSubrange(block)
        case 1:
          new.insert(contentsOf: fresh..<fresh + block.count, at: index)
          fresh += block.count
        case 2: new[block].reverse()
        case 3 where seed % 4 > 0:
          let moved = new[block]
          new.removeSubrange(block)
          new.insert(contentsOf: moved, at: Int.random(in: 0..<new.count, using: &generator))
        default:
          new[index] = fresh
          fresh += 1
        }
      }
      if seed % 5 == 0 {
        let half = Array(new[5000...])
        new.removeLast(half.count)
        new.insert(contentsOf: half, at: 2000)
      }
      let (pairs, rest) = aligned(old, new)
      if rest > 0 { withRest += 1 } else { withoutRest += 1 }
      #expect(pairs.allSatisfy { old[$0.old] == new[$0.new] })
      #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.old < $1.old })
      let kept = longestIncreasing(new.filter { $0 < 8000 }.map { Int32($0) })
      #expect(pairs.count == kept.count, "seed \(seed)")
    }
    #expect(withRest > 10 && withoutRest > 30, "\(withRest) \(withoutRest)")
  }

  // Tables

  private static let columns = [Column("key", .integer), Column("a"), Column("b"), Column("c")]

  /// A random section. Keys are unique in the table.
  private static func section(
    _ generator: inout SeededGenerator, _ keys: inout [Int64]
  ) -> InMemoryTable.Section {
    let title = ["A", "B", "C", nil].randomElement(using: &generator)!
    let rows = (0..<Int.random(in: 0..<7, using: &generator)).map { _ in row(&generator, &keys) }
    return .init(title: title, rows: rows)
  }

  private static func row(_ generator: inout SeededGenerator, _ keys: inout [Int64]) -> [Cell] {
    let texts: [Cell] = ["", "x", "y", .missing]
    return [.integer(keys.popLast() ?? -1)]
      + (0..<3).map { _ in texts.randomElement(using: &generator)! }
  }

  private static func table(
    _ generator: inout SeededGenerator, _ keys: inout [Int64], sections: Int
  ) -> InMemoryTable {
    InMemoryTable(sections: (0..<sections).map { _ in section(&generator, &keys) })
  }

  /// A changed copy of a table.
  private static func changed(
    _ table: InMemoryTable, _ generator: inout SeededGenerator, _ keys: inout [Int64]
  ) -> InMemoryTable {
    var table = table
    for _ in 0..<Int.random(in: 0..<6, using: &generator) {
      func random(_ count: Int) -> Int { Int.random(in: 0..<max(1, count), using: &generator) }
      let number = random(table.sections.count)
      switch random(10) {
      case 0: table.sections.insert(section(&generator, &keys), at: number)
      case 1 where !table.sections.isEmpty: table.sections.remove(at: number)
      case 2 where !table.sections.isEmpty:
        table.sections.swapAt(number, random(table.sections.count))
      case 3 where !table.sections.isEmpty:
        if table.sections[number].title != nil { table.sections[number].title = "D" }
      case 4, 5:
        guard !table.sections.isEmpty else { continue }
        let rows = table.sections[number].rows.count
        table.sections[number].rows.insert(row(&generator, &keys), at: random(rows))
      default:
        guard !table.sections.isEmpty, !table.sections[number].rows.isEmpty else { continue }
        let index = random(table.sections[number].rows.count)
        switch random(4) {
        case 0: table.sections[number].rows.remove(at: index)
        case 1: table.sections[number].rows[index][random(3) + 1] = "z"
        case 2: table.sections[number].rows[index][random(3) + 1] = .missing
        default:
          let row = table.sections[number].rows.remove(at: index)
          let target = random(table.sections.count)
          table.sections[target].rows.insert(row, at: random(table.sections[target].rows.count))
        }
      }
    }
    return table
  }

  struct InMemoryTable: Equatable {
    struct Section: Equatable {
      var title: String?
      var rows: [[Cell]]
    }

    var sections: [Section]

    var source: InMemorySource {
      InMemorySource(
        ComparisonTests.columns, sections: sections.map { ($0.title, nil, nil, $0.rows) },
        persistence: .byAuthor)
    }
  }

  /// The edits of a comparison, and whether rows of new sections are left.
  static func edits(_ comparison: TableComparison) throws -> (edits: [EditBatch.Edit], rest: Bool) {
    var edits: [EditBatch.Edit] = []
    var newSections: Set<Int> = []
    var hasRest = false
    func title(_ path: IndexPath) throws -> String? {
      try comparison.new.title(ofSection: path.section)
    }
    let pairs = comparison.columns.pairs
    var details: [TableComparison.Detail] = []
    try comparison.forEachDetail { details.append($0) }
    for detail in details {
      switch detail.change {
      case .delete(let path): edits.append(.delete(.path(path)))
      case .move(let path, let target): edits.append(.move(.path(path), to: target))
      case .insert(let path) where path.isSection:
        newSections.insert(path.section)
        edits.append(.insertSection(at: path.section, title: try title(path)))
      case .set(let path, let target) where path.isSection:
        edits.append(.renameSection(path.section, title: try title(target)))
      case .insert(let path):
        if newSections.contains(path.section) {
          hasRest = true
          continue
        }
        let cells = zip(pairs, detail.newCells).map { ($0.old, $1) }
        edits.append(.insert(at: path, cells: Dictionary(uniqueKeysWithValues: cells)))
      case .set(let path, _):
        let cells = pairs.indices.filter {
          !detail.oldCells[$0].isSame(as: detail.newCells[$0], asText: pairs[$0].isText)
        }.map { (pairs[$0].old, detail.newCells[$0]) }
        #expect(!cells.isEmpty)
        for index in pairs.indices {
          let (old, new, isText) = (
            detail.oldCells[index], detail.newCells[index], pairs[index].isText
          )
          #expect(
            detail.oldCells.isSame(index, as: detail.newCells, asText: isText)
              == old.isSame(as: new, asText: isText))
          let text = detail.oldCells.withText(index) { Array($0) }
          #expect(text.map { .text($0) == old } ?? (old == .missing || old.type != .text))
        }
        edits.append(.set(.path(path), cells: Dictionary(uniqueKeysWithValues: cells)))
      }
    }
    return (edits, hasRest)
  }

  /// Rows arrive in batches of any size, and a few thousand changes are read at a time.
  @Test(arguments: [7, 5_000, .max])
  func manyChangesHaveTheirCells(_ batchLimit: Int) throws {
    func oldRow(_ number: Int) -> [Cell] {
      [.integer(Int64(number)), .text("row \(number)"), "old"]
    }
    /// Every second row differs: one cell, or all of them.
    func newRow(_ number: Int) -> [Cell] {
      switch number % 4 {
      case 1: Array(oldRow(number).dropLast()) + [.text("new \(number)")]
      case 3: [.integer(Int64(-number)), "another", "new"]
      default: oldRow(number)
      }
    }
    func table(_ row: (Int) -> [Cell]) throws -> ComparedRows {
      let columns = [Column("n", .integer), Column("name"), Column("state")]
      let rows = (0..<10_000).map(row)
      let source = Recording(InMemorySource(columns, sections: [(nil, nil, nil, rows)]))
      source.gathers = true
      source.batchLimit = batchLimit
      return try ComparedRows(source)
    }
    let (old, new) = (try table(oldRow), try table(newRow))
    let comparison = try TableComparison(
      from: old, to: new, columns: ComparedColumns(old.source.columns, new.source.columns))
    var expected: [(change: TableComparison.Change, old: [Cell], new: [Cell])] = []
    for number in stride(from: 1, to: 10_000, by: 2) {
      let path = IndexPath(section: 0, row: number)
      if number % 4 == 1 {
        expected.append((.set(path, to: path), oldRow(number), newRow(number)))
      } else {
        expected.append((.delete(path), oldRow(number), []))
        expected.append((.insert(path), [], newRow(number)))
      }
    }
    var next = 0
    try comparison.forEachDetail { detail in
      guard next < expected.count else {
        next += 1
        return
      }
      #expect(detail.change == expected[next].change)
      #expect(detail.oldCells.elementsEqual(expected[next].old))
      #expect(detail.newCells.elementsEqual(expected[next].new))
      next += 1
    }
    #expect(next == expected.count)
  }

  /// One batch leads from a table to the other, and a second one fills new sections.
  @Test(arguments: 0..<6)
  func theChangesLeadToTheNewTable(_ kind: Int) throws {
    for seed in 0..<UInt64(Self.cases / 2) {
      var generator = SeededGenerator(seed: seed * 6 + UInt64(kind))
      var keys = (0..<200 as Range<Int64>).shuffled(using: &generator)
      let count = kind < 2 ? 1 : Int.random(in: 0..<4, using: &generator)
      let old = Self.table(&generator, &keys, sections: count)
      var new = Self.changed(old, &generator, &keys)
      if seed % 5 == 0 {
        keys = (0..<200 as Range<Int64>).shuffled(using: &generator)
        new = Self.table(&generator, &keys, sections: count)
      }
      var options = TableComparison.Options()
      if kind % 2 == 1 { options.keys = [0] }
      if kind >= 4 { options.movesRows = false }
      let source = old.source
      var columns = ComparedColumns(source.columns, source.columns)
      if seed % 3 == 0, options.keys.isEmpty {
        // Rows without different keys repeat.
        columns = ComparedColumns(source.columns, source.columns, only: [1, 2], [1, 2])
      }
      let target = try ComparedRows(new.source)
      var rounds = 0
      while rounds < 3 {
        rounds += 1
        let comparison = try TableComparison(
          from: ComparedRows(source), to: target, columns: columns, options: options)
        let (edits, hasRest) = try Self.edits(comparison)
        let isEqual =
          Self.content(source, columns.pairs.map(\.old))
          == Self.content(target.source, columns.pairs.map(\.old))
        try #require(edits.isEmpty == isEqual, "seed \(seed): \(old) \(new) \(edits)")
        if edits.isEmpty { break }
        if !options.movesRows {
          #expect(!edits.contains { if case .move = $0 { !$0.isOfSection } else { false } })
        }
        do throws(TableError) {
          _ = try source.commit(EditBatch(edits))
        } catch {
          Issue.record("seed \(seed): \(error)\n\(old)\n\(new)\n\(edits)")
          return
        }
        if !hasRest {
          #expect(
            Self.content(source, columns.pairs.map(\.old))
              == Self.content(target.source, columns.pairs.map(\.old)),
            "seed \(seed): \(old) \(new) \(edits)")
        }
      }
      #expect(rounds < 4)
    }
  }

  /// The titles, and the cells of some columns.
  private static func content(_ source: any TableDataSource, _ columns: [Int]) -> [String] {
    var lines: [String] = []
    for section in 0..<((try? source.numberOfSections(knowing: .max).value) ?? 0) {
      lines.append(
        "\((try? source.sections?.title(.header, ofSection: section)) ?? nil, default: "none")")
      let count = (try? source.exactNumberOfRows(inSection: section)) ?? 0
      if count == 0 { continue }
      let batch = try? source.rows(
        RowRequest(section: section, first: 0, count: count, columns: columns))
      for row in 0..<count { lines.append("\(batch?.row(row) ?? [])") }
    }
    return lines
  }

  @Test func orderCanBeIgnored() throws {
    for seed in 0..<300 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      var keys = (0..<50 as Range<Int64>).shuffled(using: &generator)
      let old = Self.table(&generator, &keys, sections: 2)
      var new = old
      for section in new.sections.indices { new.sections[section].rows.shuffle(using: &generator) }
      for keys in [[], [0]] {
        for movesRows in [false, true] {
          var options = TableComparison.Options()
          options.comparesOrder = false
          options.keys = keys
          options.movesRows = movesRows
          let comparison = try TableComparison(
            from: ComparedRows(old.source), to: ComparedRows(new.source),
            columns: ComparedColumns(Self.columns, Self.columns), options: options)
          #expect(try Self.edits(comparison).edits.isEmpty)
        }
      }
    }
  }

  private func changes(
    _ old: [[Cell]], _ new: [[Cell]], _ columns: [Column], keys: [Int] = []
  ) throws -> [TableComparison.Change] {
    var options = TableComparison.Options()
    options.keys = keys
    let (old, new) = (InMemorySource(columns, rows: old), InMemorySource(columns, rows: new))
    var changes: [TableComparison.Change] = []
    try TableComparison(
      from: ComparedRows(old), to: ComparedRows(new), columns: ComparedColumns(columns, columns),
      options: options
    ).forEachChange { changes.append($0) }
    return changes
  }

  /// The rows of groups are read in the order of the table below. The changes are those of a copy with sections.
  @Test(arguments: 0..<60) func groupsAreComparedLikeSections(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let columns = [Column("group"), Column("number", .integer), Column("id", .integer)]
    func table(_ rows: [[Cell]]) throws -> (GroupedSource, InMemorySource) {
      let base = Tables.divided(columns, rows, &generator)
      let grouped = try base.grouped(by: Grouping(column: 0, by: .value))
      let sections = try (0..<grouped.numberOfSections(knowing: .max).value).map { section in
        (
          header: try grouped.title(.header, ofSection: section), footer: String?.none,
          indexTitle: String?.none, rows: try readAll(grouped, section: section)
        )
      }
      return (grouped, InMemorySource(columns, sections: sections))
    }
    func drawn(_ id: Int) -> [Cell] {
      [
        .text("g\(Int.random(in: 0..<5, using: &generator))"),
        .integer(Int64.random(in: 0..<3, using: &generator)), .integer(Int64(id)),
      ]
    }
    let rows = (0..<Int.random(in: 0..<25, using: &generator)).map { drawn($0) }
    let changed = rows.compactMap { row -> [Cell]? in
      switch Int.random(in: 0..<6, using: &generator) {
      case 0: nil
      case 1: [row[0], .integer(9), row[2]]
      default: row
      }
    }
    let (old, oldCopy) = try table(rows)
    let (new, newCopy) = try table(changed + (0..<2).map { drawn(100 + $0) })
    var options = TableComparison.Options()
    options.keys = seed % 2 == 0 ? [2] : []
    options.movesRows = seed % 4 < 2
    func changes(
      _ old: any TableDataSource, _ new: any TableDataSource
    ) throws -> [TableComparison.Change] {
      var changes: [TableComparison.Change] = []
      try TableComparison(
        from: ComparedRows(old), to: ComparedRows(new),
        columns: ComparedColumns(columns, columns), options: options
      ).forEachChange { changes.append($0) }
      return changes
    }
    #expect(try changes(old, new) == changes(oldCopy, newCopy))
    #expect(try !changes(old, new).isEmpty)
  }

  private func row(_ row: Int) -> IndexPath { IndexPath(section: 0, row: row) }

  @Test func changedRowsAreFoundBetweenEqualRows() throws {
    let columns = [Column("name"), Column("city"), Column("year", .integer)]
    let old: [[Cell]] = [["Ada", "Rome", 1], ["Bob", "Bonn", 2], ["Cy", "Riga", 3]]
    #expect(
      try changes(old, [["Ada", "Rome", 1], ["Bob", "Oslo", 2], ["Cy", "Riga", 3]], columns)
        == [.set(row(1), to: row(1))])
    // Nothing in common: another row.
    #expect(
      try changes(old, [["Ada", "Rome", 1], ["Eve", "Oslo", 9], ["Cy", "Riga", 3]], columns)
        == [.delete(row(1)), .insert(row(1))])
    // The key decides, even where nothing else is equal.
    #expect(
      try changes(old, [["Bob", "Oslo", 9], ["Ada", "Rome", 1]], columns, keys: [0])
        == [.set(row(1), to: row(0)), .move(row(1), to: row(0)), .delete(row(2))])
  }

  /// The pairs of changed rows ascend, each has half of its cells equal, and no other pairs have more equal cells in total.
  @Test(arguments: 0..<200) func changedRowsHaveTheMostEqualCells(_ seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    let width = Int.random(in: 1...6, using: &generator)
    let values = [2, 10, 1000][seed % 3]
    func rows(_ count: Int) -> [[RowDigest]] {
      (0..<count).map { _ in
        (0..<width).map { _ in
          RowDigest(UInt64.random(in: 0..<UInt64(values), using: &generator) &* 0x9E37_79B9, 1)
        }
      }
    }
    let old = rows(Int.random(in: 0...40, using: &generator))
    // The new rows are other rows, or versions of the old ones: in each row, in some columns, or here and there.
    var new = seed % 4 == 0 ? rows(Int.random(in: 0...40, using: &generator)) : old
    let changed = (0..<Int.random(in: 1...width, using: &generator)).map { _ in
      Int.random(in: 0..<width, using: &generator)
    }
    for row in new.indices where seed % 4 != 1 || Bool.random(using: &generator) {
      for column in changed where seed % 4 != 0 {
        new[row][column] = RowDigest(UInt64(row * width + column) &* 0xBF58_476D_1CE4_E5B9, 2)
      }
    }
    if seed % 4 == 3, !new.isEmpty { new.removeFirst() }
    func equal(_ left: Int, _ right: Int) -> Int {
      let count = zip(old[left], new[right]).count { $0 == $1 }
      return count >= max(1, width / 2) ? count : 0
    }
    var best = [[Int]](repeating: Array(repeating: 0, count: new.count + 1), count: old.count + 1)
    for left in old.indices.reversed() {
      for right in new.indices.reversed() {
        best[left][right] = max(
          best[left + 1][right], best[left][right + 1],
          equal(left, right) + best[left + 1][right + 1])
      }
    }
    let before: [RowDigest] = rows(2).flatMap { $0 }
    let pairs = ChangedRows(columnCount: width).pairs(
      before + old.flatMap { $0 }, 2..<2 + old.count, new.flatMap { $0 }, 0..<new.count)
    #expect(pairs.reduce(0) { $0 + equal($1.old, $1.new) } == best[0][0])
    #expect(pairs.allSatisfy { equal($0.old, $0.new) > 0 })
    #expect(zip(pairs, pairs.dropFirst()).allSatisfy { $0.old < $1.old && $0.new < $1.new })
  }

  @Test func aKeyOccursOnce() throws {
    let columns = [Column("name"), Column("city")]
    let rows: [[Cell]] = [["Ada", "Rome"], ["Bob", "Bonn"], ["Ada", "Oslo"]]
    for (old, new, side) in [(rows, [], "first"), ([], rows, "second")] {
      let error = #expect(throws: TableError.self) {
        try changes(old, new, columns, keys: [0])
      }
      #expect(error?.code == .invalidArgument)
      #expect(error?.message.contains("0:0 and 0:2 of the \(side) table") == true)
      #expect(error?.message.contains("name=Ada") == true)
    }
    #expect(try changes(rows, rows, columns, keys: [0, 1]).isEmpty)
    // In another section it is another row, and it moves only if it is the only one.
    let old = InMemorySource(
      columns, sections: [("A", nil, nil, [rows[0], rows[1]]), ("B", nil, nil, [rows[2]])])
    let new = InMemorySource(
      columns, sections: [("A", nil, nil, [rows[0]]), ("B", nil, nil, [rows[2], rows[1]])])
    var options = TableComparison.Options()
    options.keys = [0]
    let comparison = try TableComparison(
      from: ComparedRows(old), to: ComparedRows(new), columns: ComparedColumns(columns, columns),
      options: options)
    let target = IndexPath(section: 1, row: 1)
    #expect(try Self.edits(comparison).edits == [.move(.path(row(1)), to: target)])
  }

  @Test func columnsArePairedByName() throws {
    let old = [Column("a"), Column("b", .integer), Column("a"), Column("d")]
    let new = [Column("b"), Column("a"), Column("c"), Column("a")]
    let columns = ComparedColumns(old, new)
    #expect(columns.pairs.map(\.name) == ["a", "b", "a 2"])
    #expect(columns.pairs.map(\.old) == [0, 1, 2] && columns.pairs.map(\.new) == [1, 0, 3])
    #expect(columns.pairs.map(\.isText) == [false, true, false])
    #expect(columns.deleted == [3] && columns.inserted == [2])
    // Columns of two types are compared as text, and empty text is a missing number.
    let numbers = InMemorySource(old, rows: [["x", 5, "", ""], ["y", .missing, "", ""]])
    let texts = InMemorySource(new, rows: [["5", "x", "", ""], ["", "y", "", ""]])
    let comparison = try TableComparison(
      from: ComparedRows(numbers), to: ComparedRows(texts), columns: columns)
    #expect(try Self.edits(comparison).edits.isEmpty)
  }

  /// Every kind of cell takes part, and only a difference counts.
  @Test func allTypesAreCompared() throws {
    let columns = [
      Column("t"), Column("i", .integer), Column("r", .real), Column("b", .boolean),
      Column("d", .date), Column("x", .binary),
    ]
    let base: [Cell] = [
      "é", 7, .real(.nan), true, .date(Timestamp(nanoseconds: 5)), .binary([0, 255]),
    ]
    let others: [Cell] = [
      "e", 8, 1.5, false, .date(Timestamp(nanoseconds: 6)), .binary([0, 255, 0]),
    ]
    #expect(try changes([base], [base], columns).isEmpty)
    for column in columns.indices {
      for other in [others[column], .missing] {
        var row = base
        row[column] = other
        #expect(try changes([base], [row], columns) == [.set(self.row(0), to: self.row(0))])
      }
    }
    var empty = base
    (empty[0], empty[5]) = ("", .binary([]))
    var missing = base
    (missing[0], missing[5]) = (.missing, .missing)
    #expect(try !changes([empty], [missing], columns).isEmpty)
  }

  /// Numbers in text were compared as doubles, so ids of 20 digits were equal although their last digits differ.
  @Test func numbersInTextAreComparedWithAllDigits() throws {
    let spellings = [
      ["12345678901234567890", "12345678901234567890.0", "1234567890123456789e1"],
      ["12345678901234567891"], ["0.1", "1e-1", "0.10000000000000000000000"],
      ["0.1000000000000000000001"], ["0", "-0", "0.000", "-0e400", "0e-5"], ["1e22", "100e20"],
      ["1e24", "100e22", "1000000000000000000000000"], ["-1e24"], ["1e36", "10e35"], ["1e37"],
      ["4e-324"], ["5e-324"], ["123456789012345e-300", "1.23456789012345e-286"], ["1e-290"],
      ["999999999999999", "999999999999999.000"], ["9999999999999990"], ["9999999999999991"],
    ]
    let column = Column("v", reads: .real)
    let all = spellings.enumerated().flatMap { group, texts in texts.map { (group, $0) } }
    func digest(_ text: String) -> RowDigest {
      var digests = [RowDigest.empty]
      let cell = Cell.text(Array(text.utf8))
      column.add(
        AwkwardCells.batch([[cell]], [.text]).columns[0], to: &digests, asText: false)
      return digests[0]
    }
    for (group, text) in all {
      for (other, otherText) in all {
        #expect((digest(text) == digest(otherText)) == (group == other), "\(text) \(otherText)")
        let (a, b) = (Cell.text(Array(text.utf8)), Cell.text(Array(otherText.utf8)))
        let found = try changes([["x", a]], [["x", b]], [Column("k"), column])
        #expect(found.isEmpty == (group == other), "\(text) \(otherText)")
      }
    }
    let rows: [[Cell]] = all.map { [.text(Array($0.1.utf8)), "y"] }
    let error = #expect(throws: TableError.self) {
      try changes(rows, rows, [column, Column("k")], keys: [0])
    }
    #expect(error?.message.contains("0:0 and 0:1") == true)
    let first = spellings.map { [Cell.text(Array($0[0].utf8)), "y"] }
    #expect(try changes(first, first, [column, Column("k")], keys: [0]).isEmpty)
  }

  /// A large table with few differences: only these are reported.
  @Test func aLargeTableHasFewDifferences() throws {
    let columns = [Column("n", .integer), Column("a"), Column("b")]
    let rows = (0..<100_000 as Range<Int64>).map { [.integer($0), "x", "y"] as [Cell] }
    var new = rows
    for row in stride(from: 0, to: 100_000, by: 100) { new[row][1] = "changed" }
    new.removeSubrange(50_001..<50_004)
    new.insert([-1, "", ""], at: 70_000)
    #expect(try changes(rows, new, columns).count == 1004)
    #expect(try changes(rows, new, columns, keys: [0]).count == 1004)
    #expect(try changes(rows, rows.reversed(), columns).count == 99_999)
  }
}

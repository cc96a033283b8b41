import Testing

import class Foundation.ProcessInfo

@testable import Tabella
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

/// Views translate the changes of their bases. The old rows plus the changes are always the rows of a view that is built
/// anew.
@Suite struct ViewChangesTests {
  /// `TABELLA_CASES` sets the number of tables (300 by default; CI 2,000).
  static let cases = Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 300

  /// A view over one or two live tables, and the same view built anew.
  private struct Trial {
    let seed: UInt64
    let stack: ViewStack
    let table: LiveTable
    let other: LiveTable
    let view: any TableDataSource

    init(_ seed: UInt64, _ stack: ViewStack, _ generator: inout SeededGenerator) throws {
      self.seed = seed
      self.stack = stack
      table = LiveTable(&generator)
      other = LiveTable(&generator, sections: 1..<3, rows: 0..<4)
      for one in [table, other] {
        one.gathers = Bool.random(using: &generator)
        one.hasVolatileOrder = Int.random(in: 0..<4, using: &generator) == 0
        one.hasVersions = Int.random(in: 0..<5, using: &generator) > 0
        if Bool.random(using: &generator) {
          one.batchLimit = Int.random(in: 1...3, using: &generator)
        }
      }
      view = try stack.view(of: table, joining: other)
    }

    var fresh: any TableDataSource {
      get throws { try stack.view(of: table, joining: other) }
    }

    func move(_ generator: inout SeededGenerator) {
      for one in [table, other] {
        for _ in 0..<[0, 1, 1, 1, 2, 3].randomElement(using: &generator)! {
          one.move(&generator, calm: Bool.random(using: &generator))
        }
      }
    }

    /// Pulls. Checks the versions, and returns the changes.
    func pull() throws -> [ChangeBatch.Change]? {
      let before = try view.version()
      let batch = try #require(view.changes).pull()
      #expect(batch.from == before, "seed \(seed), \(stack)")
      #expect(try batch.to == view.version(), "seed \(seed), \(stack)")
      return batch.changes
    }

    /// Checks that changes lead from old rows to those of a view that is built anew.
    func check(_ list: [ChangeBatch.Change]?, from old: NaiveTable) throws {
      let new = try NaiveTable(of: fresh)
      // A view without sections has mapped nothing.
      if list == nil, old.sections.isEmpty { return }
      let list = try #require(list, "seed \(seed), \(stack): nothing is listed")
      #expect(
        old.applying(list, content: new) == new, "seed \(seed), \(stack): \(old) \(list) \(new)")
      #expect(throws: Never.self, "seed \(seed), \(stack): \(old) \(list)") {
        try BatchPlan(
          list, numberOfSections: { _ in .exact(old.sections.count) },
          numberOfRows: { section, _ in
            .exact(old.sections.indices.contains(section) ? old.sections[section].rows.count : 0)
          })
      }
      #expect(try NaiveTable(of: view) == new, "seed \(seed), \(stack): \(list)")
    }

    /// Checks that the view finds each row by its id, and its origin.
    func checkIDs() throws {
      guard let identity = view.identity else { return }
      for (section, content) in try NaiveTable(of: view).sections.enumerated() {
        for (row, content) in content.rows.enumerated() {
          let path = IndexPath(section: section, row: row)
          #expect(
            try identity.indexPath(forID: content.id ?? "") == path, "seed \(seed), \(stack)")
          let origin = try view.origin(of: path)
          let batch = try origin.source.gather([origin.path], columns: [], includesIDs: true)
          let id = try #require(batch.id(0))
          #expect(content.id?.hasSuffix(id) == true, "seed \(seed), \(stack)")
        }
      }
    }
  }

  /// Every layer alone, and random stacks: after random batches of the base, and after several of them at once.
  @Test func changesReplay() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let layers = ViewStack.Layer.allCases
      let stack =
        seed % 2 == 0
        ? ViewStack([layers[Int(seed / 2) % layers.count]]) : ViewStack(&generator)
      let trial = try Trial(seed, stack, &generator)
      var old = try NaiveTable(of: trial.view)
      for _ in 0..<4 {
        trial.move(&generator)
        let list = try trial.pull()
        try trial.check(list, from: old)
        old = try NaiveTable(of: trial.view)
      }
      try trial.checkIDs()
      #expect(try trial.pull() == [], "seed \(seed), \(stack)")
      let (shown, anew) = (trial.view.sectionIndex, try trial.fresh.sectionIndex)
      #expect(try shown?.sectionIndexTitles() == anew?.sectionIndexTitles(), "seed \(seed)")
    }
  }

  /// If a view was read in part, the changes lead from the rows that it knew to the rows that it knows.
  @Test func changesOfKnownRowsReplay() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let trial = try Trial(seed, ViewStack(&generator), &generator)
      trial.table.batchLimit = 2
      let view = trial.view
      for _ in 0..<3 {
        let sections = try view.sections?.numberOfSections(knowing: .max).value ?? 1
        for section in 0..<sections where Bool.random(using: &generator) {
          let count = Int.random(in: 1..<5, using: &generator)
          _ = try view.rows(
            RowRequest(section: section, first: 0, count: count, columns: [0]))
        }
        // A pull maps all rows of a volatile table first, because its version needs them.
        for section in 0..<(view.hasVolatileOrder ? sections : 0) {
          _ = try view.numberOfRows(inSection: section, knowing: .max)
        }
        let old = try known(try NaiveTable(of: trial.fresh), by: view)
        trial.move(&generator)
        // A view that does not know all its rows may say that everything must be read again.
        guard let list = try trial.pull() else { continue }
        let new = try known(try NaiveTable(of: trial.fresh), by: view)
        #expect(
          old.applying(list, content: new) == new,
          "seed \(seed), \(trial.stack): \(old) \(list) \(new)")
      }
      #expect(try NaiveTable(of: view) == NaiveTable(of: trial.fresh), "seed \(seed)")
    }
  }

  /// The rows of a table that a view has counted.
  private func known(
    _ table: NaiveTable, by view: any TableDataSource
  ) throws -> NaiveTable {
    NaiveTable(
      try table.sections.enumerated().map { number, section in
        let count = try view.numberOfRows(inSection: number, knowing: 0).value
        return .init(title: section.title, rows: Array(section.rows.prefix(count)))
      })
  }

  /// If the base cannot be read after a pull, the view says that everything must be read again. If the base cannot be
  /// pulled, nothing moves.
  @Test func failuresAreReloads() throws {
    for seed in 0..<UInt64(Self.cases / 2) {
      var generator = SeededGenerator(seed: seed)
      let trial = try Trial(seed, ViewStack(&generator), &generator)
      trial.table.hasVolatileOrder = false
      var old = try NaiveTable(of: trial.view)
      for _ in 0..<3 {
        trial.table.move(&generator)
        let before = try trial.view.version()
        let change = try #require(trial.view.changes)
        if Bool.random(using: &generator) {
          trial.table.failsToPull = true
          #expect(throws: TableError.self) { try change.pull() }
          #expect(try NaiveTable(of: trial.view) == old, "seed \(seed), \(trial.stack)")
          #expect(try trial.view.version() == before)
        }
        trial.table.conflicts = Int.random(in: 0...2, using: &generator)
        let list = try change.pull().changes
        trial.table.conflicts = 0
        if list == nil {
          #expect(try NaiveTable(of: trial.view) == NaiveTable(of: trial.fresh), "seed \(seed)")
        } else {
          try trial.check(list, from: old)
        }
        old = try NaiveTable(of: trial.view)
      }
    }
  }

  /// A summary lists which groups come, go and get other values.
  @Test func changesOfSummariesReplay() throws {
    var listed = 0
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let trial = try Trial(
        seed, seed % 3 == 0 ? ViewStack(&generator) : ViewStack([]), &generator)
      let groupings: [Grouping] = [
        [.init(column: 1)], [.init(column: 2), .init(column: 0)], [.init(column: 3, by: .letter)],
        [],
      ].randomElement(using: &generator)!
      let aggregates: [Aggregate] =
        [.rows]
        + Aggregate.Function.usual.dropFirst().shuffled(using: &generator).prefix(2)
        .map { Aggregate($0, ofColumn: $0 == .first || $0 == .last ? 3 : 2) }
      let summary = try trial.view.summarized(by: groupings, computing: aggregates)
      for _ in 0..<4 {
        let (old, columns) = (try NaiveTable(of: summary), summary.columns)
        trial.move(&generator)
        let before = try summary.version()
        let batch = try #require(summary.changes).pull()
        let fresh = try trial.fresh.summarized(by: groupings, computing: aggregates)
        #expect(try batch.from == before && batch.to == summary.version())
        #expect(try summary.version() == fresh.version())
        #expect(summary.columns == fresh.columns, "seed \(seed)")
        let new = try NaiveTable(of: fresh)
        #expect(try NaiveTable(of: summary) == new, "seed \(seed), \(trial.stack)")
        let rows = new.sections[0].rows.map(\.cells)
        let gathered = try #require(summary.gathering).rows(
          at: rows.indices.reversed().map { IndexPath(section: 0, row: $0) },
          columns: Array(summary.columns.indices), includesIDs: false)
        #expect((0..<gathered.rowCount).map { gathered.row($0) } == rows.reversed())
        guard let list = batch.changes else {
          #expect(columns != fresh.columns, "seed \(seed)")
          continue
        }
        listed += 1
        #expect(old.applying(list, content: new) == new, "seed \(seed): \(old) \(list) \(new)")
      }
    }
    #expect(listed > Self.cases)
  }

  /// A sorted view of which only the first rows were read lists the changes of all its rows.
  @Test(arguments: 0..<20)
  func changesAfterFirstRowsReplay(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let table = LiveTable(&generator, sections: 1..<3, rows: 200..<400)
    let descriptors = [1, 0].map {
      SortDescriptor(column: $0, isDescending: .random(using: &generator))
    }
    let view = try table.sorted(by: descriptors)
    for _ in 0..<2 {
      let old = try NaiveTable(of: table.sorted(by: descriptors))
      for (section, content) in old.sections.enumerated() {
        let batch = try view.rows(
          RowRequest(section: section, first: 0, count: 20, columns: [0], includesIDs: true))
        let ids = (0..<batch.rowCount).map { batch.id($0) }
        #expect(ids == content.rows.prefix(20).map(\.id), "seed \(seed)")
      }
      table.move(&generator, calm: true)
      let list = try #require(try view.pull().changes, "seed \(seed)")
      let new = try NaiveTable(of: table.sorted(by: descriptors))
      #expect(old.applying(list, content: new) == new, "seed \(seed)")
      #expect(try NaiveTable(of: view) == new, "seed \(seed)")
      // The next round begins with a view that knows nothing.
      view.forget()
    }
  }

  /// A table whose rows change before a batch lists it: a pull lists the changes until now, and then others happen while
  /// its caller reads.
  private final class LateTable: TableDataSource, TableGathering, TableChanges {
    let columns = [Column("n", .integer)]
    var gathering: (any TableGathering)? { self }
    var changes: (any TableChanges)? { self }
    private var ids: [Int]
    private var values: [Int: Int64] = [:]
    private var unlisted: Set<Int> = []
    private var generator: SeededGenerator
    /// Whether rows change while the caller reads.
    var changesWhileRead = true

    init(_ generator: inout SeededGenerator, count: Int) {
      self.generator = SeededGenerator(seed: .random(in: 0 ... .max, using: &generator))
      ids = Array(0..<count)
      for id in ids { values[id] = value() }
    }

    private func value() -> Int64 { .random(in: 0..<1000, using: &generator) }

    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(ids.count) }

    func rows(_ request: RowRequest) -> Batch {
      let end = min(ids.count, request.first.advancedUp(by: request.count))
      return batch(Array(ids[min(request.first, end)..<end]), request.columns, request.includesIDs)
    }

    func rows(at paths: consuming [IndexPath], columns: [Int], includesIDs: Bool) -> Batch {
      batch(paths.map { ids[$0.row] }, columns, includesIDs)
    }

    private func batch(_ ids: [Int], _ columns: [Int], _ includesIDs: Bool) -> Batch {
      let builder = BatchBuilder(columns.map { _ in .integer }, ids: includesIDs)
      for id in ids {
        for column in builder.columns { column.append(values[id] ?? 0) }
        if includesIDs { builder.ids?.append("r\(id)") }
      }
      return builder.finish(rowCount: ids.count)
    }

    func listen(_ notify: (@Sendable () -> Void)?) {}

    func pull() -> ChangeBatch {
      var list: [ChangeBatch.Change] = []
      let gone = ids.filter { _ in Int.random(in: 0..<30, using: &generator) == 0 }
      for (row, id) in ids.enumerated() {
        let path = IndexPath(section: 0, row: row)
        if gone.contains(id) { list.append(.delete(path)) }
        if unlisted.contains(id), !gone.contains(id) { list.append(.reconfigure(path)) }
      }
      unlisted = []
      ids.removeAll(where: gone.contains)
      for _ in 0..<Int.random(in: 0..<3, using: &generator) {
        let id = values.count
        values[id] = value()
        ids.append(id)
        list.append(.insert(IndexPath(section: 0, row: ids.count - 1)))
      }
      if changesWhileRead {
        for id in ids where Int.random(in: 0..<6, using: &generator) == 0 {
          values[id] = value()
          unlisted.insert(id)
        }
      }
      return ChangeBatch(from: nil, to: nil, changes: list)
    }
  }

  /// A row that had changed, but was not listed yet, led other rows to wrong places. They stayed there.
  @Test(arguments: 0..<40) func rowsThatAreListedLateLeaveTheOrderRight(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let table = LateTable(&generator, count: .random(in: 1...80, using: &generator))
    let descriptors = [SortDescriptor(column: 0, isDescending: .random(using: &generator))]
    let view = try table.sorted(by: descriptors)
    var followed = try NaiveTable(of: view)
    for round in 0..<12 {
      table.changesWhileRead = round % 4 != 3
      let list = try #require(try view.pull().changes, "seed \(seed)")
      followed = try #require(followed.applying(list, content: NaiveTable(of: view)))
      if table.changesWhileRead { continue }
      let fresh = try NaiveTable(of: table.sorted(by: descriptors))
      #expect(followed == fresh, "seed \(seed), round \(round)")
    }
  }

  /// The cost of one changed row does not grow with the table: the views read at most a few dozen rows of the base.
  @Test(arguments: [
    [ViewStack.Layer.atLeastTwo], [.number], [.twoColumns], [.kind], [.kind, .rowCount],
    [.kind, .sum], [.joined], [.atLeastTwo, .kind, .twoColumns, .rowCount],
    [.joined, .atLeastTwo, .number],
  ])
  func oneRowIsCheap(_ layers: [ViewStack.Layer]) throws {
    let count = Self.cases >= 1000 ? 100_000 : 10_000
    var generator = SeededGenerator(seed: 1)
    let table = LiveTable(count: count)
    let view = try ViewStack(layers).view(
      of: table, joining: LiveTable(&generator, sections: 1..<2))
    for section in 0..<(try view.numberOfSections(knowing: .max).value) {
      // A sorted view of which only the first rows were read would sort the others at the first change.
      let rows = try view.numberOfRows(inSection: section, knowing: .max).value
      _ = try view.rows(
        RowRequest(section: section, first: max(0, rows - 1), count: 1, columns: [0]))
    }
    for step in 0..<4 {
      let path = IndexPath(section: 0, row: count * step / 4 + 7)
      switch step {
      case 0: table.change(path, cells: [.integer(500), "k1", "2", "t5"])
      case 1: table.insert([.integer(501), "k7", "5", "t77"], at: path)
      case 2: table.delete(path)
      default: table.insert([.integer(3), "new", "5", "t1"], at: path)
      }
      let before = table.rowsRead
      let list = try #require(try view.changes?.pull().changes)
      #expect(table.rowsRead - before <= 60, "\(layers), step \(step)")
      #expect(list.count <= 4, "\(list.count) changes")
    }
  }
}

import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// The properties of honest changes, and the detection of each violation.
@Suite struct ChangeCheckTests {
  /// A table, random valid edits of its rows, and their result.
  private struct Case {
    let source: InMemorySource
    let before: KnownCounts
    let ids: [IndexPath: String]
    let batch: EditBatch

    init(_ generator: inout SeededGenerator) throws {
      var number: Int64 = 0
      source = InMemorySource(
        [Column("n", .integer), Column("note")],
        sections: (0..<Int.random(in: 1...4, using: &generator)).map { _ in
          (
            nil, nil, nil,
            (0..<Int.random(in: 0...8, using: &generator)).map { _ in
              number += 1
              return [.integer(number), "old"]
            }
          )
        }, persistence: .byAuthor)
      before = try Case.counts(source)
      ids = try Case.ids(source)
      batch = try Case.edits(of: source, ids, before, &generator)
    }

    static func counts(_ source: any TableDataSource) throws -> KnownCounts {
      let sections = try source.numberOfSections().value
      return try KnownCounts(
        of: source, knowing: Dictionary(uniqueKeysWithValues: (0..<sections).map { ($0, 0) }))
    }

    static func ids(_ source: any TableDataSource) throws -> [IndexPath: String] {
      var ids: [IndexPath: String] = [:]
      for section in 0..<(try source.numberOfSections().value) {
        let batch = try source.rows(
          RowRequest(section: section, first: 0, count: 100, columns: [], includesIDs: true))
        for row in 0..<batch.rowCount {
          ids[IndexPath(section: section, row: row)] = batch.id(row)
        }
      }
      return ids
    }

    private static func edits(
      of source: InMemorySource, _ ids: [IndexPath: String], _ counts: KnownCounts,
      _ generator: inout SeededGenerator
    ) throws -> EditBatch {
      var edits: [EditBatch.Edit] = []
      var staying = counts.rows.mapValues(\.value)
      var arriving: [(section: Int, make: (IndexPath) -> EditBatch.Edit)] = []
      let sections = counts.sections.value
      for (path, id) in ids.sorted(by: { $0.key < $1.key }) {
        let reference: RowReference =
          Bool.random(using: &generator) ? .path(path) : .id(id)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0:
          edits.append(.delete(reference))
          staying[path.section]! -= 1
        case 1:
          staying[path.section]! -= 1
          arriving.append(
            (.random(in: 0..<sections, using: &generator), { .move(reference, to: $0) }))
        case 2, 3:
          edits.append(
            .set(reference, cells: [1: .text("new \(Int.random(in: 0..<9, using: &generator))")]))
        default: break
        }
      }
      for number in 0..<Int.random(in: 0...3, using: &generator) {
        arriving.append(
          (
            .random(in: 0..<sections, using: &generator),
            { .insert(at: $0, cells: number == 0 ? [:] : [0: .integer(Int64(-number)), 1: "in"]) }
          ))
      }
      for section in 0..<sections {
        let these = arriving.filter { $0.section == section }
        let places = Array(0..<staying[section]! + these.count).shuffled(using: &generator)
        for (arrival, row) in zip(these, places) {
          edits.append(arrival.make(IndexPath(section: section, row: row)))
        }
      }
      return EditBatch(edits.shuffled(using: &generator), version: source.version())
    }
  }

  /// The host accepts an honest source, and each row is where the plan predicts.
  @Test func honestChangesPass() throws {
    for seed in 0..<1000 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let one = try Case(&generator)
      let imported = try importSource(exportSource(one.source), provider: "honest")
      let result = try #require(imported.editing).commit(one.batch)
      let after = try Case.counts(one.source)
      let plan = try #require(try result.changes.plan(before: one.before))
      try plan.check(before: one.before, after: after)
      let ids = try Case.ids(one.source)
      for (path, id) in one.ids {
        if let now = plan.path(of: path) {
          #expect(ids[now] == id, "seed \(seed): \(path) is not at \(now)")
        } else {
          #expect(!ids.values.contains(id), "seed \(seed): \(path) is not gone")
        }
      }
      if let receipt = result.receipt {
        _ = try #require(imported.undoing).undo(receipt, isDryRun: false)
      }
    }
  }

  /// The host notices a change that is missing, duplicated or out of bounds.
  @Test func tamperedChangesAreNoticed() throws {
    var tampered = 0
    for seed in 0..<500 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let one = try Case(&generator)
      let result = try one.source.commit(one.batch)
      let changes = try #require(result.changes.changes)
      let after = try Case.counts(one.source)
      for (number, change) in changes.enumerated() {
        var variants: [[ChangeBatch.Change]] = []
        func replace(_ new: ChangeBatch.Change...) {
          variants.append(Array(changes[..<number]) + new + Array(changes[(number + 1)...]))
        }
        switch change {
        case .insert(let path):
          replace()
          replace(change, change)
          replace(.insert(IndexPath(section: path.section, row: 1000)))
          replace(.insert(IndexPath(section: 1000, row: 0)))
        case .delete(let path):
          replace()
          replace(change, change)
          replace(.delete(IndexPath(section: path.section, row: 1000)))
          replace(change, .reload(path))
        case .move(let from, let to):
          replace(change, change)
          replace(.move(from: from, to: IndexPath(section: to.section, row: 1000)))
          replace(.move(from: IndexPath(section: 1000, row: 0), to: to))
          replace(.move(from: .section(from.section), to: to))
          if from.section != to.section { replace() }
        case .reconfigure(let path):
          replace(.reconfigure(IndexPath(section: path.section, row: 1000)))
        case .reload: break
        }
        for variant in variants {
          tampered += 1
          let error = #expect(throws: TableError.self, "seed \(seed): \(variant)") {
            try Self.check(variant, before: one.before, after: after)
          }
          #expect(error?.code == .misbehaved)
        }
      }
    }
    #expect(tampered > 1000)
  }

  private static func check(
    _ changes: [ChangeBatch.Change]?, before: KnownCounts, after: KnownCounts
  ) throws {
    let batch = ChangeBatch(from: nil, to: nil, changes: changes)
    try batch.plan(before: before)?.check(before: before, after: after)
  }

  private static func path(_ section: Int, _ row: Int) -> IndexPath {
    IndexPath(section: section, row: row)
  }

  private static func counts(_ rows: Int...) -> KnownCounts {
    KnownCounts(
      sections: .exact(rows.count),
      rows: Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($0, .exact($1)) }))
  }

  /// Remaining sections keep their order, and their rows are counted at their new positions.
  @Test func sectionsAreCounted() throws {
    let good: [([ChangeBatch.Change], KnownCounts, KnownCounts)] = [
      ([.delete(.section(1))], Self.counts(1, 2, 3), Self.counts(1, 3)),
      ([.insert(.section(0))], Self.counts(1, 2), Self.counts(9, 1, 2)),
      ([.move(from: .section(0), to: .section(2))], Self.counts(1, 2, 3), Self.counts(2, 3, 1)),
      (
        [
          .delete(.section(0)), .insert(.section(1)), .move(from: .section(3), to: .section(0)),
          .delete(Self.path(3, 0)), .insert(Self.path(0, 4)), .insert(Self.path(0, 5)),
          .move(from: Self.path(1, 1), to: Self.path(3, 0)),
        ], Self.counts(1, 2, 3, 5), Self.counts(6, 7, 1, 4)
      ), ([.reload(.section(0))], Self.counts(1, 2), Self.counts(7, 2)),
    ]
    for (changes, before, after) in good {
      try Self.check(changes, before: before, after: after)
    }
    let bad: [([ChangeBatch.Change], KnownCounts, KnownCounts, String)] = [
      ([], Self.counts(1), Self.counts(1, 0), "they lead to 1 sections, but there are 2"),
      ([], Self.counts(1), Self.counts(2), "they lead to 1 rows in section 0, but there are 2"),
      (
        [.delete(.section(1))], Self.counts(1, 2, 3), Self.counts(1, 2),
        "rows in section 1, but there are 2"
      ),
      (
        [.delete(.section(1)), .delete(Self.path(1, 0))], Self.counts(1, 2), Self.counts(1),
        "the batch edits rows of section 1, which it also deletes"
      ),
      (
        [.insert(.section(0)), .insert(Self.path(0, 0))], Self.counts(1), Self.counts(1, 1),
        "section 0 is new and empty"
      ),
      (
        [.move(from: .section(0), to: .section(1)), .delete(Self.path(0, 0))], Self.counts(5, 5),
        Self.counts(4, 5), "they lead to 4 rows in section 1, but there are 5"
      ),
      ([.delete(.section(1))], Self.counts(1), Self.counts(), "there is no section 1; there are 1"),
      (
        [.delete(.section(0)), .delete(.section(0))], Self.counts(1, 1), Self.counts(),
        "section 0 occurs twice"
      ),
    ]
    for (changes, before, after, says) in bad {
      let error = #expect(throws: TableError.self, "\(changes)") {
        try Self.check(changes, before: before, after: after)
      }
      #expect(error?.message.contains(says) == true, "\(says): \(String(describing: error))")
    }
  }

  /// Unknown counts are not checked, and many changes take little time.
  @Test func unknownCountsAreNotJudged() throws {
    let unknown = KnownCounts(sections: .atLeast(0), rows: [0: .atLeast(3)])
    let changes: [ChangeBatch.Change] = [
      .delete(Self.path(0, 10)), .insert(Self.path(7, 3)), .delete(.section(40)),
    ]
    try Self.check(changes, before: unknown, after: unknown)
    try Self.check(nil, before: Self.counts(1), after: Self.counts(2, 2))
    let many = 20_000
    let before = KnownCounts(
      sections: .exact(many),
      rows: Dictionary(uniqueKeysWithValues: (0..<many).map { ($0, .exact(1)) }))
    let reversed = (0..<many).map {
      ChangeBatch.Change.move(from: .section($0), to: .section(many - 1 - $0))
    }
    let clock = ContinuousClock()
    let time = try clock.measure { try Self.check(reversed, before: before, after: before) }
    #expect(time < .seconds(5))
  }
}

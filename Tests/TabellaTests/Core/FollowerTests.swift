import Testing

import class Foundation.ProcessInfo

@testable import Tabella
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

/// Snapshots and followers: the listed changes always lead from the old rows to the new ones.
@Suite struct FollowerTests {
  /// `TABELLA_CASES` sets the number of tables (1,000 by default; CI 2,000).
  static let cases = Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 1000

  /// The changes between two snapshots lead from the one table to the other, with ids, without ids and with ids that
  /// repeat.
  @Test func changesBetweenSnapshotsReplay() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let ids = seed % 3 == 0 ? 0...3 : 0...1_000_000
      var old = NaiveTable.random(&generator, ids: ids)
      var new =
        seed % 4 == 0 ? NaiveTable.random(&generator, ids: ids) : old.changed(&generator, ids: ids)
      let hasIDs = seed % 2 == 0
      if !hasIDs { (old, new) = (old.withoutIDs, new.withoutIDs) }
      let changes = try TableSnapshot(of: MovingTable(old, hasIDs: hasIDs), columns: [0, 1])
        .changes(to: try TableSnapshot(of: MovingTable(new, hasIDs: hasIDs), columns: [0, 1]))
      #expect(
        old.applying(changes, content: new) == new,
        "seed \(seed): \(old) \(changes) \(new)")
      #expect(old != new || changes.isEmpty, "seed \(seed)")
      _ = try BatchPlan(changes, of: MovingTable(old, hasIDs: hasIDs))
    }
  }

  /// A row that only changes its cells is one reconfiguration. A row that is replaced is one reload. A row that goes to
  /// another section is one move.
  @Test func changesAreTheSmallest() throws {
    func rows(_ texts: String...) -> [NaiveTable.Row] {
      texts.map { text in
        let words = text.split(separator: "=").map(String.init)
        return NaiveTable.Row(id: words[0], cells: [.text(Array(words[1].utf8)), .missing])
      }
    }
    func changes(
      _ old: [[NaiveTable.Row]], _ new: [[NaiveTable.Row]]
    ) throws -> [ChangeBatch.Change] {
      func snapshot(_ rows: [[NaiveTable.Row]]) throws -> TableSnapshot {
        let sections = rows.enumerated().map {
          NaiveTable.Section(title: "s\($0.offset)", rows: $0.element)
        }
        return try TableSnapshot(
          of: MovingTable(NaiveTable(sections), hasIDs: true), columns: [0, 1])
      }
      return try snapshot(old).changes(to: snapshot(new))
    }
    let row = { (row: Int) in IndexPath(section: 0, row: row) }
    #expect(try changes([rows("a=1", "b=2")], [rows("a=1", "b=3")]) == [.reconfigure(row(1))])
    #expect(try changes([rows("a=1", "b=2")], [rows("a=1", "c=2")]) == [.reload(row(1))])
    #expect(try changes([rows("a=1")], [rows("a=1", "c=2")]) == [.insert(row(1))])
    #expect(
      try changes([rows("a=1", "b=2"), []], [rows("b=2"), rows("a=1")])
        == [.move(from: row(0), to: IndexPath(section: 1, row: 0))])
    #expect(
      try changes([rows("a=1", "b=2", "c=3")], [rows("c=3", "a=1", "b=2")])
        == [.move(from: row(2), to: row(0))])
  }

  /// A follower lists the changes of a source that lists them, of a source that only says that something changed, and
  /// of a source that is sometimes changed while it is read.
  @Test func aFollowerListsEveryChange() throws {
    for seed in 0..<UInt64(Self.cases / 2) {
      var generator = SeededGenerator(seed: seed)
      let ids = seed % 5 == 0 ? 0...3 : 0...1_000_000
      let hasIDs = seed % 3 != 0
      func made(_ table: NaiveTable) -> NaiveTable { hasIDs ? table : table.withoutIDs }
      var content = made(NaiveTable.random(&generator, ids: ids))
      let source = MovingTable(content, hasIDs: hasIDs)
      let follower = try TableFollower(source, keepsIDs: true)
      var shown = content
      for _ in 0..<4 {
        var number = Int.random(in: 0..<3, using: &generator)
        while number > 0 {
          number -= 1
          let next = made(content.changed(&generator, ids: ids))
          var list: [ChangeBatch.Change]?
          if Bool.random(using: &generator) {
            list = try TableSnapshot(of: MovingTable(content, hasIDs: hasIDs), columns: [0, 1])
              .changes(to: TableSnapshot(of: MovingTable(next, hasIDs: hasIDs), columns: [0, 1]))
          }
          source.coming.append((next, list))
          content = next
        }
        if !source.coming.isEmpty, Int.random(in: 0..<3, using: &generator) == 0 {
          source.conflicts = Int.random(in: 1...3, using: &generator)
        }
        while true {
          let isEnd = source.coming.isEmpty
          let changes = try follower.pull()
          source.conflicts = 0
          #expect(
            shown.applying(changes.list, content: source.content) == source.content,
            "seed \(seed): \(shown) \(changes) \(source.content)")
          #expect(changes.batch.to == source.version())
          for change in changes.list {
            guard let path = change.source, !path.isSection else { continue }
            #expect(changes.idsBefore[path] == shown.sections[path.section].rows[path.row].id)
          }
          #expect(follower.rowCounts == source.content.sections.map(\.rows.count))
          shown = source.content
          if isEnd { break }
        }
        #expect(try follower.pull().list.isEmpty)
      }
    }
  }

  /// A file that was empty for a moment, while the follower read it again, was an invalid argument.
  @Test func columnsThatVanishDuringAComparisonAreAConflict() throws {
    var generator = SeededGenerator(seed: 1)
    let old = NaiveTable.random(&generator, ids: 0...9)
    let source = MovingTable(old, hasIDs: false)
    let follower = try TableFollower(source)
    source.coming = [(old.changed(&generator, ids: 0...9), nil), (NaiveTable([]), nil)]
    source.conflicts = 1
    source.losesColumns = true
    let error = try #require(throws: TableError.self) { try follower.pull() }
    #expect(error.code == .conflict && error.message.contains("columns"), "\(error)")
  }

  /// A source that reports a changed row, although the followed columns did not change, causes no change.
  @Test func otherColumnsAreNoChange() throws {
    let old = NaiveTable([
      NaiveTable.Section(title: nil, rows: [NaiveTable.Row(id: "a", cells: ["1", "2"])])
    ])
    let source = MovingTable(old, hasIDs: true)
    let follower = try TableFollower(source, columns: [0])
    var new = old
    new.sections[0].rows[0].cells = ["1", "3"]
    source.coming = [(new, [.reconfigure(IndexPath(section: 0, row: 0))])]
    #expect(try follower.pull().list.isEmpty)
    new.sections[0].rows[0].cells = ["4", "3"]
    source.coming = [(new, [.reconfigure(IndexPath(section: 0, row: 0))])]
    #expect(try follower.pull().list == [.reconfigure(IndexPath(section: 0, row: 0))])
  }

  /// Changes that the table cannot have are an error that blames the provider, and the next pull compares everything.
  @Test func impossibleChangesAreRefused() throws {
    let old = NaiveTable([
      NaiveTable.Section(title: nil, rows: [NaiveTable.Row(id: "a", cells: ["1", "2"])])
    ])
    let source = MovingTable(old, hasIDs: true)
    let follower = try TableFollower(source)
    let empty = NaiveTable([NaiveTable.Section(title: nil, rows: [])])
    source.coming = [(empty, [.delete(IndexPath(section: 0, row: 7))])]
    let error = #expect(throws: TableError.self) { try follower.pull() }
    #expect(error?.code == .misbehaved)
    #expect(try follower.pull().list == [.delete(IndexPath(section: 0, row: 0))])
  }

  /// A source listed an insertion at every pull and never had another row: `show --follow` printed one row for ever.
  @Test func changesAreComparedWithTheCounts() throws {
    let rows = ["a", "b"].map { NaiveTable.Row(id: $0, cells: ["1", "2"]) }
    let table = NaiveTable([NaiveTable.Section(title: nil, rows: rows)])
    let source = MovingTable(table, hasIDs: true)
    let follower = try TableFollower(source)
    source.coming = [(table, [.insert(IndexPath(section: 0, row: 1))])]
    let error = #expect(throws: TableError.self) { try follower.pull() }
    #expect(error?.code == .misbehaved)
    #expect(error?.message.hasSuffix("they lead to 3 rows in section 0, but there are 2") == true)
  }

  /// A source moved to a version with more rows and listed no change: the rows were never shown.
  @Test func aVersionWithoutChangesHasTheSameCounts() throws {
    let rows = ["a", "b"].map { NaiveTable.Row(id: $0, cells: ["1", "2"]) }
    let table = NaiveTable([NaiveTable.Section(title: nil, rows: rows)])
    let source = MovingTable(table, hasIDs: true)
    let follower = try TableFollower(source)
    var more = table
    more.sections[0].rows.append(NaiveTable.Row(id: "c", cells: ["1", "2"]))
    source.coming = [(more, [])]
    let error = #expect(throws: TableError.self) { try follower.pull() }
    #expect(error?.code == .misbehaved)
    #expect(error?.message.hasSuffix("they lead to 2 rows in section 0, but there are 3") == true)
    #expect(try follower.pull().list == [.insert(IndexPath(section: 0, row: 2))])
  }

  /// The cost of an appended row does not grow with the table: only the new row is read.
  @Test func appendedRowsAreReadAlone() throws {
    let rows = (0..<5000).map { NaiveTable.Row(id: "i\($0)", cells: ["1", "2"]) }
    let source = MovingTable(NaiveTable([NaiveTable.Section(title: nil, rows: rows)]), hasIDs: true)
    let follower = try TableFollower(source)
    source.rowsRead = 0
    var new = source.content
    new.sections[0].rows.append(NaiveTable.Row(id: "new", cells: ["3", "4"]))
    source.coming = [(new, [.insert(IndexPath(section: 0, row: 5000))])]
    #expect(try follower.pull().list.count == 1)
    #expect(source.rowsRead == 1)
  }
}

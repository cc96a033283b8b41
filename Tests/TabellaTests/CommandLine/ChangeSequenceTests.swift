import Tabella
import Testing

import class Foundation.ProcessInfo

@testable import TabellaCLI
@testable import TabellaTestSupport

/// The steps of a batch, applied one after the other as the reader of `--follow --format jsonl` applies them.
@Suite struct ChangeSequenceTests {
  /// `TABELLA_CASES` sets the number of batches (1,000 by default).
  static let cases = Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 1000

  private typealias Path = Tabella.IndexPath

  /// Applies each step to the table that the steps before it left. Content comes from `new`.
  private func applied(
    _ steps: [ChangeSequence.Step], to old: NaiveTable, content new: NaiveTable
  ) -> NaiveTable {
    var table = old
    for step in steps {
      let (section, row) = (step.at.section, step.at.row)
      switch (step.kind, step.at.isSection) {
      case (.delete, true): table.sections.remove(at: section)
      case (.insert, true): table.sections.insert(new.sections[step.new!.section], at: section)
      case (.move, true):
        table.sections.insert(table.sections.remove(at: step.from!.section), at: section)
      case (.reload, true): table.sections[section] = new.sections[section]
      case (.update, true): table.sections[section].title = new.sections[section].title
      case (.delete, false): table.sections[section].rows.remove(at: row)
      case (.insert, false):
        table.sections[section].rows.insert(
          new.sections[step.new!.section].rows[step.new!.row], at: row)
      case (.move, false):
        let moved = table.sections[step.from!.section].rows.remove(at: step.from!.row)
        table.sections[section].rows.insert(moved, at: row)
      case (.reload, false), (.update, false):
        table.sections[section].rows[row] = new.sections[section].rows[row]
      }
    }
    return table
  }

  /// The steps lead from the old table to the new one, whatever moves between sections that move, come and go.
  @Test func stepsLeadToTheNewTable() throws {
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let old = NaiveTable.random(&generator)
      let new = seed % 4 == 0 ? NaiveTable.random(&generator) : old.changed(&generator)
      let changes = try TableSnapshot(of: MovingTable(old, hasIDs: true), columns: [0, 1])
        .changes(to: TableSnapshot(of: MovingTable(new, hasIDs: true), columns: [0, 1]))
      let steps = try ChangeSequence(changes).steps
      #expect(
        applied(steps, to: old, content: new) == new, "seed \(seed): \(old) \(changes) \(steps)")
      #expect(steps.count == changes.count)
    }
  }

  /// Many moves in one list: a random order of 200 rows, some of which come, go or change.
  @Test func aListInAnotherOrder() throws {
    for seed in 0..<UInt64(20) {
      var generator = SeededGenerator(seed: seed)
      func row(_ id: Int) -> NaiveTable.Row {
        NaiveTable.Row(id: "\(id)", cells: [.text(Array("\(seed)".utf8)), .missing])
      }
      let old = NaiveTable([NaiveTable.Section(title: nil, rows: (0..<200).map(row))])
      let new = NaiveTable([
        NaiveTable.Section(title: nil, rows: (10..<220).map(row).shuffled(using: &generator))
      ])
      let changes = try TableSnapshot(of: MovingTable(old, hasIDs: true), columns: [0, 1])
        .changes(to: TableSnapshot(of: MovingTable(new, hasIDs: true), columns: [0, 1]))
      let steps = try ChangeSequence(changes).steps
      #expect(steps.count { $0.kind == .move } > 100)
      #expect(applied(steps, to: old, content: new) == new, "seed \(seed)")
    }
  }

  /// A batch that no table can have is an error.
  @Test func impossibleChangesAreRefused() {
    let path = Path(section: 0, row: 1)
    let error = #expect(throws: TableError.self) {
      try ChangeSequence([.delete(path), .reload(path)])
    }
    #expect(error?.code == .misbehaved)
  }
}

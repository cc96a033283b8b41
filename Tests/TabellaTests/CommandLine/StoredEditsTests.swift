import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// A provider that returned a table in memory reported an edit as done, and a receipt was kept, but the edit was lost.
/// "Done" means stored.
@Suite struct StoredEditsTests {
  static let library = buildFolder + "/libledger.so"

  /// A source whose edits are not stored is read-only across the contract, like all views of it. The program itself may
  /// edit it.
  @Test func aTableInMemoryIsReadOnlyAcrossTheContract() throws {
    func table(_ persistence: InMemorySource.Persistence) -> InMemorySource {
      InMemorySource([Column("n", .integer)], rows: [[1], [2]], persistence: persistence)
    }
    let views: [(any TableDataSource) throws -> any TableDataSource] = [
      { $0 }, { try $0.filtered(by: []) },
      { try $0.sorted(by: [SortDescriptor(column: 0, isDescending: true)]) },
      { try $0.grouped(by: Grouping(column: 0, by: .value)) },
      { joined([("a", $0), ("b", table(.byAuthor))]) },
    ]
    for view in views {
      let lost = try view(table(.none))
      #expect(lost.editing != nil && lost.undoing != nil)
      let imported = try importSource(exportSource(lost), provider: "test")
      #expect(imported.editing == nil && imported.sectionEditing == nil)
      #expect(imported.moving == nil && imported.undoing == nil)
      let kept = try importSource(exportSource(view(table(.byAuthor))), provider: "test")
      #expect(kept.editing != nil && kept.undoing != nil)
    }
  }

  /// The version was m0 in every process, for all rows.
  @Test func theVersionIsThatOfTheContent() throws {
    func table(_ rows: [[Cell]]) -> InMemorySource { InMemorySource([Column("a")], rows: rows) }
    let source = table([["1"], ["2"]])
    let before = source.version()
    #expect(before == table([["1"], ["2"]]).version())
    #expect(before != table([["1"], ["3"]]).version())
    #expect(before != table([["12"], [""]]).version())
    #expect(table([[nil]]).version() != table([[""]]).version())
    #expect(
      InMemorySource([Column("a")], sections: [("x", nil, nil, [])]).version()
        != InMemorySource([Column("a")], sections: [(nil, "x", nil, [])]).version())
    let result = try source.commit(
      EditBatch([.set(.path(Tabella.IndexPath(section: 0, row: 1)), cells: [0: "3"])]))
    #expect(source.version() != before && result.changes.to == source.version())
    _ = try source.undo(#require(result.receipt), isDryRun: false)
    #expect(source.version() == before)
  }

  /// No command reports such an edit as done, and no receipt is kept.
  @Test func commandsRefuseEditsThatWouldBeLost() throws {
    let ledgers = try Ledgers()
    let memory = ["-o", "memory=true"]
    for command in [
      ["set", "a.ledger", "0:0", "count=9"], ["delete", "a.ledger", "0:0", "--yes"],
      ["insert", "a.ledger", "0:0", "name=Dan"], ["move", "a.ledger", "0:0", "0:1"],
    ] {
      let result = try ledgers.tabella(command + memory)
      #expect(result.status == 4 && result.output.isEmpty, "\(command): \(result.errors)")
    }
    #expect(ledgers.receiptIDs.isEmpty)
    #expect(try String(contentsOfFile: ledgers.file, encoding: .utf8) == Ledgers.three)
    let show = ["show", "a.ledger", "--json"] + memory
    let shown = try jsonObject(ledgers.tabella(show).text)
    let abilities = try #require(shown["capabilities"] as? [String])
    #expect(!abilities.contains("edit") && !abilities.contains("undo"))
    try ledgers.folder.write("a.ledger", Ledgers.three + "Dan\t4\n")
    let later = try jsonObject(ledgers.tabella(show).text)
    #expect(shown["version"] as? String != later["version"] as? String)
  }

  /// `check` without `--edit` passed a provider that reports edits as done without storing them.
  @Test func checkFindsEditsThatAreNotStored() throws {
    let ledgers = try Ledgers()
    func check(_ options: [String], location: String? = nil) throws -> CheckTests.Run {
      try CheckTests.check(
        [Self.library, location ?? ledgers.file, "--only", "edits-are-stored", "--seed", "1"]
          + options)
    }
    let lost = try check(["-o", "loses=true"])
    #expect(lost.status == 1 && lost.status(of: "edits-are-stored") == "failed", "\(lost.checks)")
    #expect(lost.checks.first?.came?.contains("opened again has other rows") == true)
    #expect(try check([]).status(of: "edits-are-stored") == "passed")
    let memory = try check(["-o", "memory=true"])
    #expect(memory.status == 0 && memory.checks.map(\.came) == ["read-only"])
    // A location that cannot be copied is not edited, and the check reports that.
    let scheme = try check(["-o", "loses=true"], location: "ledger:\(ledgers.file)")
    #expect(scheme.status == 0 && scheme.status(of: "edits-are-stored") == "skipped")
    #expect(
      scheme.checks.first?.came?.contains(
        "cannot be copied, so the check would edit them; use --edit") == true)
    #expect(try String(contentsOfFile: ledgers.file, encoding: .utf8) == Ledgers.three)
  }
}

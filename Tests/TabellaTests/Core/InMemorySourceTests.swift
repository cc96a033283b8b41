import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// Editing in memory, directly and through the C contract, with the same cases.
@Suite struct InMemorySourceTests {
  static func make() -> InMemorySource {
    InMemorySource(
      [Column("name"), Column("n", .integer)],
      sections: [
        ("A", nil, "A", [["a0", 0], ["a1", 1], ["a2", 2], ["a3", 3]]),
        ("B", nil, "B", [["b0", 10], ["b1", 11]]),
      ], persistence: .byAuthor)
  }

  enum Road: CaseIterable { case direct, contract }

  func open(_ road: Road) throws -> any TableDataSource {
    road == .direct
      ? Self.make() : try importSource(exportSource(Self.make()), provider: "test")
  }

  func names(_ source: any TableDataSource) throws -> [[String]] {
    try (0..<source.numberOfSections().value).map { section in
      let batch = try source.rows(RowRequest(section: section, first: 0, count: 100, columns: [0]))
      return (0..<batch.rowCount).map { batch.columns[0][$0].string ?? "?" }
    }
  }

  func path(_ section: Int, _ row: Int) -> IndexPath { IndexPath(section: section, row: row) }

  /// UIKit's rule: old index paths for sources, final index paths for targets.
  @Test(arguments: Road.allCases)
  func aMixedBatch(_ road: Road) throws {
    let source = try open(road)
    let editing = try #require(source.editing)
    let before = try source.version()
    let result = try editing.commit(
      EditBatch(
        [
          .delete(.path(path(0, 0))), .move(.path(path(0, 3)), to: path(0, 0)),
          .insert(at: path(0, 1), cells: [0: "new", 1: 99]),
          .set(.path(path(0, 3)), cells: [0: "a3!"]), .move(.id("r5"), to: path(0, 4)),
          .insert(at: path(1, 1), cells: [:]),
        ], version: before))
    #expect(try names(source) == [["a3!", "new", "a1", "a2", "b0"], ["b1", "?"]])
    #expect(result.outcomes.count == 6 && result.outcomes.allSatisfy { $0.code == nil })
    #expect(result.outcomes[2].id == "r7")
    #expect(try result.changes.from == before && result.changes.to == source.version())
    #expect(result.changes.to != before)
    #expect(result.changes.changes?.count == 6)
    #expect(try source.identity?.indexPath(forID: "r4") == path(0, 0))
    let receipt = try #require(result.receipt)
    _ = try #require(source.undoing).undo(receipt, isDryRun: false)
    #expect(try names(source) == names(open(road)))
    #expect(throws: TableError.self) { try source.undoing?.undo(receipt, isDryRun: false) }
  }

  @Test(arguments: Road.allCases)
  func aStaleVersionIsAConflict(_ road: Road) throws {
    let source = try open(road)
    let editing = try #require(source.editing)
    do throws(TableError) {
      _ = try editing.commit(EditBatch([.delete(.path(path(0, 0)))], version: Version("old")))
      Issue.record("a stale edit was made")
    } catch { #expect(error.code == .conflict) }
    #expect(try names(source) == names(open(road)))
  }

  @Test(arguments: Road.allCases)
  func aDryRunChangesNothing(_ road: Road) throws {
    let source = try open(road)
    let result = try #require(source.editing).commit(
      EditBatch([.delete(.path(path(0, 0)))], isDryRun: true))
    #expect(result.outcomes.count == 1)
    #expect(try names(source) == names(open(road)))
    #expect(try source.version() == open(road).version())
  }

  @Test(arguments: Road.allCases)
  func badEditsDoNothing(_ road: Road) throws {
    let source = try open(road)
    let editing = try #require(source.editing)
    let bad: [([EditBatch.Edit], TableError.Code)] = [
      ([.delete(.path(path(0, 4)))], .notFound), ([.delete(.path(path(2, 0)))], .notFound),
      ([.delete(.id("r99"))], .notFound), ([.insert(at: path(0, 6), cells: [:])], .notFound),
      ([.set(.path(path(0, 0)), cells: [1: "text"])], .constraint),
      ([.set(.path(path(0, 0)), cells: [7: "text"])], .invalidArgument),
      ([.delete(.path(path(0, 0))), .delete(.path(path(0, 0)))], .invalidArgument),
      ([.delete(.path(path(0, 0))), .move(.path(path(0, 0)), to: path(0, 0))], .invalidArgument),
    ]
    for (edits, code) in bad {
      do throws(TableError) {
        _ = try editing.commit(EditBatch(edits))
        Issue.record("\(edits) was accepted")
      } catch { #expect(error.code == code, "\(edits): \(error)") }
      #expect(try names(source) == names(open(road)))
    }
  }

  /// All other abilities of a source cross the contract unchanged.
  @Test func abilitiesCross() throws {
    let original = Tables.everything()
    let imported = try importSource(exportSource(Tables.everything()), provider: "test")
    #expect(imported.columns == original.columns)
    #expect(try imported.version() == original.version())
    #expect(imported.hasVolatileOrder == original.hasVolatileOrder)
    #expect(imported.cancellation == nil && original.cancellation == nil)
    #expect(try imported.sectionIndex?.sectionIndexTitles() == ["F", "Z"])
    #expect(
      try imported.sectionIndex?.indexPath(forIndexTitle: "Z", at: 1) == IndexPath.section(2))
    #expect(try imported.supplementary?.supplementaryKinds() == ["badge", "preview"])
    let badge = try imported.supplementary?.supplementaryElement(
      ofKind: "badge", at: IndexPath(section: 0, row: 1))
    guard case .text(let text) = badge else { throw TableError(.internal, "no badge") }
    #expect(text == StyledText("3 new", spans: [.init(0..<1, .strong)]))
    let preview = try imported.supplementary?.supplementaryElement(
      ofKind: "preview", at: .section(0))
    guard case .table(let table) = preview else { throw TableError(.internal, "no preview") }
    #expect(try table.exactNumberOfRows(inSection: 0) == 2)
    #expect(
      try imported.accessories?.location(forRowAt: IndexPath(section: 0, row: 0))
        == Array("/etc/hosts".utf8))
    #expect(try imported.accessories?.location(forRowAt: IndexPath(section: 0, row: 1)) == nil)
    #expect(imported.diagnostics?.nextDiagnostic() == Diagnostic(.warning, "this is a test table"))
    #expect(imported.diagnostics?.nextDiagnostic() == nil)
    #expect(imported.changes == nil && imported.display == nil && imported.prefetching == nil)
    let plain = try importSource(exportSource(Tables.plain()), provider: "test")
    #expect(plain.sectionIndex == nil && plain.supplementary == nil && plain.accessories == nil)
  }

  /// Rows could not have the keys of their data as ids.
  @Test func chosenIDsNameRows() throws {
    let source = InMemorySource(
      [Column("name")], rows: [["a"], ["b"], ["c"]], ids: ["r2", "key", "r1"],
      persistence: .byAuthor)
    #expect(try source.indexPath(forID: "key") == path(0, 1))
    let result = try source.commit(EditBatch([.insert(at: path(0, 3), cells: [0: "d"])]))
    #expect(result.outcomes[0].id == "r3")
    let rows = try NaiveTable(of: source).sections[0].rows
    #expect(rows.map(\.id) == ["r2", "key", "r1", "r3"])
  }

  /// A source that only commits. UIKit's defaults: such a row can be edited and moved, and its style is delete.
  final class Committing: ProviderSource, TableEditing, TableMoving {
    let columns = [Column("a")]
    func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
      guard section == 0 else { throw .noSection(section) }
      return .exact(2)
    }
    func rows(_ request: RowRequest) throws(TableError) -> Batch {
      let builder = BatchBuilder(for: request, of: columns)
      for cells in builder.columns {
        for word in "x y".split(separator: " ") { cells.append(word) }
      }
      return builder.finish(rowCount: 2)
    }
    func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
      throw TableError(.constraint, "no")
    }
  }

  @Test func rowsOfASourceThatCommitsCanBeEdited() throws {
    let source = Committing()
    #expect(
      try source.editability(ofRows: 0..<2, inSection: 0) == [
        [.editable, .delete], [.editable, .delete],
      ])
    #expect(try source.movability(ofRows: 1..<2, inSection: 0) == [true])
    #expect(throws: TableError.self) { try source.editability(ofRows: 1..<3, inSection: 0) }
    #expect(throws: TableError.self) { try source.movability(ofRows: 0..<1, inSection: 1) }
    // Cells were strings only.
    #expect(try source.rows(RowRequest(first: 0, count: 2, columns: [0])).columns[0][1] == "y")
    #expect(Cell.text("a b".split(separator: " ")[1]) == "b")
  }
}

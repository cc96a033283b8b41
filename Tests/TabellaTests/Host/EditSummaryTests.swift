import Tabella
import Testing

@testable import TabellaHost

/// The names of edited rows in the log.
@Suite struct EditSummaryTests {
  private let source = InMemorySource(
    [Column("name"), Column("born", .integer), Column("raw", .binary), Column("note")],
    rows: [
      ["Ada", 1815, nil, "first"], [nil, 1906, nil, nil], ["", 1912, nil, "Alan"],
      [nil, nil, nil, "moon"], [nil, nil, .binary([1]), ""],
    ], ids: ["a", "b", "c", "d", "e"], persistence: .byAuthor)

  /// A row whose first cell is missing had no name in the log.
  @Test(arguments: [
    (0, "Ada"), (1, "1906"), (2, "1912 Alan"), (3, "moon"), (4, "id:e"),
  ])
  func aRowHasItsFirstPresentCellAsItsName(_ row: Int, _ name: String) throws {
    let path = RowReference.path(IndexPath(section: 0, row: row))
    let id = RowReference.id(["a", "b", "c", "d", "e"][row])
    for reference in [path, id] {
      let summary = EditSummary(EditBatch([.delete(reference)]), on: source)
      #expect(summary.text(of: nil) == "deleted 1 row: \(name)")
    }
  }

  @Test func anInsertedRowHasItsOwnCells() {
    let cells: [Int: Cell] = [0: "", 1: 1950]
    let edit = EditBatch.Edit.insert(at: IndexPath(section: 0, row: 0), cells: cells)
    #expect(
      EditSummary(EditBatch([edit]), on: source).text(of: nil) == "inserted 1 row: 1950")
    let empty = EditBatch.Edit.insert(at: IndexPath(section: 0, row: 0), cells: [:])
    #expect(EditSummary(EditBatch([empty]), on: source).text(of: nil) == "inserted 1 row")
  }

  /// Without ids, a row without cells has no name.
  @Test func withoutIDsThereIsNoName() {
    let summary = EditSummary(
      [.delete(.path(IndexPath(section: 0, row: 0)))], rows: [[.missing]], [Column("a")])
    #expect(summary.text(of: nil) == "deleted 1 row")
  }
}

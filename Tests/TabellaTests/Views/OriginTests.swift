import Tabella
import Testing

@testable import TabellaTestSupport

/// The origin of a row of a view, through any two views.
@Suite struct OriginTests {
  /// The origin of each row has the cells of the row.
  @Test(arguments: Views.all.indices)
  func originsHaveTheSameCells(_ inner: Int) throws {
    for outer in Views.all {
      let view = try outer.wrap(try Views.all[inner].wrap(Tables.everything()))
      for section in 0..<(try view.numberOfSections(knowing: .max).value) {
        for row in 0..<(try view.exactNumberOfRows(inSection: section)) {
          let path = IndexPath(section: section, row: row)
          let origin = try view.origin(of: path)
          #expect(!(origin.source is MappedSource) && !(origin.source is JoinedSource))
          let (shown, own) = (try cells(view, path), try cells(origin.source, origin.path))
          // A join has further columns.
          #expect(own.allSatisfy { $0.value == .missing || shown[$0.key] == $0.value })
        }
      }
    }
  }

  /// The cells of a row by the names of their columns, as text.
  private func cells(
    _ source: any TableDataSource, _ path: IndexPath
  ) throws -> [String: Cell] {
    let batch = try source.rows(
      RowRequest(
        section: path.section, first: path.row, count: 1, columns: Array(source.columns.indices)))
    let pairs = zip(source.columns, batch.row(0)).map { column, cell in
      (column.name, cell == .missing ? cell : Cell.text(Array(cell.description.utf8)))
    }
    return Dictionary(pairs) { first, _ in first }
  }

  @Test func aMissingRowIsNotFound() throws {
    let view = try Tables.plain().sorted(by: [SortDescriptor(column: 0)])
    let error = #expect(throws: TableError.self) {
      _ = try view.origin(of: IndexPath(section: 0, row: 3))
    }
    #expect(error?.code == .notFound)
  }
}

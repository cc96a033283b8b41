import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// A table in C whose columns change by an edit and cannot be read then.
@Suite struct LostColumnTests {
  private func edited(columnsAfter count: Int) throws -> any TableDataSource {
    let folder = try TemporaryFolder()
    let provider = try loadLibrary(
      at: compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/columns.c", into: folder,
        name: "columns.so"))
    let source = try provider.open(OpenRequest(location: Array("\(count)".utf8)))
    let result = try #require(source.editing).commit(
      EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: [0: "y"])]))
    #expect(result.outcomes.allSatisfy { $0.code == nil })
    return source
  }

  /// The host read the columns again with the next request, and ended: the request was for columns that no longer exist.
  @Test func otherColumnsAreAConflict() throws {
    let source = try edited(columnsAfter: 1)
    for _ in 0..<2 {
      let error = #expect(throws: TableError.self) {
        _ = try source.rows(RowRequest(first: 0, count: 1, columns: [0, 2]))
      }
      #expect(error?.code == .conflict && error?.message.contains("columns") == true)
    }
    #expect(source.columns.count == 3)
  }

  @Test func theSameColumnsAreReadAgain() throws {
    let source = try edited(columnsAfter: 3)
    #expect(try source.rows(RowRequest(first: 0, count: 1, columns: [0, 2])).rowCount == 1)
  }
}

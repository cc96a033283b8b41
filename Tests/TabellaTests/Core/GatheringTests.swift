import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// Gathering through the C contract has the same checks as reading ranges.
@Suite struct GatheringTests {
  private func paths(_ rows: Int...) -> [IndexPath] { rows.map { IndexPath(section: 0, row: $0) } }

  @Test func itCrosses() throws {
    let base = Recording(Tables.everything())
    base.gathers = true
    let imported = try importSource(exportSource(base), provider: "test")
    let gathering = try #require(imported.gathering)
    let wanted = paths(5, 3, 69, 3) + [IndexPath(section: 2, row: 4)]
    let batch = try gathering.rows(at: wanted, columns: [1, 0], includesIDs: true)
    #expect(base.gathered == [wanted])
    #expect(
      (0..<5).map { batch.row($0)[0] } == [4995, 2995, 68995, 2995, 73995])
    #expect((0..<5).map { batch.id($0) } == ["r6", "r4", "r70", "r4", "r75"])
    #expect(try gathering.rows(at: [], columns: [0], includesIDs: false).rowCount == 0)
    #expect(try gathering.rows(at: paths(1, 2), columns: [], includesIDs: false).rowCount == 2)
    base.batchLimit = 2
    #expect(try gathering.rows(at: wanted, columns: [1], includesIDs: false).rowCount == 2)
    base.gathers = false
    #expect(try importSource(exportSource(base), provider: "test").gathering == nil)
  }

  /// A view mistook the end of gathered rows for the batch limit of its base. The next request was small, and a sorted
  /// file was read twice as often. Now a view requests twice as many rows as its base usually returns, and many again
  /// after the end.
  @Test func aViewLooksUpWhatIsGiven() throws {
    let rows: [[Cell]] = (0..<100_000).map { [.integer(Int64($0))] }
    let base = Recording(InMemorySource([Column("n", .integer)], rows: rows))
    base.gathers = true
    let view = try base.sorted(by: [SortDescriptor(column: 0, isDescending: true)])
    var first = 0
    for limit in [10_000, 10_000, 10, 10_000] {
      base.batchLimit = limit
      let batch = try view.rows(RowRequest(first: first, count: .max, columns: [0]))
      #expect(batch.rowCount == limit && batch.columns[0].integer(0) == Int64(99_999 - first))
      first += limit
    }
    #expect(base.gathered.map(\.count) == [100_000, 20_000, 20_000, 20_000])
    // A source that returns everything receives larger requests.
    base.batchLimit = .max
    for expected in [20_000, 40_000, 9_990] {
      let batch = try view.rows(RowRequest(first: first, count: .max, columns: [0]))
      #expect(batch.rowCount == expected)
      first += expected
    }
  }

  /// The rows that were not requested yet are requested at once, independent of earlier batches.
  @Test func aViewAsksForManyOnceItHasTheRest() throws {
    let rows: [[Cell]] = (0..<1_048_576 + 50_000).map { [.integer(Int64($0))] }
    let base = Recording(InMemorySource([Column("n", .integer)], rows: rows))
    base.gathers = true
    base.batchLimit = 100_000
    let view = try base.sorted(by: [SortDescriptor(column: 0, isDescending: true)])
    var first = 0
    while first < rows.count {
      let batch = try view.rows(RowRequest(first: first, count: .max, columns: [0]))
      #expect(batch.columns[0].integer(0) == Int64(rows.count - 1 - first))
      first += batch.rowCount
    }
    let rest = stride(from: 948_576, to: 0, by: -100_000).map { min($0, 200_000) }
    #expect(base.gathered.map(\.count) == [1_048_576] + rest + [50_000])
  }

  /// A source with arbitrary answers.
  private final class Liar: TableDataSource, TableGathering {
    let columns = [Column("a"), Column("n", .integer)]
    var gathering: (any TableGathering)? { self }
    var answer = Batch.empty([.text])
    var calls = 0

    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(9) }
    func rows(_ request: RowRequest) -> Batch { .empty([.text]) }
    func rows(at paths: [IndexPath], columns: [Int], includesIDs: Bool) -> Batch {
      calls += 1
      return answer
    }
  }

  @Test func liesAreFoundOut() throws {
    let liar = Liar()
    let imported = try importSource(exportSource(liar), provider: "liar")
    let gathering = try #require(imported.gathering)
    func batch(_ rows: [[Cell]], _ types: [ColumnType], ids: Bool = false) -> Batch {
      let builder = BatchBuilder(types, ids: ids)
      for row in rows {
        for (column, cell) in zip(builder.columns, row) { column.append(cell) }
        builder.ids?.append("id")
      }
      return builder.finish(rowCount: rows.count)
    }
    let lies = [
      batch([], [.text]), batch([["a"], ["b"], ["c"]], [.text]), batch([[1]], [.integer]),
      batch([["a", 1]], [.text, .integer]), batch([["a"]], [.text], ids: true),
    ]
    for lie in lies {
      liar.answer = lie
      do throws(TableError) {
        _ = try gathering.rows(at: paths(0, 1), columns: [0], includesIDs: false)
        Issue.record("\(lie) was believed")
      } catch {
        #expect(error.code == .misbehaved)
        #expect(error.message.contains("provider liar broke the contract in gathering.rows"))
      }
    }
    // Impossible requests never reach the source.
    let calls = liar.calls
    let refused: [([IndexPath], [Int], Bool, TableError.Code)] = [
      (paths(-1), [0], false, .invalidArgument), ([.section(0)], [0], false, .invalidArgument),
      (paths(0), [2], false, .invalidArgument), (paths(0), [-1], false, .invalidArgument),
      (paths(0), [0], true, .notSupported),
    ]
    for (paths, columns, ids, code) in refused {
      do throws(TableError) {
        _ = try gathering.rows(at: paths, columns: columns, includesIDs: ids)
        Issue.record("\(paths), \(columns) was asked")
      } catch { #expect(error.code == code) }
    }
    #expect(liar.calls == calls)
  }
}

import Tabella
import TabellaBridge
import TabellaConformance
import Testing

@testable import TabellaTestSupport

/// The suite over in-memory sources, directly and through the C contract.
@Suite struct ConformanceTests {
  static let tables: [(name: String, make: @Sendable () -> InMemorySource)] = [
    ("everything", { Tables.everything() }), ("plain", { Tables.plain() }),
    ("empty", { Tables.empty() }),
  ]

  @Test(arguments: ["everything", "plain", "empty"], [1, 2, 3] as [UInt64])
  func inMemory(_ name: String, seed: UInt64) throws {
    let make = try #require(Self.tables.first { $0.name == name }).make
    expectConformance(seed: seed, isOwn: true) { make() }
  }

  @Test(arguments: ["everything", "plain", "empty"], [1, 2, 3] as [UInt64])
  func throughTheContract(_ name: String, seed: UInt64) throws {
    let make = try #require(Self.tables.first { $0.name == name }).make
    expectConformance(seed: seed, isOwn: true) { () throws(TableError) in
      try importSource(exportSource(make()), provider: "test")
    }
  }

  @Test func throughTheContractTwice() {
    expectConformance(isOwn: true) { () throws(TableError) in
      let once = try importSource(exportSource(Tables.everything()), provider: "inner")
      return try importSource(exportSource(once), provider: "outer")
    }
  }

  /// A source whose batches are slices of a large one, as Arrow libraries make them.
  final class Sliced: TableDataSource {
    let columns = Tables.everything().columns
    private let whole: Batch

    init() throws(TableError) {
      whole = try Tables.everything().rows(
        RowRequest(first: 0, count: 100, columns: Array(0..<7)))
    }

    func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
      guard section == 0 else { throw .noSection(section) }
      return .exact(whole.rowCount)
    }

    func rows(_ request: RowRequest) throws(TableError) -> Batch {
      try check(request)
      guard request.section == 0 else { throw .noSection(request.section) }
      guard request.first <= whole.rowCount else {
        throw .noRow(request.first, inSection: 0, of: whole.rowCount)
      }
      let count = min(request.count, whole.rowCount - request.first)
      let columns = request.columns.map { number in
        let column = whole.columns[number]
        let missing = (request.first..<request.first + count).count { column.isMissing($0) }
        return column.withUnsafeLayout { layout in
          var layout = layout
          layout.start += request.first
          return ColumnBatch(
            unsafeLayout: layout, type: column.type, count: count, missingCount: missing,
            owner: Kept(whole))
        }
      }
      return Batch(rowCount: count, columns: columns)
    }

    private final class Kept {
      let batch: Batch

      init(_ batch: Batch) { self.batch = batch }
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func slices(_ seed: UInt64) throws {
    expectConformance(seed: seed, isOwn: true) { () throws(TableError) in try Sliced() }
    expectConformance(seed: seed, isOwn: true) { () throws(TableError) in
      try importSource(exportSource(Sliced()), provider: "test")
    }
    let sliced = try importSource(exportSource(Sliced()), provider: "test")
    let whole = try Tables.everything().rows(
      RowRequest(first: 0, count: 100, columns: Array(0..<7)))
    let part = try sliced.rows(RowRequest(first: 9, count: 30, columns: Array(0..<7)))
    #expect((0..<30).map { part.row($0) } == (9..<39).map { whole.row($0) })
  }

  /// Runs alone in a separate process, because it measures the heap.
  @Test func memoryReturns() async {
    await #expect(processExitsWith: .success) {
      for make in [{ Tables.everything() }, { Tables.plain() }] {
        expectConformance(laws: ConformanceSuite.laws.filter(\.needsQuiet)) { make() }
        expectConformance(laws: ConformanceSuite.laws.filter(\.needsQuiet)) {
          () throws(TableError) in
          try importSource(exportSource(make()), provider: "test")
        }
      }
    }
  }

  @Test func namesOfLawsAreUnique() {
    let names = ConformanceSuite.laws.map(\.name)
    #expect(Set(names).count == names.count)
    #expect(names.count >= 20)
  }
}

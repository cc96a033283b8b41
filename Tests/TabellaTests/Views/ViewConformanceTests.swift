import Tabella
import TabellaBridge
import TabellaConformance
import Testing

@testable import TabellaTestSupport

/// The suite over every view, every view of every view, and both through the C contract.
@Suite struct ViewConformanceTests {
  static let names = Views.all.map(\.name)

  private func wrap(
    _ name: String, _ base: any TableDataSource
  ) throws(TableError) -> any TableDataSource {
    guard let view = Views.all.first(where: { $0.name == name }) else {
      throw TableError(.internal, "there is no view \(name)")
    }
    return try view.wrap(base)
  }

  @Test(arguments: names)
  func ofEveryTable(_ name: String) {
    for table in ConformanceTests.tables {
      for seed in 1...(takesAllRoads ? 2 : 1) as ClosedRange<UInt64> {
        expectConformance(seed: seed, isOwn: true) { () throws(TableError) in
          try wrap(name, table.make())
        }
      }
      for exportsTheView in turn(table.name.utf8.count, of: [true, false]) {
        expectConformance(isOwn: true) { () throws(TableError) in
          exportsTheView
            ? try importSource(exportSource(wrap(name, table.make())), provider: "test")
            : try wrap(name, importSource(exportSource(table.make()), provider: "test"))
        }
      }
    }
  }

  /// Every pair of views, once in each order.
  static let pairs = names.indices.flatMap { outer in names.indices.map { (outer, $0) } }

  /// A sixth of the pairs, with the tables in turn; with `TABELLA_ALL_ROADS`, all of them. The slow laws of editing run
  /// over every third pair, or over all.
  @Test(arguments: sample(28, of: pairs))
  func ofEveryView(_ outer: Int, _ inner: Int) {
    let names = (outer: Self.names[outer], inner: Self.names[inner])
    for table in turn(outer + inner, of: ConformanceTests.tables) {
      expectConformance { () throws(TableError) in
        try wrap(names.outer, wrap(names.inner, table.make()))
      }
    }
    expectConformance(isOwn: isTurn(outer + inner, ofEvery: 3)) { () throws(TableError) in
      try importSource(
        exportSource(wrap(names.outer, wrap(names.inner, Tables.everything()))), provider: "test")
    }
  }

  /// Over a source that cannot gather, counts inexactly, and returns small batches.
  @Test(arguments: names)
  func ofAMeagreSource(_ name: String) {
    for limit in turn(Self.names.firstIndex(of: name) ?? 0, of: [1, 3, 50]) {
      expectConformance(isOwn: true) { () throws(TableError) in
        let base = Recording(Tables.everything())
        base.batchLimit = limit
        base.countsAtLeast = true
        return try wrap(name, base)
      }
    }
  }

  /// Runs alone in a separate process, because it measures the heap.
  @Test func memoryReturns() async {
    await #expect(processExitsWith: .success) {
      for view in Views.all {
        expectConformance(laws: ConformanceSuite.laws.filter(\.needsQuiet)) {
          () throws(TableError) in try view.wrap(Tables.everything())
        }
      }
    }
  }
}

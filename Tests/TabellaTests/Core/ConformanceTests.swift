import Tabella
import TabellaBridge
import TabellaConformance
import Testing

/// The suite over sources in memory, as they are and through the C contract and back.
@Suite struct ConformanceTests {
  static let tables: [(name: String, make: @Sendable () -> InMemorySource)] = [
    ("everything", { Tables.everything() }), ("plain", { Tables.plain() }),
    ("empty", { Tables.empty() }),
  ]

  @Test(arguments: ["everything", "plain", "empty"], [1, 2, 3] as [UInt64])
  func inMemory(_ name: String, seed: UInt64) throws {
    let make = try #require(Self.tables.first { $0.name == name }).make
    expectConformance(seed: seed) { make() }
  }

  @Test(arguments: ["everything", "plain", "empty"], [1, 2, 3] as [UInt64])
  func throughTheContract(_ name: String, seed: UInt64) throws {
    let make = try #require(Self.tables.first { $0.name == name }).make
    expectConformance(seed: seed) { () throws(TableError) in
      try importSource(exportSource(make()), provider: "test")
    }
  }

  @Test func throughTheContractTwice() {
    expectConformance { () throws(TableError) in
      let once = try importSource(exportSource(Tables.everything()), provider: "inner")
      return try importSource(exportSource(once), provider: "outer")
    }
  }

  /// Judged alone in a process of its own, because it watches the heap.
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

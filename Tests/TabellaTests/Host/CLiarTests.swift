import Tabella
import TabellaBridge
import TabellaConformance
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// A C library that breaks the contract in one way at a time. Each leads to a typed error or a broken law, and none
/// harms the host.
@Suite struct CLiarTests {
  static let library: Result<(TemporaryFolder, String), any Error> = Result {
    let folder = try TemporaryFolder()
    return (
      folder,
      try compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/liar.c", into: folder, name: "liar.so")
    )
  }

  static func provider() throws -> ImportedProvider {
    try loadLibrary(at: library.get().1)
  }

  static func open(_ lie: String) throws(TableError) -> any TableDataSource {
    let provider: ImportedProvider
    do { provider = try Self.provider() } catch { throw TableError(.internal, "\(error)") }
    return try provider.open(OpenRequest(location: Array(lie.utf8), scheme: "liar"))
  }

  /// Lies that opening reveals.
  @Test(arguments: [
    "no-source", "no-rows-function", "unknown-format", "schema-without-release",
    "table-without-function",
  ])
  func openingFindsOut(_ lie: String) throws {
    do throws(TableError) {
      _ = try Self.open(lie)
      Issue.record("\(lie) was not noticed")
    } catch {
      #expect(error.code == .misbehaved, "\(error.code.name): \(error)")
      #expect(error.message.contains("provider liar"))
    }
  }

  /// Lies that the suite reveals, with the law that must.
  @Test(arguments: [
    ("wrong-count", "counts-hold"), ("negative-count", "counts-hold"),
    ("falling-count", "counts-hold"), ("changing-count", "counts-hold"),
    ("count-neither-exact", "counts-hold"), ("overlapping-cut", "cuts-agree"),
    ("wrong-projection", "projection-agrees"), ("changing-cells", "cells-hold"),
    ("duplicate-id", "ids-identify"), ("changed-id", "ids-identify"),
    ("empty-id", "ids-identify"), ("id-leads-elsewhere", "ids-identify"),
    ("title-out-of-bounds", "titles-in-bounds"), ("absurd-string", "titles-in-bounds"),
    ("index-out-of-bounds", "index-in-bounds"), ("phantom-section", "sections-counted"),
    ("accepts-any-section", "refusals"), ("accepts-any-row", "refusals"),
    ("error-without-release", "refusals"), ("unknown-code", "refusals"),
    ("success-with-error", "batches-valid"), ("no-release", "batches-valid"),
    ("bad-offsets", "batches-valid"), ("negative-first-offset", "batches-valid"),
    ("bad-null-count", "batches-valid"), ("huge-null-count", "batches-valid"),
    ("uncounted-length", "batches-valid"), ("misaligned-offsets", "batches-valid"),
    ("endless-count", "counts-hold"), ("endless-sections", "sections-counted"),
    ("bad-length", "batches-valid"), ("negative-length", "batches-valid"),
    ("negative-offset", "batches-valid"), ("missing-buffer", "batches-valid"),
    ("missing-column", "batches-valid"), ("false-utf8", "batches-valid"),
    ("too-many-rows", "batches-valid"), ("release-not-cleared", "batches-valid"),
    ("unprintable-version", "version-holds"), ("failing-kinds", "supplements-answer"),
    ("failing-element", "supplements-answer"), ("span-beyond-text", "supplements-answer"),
    ("unknown-form", "supplements-answer"), ("lying-table", "supplements-answer"),
    ("schema-release-not-cleared", "columns-hold"),
    ("element-release-not-cleared", "supplements-answer"),
  ])
  func suiteFindsOut(_ lie: String, law: String) {
    let broken = brokenLaws { () throws(TableError) in try Self.open(lie) }
    #expect(broken.contains(law), "\(lie) broke \(broken)")
  }

  @Test func honestLiarPasses() {
    for seed in 1...3 as ClosedRange<UInt64> {
      expectConformance(seed: seed) { () throws(TableError) in try Self.open("") }
    }
  }

  @Test func leakIsCaught() async {
    await #expect(processExitsWith: .success) {
      let laws = ConformanceSuite.laws.filter(\.needsQuiet)
      let open = { (lie: String) in { () throws(TableError) in try Self.open(lie) } }
      #expect(brokenLaws(laws: laws, open("leaked-batch")).contains("memory-returns"))
      #expect(brokenLaws(laws: laws, open("")).isEmpty)
    }
  }

  /// Every complaint names the provider and the function.
  @Test func complaintsNameTheProvider() throws {
    let source = try Self.open("bad-offsets")
    do throws(TableError) {
      _ = try source.rows(RowRequest(first: 0, count: 8, columns: [0, 1]))
      Issue.record("bad offsets were accepted")
    } catch {
      #expect(error.code == .misbehaved)
      #expect(error.provider == "liar")
      #expect(error.message.contains("provider liar broke the contract in rows"))
      #expect(error.message.contains("word"))
    }
  }
}

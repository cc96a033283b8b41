import Tabella
import TabellaChecking
import TabellaConformance
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// The code in docs/writing-a-provider.md compiles and works; DocumentationTests compares it with this file.
@Suite struct ProvingTests {
  @Test func provingAProvider() throws {
    let folder = try TemporaryFolder()
    let example = packageFolder + "/Examples/provider-c/planets"
    _ = try compileLibrary(example + ".c", into: folder, name: "planets.so")
    try folder.write(
      "planets.tabella.json", String(contentsOfFile: example + ".tabella.json", encoding: .utf8))
    let host = Host(searchPath: SearchPath([folder.path]))

    let suite = ConformanceSuite { () throws(TableError) in try host.open("planets:").source }
    let findings = suite.run()
    for finding in findings where finding.isFailure {
      print(finding.law.name, finding.outcome, finding.law.hint)
    }

    let broken = findings.filter { $0.isFailure && !$0.law.needsQuiet }
    #expect(broken.isEmpty)
  }

  /// The code in docs/check.md compiles and works.
  @Test(.needs("make", "cc")) func checkingAProvider() throws {
    let folder = try TemporaryFolder()
    let library = try MakeExample.planets(in: folder)

    let host = Host(searchPath: SearchPath([]))
    let checker = Checker(
      library: library, location: "planets:", options: CheckOptions(), host: host)
    try checker.run { finding in
      if finding.isFailure { print(finding.check.name, finding.detail ?? "", finding.check.hint) }
    }

    #expect(checker.failure == nil)
    #expect(checker.provider?.id == "planets" && checker.locations.map(\.name) == ["planets:"])
  }
}

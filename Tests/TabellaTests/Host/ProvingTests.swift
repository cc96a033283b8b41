import Tabella
import TabellaConformance
import TabellaHost
import Testing

/// What docs/contract.md tells authors to write compiles and works; DocumentationTests compares the two.
@Suite struct ProvingTests {
  @Test func provingAProvider() throws {
    let host = Host()
    let suite = ConformanceSuite { () throws(TableError) in try host.open("planets:").source }
    for finding in suite.run() where finding.isFailure {
      print(finding.law.name, finding.outcome, finding.law.hint)
    }
    // There are no planets on this search path, and every law says so.
    let broken = suite.run().filter(\.isFailure)
    #expect(broken.count == ConformanceSuite.laws.count)
  }
}

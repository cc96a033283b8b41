import Tabella
import TabellaConformance
import Testing

import class Foundation.ProcessInfo

/// Whether the suites that try many roads try all of them, as CI does, and not some in turn.
let takesAllRoads = ProcessInfo.processInfo.environment["TABELLA_ALL_ROADS"] != nil

/// The one whose turn it is, or with TABELLA_ALL_ROADS all.
func turn<Element>(_ number: Int, of all: [Element]) -> [Element] {
  takesAllRoads ? all : [all[number % all.count]]
}

/// Records an issue for every law that is broken. Without `laws`, all that need no quiet process. Where
/// each opening makes data of its own, that is edited too.
func expectConformance(
  seed: UInt64 = 1, laws: [Law] = ConformanceSuite.laws.filter { !$0.needsQuiet },
  isOwn: Bool = false, scratch: ConformanceSuite.Scratch? = nil,
  _ open: @escaping () throws(TableError) -> any TableDataSource,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  let findings = ConformanceSuite(
    seed: seed, open: open, scratch: scratch ?? (isOwn ? scratching(open) : nil)
  ).run(laws)
  #expect(findings.count == laws.count, sourceLocation: sourceLocation)
  for finding in findings {
    if case .failed(let what) = finding.outcome {
      Issue.record("\(finding.law.name): \(what)", sourceLocation: sourceLocation)
    }
  }
}

/// The laws that a source breaks, by name.
func brokenLaws(
  seed: UInt64 = 1, laws: [Law] = ConformanceSuite.laws.filter { !$0.needsQuiet },
  _ open: @escaping () throws(TableError) -> any TableDataSource
) -> [String] {
  ConformanceSuite(seed: seed, open: open, scratch: scratching(open)).run(laws).filter(\.isFailure)
    .map(\.law.name)
}

/// What is opened once is the data itself.
private func scratching(
  _ open: @escaping () throws(TableError) -> any TableDataSource
) -> ConformanceSuite.Scratch {
  { () throws -> () throws(TableError) -> any TableDataSource in
    let source = try open()
    return { () throws(TableError) in source }
  }
}

enum ConformanceSuiteLaws {
  static let count = ConformanceSuite.laws.count
}

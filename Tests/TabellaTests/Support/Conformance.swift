import Tabella
import TabellaConformance
import Testing

import class Foundation.ProcessInfo

/// Whether suites with many roads try all of them, as in `make test-full`, instead of taking turns.
let takesAllRoads = ProcessInfo.processInfo.environment["TABELLA_ALL_ROADS"] != nil

/// The number that says whose turn is first. `TABELLA_TURN` sets it; CI takes it from the commit, so that each commit
/// tests another part.
private let firstTurn = ProcessInfo.processInfo.environment["TABELLA_TURN"].flatMap { Int($0) } ?? 0

extension Trait where Self == ConditionTrait {
  /// The trait of a long test that only runs with `TABELLA_ALL_ROADS`.
  static var onAllRoads: ConditionTrait { .enabled(if: takesAllRoads, "needs TABELLA_ALL_ROADS=1") }
}

/// The element whose turn it is; with `TABELLA_ALL_ROADS`, all elements.
func turn<Element>(_ number: Int, of all: [Element]) -> [Element] {
  takesAllRoads ? all : [all[(number + firstTurn) % all.count]]
}

/// Whether a number is one of every `period` numbers; with `TABELLA_ALL_ROADS`, always.
func isTurn(_ number: Int, ofEvery period: Int) -> Bool {
  takesAllRoads || (number + firstTurn) % period == 0
}

/// `count` of the items, evenly spread; with `TABELLA_ALL_ROADS`, all items.
func sample<Item>(_ count: Int, of items: some Sequence<Item>) -> [Item] {
  let items = Array(items)
  guard !takesAllRoads, count < items.count else { return items }
  let first = firstTurn % items.count
  return (0..<count).map { items[($0 * items.count + first) / count] }
}

/// Records an issue for every broken law. Without `laws`, it checks all laws that need no quiet process. If each
/// opening creates its own data, it also edits that data.
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

/// The names of the laws that a source breaks.
func brokenLaws(
  seed: UInt64 = 1, laws: [Law] = ConformanceSuite.laws.filter { !$0.needsQuiet },
  _ open: @escaping () throws(TableError) -> any TableDataSource
) -> [String] {
  ConformanceSuite(seed: seed, open: open, scratch: scratching(open)).run(laws).filter(\.isFailure)
    .map(\.law.name)
}

/// A scratch closure that opens one source and always returns that object, because the object itself is the data.
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

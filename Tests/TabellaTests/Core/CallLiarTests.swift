import Glibc
import Synchronization
import Tabella
import TabellaConformance
import Testing

@testable import TabellaTestSupport

/// Sources that behave well only for calls in order, from one thread, one at a time, and once. Exactly one law notices
/// each.
@Suite struct CallLiarTests {
  @Test(arguments: CallLie.allCases.filter { !$0.isOfMemory && $0 != .pullsOthersWrongly })
  func isCaught(_ lie: CallLie) {
    let broken = (1...3).reduce(into: Set()) { broken, seed in
      broken.formUnion(brokenLaws(seed: seed) { CallLiar(lie) })
    }
    #expect(broken == [lie.law])
  }

  /// Runs alone in a separate process, because it measures the resources of the process.
  @Test func leaksAreCaught() async {
    await #expect(processExitsWith: .success) {
      for lie in CallLie.allCases where lie.isOfMemory {
        let broken = brokenLaws(laws: ConformanceSuite.laws.filter(\.needsQuiet)) { CallLiar(lie) }
        #expect(broken == [lie.law], "\(lie)")
      }
      let broken = brokenLaws(laws: ConformanceSuite.laws.filter(\.needsQuiet)) { CallLiar(nil) }
      #expect(broken.isEmpty)
    }
  }

  /// Without a lie, the liar passes, and none of these laws is skipped.
  @Test func honestLiarPasses() async {
    await #expect(processExitsWith: .success) {
      let findings = ConformanceSuite(
        open: { CallLiar(nil) },
        scratch: {
          let data = Tables.everything()
          return { CallLiar(nil, data) }
        }
      ).run()
      for finding in findings where finding.isFailure { Issue.record("\(finding)") }
      for law in Set(CallLie.allCases.map(\.law)) {
        #expect(findings.contains { $0.law.name == law && $0.outcome == .passed }, "\(law)")
      }
    }
  }

  /// The laws notice whether a source follows the changes of another opening.
  @Test func othersChangesAreFollowed() {
    for (lie, expected) in [(nil, []), (CallLie.pullsOthersWrongly, ["pulls-replay"])] {
      let broken = ConformanceSuite(
        open: { CallLiar(lie) },
        scratch: {
          let data = Tables.everything()
          return { CallLiar(lie, data) }
        }
      ).run(ConformanceSuite.laws.filter { $0.name == "pulls-replay" }).filter(\.isFailure)
      #expect(broken.map(\.law.name) == expected)
    }
  }

  /// If sources live in another process, its resources are measured.
  @Test func anotherProcessIsMeasured() {
    let heap = Mutex(0)
    let findings = ConformanceSuite(
      open: { CallLiar(nil) },
      meter: { _ in
        ResourceUse(
          heap: heap.withLock {
            $0 += 1 << 20
            return $0
          }, descriptors: 3, threads: 1)
      }
    ).run(ConformanceSuite.laws.filter { $0.name == "memory-returns" })
    #expect(findings.allSatisfy(\.isFailure) && findings.count == 1)
  }
}

enum CallLie: CaseIterable {
  case overflowsForHugeCounts, findingMovesLeads, titlesFarBeyond, staysCancelled, isOfOneThread,
    sharesACursor, pullsWrongly, pullsOthersWrongly, keepsRefusals, keepsDescriptors, keepsDryRuns,
    keepsItself

  var law: String {
    switch self {
    case .overflowsForHugeCounts: "odd-sizes-agree"
    case .findingMovesLeads: "any-calls-agree"
    case .titlesFarBeyond: "senseless-calls-refused"
    case .staysCancelled: "cancel-is-harmless"
    case .isOfOneThread: "threads-may-change"
    case .sharesACursor: "openings-are-independent"
    case .pullsWrongly, .pullsOthersWrongly: "pulls-replay"
    case .keepsRefusals, .keepsDescriptors: "answers-return"
    case .keepsDryRuns: "dry-runs-return"
    case .keepsItself: "openings-return"
    }
  }

  var isOfMemory: Bool {
    switch self {
    case .keepsRefusals, .keepsDescriptors, .keepsDryRuns, .keepsItself: true
    default: false
    }
  }
}

/// An honest table with one lie about calls. Several objects may share the same data.
final class CallLiar: TableDataSource, TableSections, TableIdentity, TableAccessories, TableEditing,
  TableChanges
{
  private let base: InMemorySource
  private let lie: CallLie?
  private let flag = CancelFlag()
  private let opener = pthread_self()
  private var hasFound = false
  private var shown: Version?
  private var kept: [[UInt8]] = []

  /// The living source that read last.
  private static let lastReader = Mutex<ObjectIdentifier?>(nil)
  nonisolated(unsafe) private static var ended: [CallLiar] = []

  init(_ lie: CallLie?, _ data: InMemorySource = Tables.everything()) {
    self.lie = lie
    base = data
    shown = data.version()
    if lie == .keepsItself { CallLiar.ended.append(self) }
  }

  deinit {
    CallLiar.lastReader.withLock { if $0 == ObjectIdentifier(self) { $0 = nil } }
  }

  var columns: [Column] { base.columns }
  var sections: (any TableSections)? { self }
  var identity: (any TableIdentity)? { self }
  var accessories: (any TableAccessories)? { self }
  var editing: (any TableEditing)? { self }
  var changes: (any TableChanges)? { self }
  // Other laws find the other lies.
  var cancellation: (@Sendable () -> Void)? {
    lie == nil || lie == .staysCancelled ? flag.cancellation : nil
  }

  func version() -> Version? { shown }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }

  func numberOfSections(knowing minimum: Int) -> Count { base.numberOfSections(knowing: minimum) }

  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    if lie == .titlesFarBeyond, section > 1 << 30 { return "far away" }
    return try base.title(place, ofSection: section)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch {
    if lie == .staysCancelled { try flag.check() }
    flag.begin()
    switch lie {
    case .overflowsForHugeCounts where request.count > 1 << 50:
      return .empty(request.columns.map { columns[$0].type })
    case .isOfOneThread where pthread_self() != opener:
      throw TableError(.internal, "another thread")
    case .sharesACursor:
      let isOther = CallLiar.lastReader.withLock { last in
        defer { last = ObjectIdentifier(self) }
        return last != nil && last != ObjectIdentifier(self)
      }
      if isOther, request.count > 1 {
        var other = request
        other.first = 0
        return try base.rows(other)
      }
    default: break
    }
    return try base.rows(request)
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    hasFound = true
    if lie == .keepsRefusals, id == "no-such-id" { kept.append(Array(repeating: 0, count: 100)) }
    return try base.indexPath(forID: id)
  }

  func location(forRowAt path: IndexPath) -> [UInt8]? {
    defer { hasFound = false }
    if lie == .findingMovesLeads, hasFound { return Array("/elsewhere".utf8) }
    if lie == .keepsDescriptors { _ = open("/dev/null", O_RDONLY | O_CLOEXEC) }
    return base.location(forRowAt: path)
  }

  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try base.editability(ofRows: rows, inSection: section)
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    if lie == .keepsDryRuns, batch.isDryRun { kept.append(Array(repeating: 0, count: 100)) }
    let result = try base.commit(batch)
    shown = base.version()
    return result
  }

  func listen(_ notify: (@Sendable () -> Void)?) {}

  func pull() -> ChangeBatch {
    defer { shown = base.version() }
    var changes: [ChangeBatch.Change]? = shown == base.version() ? [] : nil
    if lie == .pullsWrongly { changes = [.delete(IndexPath(section: 0, row: 0))] }
    if lie == .pullsOthersWrongly, changes == nil { changes = [] }
    return ChangeBatch(from: shown, to: base.version(), changes: changes)
  }
}

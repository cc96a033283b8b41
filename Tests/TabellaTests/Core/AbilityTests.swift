import Foundation
import Tabella
import TabellaBridge
import TabellaSDK
import TabellaSystem
import Testing

@testable import TabellaHost
@testable import TabellaRemote
@testable import TabellaTestSupport

/// A source has the same abilities at the end of every road. The tests compare every list of abilities with
/// `Ability.allCases`, so a list that forgets an ability fails.
@Suite struct AbilityTests {
  /// A source that makes all calls on a table in memory, and has some abilities only.
  final class Some: ForwardingSource {
    private let base = Tables.everything()
    let abilities: AbilitySet
    var columns: [Column] { base.columns }

    init(_ abilities: AbilitySet) { self.abilities = abilities }

    func call<Answer, each Argument>(
      _ call: Call<Answer, repeat each Argument>, _ argument: repeat each Argument
    ) throws(TableError) -> Answer { try call.make(base, repeat each argument) }

    func listen(_ notify: (@Sendable () -> Void)?) {}
  }

  /// A worker's server in this process.
  final class Worker: Transport, WorkerSupervisor, @unchecked Sendable {
    private let server: SourceServer
    private var answers: [UInt64: IncomingMessage] = [:]
    private(set) var asked: Set<TabellaRemote.Operation> = []
    /// Bytes after the end of each answer, which no answer may have.
    var surplus: [UInt8] = []

    init(_ open: @escaping () -> any TableDataSource) throws {
      server = SourceServer(
        socket: -1, side: -1, arena: try SharedMemory(size: 4096), token: Token(1, 2),
        handlers: SourceServer.Handlers(
          load: { _ throws(TableError) in throw TableError(.notSupported, "nothing to load") },
          open: { _ throws(TableError) in open() },
          statistics: { ResourceUse(heap: 0, descriptors: 0, threads: 1) }))
    }

    var session: RemoteSession { RemoteSession(transport: self, limit: 1 << 20, supervisor: self) }

    func send(_ message: OutgoingMessage, number: UInt64) throws(TableError) {
      answers[number] = incoming(try server.answer(incoming(message), number), surplus)
    }

    func receive(
      _ expected: UInt64?, limit: Int, arrived: (UnsafeRawBufferPointer) -> Void
    ) throws(TableError) -> (number: UInt64, message: IncomingMessage) {
      guard let expected, let answer = answers.removeValue(forKey: expected) else { throw .closed }
      return (expected, answer)
    }

    func callBegan(_ operation: TabellaRemote.Operation, number: UInt64) {
      asked.insert(operation)
    }
    func callEnded() {}
    func waitForPacket() throws(TableError) {}
    func end(because error: TableError) -> TableError { error }
    func explain(_ error: TableError) -> TableError { error }
    func cancel(_ number: UInt64) {}

    private func incoming(
      _ outgoing: OutgoingMessage, _ surplus: [UInt8] = []
    ) -> IncomingMessage {
      var all: [UInt8] = []
      try? outgoing.forEachPart { bytes, _ throws(TableError) in all += bytes }
      all += surplus
      let message = IncomingMessage(count: all.count)
      message.storage.copyBytes(from: all)
      return message
    }
  }

  static let roads:
    [(name: String, wrap: @Sendable (any TableDataSource) throws -> any TableDataSource)] = [
      ("bridge", { try importSource(exportSource($0), provider: "test") }),
      (
        "worker",
        { source in
          try Worker({ source }).session.open(OpenRequest(location: []))
        }
      ),
      ("trace", { TracedSource($0, provider: "test", Trace { _ in }, number: 1) }),
    ]

  @Test(arguments: Ability.allCases)
  func itCrossesAlone(_ ability: Ability) throws {
    let source = Some(AbilitySet(ability))
    #expect(AbilitySet(of: source) == AbilitySet(ability))
    for road in AbilityTests.roads {
      let wrapped = try road.wrap(source)
      #expect(AbilitySet(of: wrapped).names == [ability.name], "\(road.name)")
      // Twice, as a foreign source crosses.
      let twice = try AbilityTests.roads[0].wrap(wrapped)
      #expect(AbilitySet(of: twice).names == [ability.name], "\(road.name) and bridge")
    }
    #expect(AbilitySet(usableOf: source).names == [ability.name])
  }

  @Test func allCrossTogether() throws {
    let all = AbilitySet(rawValue: (1 << Ability.allCases.count) - 1)
    #expect(all.abilities == Ability.allCases)
    for road in AbilityTests.roads {
      #expect(AbilitySet(of: try road.wrap(Some(all))) == all, "\(road.name)")
      #expect(AbilitySet(of: try road.wrap(Some([]))) == [], "\(road.name)")
    }
  }

  /// The host waited forever for its own lock: it released the table of a malformed answer while it held the lock.
  @Test func aMalformedAnswerWithATableIsAnError() throws {
    let table = InMemorySource([Column("b")], rows: [["2"]])
    let source = InMemorySource(
      [Column("a")], sections: [(nil, nil, nil, [["1"]])],
      elements: ["preview": [.section(0): .table(table)]])
    let worker = try Worker { source }
    let opened = try worker.session.open(OpenRequest(location: []))
    worker.surplus = [0]
    let error = #expect(throws: TableError.self) {
      _ = try opened.supplementary?.supplementaryElement(ofKind: "preview", at: .section(0))
    }
    #expect(error?.code == .misbehaved)
  }

  /// A source for the SDK has the abilities whose protocols it conforms to.
  @Test func providersHaveAllThatTheyConformTo() {
    #expect(AbilitySet(of: Provided()).abilities == Ability.allCases)
  }

  /// A source whose edits are not stored cannot be edited across the contract.
  @Test func editsThatAreNotStoredDoNotCross() throws {
    let source = InMemorySource([Column("a")], rows: [["1"]])
    try #require(!source.storesEdits)
    let imported = try AbilityTests.roads[0].wrap(source)
    let lost = AbilitySet(of: source).subtracting(AbilitySet(of: imported))
    #expect(lost.abilities == [.editing, .sectionEditing, .moving, .undoing])
  }

  /// The words that scripts ask about: JSON prints them in this order, and its page and schema list them.
  @Test func theWordsAreDocumented() throws {
    let names = Ability.allCases.map(\.name)
    let page = try String(contentsOfFile: "\(packageFolder)/docs/json.md", encoding: .utf8)
    #expect(page.contains("`\(names.joined(separator: " "))`"))
    let schema = try jsonObject(
      String(contentsOfFile: "\(packageFolder)/docs/table.schema.json", encoding: .utf8))
    let properties = try #require(schema["properties"] as? [String: Any])
    let capabilities = try #require(properties["capabilities"] as? [String: Any])
    let items = try #require(capabilities["items"] as? [String: Any])
    #expect(items["enum"] as? [String] == names)
  }
}

/// A source for the SDK that conforms to the protocols of all abilities.
private final class Provided: ProviderSource, AbilityProtocols {
  let columns = [Column("a")]
  func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
  func rows(_ request: RowRequest) -> Batch { .empty([.text]) }
  func numberOfSections(knowing minimum: Int) -> Count { .exact(1) }
  func title(_ place: TitlePlace, ofSection section: Int) -> String? { nil }
  func sectionIndexTitles() -> [String] { [] }
  func indexPath(forIndexTitle title: String, at index: Int) -> Tabella.IndexPath { .section(0) }
  func indexPath(forID id: String) -> Tabella.IndexPath { .section(0) }
  func rows(at paths: [Tabella.IndexPath], columns: [Int], includesIDs: Bool) -> Batch {
    .empty([.text])
  }
  func listen(_ notify: (@Sendable () -> Void)?) {}
  func pull() -> ChangeBatch { ChangeBatch(from: nil, to: nil, changes: []) }
  func editability(ofRows rows: Range<Int>, inSection section: Int) -> [RowEditability] { [] }
  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    throw TableError(.readOnly, "nothing can be edited")
  }
  func editability(ofSections sections: Range<Int>) -> [SectionEditability] { [] }
  func canInsertSections() -> Bool { false }
  func movability(ofRows rows: Range<Int>, inSection section: Int) -> [Bool] { [] }
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    throw TableError(.notSupported, "nothing can be undone")
  }
  func supplementaryKinds() -> [String] { [] }
  func supplementaryElement(
    ofKind kind: String, at path: Tabella.IndexPath
  ) -> SupplementaryElement? { nil }
  func location(forRowAt path: Tabella.IndexPath) -> [UInt8]? { nil }
  func willDisplay(rows: Range<Int>, inSection section: Int) {}
  func didEndDisplaying(rows: Range<Int>, inSection section: Int) {}
  func prefetch(rows: Range<Int>, inSection section: Int) {}
  func cancelPrefetching(rows: Range<Int>, inSection section: Int) {}
  func nextDiagnostic() -> Diagnostic? { nil }
}

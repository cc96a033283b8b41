import Tabella
import TabellaBridge
import TabellaConformance
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// A host reads batches that an author in C builds with tabella_batch.h.
@Suite(.serialized) struct CBatchTests {
  let folder: TemporaryFolder
  let provider: ImportedProvider

  init() throws {
    folder = try TemporaryFolder()
    provider = try loadLibrary(
      at: compileLibrary(
        packageFolder + "/Tests/TabellaTests/Host/Libraries/batches.c", into: folder,
        name: "batches.so"))
  }

  func open(_ mistake: String = "") throws(TableError) -> any TableDataSource {
    try provider.open(OpenRequest(location: Array(mistake.utf8)))
  }

  /// The host counts missing cells that the provider did not count.
  @Test func uncountedIsCounted() throws {
    let counted = try open().rows(RowRequest(first: 0, count: 20, columns: Array(0..<8)))
    let uncounted = try open("uncounted").rows(
      RowRequest(first: 0, count: 20, columns: Array(0..<8)))
    #expect(uncounted.columns.map(\.missingCount) == counted.columns.map(\.missingCount))
    #expect(counted.columns.map(\.missingCount) == [4, 4, 4, 4, 4, 4, 20, 4])
    #expect((0..<20).map { uncounted.row($0) } == (0..<20).map { counted.row($0) })
    expectConformance { () throws(TableError) in try open("uncounted") }
  }

  @Test func keepsTheLaws() { expectConformance { () throws(TableError) in try open() } }

  @Test func everyTypeArrives() throws {
    let source = try open()
    #expect(source.columns.map(\.type) == ColumnType.allCases + [.text, .text])
    #expect(source.columns[1].unit == .bytes && source.columns[2].unit == .percent)
    #expect(source.hasVolatileOrder)
    let rows = try readAll(source)
    #expect(rows.count == 20)
    for (row, cells) in rows.enumerated() {
      let number = Int64(row)
      let expected: [Cell] = [
        .text("row \(row)"), .integer(.min + number), .real(Double(row) / 4),
        .boolean(row % 2 == 0), .date(Timestamp(nanoseconds: number * 1_000_000_000)),
        .binary(Array([0, 0xFF].prefix(row % 3))), .missing, "",
      ]
      #expect(cells == expected.enumerated().map { ($0 + row) % 5 == 0 ? .missing : $1 })
    }
  }

  /// Each message says what was expected, and the function to call. "column 2 has 0 cells" meant missing ids.
  @Test(arguments: [
    ("mistyped", "use the function of the type that tabella_batch_new got"),
    ("ragged", "column 0 of the batch (counted from 0) has 6 cells for 5 rows: append one cell"),
    ("no-such-column", "a cell was appended to column 8, but the batch has 2 columns"),
    ("id-unasked", "the builder has no ids; create it with ids = 1"),
    ("id-forgotten", "the batch has 0 ids for 5 rows: call tabella_batch_id once for each row"),
  ])
  func mistakesAreReported(_ mistake: String, _ message: String) throws {
    let source = try open(mistake)
    do throws(TableError) {
      _ = try source.rows(RowRequest(first: 0, count: 5, columns: [0, 1]))
      Issue.record("\(mistake) was not noticed")
    } catch {
      #expect(error.code == .internal && error.provider == "batches")
      #expect(error.message.contains(message), "\(error.message)")
    }
  }

  /// The host receives every kind of change that an author in C lists.
  @Test func changesArrive() throws {
    func pull(_ location: String) throws -> ChangeBatch {
      try #require(try provider.open(OpenRequest(location: Array(location.utf8))).changes).pull()
    }
    func row(_ row: Int) -> Tabella.IndexPath { IndexPath(section: 0, row: row) }
    let list: [ChangeBatch.Change] = [
      .insert(row(3)), .delete(row(4)), .move(from: row(5), to: row(6)), .reload(row(7)),
      .reconfigure(row(8)), .insert(.section(1)),
    ]
    #expect(
      try pull("changes") == ChangeBatch(from: Version("old"), to: Version("new"), changes: list))
    #expect(
      try pull("reload-all") == ChangeBatch(from: Version("old"), to: Version("new"), changes: nil))
    #expect(try pull("no-versions") == ChangeBatch(from: nil, to: nil, changes: list))
  }

  /// The live example keeps the laws, and tells a listener once a second that a pull may find something.
  @Test func theLiveExampleKeepsTheLaws() async throws {
    let example = try loadLibrary(
      at: compileLibrary(
        packageFolder + "/Examples/provider-c/memory.c", into: folder, name: "memory.so"))
    func open() throws(TableError) -> any TableDataSource {
      try example.open(OpenRequest(location: []))
    }
    expectConformance { () throws(TableError) in try open() }
    let source = try open()
    let (notices, continuation) = AsyncStream<Void>.makeStream()
    try #require(source.changes).listen { continuation.yield() }
    var iterator = notices.makeAsyncIterator()
    _ = await iterator.next()
    let rows = try readAll(source)
    let follower = try TableFollower(source)
    let changes = try follower.pull().list
    #expect(changes.allSatisfy { if case .reconfigure = $0 { true } else { false } })
    #expect(try readAll(source).count == rows.count)
    try #require(source.changes).listen(nil)
  }
}

import Tabella
import TabellaBridge
import TabellaConformance
import Testing

@testable import TabellaTestSupport

/// Ids that are made from keys, and pass on to another row within one batch.
///
/// The host blamed the provider after it had stored such a batch.
@Suite struct PassedIDTests {
  /// A row by its key, and the cells of an edit.
  private static func set(_ key: String, _ cells: [Int: Cell]) -> EditBatch.Edit {
    .set(.id(key), cells: cells)
  }

  /// Batches that pass on a key, and the rows that they lead to. The table is `ann 1, bob 2, cid 3 | dan 4, eve 5`.
  static let batches: [(edits: [EditBatch.Edit], rows: String)] = [
    (
      [
        .insert(at: IndexPath(section: 0, row: 0), cells: [0: "bob", 1: "9"]), .delete(.id("bob")),
      ],
      "bob 9, ann 1, cid 3 | dan 4, eve 5"
    ),
    (
      [
        .delete(.id("bob")), .insert(at: IndexPath(section: 1, row: 0), cells: [0: "bob", 1: "9"]),
      ],
      "ann 1, cid 3 | bob 9, dan 4, eve 5"
    ),
    (
      [
        .delete(.id("ann")), .insert(at: IndexPath(section: 0, row: 0), cells: [0: "ann"]),
        .insert(at: IndexPath(section: 0, row: 1), cells: [0: "zoe"]),
      ],
      "ann -, zoe -, bob 2, cid 3 | dan 4, eve 5"
    ),
    ([set("ann", [0: "bob"]), .delete(.id("bob"))], "bob 1, cid 3 | dan 4, eve 5"),
    ([.delete(.id("bob")), set("eve", [0: "bob"])], "ann 1, cid 3 | dan 4, bob 5"),
    (
      [set("ann", [0: "bob"]), set("bob", [0: "cid"]), set("cid", [0: "dot"])],
      "bob 1, cid 2, dot 3 | dan 4, eve 5"
    ),
    ([set("ann", [0: "eve"]), set("eve", [0: "ann"])], "eve 1, bob 2, cid 3 | dan 4, ann 5"),
    (
      [set("ann", [0: "bob"]), .set(.path(IndexPath(section: 0, row: 1)), cells: [0: "ann"])],
      "bob 1, ann 2, cid 3 | dan 4, eve 5"
    ),
    (
      [
        set("bob", [0: "cid", 1: "7"]), .move(.id("bob"), to: IndexPath(section: 1, row: 2)),
        .delete(.id("cid")),
      ], "ann 1 | dan 4, eve 5, cid 7"
    ),
  ]

  @Test(arguments: batches.indices, KeyTable.Report.allCases)
  func theHostAcceptsIt(_ number: Int, _ report: KeyTable.Report) throws {
    let table = KeyTable(report)
    let source = try importSource(exportSource(table), provider: "keys")
    let before = table.text
    let batch = EditBatch(Self.batches[number].edits)
    let result = try #require(source.editing).commit(batch)
    #expect(table.text == Self.batches[number].rows)
    _ = try #require(source.undoing).undo(#require(result.receipt), isDryRun: false)
    #expect(table.text == before)
  }

  /// In the same batches, an edit that is reported and not done is still noticed.
  @Test(arguments: KeyTable.Report.allCases) func theHostNoticesLies(_ report: KeyTable.Report)
    throws
  {
    for (edits, number) in [
      // The row is not deleted, and the inserted one has another key.
      ([.insert(at: IndexPath(section: 0, row: 0), cells: [0: "zoe"]), .delete(.id("bob"))], 1),
      // The second row keeps its key.
      ([Self.set("ann", [1: "8"]), Self.set("bob", [0: "bab", 1: "7"])], 1),
      ([.delete(.id("eve")), Self.set("bob", [1: "7"])], 1),
    ] as [([EditBatch.Edit], Int)] {
      let table = KeyTable(report)
      table.omitted = number
      let source = try importSource(exportSource(table), provider: "keys")
      let error = #expect(throws: TableError.self, "\(edits)") {
        _ = try source.editing?.commit(EditBatch(edits))
      }
      #expect(error?.code == .misbehaved && error?.receipt != nil, "\(edits): \(error as Any)")
    }
  }

  /// The law finds outcomes that report ids as they were before the batch.
  @Test func theLawNoticesOldIDs() {
    func broken(_ isHonest: Bool) -> [String] {
      (1...3).flatMap { seed in
        brokenLaws(seed: seed) {
          let table = KeyTable(.listed)
          table.reportsOldIDs = !isHonest
          return table
        }
      }
    }
    #expect(broken(true) == [])
    #expect(broken(false).contains("ids-pass-on"))
  }

  /// A provider may refuse such a batch, but must not have changed anything.
  @Test func theLawNoticesAHalfDoneBatch() {
    let laws = ConformanceSuite.laws.filter { $0.name == "ids-pass-on" }
    for isHalf in [false, true] {
      let broken = brokenLaws(laws: laws) {
        let table = KeyTable(.listed)
        table.refuses = isHalf ? .after : .before
        return table
      }
      #expect(broken == (isHalf ? ["ids-pass-on"] : []))
    }
  }

  /// After a crash, the host said that nothing was done, although two rows had exchanged their keys.
  @Test(arguments: [false, true]) func anExchangeCanHaveBeenDone(_ isDone: Bool) throws {
    let edits = EditBatch([Self.set("ann", [0: "bob"]), Self.set("bob", [0: "ann"])])
    let table = KeyTable(.listed)
    table.isVolatile = true
    let source = try CheckedSource(
      table, provider: "keys",
      edits: .judgedAlsoByReopening { () throws(TableError) in table })
    table.dies = isDone ? .after : .before
    let error = #expect(throws: TableError.self) { _ = try source.editing?.commit(edits) }
    #expect(error?.aftermath == .unknown)
  }
}

/// A table whose ids are the texts of its first column, which must differ.
final class KeyTable: TableDataSource, TableEditing, TableMoving, TableUndoing {
  /// How a commit reports what it did.
  enum Report: CaseIterable {
    case listed, listedWithoutIDs, reloaded, reloadedWithoutIDs

    var lists: Bool { self == .listed || self == .listedWithoutIDs }
    var hasIDs: Bool { self == .listed || self == .reloaded }
  }

  /// The moment of a failure in a batch.
  enum Moment { case before, after }

  private let report: Report
  private var table: InMemorySource
  /// The tables before the edits, by the version after each edit.
  private var previous: [String: InMemorySource] = [:]
  /// The number of an edit that is reported and not done.
  var omitted: Int?
  var reportsOldIDs = false
  var refuses: Moment?
  var dies: Moment?
  var isVolatile = false

  init(_ report: Report) {
    self.report = report
    table = KeyTable.table([
      [["ann", "1"], ["bob", "2"], ["cid", "3"]], [["dan", "4"], ["eve", "5"]],
    ])
  }

  private static func table(_ sections: [[[Cell]]]) -> InMemorySource {
    let ids = sections.enumerated().flatMap { section, rows in
      rows.enumerated().map { (IndexPath(section: section, row: $0), "\($1[0])") }
    }
    return InMemorySource(
      [Column("key"), Column("number")], sections: sections.map { (nil, nil, nil, $0) },
      ids: Dictionary(uniqueKeysWithValues: ids))
  }

  private static func rows(of table: InMemorySource) throws(TableError) -> [[[Cell]]] {
    var sections: [[[Cell]]] = []
    for section in 0..<table.numberOfSections(knowing: 0).value {
      let batch = try table.rows(
        RowRequest(section: section, first: 0, count: 100, columns: [0, 1]))
      sections.append((0..<batch.rowCount).map { batch.row($0) })
    }
    return sections
  }

  /// All rows in one line.
  var text: String {
    let rows = try? KeyTable.rows(of: table)
    return (rows ?? []).map { section in
      section.map { row in row.map { $0 == .missing ? "-" : "\($0)" }.joined(separator: " ") }
        .joined(separator: ", ")
    }.joined(separator: " | ")
  }

  var columns: [Column] { table.columns }
  var hasVolatileOrder: Bool { isVolatile }
  var sections: (any TableSections)? { table }
  var identity: (any TableIdentity)? { table }
  var editing: (any TableEditing)? { self }
  var moving: (any TableMoving)? { self }
  var undoing: (any TableUndoing)? { self }

  func version() -> Version? { table.version() }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try table.numberOfRows(inSection: section, knowing: minimum)
  }

  func rows(_ request: RowRequest) throws(TableError) -> Batch { try table.rows(request) }

  func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]
  { try table.editability(ofRows: rows, inSection: section) }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    if let version = batch.version, version != self.version() {
      throw TableError(.conflict, "the table has changed")
    }
    let moment = dies ?? refuses
    if moment == .before, batch.edits.count > 1 { throw failure }
    var done = batch
    done.isDryRun = false
    if let omitted { done.edits.remove(at: omitted) }
    let edited = KeyTable.table(try KeyTable.rows(of: table))
    let changes = try edited.commit(done).changes.changes ?? []
    let rows = try KeyTable.rows(of: edited)
    let keys = rows.joined().map { "\($0[0])" }
    guard Set(keys).count == keys.count, rows.joined().allSatisfy({ $0[0] != .missing }) else {
      throw TableError(.constraint, "the keys must differ")
    }
    let plan = try BatchPlan(changes, of: table)
    let from = version()
    let outcomes = try batch.edits.map { edit throws(TableError) in
      EditResult.Outcome(id: report.hasIDs ? try id(after: edit, plan, rows) : nil)
    }
    // A row with another key is another row. Such a row cannot also be moved in a list of changes.
    let listed = changes.map { change in
      if case .reconfigure(let path) = change { ChangeBatch.Change.reload(path) } else { change }
    }
    let lists = report.lists && (try? BatchPlan(listed, of: table)) != nil
    if !batch.isDryRun {
      let old = table
      table = KeyTable.table(rows)
      previous[version()!.token] = old
      if moment != nil, batch.edits.count > 1 { throw failure }
    }
    return EditResult(
      outcomes: outcomes,
      changes: ChangeBatch(from: from, to: version(), changes: lists ? listed : nil),
      receipt: batch.isDryRun ? nil : Array(version()!.token.utf8))
  }

  private var failure: TableError {
    var error = TableError(dies == nil ? .constraint : .misbehaved, "it fails")
    error.aftermath = dies == nil ? nil : .unknown
    return error
  }

  private func id(
    after edit: EditBatch.Edit, _ plan: BatchPlan, _ rows: [[[Cell]]]
  ) throws(TableError) -> String? {
    var old: IndexPath?
    switch edit {
    case .insert(let path, _), .move(_, let path): return "\(rows[path.section][path.row][0])"
    case .delete: return nil
    case .set(.path(let path), _): old = path
    case .set(.id(let id), _):
      if reportsOldIDs { return id }
      old = try table.indexPath(forID: id)
    }
    guard let now = old.flatMap({ plan.path(of: $0) }) else { return nil }
    return "\(rows[now.section][now.row][0])"
  }

  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let token = String(decoding: receipt, as: UTF8.self)
    guard token == version()?.token, let old = previous[token] else {
      throw TableError(.conflict, "the table has changed")
    }
    let from = version()
    if !isDryRun {
      previous[token] = nil
      table = old
    }
    return EditResult(
      outcomes: [.init()], changes: ChangeBatch(from: from, to: version(), changes: nil))
  }
}

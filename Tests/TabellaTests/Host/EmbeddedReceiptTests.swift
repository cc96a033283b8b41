import Tabella
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// Edits with receipts by a program that embeds the host, next to the same edits by `tabella`.
@Suite struct EmbeddedReceiptTests {
  private let folder: TemporaryFolder
  private let file: String
  private let store: ReceiptStore
  private let host = TabellaHost.Host(searchPath: SearchPath([buildFolder]))
  private static let poets = Array("name,born\nAda,1815\nBob,\"1820\"\nCy,\n".utf8)

  init() throws {
    folder = try TemporaryFolder()
    file = try folder.write("poets.csv", EmbeddedReceiptTests.poets)
    store = ReceiptStore(folder: "\(folder.path)/state/tabella/receipts")
  }

  private var content: [UInt8] { get throws { try folder.read("poets.csv") } }

  private func tabella(_ arguments: String...) throws -> ProgramResult {
    try run(
      buildFolder + "/tabella", arguments,
      environment: [
        "XDG_STATE_HOME": folder.path + "/state", "TABELLA_PROVIDER_PATH": buildFolder,
      ],
      directory: folder.path)
  }

  /// Sets the year of a row in a view of the file, or in the file.
  private func edit(
    row: Int = 0, born: Cell = .text("1816"), isDryRun: Bool = false, isFiltered: Bool = false,
    willCommit: () -> Void = {}
  ) throws -> RecordedEdit {
    let table = try host.open(Location(file))
    let names = ColumnNames(table.source.columns)
    let shape = TableShape(conditions: [try Condition(Array("name > Ada".utf8), names)])
    let view = isFiltered ? try table.source.shaped(by: shape) : nil
    let path = IndexPath(section: 0, row: row)
    return try store.commit(
      EditBatch([.set(.path(path), cells: [1: born])], isDryRun: isDryRun), to: table,
      through: view, willCommit: willCommit)
  }

  private func error(_ body: () throws -> Void) throws -> ReceiptError {
    do { try body() } catch let error as ReceiptError { return error }
    throw TableError(.internal, "there was no error")
  }

  /// The store refuses the edits of a table, and of its views, that was opened for reading: the provider could make them.
  @Test func tablesForReadingAreNotEdited() throws {
    let table = try host.open(Location(file), access: .reading)
    for table in [table, try table.shaped(filter: "name = Ada")] {
      var edits = table.edits()
      try edits.delete(where: "name = Ada")
      for isDryRun in [false, true] {
        let error = try error { try store.commit(edits, to: table, isDryRun: isDryRun) }
        #expect(error.code == .readOnly && error.description.hasPrefix("\(file): is open for"))
      }
    }
    #expect(try content == EmbeddedReceiptTests.poets && store.log().entries.isEmpty)
  }

  /// The code in docs/embedding-sources.md.
  @Test func anEditIsListedAndUndone() throws {
    let table = try host.open(Location(file), access: .editing)
    let batch = EditBatch(
      [.set(.path(IndexPath(section: 0, row: 0)), cells: [1: .text("1816")])],
      version: try table.source.version())
    let edit = try store.commit(batch, to: table)
    let log = try store.log(of: table.location, host: host)
    let lines = log.entries.map { "\($0.receipt)\($0.isUndone ? " (undone)" : "")" }
    #expect(lines == ["changed 1 row (born): Ada"] && log.errors.isEmpty)
    #expect(edit.result.outcomes.map(\.code) == [nil])
    #expect(try content != EmbeddedReceiptTests.poets)
    let kept = try #require(edit.receipt)
    #expect(try store.receipt(id: kept.id).summary == kept.summary)
    #expect(kept.provider == "csv" && kept.isUndoable && kept.workingDirectory == nil)
    if let receipt = try store.newestEdit(of: table.location, host: host) {
      try store.undo(receipt, host: host)
    }
    #expect(try content == EmbeddedReceiptTests.poets)
    let entries = try store.log().entries
    #expect(entries.map(\.receipt.kind) == [.undo, .edit])
    #expect(entries.map(\.isUndone) == [false, true] && entries[0].receipt.undoes == kept.id)
    #expect(try store.newestEdit(of: table.location, host: host) == nil)
    // The undo of the undo makes the edit again.
    let redo = try store.undo(entries[0].receipt, host: host)
    #expect(redo.receipt?.kind == .redo)
    #expect(try content != EmbeddedReceiptTests.poets)
  }

  @Test func theProgramUndoesAnEdit() throws {
    let receipt = try #require(edit().receipt)
    let log = try tabella("log", file, "--format", "jsonl")
    let row = try jsonObject(log.text)
    #expect(row["id"] as? String == receipt.id.text && row["undone"] as? Bool == false)
    #expect(row["edits"] as? String == "changed 1 row (born): Ada")
    let undo = try tabella("undo", "poets.csv")
    #expect(undo.status == 0 && undo.errors.contains("undo: changed 1 row (born): Ada"))
    #expect(try content == EmbeddedReceiptTests.poets)
    #expect(try store.log().entries.map(\.isUndone) == [false, true])
  }

  @Test func anEditOfTheProgramIsUndone() throws {
    #expect(try tabella("set", "poets.csv", "0", "born=1816").status == 0)
    let receipt = try #require(try store.newestEdit(of: Location(file), host: host))
    let dry = try store.undo(receipt, host: host, isDryRun: true)
    #expect(dry.receipt == nil && dry.result.outcomes.map(\.code) == [nil])
    try store.undo(receipt, host: host)
    #expect(try content == EmbeddedReceiptTests.poets)
    // Both write the same summary.
    _ = try edit()
    let summaries = try store.log().entries.map(\.receipt.summary)
    #expect(Set(summaries) == ["changed 1 row (born): Ada"] && summaries.count == 3)
    let log = try tabella("log", file, "--format", "jsonl")
    #expect(try log.lines.map { try jsonObject($0)["undone"] as? Bool } == [false, false, true])
  }

  @Test func aViewIsEdited() throws {
    let receipt = try edit(row: 1, born: .text("1900"), isFiltered: true).receipt
    #expect(receipt?.summary == "changed 1 row (born): Cy")
    #expect(String(decoding: try content, as: UTF8.self).hasSuffix("\"1820\"\nCy,\"1900\"\n"))
  }

  /// A dry run leaves no folder, and does not announce a commit.
  @Test func aDryRunLeavesNothing() throws {
    var calls = 0
    let dry = try edit(isDryRun: true) { calls += 1 }
    #expect(dry.receipt == nil && calls == 0)
    #expect(try run("/bin/ls", [folder.path]).text == "poets.csv\n")
    #expect(try content == EmbeddedReceiptTests.poets)
    _ = try edit { calls += 1 }
    #expect(calls == 1)
  }

  /// Errors have a kind, and their messages name no command.
  @Test func errorsHaveAKind() throws {
    let receipt = try #require(edit().receipt)
    try store.undo(receipt, host: host)
    let conflict = try error { try store.undo(receipt, host: host) }
    guard case .table = conflict.kind, conflict.code == .conflict else {
      Issue.record("\(conflict)")
      return
    }
    let absent = try error {
      _ = try store.receipt(id: #require(ReceiptID("20261121T150733.000000Z-1f3a9c")))
    }
    guard case .noReceipt(let id) = absent.kind, absent.subject == "receipt:\(id)" else {
      Issue.record("\(absent)")
      return
    }
    #expect("\(absent)" == "receipt:\(id): there is no such receipt")
    try folder.write("state/tabella/receipts/\(receipt.id).receipt", "{}\n")
    #expect(try store.log().errors.count == 1)
    try folder.write("other.csv", "a\n")
    let hidden = try error {
      _ = try store.newestEdit(of: Location(folder.path + "/other.csv"), host: host)
    }
    guard case .unknownNewest(receipt.id) = hidden.kind, !"\(hidden)".contains("tabella log") else {
      Issue.record("\(hidden)")
      return
    }
    // An edit whose receipt others could write is not started.
    let before = try content
    #expect(try run("/bin/chmod", ["777", folder.path + "/state/tabella"]).status == 0)
    let untrusted = try error { _ = try edit(born: .text("1817")) }
    guard case .folder = untrusted.kind, untrusted.code == .denied else {
      Issue.record("\(untrusted)")
      return
    }
    #expect(try content == before)
  }
}

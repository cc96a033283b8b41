import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// `undo` and `log` of an edit with a part that cannot be undone.
@Suite struct PartialUndoTests {
  let ledgers: Ledgers

  init() throws {
    ledgers = try Ledgers()
    try FileManager.default.createDirectory(
      atPath: ledgers.folder.path + "/d", withIntermediateDirectories: false)
    for name in ["a", "b", "z"] { try ledgers.folder.write("d/\(name)", name) }
  }

  private var names: [String] {
    get throws {
      try FileManager.default.contentsOfDirectory(atPath: ledgers.folder.path + "/d").sorted()
    }
  }

  /// The id of a row of the folder.
  private func row(_ name: String) throws -> String {
    let rows = try ledgers.shell("tabella show d --with-row --columns name --format jsonl")
    let found = try rows.text.split(separator: "\n").map { try jsonObject(String($0)) }.first {
      $0["name"] as? String == name
    }
    return try #require(found?.values.compactMap { $0 as? String }.first { $0.hasPrefix("id:") })
  }

  /// Renames b to c and permanently deletes a, in one batch.
  private func renameAndDelete(_ more: String = "") throws -> ProgramResult {
    let (a, b) = (try row("a"), try row("b"))
    try ledgers.folder.write(
      "edits.jsonl",
      #"{"op":"delete","row":"\#(a)"}"# + "\n"
        + #"{"op":"set","row":"\#(b)","cells":{"name":"c"}}"#)
    return try ledgers.shell("tabella apply d edits.jsonl -o permanent=true \(more)")
  }

  private func log() throws -> [[String: Any]] {
    try ledgers.tabella("log", "d", "--format", "jsonl").lines.map(jsonObject)
  }

  /// Undo reported "undo: changed 1 row (name), deleted 1 row" with status 0, although the deletion was permanent.
  @Test func aDeletionForGoodIsNotTakenBack() throws {
    let part = "deleted 1 row: a"
    let edit = try renameAndDelete()
    #expect(edit.status == 0, "\(edit.errors)")
    let id = try #require(ledgers.receiptIDs.last)
    #expect(
      edit.errors.contains(
        "(can be undone in part: tabella undo receipt:\(id); not: \(part))"), "\(edit.errors)")
    let entry = try #require(log().first)
    #expect(
      (entry["edits"] as? String)?.hasSuffix("(can be undone in part; not: \(part))") == true,
      "\(entry)")

    let dry = try ledgers.tabella("undo", "d", "--dry-run")
    #expect(dry.status == 1 && dry.text.contains("this cannot be undone: \(part)"))
    #expect(
      dry.errors.contains("would be done in part: this cannot be undone: \(part)"),
      "\(dry.errors)")
    #expect(try names == ["c", "z"])

    let undo = try ledgers.tabella("undo", "d")
    #expect(undo.status == 1, "\(undo.errors)")
    #expect(
      undo.errors.contains("done in part: this cannot be undone: \(part)"), "\(undo.errors)")
    #expect(try names == ["b", "z"])
    let logged = try log()
    #expect(
      (logged[0]["edits"] as? String)?.hasSuffix("(in part; not undone: \(part))") == true,
      "\(logged)")

    // A part that cannot be undone blocks older edits, as a whole edit does.
    let next = try ledgers.tabella("undo", "d")
    #expect(next.status == 4 && next.errors.contains("cannot be undone: \(part)"))
    #expect(try names == ["b", "z"])
  }

  @Test func programsAreTold() throws {
    let edit = try renameAndDelete("--json")
    let done = try jsonObject(edit.text)
    let outcomes = try #require(done["outcomes"] as? [[String: Any]])
    #expect(outcomes.map { $0["final"] as? Bool } == [true, nil])
    #expect(done["undoable"] as? Bool == true)
    for arguments in [["--dry-run"], []] {
      let undo = try ledgers.tabella(["undo", "d", "--json"] + arguments)
      let outcome = (try jsonObject(undo.text)["outcomes"] as? [[String: Any]])?.first
      #expect(undo.status == 1 && outcome?["code"] as? String == "partial", "\(undo.text)")
      #expect((outcome?["message"] as? String)?.contains("deleted 1 row: a") == true)
      #expect(undo.errors.contains(#""code":"partial""#), "\(undo.errors)")
    }
    #expect(try names == ["b", "z"])
  }

  /// The undo itself can be undone completely, and then the edit again in part.
  @Test func doneAgain() throws {
    #expect(try renameAndDelete().status == 0)
    #expect(try ledgers.tabella("undo", "d").status == 1)
    let undo = try #require(ledgers.receiptIDs.last)
    let redo = try ledgers.tabella("undo", "receipt:\(undo)")
    #expect(redo.status == 0 && redo.errors.contains("redo: "), "\(redo.errors)")
    #expect(try names == ["c", "z"])
    let again = try ledgers.tabella("undo", "d")
    #expect(again.status == 1 && again.errors.contains("deleted 1 row: a"), "\(again.errors)")
    #expect(try names == ["b", "z"])
    #expect(try ledgers.tabella("undo", "d").status == 4)
  }

  /// Later edits can be undone separately. After them, undo reaches the part again.
  @Test func laterEditsAreTakenBack() throws {
    #expect(try renameAndDelete().status == 0)
    #expect(try ledgers.tabella("undo", "d").status == 1)
    #expect(try ledgers.shell("tabella set d \(row("b")) name=e").status == 0)
    let later = try ledgers.tabella("undo", "d")
    #expect(later.status == 0, "\(later.errors)")
    #expect(try names == ["b", "z"])
    #expect(try ledgers.tabella("undo", "d").status == 4)
  }

  /// Views report the same.
  @Test(arguments: ["--sort name:desc --filter 'name != z'", "--section-by mode"])
  func inAView(_ shape: String) throws {
    let edit = try renameAndDelete(shape)
    #expect(edit.status == 0 && edit.errors.contains("can be undone in part"), "\(edit.errors)")
    #expect(try ledgers.tabella("undo", "d").status == 1)
    #expect(try names == ["b", "z"])
  }

  /// Undo of a batch that only deletes permanently is refused and changes nothing.
  @Test func aWholeDeletionForGoodIsRefused() throws {
    let edit = try ledgers.shell("tabella delete d \(row("a")) --yes -o permanent=true")
    #expect(edit.status == 0 && edit.errors.contains("(cannot be undone)"), "\(edit.errors)")
    #expect(try ledgers.tabella("undo", "d").status == 4)
    let entry = try #require(log().first)
    #expect(entry["undoable"] as? Bool == false)
    #expect((entry["edits"] as? String)?.contains("in part") == false)
  }

  /// The mark crosses the contract and the channel of a worker.
  @Test func ofAForeignProvider() throws {
    try ledgers.folder.write(
      "edits.jsonl",
      """
      {"op":"delete","row":"id:Bob"}
      {"op":"set","row":"id:Ada","cells":{"count":5}}
      """)
    let edit = try ledgers.shell("tabella apply a.ledger edits.jsonl -o final=true")
    #expect(edit.status == 0 && edit.errors.contains("can be undone in part"), "\(edit.errors)")
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(undo.status == 1 && undo.errors.contains("deleted 1 row: Bob"), "\(undo.errors)")
  }

  /// Undo of a signal together with a nice value was reported as complete.
  @Test func aSignalIsNotTakenBack() throws {
    let result = try ledgers.shell(
      #"""
      sleep 60 & one=$!; sleep 60 & two=$!
      id() {
        tabella show processes: --with-row --filter "pid = $1" --columns pid --format jsonl | grep -o 'id:[^"]*'
      }
      printf '{"op":"set","row":"%s","cells":{"nice":7}}\n{"op":"delete","row":"%s"}\n' "$(id $one)" "$(id $two)" |
        tabella apply processes: - -o signal=CONT >&2
      tabella undo processes: --dry-run >&2; echo $?
      kill $one $two
      """#)
    #expect(result.errors.contains("can be undone in part"), "\(result.errors)")
    // Users who may not lower nice values are refused.
    if geteuid() == 0 {
      #expect(result.text == "1\n" && result.errors.contains("would be done in part"))
    }
  }
}

import Foundation
import Testing

@testable import TabellaTestSupport

/// Commands with a provider that reports something false about an edit, or ends too early.
@Suite struct FalseReportTests {
  let ledgers: Ledgers

  init() throws { ledgers = try Ledgers() }

  /// A provider that made the edit in a dry run had a clean dry run, with status 0. If it crashed then, the message said
  /// that nothing was done.
  @Test func aDryRunThatEditsIsReported() throws {
    for road in ["--isolate", "--in-process"] {
      let acts = try ledgers.tabella(
        "set", "a.ledger", "0", "count=5", "--dry-run", road, "-o", "acts=true")
      #expect(acts.status == 3 && acts.errors.split(separator: "\n").count == 1, "\(acts.errors)")
      #expect(
        acts.errors.contains(
          "provider ledger broke the contract in editing.commit: a dry run changed the table: the version went from "
        ), "\(acts.errors)")
      try ledgers.reset()
    }
    let crash = ["set", "a.ledger", "0", "count=5", "--dry-run", "-o", "crashes=edit"]
    let clean = try ledgers.tabella(crash)
    #expect(clean.status == 3 && clean.errors.contains("nothing was done: the table is unchanged"))
    #expect(try ledgers.content().hasPrefix("Ada\t1\n"))
    let dirty = try ledgers.tabella(crash + ["-o", "acts=true"])
    #expect(dirty.status == 3 && dirty.errors.contains("ended by SIGSEGV in editing.commit"))
    #expect(dirty.errors.contains("; the edit was made, but it cannot be undone"))
    #expect(try ledgers.content().hasPrefix("Ada\t5\n"))
  }

  /// An undo that did nothing was reported as done, and the log called the edit undone.
  @Test func anUndoWithoutEffectIsReported() throws {
    #expect(try ledgers.tabella("set", "a.ledger", "0", "count=5", "-o", "keeps=true").status == 0)
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(undo.status == 3, "\(undo.errors)")
    #expect(
      undo.errors.contains(
        "provider ledger broke the contract in undo.undo: reported that the edit was undone, but the version is still "
      ), "\(undo.errors)")
    let entry = try jsonObject(ledgers.tabella("log", "a.ledger", "--format", "jsonl").text)
    #expect(entry["undone"] as? Bool == false, "\(entry)")
    let again = try ledgers.tabella("undo", "a.ledger", "-o", "keeps=false")
    #expect(again.status == 0, "\(again.errors)")
    #expect(try ledgers.content().hasPrefix("Ada\t1\n"))
  }

  /// An edit in a view changes the version of the view, although the version of the folder contains no modes. The undo
  /// was made, and was reported as one without effect.
  @Test func theUndoOfAnEditInAViewIsNoFalseReport() throws {
    let folder = ledgers.folder.path + "/v"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    let file = try ledgers.folder.write("v/a", "")
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: file)
    func mode() throws -> Int? {
      try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
    }
    let set = try ledgers.tabella(
      "set", "v", "--filter", "mode = rw-r--r--", "mode=600", "--yes")
    #expect(try set.status == 0 && mode() == 0o600, "\(set.errors)")
    for expected in [0o644, 0o600] {
      let last = try #require(ledgers.receiptIDs.last)
      let undo = try ledgers.tabella("undo", "receipt:\(last)")
      #expect(try undo.status == 0 && mode() == expected, "\(undo.errors)")
    }
    let log = try ledgers.tabella("log", "v", "--format", "csv", "--columns", "undone").lines
    #expect(log == ["undone", "false", "true", "false"], "\(log)")
  }

  /// The end of a worker that releases a source had no line. All rows are printed, so the command succeeds.
  @Test func anEndAtTheReleaseIsAWarning() throws {
    let result = try ledgers.tabella("count", "a.ledger", "-o", "crashes=release")
    #expect(result.status == 0 && result.text == "3\n")
    #expect(
      result.errors == "tabella: warning: provider ledger ended by SIGSEGV in release\n",
      "\(result.errors)")
  }

  /// A provider that breaks the contract during a commit may have done the edit.
  @Test func aLieIsNoProofThatNothingWasDone() throws {
    let result = try ledgers.tabella("delete", "a.ledger", "0", "--yes", "-o", "lies=true")
    #expect(result.status == 3 && result.errors.contains("the edit may have been made"))
    #expect(try ledgers.content() == "Bob\t2\nCy\t\\N\n")
    try ledgers.reset()
    let dry = try ledgers.tabella("delete", "a.ledger", "0", "--dry-run", "-o", "lies=true")
    #expect(dry.status == 3 && !dry.errors.contains("may have been made"))
  }
}

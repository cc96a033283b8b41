import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// `SECTION:` names the section itself, in every editing command and in `describe`.
@Suite struct SectionCommandTests {
  private let ledgers = try! Ledgers()
  private static let notes = "intro\n# One\na\nb\n# Two\nc\n# 3\nd\n"
  private static let options = ["-o", "sections=headings"]

  private func edited(_ arguments: [String]) throws -> (ProgramResult, String) {
    let path = try ledgers.folder.write("notes.md", SectionCommandTests.notes)
    let result = try ledgers.tabella(arguments + SectionCommandTests.options)
    let text = try String(contentsOfFile: path, encoding: .utf8)
    return (result, text.replacingOccurrences(of: "\n", with: " "))
  }

  private static let verbs: [([String], String, String)] = [
    (
      ["set", "notes.md", "Two:", "title=Zwei"], "intro # One a b # Zwei c # 3 d ",
      "renamed 1 section"
    ),
    (
      ["set", "notes.md", "title:3:", "title=x=y"], "intro # One a b # Two c # x=y d ",
      "renamed 1 section"
    ),
    (
      ["insert", "notes.md", "2:", "title=New"], "intro # One a b # New # Two c # 3 d ",
      "inserted 1 section"
    ),
    (
      ["insert", "notes.md", "4:", "title=New"], "intro # One a b # Two c # 3 d # New ",
      "inserted 1 section"
    ),
    (["move", "notes.md", "title:3:", "1:"], "intro # 3 d # One a b # Two c ", "moved 1 section"),
    (
      ["delete", "notes.md", "One:", "--yes"], "intro # Two c # 3 d ",
      "deleted 1 section: One (2 rows)"
    ),
    (["delete", "notes.md", "2:", "title:3:", "--yes"], "intro # One a b ", "deleted 2 sections"),
    (
      ["delete", "notes.md", "0:", "--section", "Two", "--yes"], "intro # One a b # 3 d ",
      "deleted 1 section: Two"
    ),
  ]

  @Test(arguments: verbs)
  func verbsEditSections(_ arguments: [String], _ after: String, _ says: String) throws {
    let (dry, untouched) = try edited(arguments + ["--dry-run"])
    #expect(dry.status == 0 && dry.text.contains("section"), "\(dry.text)\(dry.errors)")
    #expect(untouched == SectionCommandTests.notes.replacingOccurrences(of: "\n", with: " "))
    let (result, text) = try edited(arguments)
    #expect(result.status == 0 && text == after, "\(text) \(result.errors)")
    #expect(result.errors.contains(says), "\(result.errors)")
    #expect(try ledgers.tabella("undo", "notes.md").status == 0)
    #expect(
      try String(contentsOfFile: ledgers.folder.path + "/notes.md", encoding: .utf8)
        == SectionCommandTests.notes)
  }

  @Test func batchesEditSections() throws {
    try ledgers.folder.write(
      "edits.jsonl",
      """
      {"op":"set","row":"One:","cells":{"title":"Eins"}}
      {"op":"move","row":"title:3:","to":"1:"}
      {"op":"insert","at":"4:","cells":{"title":"Last"}}
      {"op":"set","row":"Two:0","cells":{"line":"cc"}}
      """)
    let (result, text) = try edited(["apply", "notes.md", "edits.jsonl"])
    #expect(result.status == 0, "\(result.errors)")
    #expect(text == "intro # 3 d # Eins a b # Two cc # Last ")
  }

  /// A row moves to a section whose number exists only after the batch.
  @Test func aRowMovesWhileSectionsAreInserted() throws {
    try ledgers.folder.write(
      "edits.jsonl",
      """
      {"op":"insert","at":"2:","cells":{"title":"New"}}
      {"op":"move","row":"Two:0","to":"4:0"}
      """)
    let (result, text) = try edited(["apply", "notes.md", "edits.jsonl"])
    #expect(result.status == 0, "\(result.errors)")
    #expect(text == "intro # One a b # New # Two # 3 c d ")
  }

  private static let refused: [([String], Int32, String)] = [
    (["set", "notes.md", "Two:", "line=x"], 2, "a section has only a title"),
    (["set", "notes.md", "Two:", "title=a", "title=b"], 2, "title occurs twice"),
    (["set", "notes.md", "Four:", "title=a"], 1, "no section with the title Four"),
    (["set", "notes.md", "9:", "title=a"], 1, "no section 9"),
    (["insert", "notes.md", "9:", "title=a"], 1, "the table has 4 sections"),
    (["move", "notes.md", "Two:", "0"], 2, "or a section (SECTION:) to the position of a section"),
    (
      ["move", "notes.md", "Two:0", "1:"], 2, "or a section (SECTION:) to the position of a section"
    ),
    (["delete", "notes.md", "Two:"], 2, "tabella delete notes.md Two: -o sections=headings --yes"),
    (
      ["delete", "notes.md", "0:", "--section", "One", "-n", "1", "--yes"], 4,
      "that these options hide"
    ),
    (
      ["delete", "notes.md", "One:", "--filter", "line = a", "--yes"], 4,
      "rows that the filter hides"
    ),
    (
      ["delete", "notes.md", "a:", "--section-by", "line", "--yes"], 4,
      "are not sections of the table"
    ),
    (["set", "a.ledger", "0:", "title=a", "-o", "sections=headings"], 2, "no option sections"),
  ]

  @Test(arguments: refused)
  func refusals(_ arguments: [String], _ status: Int32, _ says: String) throws {
    let (result, text) = try edited(arguments)
    #expect(
      result.status == status && result.errors.contains(says), "\(arguments): \(result.errors)")
    #expect(text == SectionCommandTests.notes.replacingOccurrences(of: "\n", with: " "))
    #expect(ledgers.receiptNames.isEmpty)
  }

  @Test func foldersAreSections() throws {
    let tree = ["-o", "recursive=true", "-o", "sections=folder"]
    func tabella(_ arguments: String...) throws -> ProgramResult {
      let result = try ledgers.tabella(arguments + tree)
      #expect(result.status == 0, "\(arguments): \(result.errors)")
      return result
    }
    try FileManager.default.createDirectory(
      atPath: ledgers.folder.path + "/d/in", withIntermediateDirectories: true)
    try ledgers.folder.write("d/f", "x")
    func exists(_ name: String) -> Bool {
      FileManager.default.fileExists(atPath: ledgers.folder.path + "/d/" + name)
    }
    _ = try tabella("insert", "d", "1:", "title=new")
    #expect(exists("new"))
    let name = try tabella("show", "d", "--filter", "name = f", "--with-row", "--format", "plain")
      .text.prefix { $0 != "\t" }
    let move = try tabella("move", "d", String(name), "new:end")
    #expect(exists("new/f") && !exists("f"))
    #expect(move.errors.contains("moved 1 row to new:0"), "\(move.errors)")
    _ = try tabella("set", "d", "new:", "title=old")
    #expect(exists("old/f") && !exists("new"))
    _ = try tabella("delete", "d", "old:", "--yes")
    #expect(!exists("old") && exists("in"))
  }
}

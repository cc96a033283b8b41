import Foundation
import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// A table has the index that it claims, commits rows in the style that it claims, and ends each display notice.
@Suite struct TrueCapabilitiesTests {
  let ledgers: Ledgers

  init() throws { ledgers = try Ledgers() }

  func capabilities(_ arguments: [String]) throws -> [String] {
    let result = try ledgers.tabella(arguments + ["--json"])
    return try #require(jsonObject(result.text)["capabilities"] as? [String], "\(result.errors)")
  }

  // The index

  /// `index` was claimed for a text by headings without any heading, and for groups without titles.
  @Test func anIndexIsClaimedWhereThereIsOne() throws {
    let folder = ledgers.folder
    try folder.write("plain.txt", "a\nb\n")
    try folder.write("heads.txt", "# A\na\n# B\nb\n")
    try folder.write("few.csv", "name,n\nAda,1\nBob,2\n")
    let names = (0..<40).map { "\("ABCDEFGHIJ".map(String.init)[$0 / 4])\($0)" }
    try folder.write("many.csv", "name,n\n" + names.map { "\($0),1\n" }.joined())
    try folder.write("empty.csv", "name,n\n")
    let headings = ["-o", "sections=headings"]
    let cases: [(arguments: [String], hasIndex: Bool)] = [
      (["plain.txt"] + headings, false), (["heads.txt"] + headings, true), (["heads.txt"], false),
      (["few.csv"], false), (["empty.csv", "--section-by", "name"], false),
      (["many.csv", "--section-by", "name"], true), (["many.csv", "--section-by", "n"], false),
      (["plain.txt", "--filter", "line = a"] + headings, false),
      (["heads.txt", "--sort", "line"] + headings, true),
      (["plain.txt", "heads.txt"] + headings, true), (["few.csv", "plain.txt"], true),
    ]
    for (arguments, hasIndex) in cases {
      #expect(
        try capabilities(["show"] + arguments).contains("index") == hasIndex, "show \(arguments)")
      guard arguments.first?.hasSuffix(".txt") != true || arguments.count < 4 else { continue }
      if arguments.dropFirst().first?.hasSuffix(".txt") == true { continue }
      #expect(
        try capabilities(["describe"] + arguments).contains("index") == hasIndex,
        "describe \(arguments)")
      // A claimed capability can be used.
      let result = try ledgers.tabella(["show"] + arguments + ["--at-index", "no such title"])
      #expect(result.errors.contains("has no index") == !hasIndex, "\(result.errors)")
    }
  }

  /// No JSON said that the titles of sections can be edited.
  @Test func sectionsAreEditableWhereTheyAre() throws {
    try ledgers.folder.write("heads.txt", "# A\na\n# B\nb\n")
    try ledgers.folder.write("a.csv", "name,n\nAda,1\n")
    let cases: [(arguments: [String], areEditable: Bool)] = [
      (["heads.txt", "-o", "sections=headings"], true), (["heads.txt"], false),
      ([".", "-o", "sections=folder"], true), (["."], false),
      (["a.csv"], false), (["a.csv", "--section-by", "name"], false),
    ]
    for (arguments, areEditable) in cases {
      for command in ["show", "describe"] {
        #expect(
          try capabilities([command] + arguments).contains("edit-sections") == areEditable,
          "\(command) \(arguments)")
      }
    }
  }

  /// Joined tables without index titles use their names as the index.
  @Test func namesAreTheIndexWhereThereIsNoOther() throws {
    func table(_ title: String?) -> InMemorySource {
      InMemorySource([Column("a")], sections: [(nil, nil, title, [["1"]])])
    }
    #expect(
      try joined([("x", Untitled()), ("y", table(nil))]).sectionIndexTitles() == ["x", "y"])
    #expect(try joined([("x", Untitled()), ("y", table("Y"))]).sectionIndexTitles() == ["Y"])
  }

  /// A source with an index that has no titles.
  final class Untitled: TableDataSource, TableSectionIndex {
    let columns = [Column("a")]
    var sectionIndex: (any TableSectionIndex)? { self }
    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
    func rows(_ request: RowRequest) -> Batch { .empty([.text]) }
    func sectionIndexTitles() -> [String] { [] }
    func indexPath(forIndexTitle title: String, at index: Int) throws(TableError)
      -> Tabella.IndexPath
    {
      throw TableError(.notFound, "there is no index title \(title)")
    }
  }

  // Styles

  @Test func rowsSayInWhichStyleTheyAreCommitted() throws {
    try ledgers.folder.write("a.ledger", Ledgers.three + "+\t\\N\n")
    func rows(_ options: [String]) throws -> [(Bool?, String?)] {
      let shown = try jsonObject(ledgers.tabella(["show", "a.ledger", "--json"] + options).text)
      let sections = try #require(shown["sections"] as? [[String: Any]])
      let rows = try #require(sections.first?["rows"] as? [[String: Any]])
      return rows.map { ($0["editable"] as? Bool, $0["editingStyle"] as? String) }
    }
    let adds = try rows(["-o", "adds=true"])
    #expect(adds.map(\.1) == ["delete", "delete", "delete", "insert"])
    #expect(adds.allSatisfy { $0.0 == true })
    let fixed = try rows(["-o", "read-only=true"])
    #expect(fixed.allSatisfy { $0.0 == false && $0.1 == "none" })
  }

  /// A commit of a row with the style insert inserts a row. It never deletes the row, whatever its name.
  @Test func aRowThatStandsForANewOne() throws {
    let before = Ledgers.three + "+\t\\N\n"
    try ledgers.folder.write("a.ledger", before)
    let adds = ["-o", "adds=true"]
    for rows in [["0:3"], ["id:+"], ["0:0", "0:3"]] {
      for view in [[], ["--sort", "name:desc"], ["--filter", "name != Ada"]] {
        if rows != ["id:+"], !view.isEmpty { continue }
        let result = try ledgers.tabella(["delete", "a.ledger"] + rows + ["--yes"] + adds + view)
        #expect(result.status == 4, "\(result.errors)")
        #expect(
          result.errors.contains(" is a placeholder for a new row and cannot be deleted; to insert")
        )
        #expect(result.errors.contains("tabella insert a.ledger "))
      }
    }
    #expect(try String(contentsOfFile: ledgers.file, encoding: .utf8) == before)
    #expect(ledgers.receiptIDs.isEmpty)
    let result = try ledgers.tabella(["insert", "a.ledger", "0:3", "name=Dan", "count=4"] + adds)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\nDan\t4\n+\t\\N\n")
  }

  /// The call `commit editingStyle forRowAt` of UIKit.
  @Test func committingARow() throws {
    let path = Tabella.IndexPath(section: 0, row: 1)
    let both: RowEditability = [.delete, .insert]
    #expect(RowEditability.editable.style == .none && both.style == .insert)
    #expect(EditBatch.Edit.commit(.none, forRowAt: path) == nil)
    #expect(EditBatch.Edit.commit(.delete, forRowAt: path) == .delete(.path(path)))
    let insertion = try #require(EditBatch.Edit.commit(.insert, forRowAt: path, cells: [0: "new"]))
    let table = InMemorySource([Column("a")], rows: [["1"], ["2"]])
    _ = try table.commit(EditBatch([insertion]))
    let rows = try table.rows(RowRequest(first: 0, count: 3, columns: [0]))
    #expect((0..<3).map { rows.row($0)[0] } == ["1", "new", "2"])
  }

  // Notices

  /// If the reader of the output left, SIGPIPE ended the program at once, and the display of rows never ended.
  @Test(arguments: ["", "--in-process"], ["csv", "json", "table"])
  func noticesAreEndedWhenTheReaderLeaves(_ isolation: String, _ format: String) throws {
    let rows = (0..<60_000).map { "n\($0)\t\($0)\n" }.joined()
    try ledgers.folder.write("a.ledger", "name:text count:integer\n" + rows)
    let line =
      "set -o pipefail; tabella show a.ledger -o display=true --format \(format) \(isolation) | head -n 1"
    let result = try run(
      "/bin/bash", ["-c", line],
      environment: ledgers.environment([
        "PATH": "\(buildFolder):\(searchPath)", "TABELLA_TRACE": ledgers.folder.path + "/trace",
      ]), directory: ledgers.folder.path)
    #expect(result.status == 141 && result.errors.isEmpty, "\(result.errors)")
    let trace = try String(decoding: ledgers.folder.read("trace"), as: UTF8.self)
    let calls = trace.split(separator: "\n").map { line in
      line.split(separator: " ").dropFirst().prefix(4).joined(separator: " ")
    }
    let begun = calls.filter { $0.contains("display.will_display") }
    let ended = calls.filter { $0.contains("display.did_end_displaying") }
    #expect(!begun.isEmpty, "\(trace)")
    #expect(
      begun.map { $0.replacing("will_display", with: "") }
        == ended.map { $0.replacing("did_end_displaying", with: "") }, "\(trace)")
    // Before the table is released and the worker is closed.
    #expect(calls.last?.contains("display") == false && trace.contains(" released"), "\(trace)")
  }
}

import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// A row name that one command prints means the same row in every other command, or is refused.
@Suite struct RowNameTests {
  private let ledgers = try! Ledgers()

  /// The numbers of sorted rows are asked for in the order of the file.
  @Test func sortedRowsHaveTheirLines() throws {
    try ledgers.folder.write("lines.csv", "v\n3\n1\n2\n")
    let shown = try ledgers.tabella(
      "show", "lines.csv", "--with-number", "--sort", "v", "--format", "plain")
    #expect(shown.text == "3\t1\n4\t2\n2\t3\n", "\(shown.text)")
  }

  /// The number of names to print and use.
  private static let cases =
    ProcessInfo.processInfo.environment["TABELLA_NAMES"].flatMap { Int($0) } ?? 60

  /// A location with options that choose and order its rows.
  private struct Table {
    let location: String
    let shapes: [[String]]
  }

  private func tables() throws -> [Table] {
    let people = (0..<40).map {
      "p\($0 % 17),\(["Rome", "Bonn", "", "Oslo"][$0 % 4]),\($0 * 7 % 13)"
    }
    try ledgers.folder.write(
      "people.csv", (["name,city,age"] + people).joined(separator: "\n") + "\n")
    let notes = (0..<30).map { $0 % 6 == 0 ? "# H\($0 / 6)" : "line \($0 % 7)" }
    try ledgers.folder.write("notes.md", notes.joined(separator: "\n") + "\n")
    for number in 0..<12 {
      let name = "tree/\(number % 3 == 0 ? "in/" : "")\(number % 4 == 0 ? "." : "")f\(number)"
      let path = ledgers.folder.path + "/" + name
      try FileManager.default.createDirectory(
        atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
      try Data(repeating: 65, count: number * 10).write(to: URL(fileURLWithPath: path))
    }
    let ranges = [
      [], ["-n", "5"], ["--rows", "3..9"], ["--rows", "2..", "-n", "3"], ["--section", "0"],
    ]
    func shapes(_ views: [[String]], _ options: [[String]]) -> [[String]] {
      views.flatMap { view in
        options.flatMap { option in ranges.map { option + view + $0 } }
      }
    }
    return [
      Table(
        location: "people.csv",
        shapes: shapes(
          [
            [], ["--filter", "city = Rome"], ["--filter", "city != Bonn", "--sort", "name"],
            ["--sort", "name:desc"], ["--section-by", "city"], ["--search", "p1"],
            ["--section-by", "city", "--sort", "name"],
            ["--section-by", "city", "--section", "Bonn"],
          ], [[], ["-o", "types=infer"]])),
      Table(
        location: "notes.md",
        shapes: shapes(
          [
            [], ["--filter", "line ~ [23]"], ["--sort", "line"], ["--section-by", "line"],
            ["--search", "4"],
          ], [[], ["-o", "sections=headings"], ["-o", "sections=paragraphs"]])
          + [
            ["-o", "sections=headings", "--section", "H2"],
            ["-o", "sections=headings", "--at-index", "H3"],
          ]
      ),
      Table(
        location: "tree",
        shapes: shapes(
          [
            [], ["--filter", "size > 20"], ["--sort", "size:desc"], ["--section-by", "kind"],
            ["--search", "f1"],
          ],
          [
            [], ["-o", "hidden=true"], ["-o", "recursive=true"],
            ["-o", "recursive=true", "-o", "sections=folder"],
          ])),
      Table(
        location: "processes:",
        shapes: shapes(
          [
            [], ["--filter", "user = root"], ["--sort", "memory:desc"], ["--section-by", "state"],
            ["--filter", "pid < 50", "--sort", "command"],
          ], [[]])),
    ]
  }

  /// `show t.csv --filter 'name = Cy' --with-row` printed `0:0`, and `delete t.csv 0:0` deleted Ada.
  @Test func namesMeanTheirRowsUnderAllOptions() throws {
    let tables = try tables()
    var random = SeededGenerator(seed: 24)
    var (meant, refused) = (0, 0)
    for _ in 0..<RowNameTests.cases {
      let table = tables.randomElement(using: &random)!
      let (a, b) = (
        table.shapes.randomElement(using: &random)!, table.shapes.randomElement(using: &random)!
      )
      let printed = try rows(of: table.location, a)
      guard let (name, cells) = printed.randomElement(using: &random) else { continue }
      let edit = try ledgers.tabella(
        ["delete", table.location, name, "--dry-run", "--json"] + b)
      let context: Comment = "\(table.location) \(a) \(b) \(name): \(edit.errors)"
      guard !edit.text.isEmpty else {
        refused += 1
        let shown = try rows(of: table.location, b)
        // A process may end or move in the meantime, and some must not be signalled.
        let reasons = [
          "no row with the id", "not among the rows", "\"constraint\"", "\"denied\"",
        ]
        let isAboutThatRow =
          table.location == "processes:" && reasons.contains { edit.errors.contains($0) }
        #expect(shown[name] == nil || isAboutThatRow, context)
        continue
      }
      meant += 1
      let outcomes = try #require(jsonObject(edit.text)["outcomes"] as? [[String: Any]])
      #expect(outcomes.count == 1 && outcomes[0]["row"] as? String == name, context)
      let before = try #require(outcomes[0]["before"] as? [String: Any], context)
      // Loads and sizes change by themselves.
      for key in ["name", "city", "line", "pid", "started"] where cells[key] != nil {
        // With folder sections, the name of a file is only its last component.
        let (cell, was) = ("\(cells[key]!)", "\(before[key] ?? "nothing")")
        let same =
          (cell as NSString).lastPathComponent == (was as NSString).lastPathComponent
        #expect(same, "\(context) \(key): \(cells) \(before)")
      }
    }
    #expect(meant > RowNameTests.cases / 8 && refused > 0, "\(meant) meant, \(refused) refused")
  }

  /// The rows that the options choose, by their names.
  private func rows(of location: String, _ shape: [String]) throws -> [String: [String: Any]] {
    let result = try ledgers.tabella(
      ["show", location, "--with-row", "--format", "jsonl"] + shape)
    #expect(result.status == 0, "\(location) \(shape): \(result.errors)")
    var rows: [String: [String: Any]] = [:]
    for line in result.lines {
      var cells = try jsonObject(String(line))
      let name = try #require(cells.removeValue(forKey: "row") as? String)
      #expect(rows.updateValue(cells, forKey: name) == nil, "\(name) is printed twice")
    }
    return rows
  }

  // All rows that the options choose

  @Test func editsTakeAllChosenRows() throws {
    func after(_ arguments: String...) throws -> String {
      try ledgers.folder.write("a.ledger", Ledgers.three)
      let result = try ledgers.tabella(arguments)
      #expect(result.status == 0, "\(arguments): \(result.errors)")
      return try ledgers.content().replacingOccurrences(of: "\n", with: " ")
    }
    #expect(try after("delete", "a.ledger", "--filter", "count < 3", "--yes") == "Cy\t\\N ")
    #expect(try after("delete", "a.ledger", "--rows", "1..", "--yes") == "Ada\t1 ")
    #expect(
      try after("delete", "a.ledger", "-n", "1", "--sort", "name:desc", "--yes") == "Ada\t1 Bob\t2 "
    )
    #expect(
      try after("set", "a.ledger", "--search", "b", "count=7", "--yes") == "Ada\t1 Bob\t7 Cy\t\\N ")
    #expect(try after("set", "a.ledger", "1..2", "count=7") == "Ada\t1 Bob\t7 Cy\t7 ")
    #expect(try after("set", "a.ledger", "0", "id:Cy", "count=7") == "Ada\t7 Bob\t2 Cy\t7 ")
    #expect(try after("delete", "a.ledger", "0:0..1", "--yes") == "Cy\t\\N ")
    // A row number counts within the rows that the same options show.
    #expect(try after("delete", "a.ledger", "0", "--rows", "1..2", "--yes") == "Ada\t1 Cy\t\\N ")
    #expect(
      try after("delete", "a.ledger", "--filter", "name = Zed", "--yes") == "Ada\t1 Bob\t2 Cy\t\\N "
    )
    let far = try ledgers.tabella("delete", "a.ledger", "2", "--rows", "1..2", "--yes")
    #expect(far.status == 1 && far.errors.contains("there is no row 2"), "\(far.errors)")
    let hidden = try ledgers.tabella("delete", "a.ledger", "id:Ada", "--rows", "1..2", "--yes")
    #expect(
      hidden.status == 1 && hidden.errors.contains("not among the rows that these options show"))
    let beyond = try ledgers.tabella("set", "a.ledger", "1..3", "count=1")
    #expect(beyond.status == 1 && beyond.errors.contains("there is no row 3"))
  }

  /// `set` counts the chosen rows and shows some of them in front of the question.
  @Test func settingAllChosenRowsIsConfirmed() throws {
    let asked = try ledgers.onTerminal(
      ["set", "a.ledger", "--filter", "count < 3", "count=7"], answers: [("[y/N] ", "n")])
    #expect(asked.text.contains("Change 2 rows of a.ledger? [y/N] "), "\(asked.text)")
    #expect(asked.text.contains("set row id:Ada: count 1 -> 7\n"))
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    let done = try ledgers.onTerminal(
      ["set", "a.ledger", "--filter", "count < 3", "count=7"], answers: [("[y/N] ", "y")])
    #expect(done.status == 0)
    #expect(try ledgers.content() == "Ada\t7\nBob\t7\nCy\t\\N\n")
  }

  /// The refusal suggested no working command.
  @Test func refusalsNameTheCommandThatWorks() throws {
    let volatile = ["-o", "volatile=true"]
    let position = try ledgers.tabella(["set", "a.ledger", "1", "count=7"] + volatile)
    #expect(position.status == 4)
    #expect(
      position.errors.contains("tabella set a.ledger id:Bob count=7 -o volatile=true"),
      "\(position.errors)")
    #expect(
      try ledgers.tabella(
        ["set", "a.ledger", "--filter", "name = Bob", "count=7", "--yes"] + volatile
      )
      .status == 0)
    #expect(try ledgers.content() == "Ada\t1\nBob\t7\nCy\t\\N\n")
  }

  /// With a section column in front, the row name was an index path and had the wrong heading.
  @Test func namesStandBesideSections() throws {
    let result = try ledgers.tabella(
      "show", "a.ledger", "--filter", "name = Bob", "--section-by", "name", "--with-section",
      "--with-row", "--format", "jsonl")
    let row = try jsonObject(result.text)
    #expect(row["section"] as? String == "Bob" && row["row"] as? String == "id:Bob", "\(row)")
  }

  /// The word meant rows of the section `k=z`, but `k` was set to `z:0` in other rows.
  @Test func aWordThatIsARowAndACellIsRefused() throws {
    try ledgers.folder.write("eq.csv", "n,k\n0,k=z\n1,b\n")
    let both = try ledgers.tabella(
      "set", "eq.csv", "k=z:0", "n=9", "--section-by", "k", "--filter", "n < 5", "--yes")
    #expect(both.status == 2 && both.errors.contains("write title:k=z:0"), "\(both.errors)")
    let row = try ledgers.tabella("set", "eq.csv", "title:k=z:0", "n=9", "--section-by", "k")
    #expect(row.status == 0, "\(row.errors)")
    #expect(try ledgers.content(ledgers.folder.path + "/eq.csv") == "9,k=z\n1,b\n")
  }

  /// `--vertical` and the report used index paths of the whole table, and the command those of the shown rows.
  @Test func positionsCountInWhatIsShown() throws {
    let shown = try ledgers.tabella("show", "a.ledger", "--rows", "1..2", "--vertical", "always")
    #expect(shown.text.contains(" 0:0 ") && shown.text.contains(" 0:1 "), "\(shown.text)")
    let insert = try ledgers.tabella("insert", "a.ledger", "1", "name=New", "--rows", "1..2")
    #expect(insert.errors.contains("inserted 1 row at 0:1: New"), "\(insert.errors)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nNew\t\\N\nCy\t\\N\n")
  }

  /// Titles and columns were compared like Swift strings, which treat two encodings of an accent as equal.
  @Test func titlesAndColumnsAreBytes() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    try ledgers.folder.write("s.ledger", "name:text\n# \(decomposed)\nA\n# Two\nB\n")
    let delete = try ledgers.tabella("delete", "s.ledger", "\(composed):0", "--yes")
    #expect(
      delete.status == 1 && delete.errors.contains("no section with the title"), "\(delete.errors)")
    let file = try ledgers.folder.write("c.csv", "\(composed),\(decomposed)\n1,2\n")
    let set = try ledgers.tabella("set", file, "0", "\(decomposed)=9")
    #expect(set.status == 2, "\(set.errors)")
    #expect(try ledgers.content(file) == "1,2\n")
  }

  /// `--rows` and `-n` chose other files a moment later, and there was no question.
  @Test func positionsDoNotChooseWhereTheOrderChanges() throws {
    for options in [["--rows", "0..0"], ["-n", "1"], ["--section", "0"]] {
      let result = try ledgers.tabella(
        ["delete", "a.ledger", "--yes", "-o", "volatile=true"] + options)
      #expect(result.status == 4, "\(options): \(result.errors)")
      #expect(result.errors.contains("its order changes by itself"), "\(result.errors)")
    }
    let one = try ledgers.tabella("delete", "a.ledger", "--yes", "-o", "volatile=true", "-n", "1")
    #expect(one.errors.contains("tabella delete a.ledger id:Ada --yes -o volatile=true;"))
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  /// With another comment option or encoding, the id belonged to another one of several equal rows.
  @Test func otherReadingsOfAFileHaveOtherIDs() throws {
    try ledgers.folder.write("k.csv", "#xx\nh,v\n1,a\n1,a\n1,a\n")
    try ledgers.folder.write(
      "l.csv", Array("h,v\n".utf8) + [0xE9, 0xE9, 0xE9, 0xE9] + Array(",x\n1,a\n1,a\n".utf8))
    for (file, option) in [("k.csv", "comment=#"), ("l.csv", "encoding=latin1")] {
      let before = Set(try rows(of: file, ["-o", option]).keys)
      #expect(before.isDisjoint(with: try rows(of: file, []).keys), "\(file)")
    }
  }

  /// A row name that is cut names no row.
  @Test func idsAreNotCutOnATerminal() throws {
    try ledgers.folder.write("people.csv", "name,city\nAda,Rome\n")
    for width in ["24", "30", "200"] {
      let shown = try ledgers.tabella(
        "show", "people.csv", "--with-row", "--width", width, "--vertical", "never")
      #expect(shown.text.contains("id:a.ced6d033ba0bc046"), "\(shown.text)")
    }
  }

  // Sections

  private static let sections =
    "name:text city:text\n# One\nA\tx\nB\ty\n# Two\nC\tx\n# 3\nD\tz\n# One\n"

  @Test func sectionsAreNamedByTheirTitles() throws {
    func after(_ arguments: String...) throws -> String {
      try ledgers.folder.write("s.ledger", RowNameTests.sections)
      let result = try ledgers.tabella(arguments)
      #expect(result.status == 0, "\(arguments): \(result.errors)")
      return try ledgers.content(ledgers.folder.path + "/s.ledger")
        .replacingOccurrences(of: "\n", with: " ")
    }
    #expect(
      try after("delete", "s.ledger", "Two:0", "--yes") == "# One A\tx B\ty # Two # 3 D\tz # One ")
    #expect(
      try after("delete", "s.ledger", "title:3:0", "--yes")
        == "# One A\tx B\ty # Two C\tx # 3 # One ")
    #expect(
      try after("move", "s.ledger", "0:0", "Two:end")
        == "# One B\ty # Two C\tx A\tx # 3 D\tz # One ")
    for word in ["One:0", "title:One:0"] {
      let twice = try ledgers.tabella("delete", "s.ledger", word, "--yes")
      #expect(twice.status == 2, "\(twice.errors)")
      #expect(twice.errors.contains("2 sections have the title One; name one by its number: 0, 3"))
    }
    let twice = try ledgers.tabella("show", "s.ledger", "--section", "One")
    #expect(twice.status == 2 && twice.errors.contains("by its number: 0, 3"))
    let none = try ledgers.tabella("set", "s.ledger", "Four:0", "name=x")
    #expect(
      none.status == 1
        && none.errors.contains("no section with the title Four; the titles are One, Two, 3"))
    let section = try jsonObject(ledgers.tabella("describe", "s.ledger", "Two:", "--json").text)
    #expect(section["title"] as? String == "Two" && section["section"] as? Int == 1)
  }

  /// The report did not contain the cells that a move changed.
  @Test func effectsAreReported() throws {
    try ledgers.folder.write("s.ledger", "name:text city:text\nA\tRome\nB\tBonn\nC\tBonn\n")
    let move = try ledgers.tabella(
      "move", "s.ledger", "id:A", "Bonn:end", "--section-by", "city", "-o", "volatile=true")
    #expect(
      move.status == 0 && move.errors.contains("moved 1 row to Bonn:0, not to Bonn:2 as requested")
        || move.errors.contains("moved 1 row to Bonn:0 (city: Rome → Bonn): A"), "\(move.errors)")
    #expect(move.errors.contains("(city: Rome → Bonn): A"), "\(move.errors)")
    let insert = try ledgers.tabella("insert", "s.ledger", "0", "name=Z", "--sort", "name")
    #expect(
      insert.errors.contains("inserted 1 row at 0:3, not at 0:0 as requested: Z"),
      "\(insert.errors)")
  }

  // Columns

  /// `a 2=X` changed the second `a`, although another column has the name `a 2`.
  @Test func aColumnKeepsItsOwnName() throws {
    let file = try ledgers.folder.write("c.csv", "a,a,a 2\n1,2,3\n")
    #expect(try ledgers.tabella("set", file, "0", "a 2=X").status == 0)
    #expect(try ledgers.content(file).hasSuffix("1,2,X\n"))
    #expect(try ledgers.tabella("set", file, "0", "a 3=Y").status == 0)
    #expect(try ledgers.content(file).hasSuffix("1,Y,X\n"))
  }

  /// Reports called two columns with the same name by this name, so the dry run did not tell which one changes.
  @Test func reportsTellColumnsOfOneNameApart() throws {
    let file = try ledgers.folder.write("d.csv", "id,a,a\n1,x,y\n")
    let dry = try ledgers.tabella("set", file, "0", "a 2=K", "--dry-run")
    #expect("\(dry.text)\(dry.errors)".contains("a 2 \"y\" -> \"K\""), "\(dry.text)\(dry.errors)")
    #expect(try ledgers.tabella("set", file, "0", "a 2=K").errors.contains("changed 1 row (a 2)"))
    let sum = try ledgers.tabella("summarize", file, "--compute", "sum a 2")
    #expect(sum.errors.contains("no sum of a 2: \"K\" is not a number"), "\(sum.errors)")
  }
}

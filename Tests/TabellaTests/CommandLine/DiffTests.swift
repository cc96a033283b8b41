import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// `diff` as a user runs it, and `apply` with its lines.
@Suite struct DiffTests {
  let ledgers: Ledgers

  init() throws { ledgers = try Ledgers() }

  private func write(_ old: String, _ new: String, _ ending: String = "csv") throws {
    try ledgers.folder.write("a.\(ending)", old)
    try ledgers.folder.write("b.\(ending)", new)
  }

  private func diff(_ words: String..., ending: String = "csv") throws -> ProgramResult {
    try ledgers.tabella(["diff", "a.\(ending)", "b.\(ending)"] + words)
  }

  private static let old = "id,name,city\n1,Ada,Rome\n2,Bob,Bonn\n3,Cy,Riga\n4,Dee,Oslo\n"
  private static let new = "id,name,city\n4,Dee,Oslo\n1,Ada,Rome\n3,Cy,Rom\u{1B}[31m\n5,Eve,\n"

  @Test func textForPeople() throws {
    try write(Self.old, Self.new)
    let text = """
      > 0:3 → 0:0  id: 4, name: Dee, city: Oslo
      - 0:1  id: 2, name: Bob, city: Bonn
      ~ 0:2  id: 3, city: Riga → Rom\\x1b[31m
      + 0:3  id: 5, name: Eve, city: ""
      deleted 1 row, inserted 1 row, changed 1 row, moved 1 row

      """
    let result = try diff("--color", "never")
    #expect(result.status == 0 && result.errors.isEmpty)
    #expect(result.text == text)
    #expect(try diff("--key", "id").text == text)
    let ascii = try ledgers.tabella(
      ["diff", "a.csv", "b.csv", "--key", "id"], environment: ["LC_ALL": "C"])
    #expect(ascii.text.contains("> 0:3 -> 0:0  id: 4"))
    let coloured = try diff("--color", "always")
    #expect(coloured.text.contains("\u{1B}[31m- 0:1  id: 2, name: Bob, city: Bonn\u{1B}[0m\n"))
    #expect(coloured.text.contains("\u{1B}[32m+ 0:3"))
    #expect(!coloured.text.contains("Rom\u{1B}"))
    let narrow = try diff("--width", "20")
    #expect(narrow.text.contains("\n- 0:1  id: 2, name:…\n"))
    #expect(narrow.text.contains("~ 0:2  id: 3, city: Riga → Rom"))
  }

  /// The first cell names a changed row, unless it is among the changes.
  @Test func namesOfCells() throws {
    try write("id,city,old\n1,Rome,x\n2,Bonn,y\n", "id,city,new\n9,Rome,u\n2,Riga,v\n3,Oslo,w\n")
    #expect(
      try diff("--key", "city").text == """
        - column old
        + column new
        ~ 0:0  city: Rome, id: 1 → 9
        - 0:1  id: 2, city: Bonn, old: y
        + 0:1  id: 2, city: Riga, new: v
        + 0:2  id: 3, city: Oslo, new: w
        deleted 1 column, inserted 1 column, deleted 1 row, inserted 2 rows, changed 1 row

        """)
    try write("id,city,a,b\n1,Rome,x,y\n", "id,city,a,b\n9,Rome,x,y\n")
    #expect(try diff().text == "~ 0:0  id: 1 → 9\nchanged 1 row\n")
    try write("id\n1\n", "id\n1\n2\n")
    #expect(try diff().text == "+ 0:1  2\ninserted 1 row\n")
  }

  @Test func theStatusCanSayWhetherThereAreDifferences() throws {
    try write(Self.old, Self.new)
    #expect(try diff("--exit-code").status == 1)
    #expect(try diff().status == 0)
    try write(Self.old, Self.old)
    let same = try diff("--exit-code")
    #expect(same.status == 0 && same.text == "no differences\n")
    // The order of columns is not compared, but the columns are.
    try write("a,b\n1,2\n", "b,a\n2,1\n")
    #expect(try diff("--exit-code").status == 0)
    try write("a,b\n1,2\n", "b,a,c\n2,1,\n")
    let more = try diff("--exit-code")
    #expect(more.status == 1 && more.text == "+ column c\ninserted 1 column\n")
    #expect(try diff("--exit-code", "--columns", "a,b").status == 0)
  }

  @Test func json() throws {
    try write(Self.old, Self.new)
    let document = try jsonObject(diff("--key", "id", "--json").text)
    let changes = try #require(document["changes"] as? [[String: Any]])
    #expect(changes.map { $0["op"] as? String } == ["move", "delete", "set", "insert"])
    #expect(changes.map { $0["row"] as? String } == ["0:3", "0:1", "0:2", nil])
    #expect(changes[0]["to"] as? String == "0:0")
    #expect(changes[2]["at"] as? String == "0:2")
    #expect((changes[1]["id"] as? String)?.isEmpty == false)
    #expect(
      changes[1]["before"] as? [String: String] == ["id": "2", "name": "Bob", "city": "Bonn"])
    #expect(changes[2]["before"] as? [String: String] == ["city": "Riga"])
    #expect(changes[2]["cells"] as? [String: String] == ["city": "Rom\u{1B}[31m"])
    #expect(document["equal"] as? Bool == false)
    let counts = document["counts"] as? [String: [String: Int]]
    #expect(counts?["rows"] == ["deleted": 1, "inserted": 1, "changed": 1, "moved": 1])
    #expect((document["from"] as? [String: Any])?["location"] as? String == "a.csv")
    let version = try jsonObject(ledgers.tabella("show", "a.csv", "--json").text)["version"]
    #expect((document["from"] as? [String: Any])?["version"] as? String == version as? String)
    let columns = document["columns"] as? [[String: Any]]
    #expect(columns?.first?["key"] as? Bool == true)
    #expect(columns?.map { $0["from"] as? String } == ["text", "text", "text"])
  }

  private func apply(_ words: String = "", key: String = "") throws -> ProgramResult {
    try ledgers.shell(
      "tabella diff a.csv b.csv --format apply \(key) \(words) | tabella apply a.csv - \(words)")
  }

  @Test func linesForApply() throws {
    try write(Self.old, Self.new)
    let lines = try diff("--key", "id", "--format", "apply").text.split(separator: "\n")
    #expect(lines[0] == #"{"op":"move","row":"0:3","to":"0:0"}"#)
    #expect(lines[1] == #"{"op":"delete","row":"0:1"}"#)
    #expect(lines[3] == #"{"op":"insert","at":"0:3","cells":{"id":"5","name":"Eve","city":""}}"#)
    let result = try apply(key: "--key id")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.folder.read("a.csv") == Array(Self.new.utf8))
    let again = try apply()
    #expect(again.status == 0 && again.errors.contains("nothing to do"))
  }

  /// Bytes that are not UTF-8, and missing cells at the end of a row.
  @Test func everyCellOfCSVArrives() throws {
    try ledgers.folder.write("a.csv", "a,b,c\nx\ny,1,2\n,,\nz,\"q\"\"\n\",t\n")
    let new = Array("a,b,c\nx,".utf8) + [0xFF, 0xFE] + Array(",5\ny\nw\n\"l\n,\",,\nz,,\n\n".utf8)
    try ledgers.folder.write("b.csv", new)
    let result = try apply()
    #expect(result.status == 0, "\(result.errors)")
    #expect(try diff("--exit-code").status == 0)
  }

  @Test func sectionsOfText() throws {
    try write(
      "# A\none\ntwo\n# B\nthree\n# C\nfour\n", "# C\nfour\n# A\ntwo\none\nfive\n# D\nthree\n", "md"
    )
    let text = try diff("-o", "sections=headings", ending: "md").text
    #expect(
      text == """
        > 2: → 0:  C
        + 1:2  five
        ~ 1:  B → D
        changed 1 section, moved 1 section, inserted 1 row, moved 1 row

        """
        || text.contains("> 2: → 0:  C"))
    let line = "-o sections=headings"
    let result = try ledgers.shell(
      "tabella diff a.md b.md \(line) --format apply | tabella apply a.md - \(line)")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.folder.read("a.md") == ledgers.folder.read("b.md"))
    // A new section is filled by a second batch.
    try write("# A\none\n", "# A\none\n# B\ntwo\nthree\n", "md")
    let both = "tabella diff a.md b.md \(line) --format apply | tabella apply a.md - \(line)"
    let first = try ledgers.shell(both)
    #expect(first.status == 0 && first.errors.contains("note: 2 rows of new sections"))
    #expect(try ledgers.shell(both).status == 0)
    #expect(try ledgers.folder.read("a.md") == ledgers.folder.read("b.md"))
    // Without titles, only lines can be edited.
    try write("a\n\nb\n", "a\n\nb\n\nc\n", "txt")
    let refused = try diff("-o", "sections=paragraphs", "--format", "apply", ending: "txt")
    #expect(refused.status == 4 && refused.output.isEmpty)
    #expect(refused.errors.contains("sections of this table cannot be edited"))
  }

  /// The lines inserted a section without a title, which `apply` refused.
  @Test func sectionsWithoutTitlesAreRefused() throws {
    try write("# A\nq\n", "q\n", "md")
    let refused = try diff("-o", "sections=headings", "--format", "apply", ending: "md")
    #expect(refused.status == 4 && refused.output.isEmpty)
    #expect(refused.errors.contains("a section of a text has a title"), "\(refused.errors)")
  }

  /// The lines had values instead of the texts of the second file: digits and the form of dates were lost, and `3.0`
  /// became `3`, an integer.
  @Test func typedCellsKeepTheirText() throws {
    let texts = [
      "id,x,n,d", "1,3.0,7,2024-02-29", "2,0.12345678901234567890123,-1,2024-02-29T01:00:00+02:00",
      "3,1e5,0,2026-01-01", "",
    ]
    try write(
      "id,x,n,d\n2,1.5,3,2024-01-01\n1,2.5,5,2024-01-01\n", texts.joined(separator: "\n"))
    let result = try apply("-o types=infer", key: "--key id")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.folder.read("a.csv") == Array(texts.joined(separator: "\n").utf8))
    // With a decimal comma, JSON has a point.
    try write("id;x\n1;1,5\n", "id;x\n1;3,0\n")
    let comma = try apply("-o types=infer -o decimal=,")
    #expect(comma.status == 0, "\(comma.errors)")
    #expect(try ledgers.folder.read("a.csv") == Array("id;x\n1;3,0\n".utf8))
  }

  /// Rows of folders have ids, and their order is not compared.
  @Test func folders() throws {
    for (name, mode) in [("old/a", "600"), ("old/b", "644"), ("new/b", "600"), ("new/c", "640")] {
      let made = try ledgers.shell("mkdir -p old new && touch \(name) && chmod \(mode) \(name)")
      #expect(made.status == 0)
    }
    let words = "--key name --columns name,mode,kind"
    let text = try ledgers.shell("tabella diff old new \(words)").text
    #expect(text.hasPrefix("- 0:0  name: a, mode: rw-------, kind: file\n"))
    #expect(text.contains("~ 0:1  name: b, mode: rw-r--r-- → rw-------\n"))
    let lines = try ledgers.shell("tabella diff old new \(words) --format apply --sort size").text
    #expect(lines.contains(#"{"op":"delete","row":"id:"#) && lines.contains(#""at":"end""#))
    let result = try ledgers.shell(
      "tabella diff old new \(words) --format apply | tabella apply old - -o permanent=true")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.shell("tabella diff old new \(words) --exit-code").status == 0)
    // A size cannot be set.
    _ = try ledgers.shell("echo > new/b")
    let size = try ledgers.shell(
      "tabella diff old new --key name --columns name,size --format apply")
    #expect(size.status == 4 && size.output.isEmpty)
    #expect(size.errors.contains("differs in the column size, which cannot be set"))
  }

  @Test func columnsOfOneTableCannotBeApplied() throws {
    try write("a,b\n1,2\n", "a,b,c\n1,2,3\n")
    let result = try diff("--format", "apply")
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.contains("only b.csv has the column c"))
    #expect(result.errors.contains("--columns a,b"))
  }

  /// Two types of a column are compared as text, and `apply` gets the type of the first table.
  @Test func typesCanDiffer() throws {
    try ledgers.folder.write("a.ledger", "name:text count:integer\nAda\t1\nBob\t2\nCy\t\\N\n")
    try ledgers.folder.write("b.csv", "name,count\nAda,1\nBob,3\nCy,\n")
    let words = ["diff", "a.ledger", "b.csv"]
    let text = try ledgers.tabella(words).text
    #expect(
      text == """
        ~ column count: integer → text
        ~ 0:1  name: Bob, count: 2 → 3
        changed 1 column, changed 1 row

        """)
    let line = try ledgers.tabella(words + ["--format", "apply"]).text
    #expect(line == "{\"op\":\"set\",\"row\":\"0:1\",\"cells\":{\"count\":3}}\n")
    // A column without values is text, and its empty cells were not missing ones.
    try ledgers.folder.write("b.csv", "name,count\nAda,\nBob,\nCy,\n")
    let empty = try ledgers.tabella(
      words + ["--format", "apply", "-o", "types=infer", "--key", "name"])
    #expect(
      empty.lines
        == ["Ada", "Bob"].enumerated().map {
          "{\"op\":\"set\",\"row\":\"0:\($0.offset)\",\"cells\":{\"count\":null}}"
        }, "\(empty.text)\(empty.errors)")
    try ledgers.folder.write("b.csv", "name,count\nAda,1\nBob,three\nCy,\n")
    let wrong = try ledgers.tabella(words + ["--format", "apply"])
    #expect(wrong.status == 4 && wrong.output.isEmpty)
    #expect(wrong.errors.contains("the column count cannot hold the value \"three\""))
    // `apply` stored 3, and the tables differed as before.
    try ledgers.folder.write("b.csv", "name,count\nAda,1\nBob,03\nCy,\n")
    let other = try ledgers.tabella(words + ["--format", "apply"])
    #expect(other.status == 4 && other.output.isEmpty)
    #expect(other.errors.contains("its cells are integer, so it would become 3"), "\(other.errors)")
  }

  /// The lines contained cells that no new entry of a folder can have, so `apply` refused them.
  @Test func newEntriesNeedColumnsThatCanBeChosen() throws {
    try FileManager.default.createDirectory(
      atPath: ledgers.folder.path + "/old", withIntermediateDirectories: false)
    try FileManager.default.createDirectory(
      atPath: ledgers.folder.path + "/new/inner", withIntermediateDirectories: true)
    let words = ["diff", "old", "new", "--key", "name", "--format", "apply"]
    let all = try ledgers.tabella(words)
    #expect(all.status == 4 && all.output.isEmpty)
    #expect(
      all.errors.contains(
        "row 0:0 is new: size cannot be chosen for a new entry; choose other columns with --columns"
      ),
      "\(all.errors)")
    let some = try ledgers.tabella(words + ["--columns", "name,kind,mode"])
    #expect(some.status == 0, "\(some.errors)")
    try ledgers.folder.write("edits.jsonl", some.text)
    let done = try ledgers.tabella("apply", "old", "edits.jsonl")
    #expect(done.status == 0, "\(done.errors)")
    #expect(try ledgers.tabella(words.dropLast(2) + ["--columns", "name,kind,mode"]).status == 0)
  }

  /// Cells with values were compared and written as their values, although the other table had text: `1.50` and an exact
  /// number of 23 digits differed from themselves.
  @Test func cellsOfDifferentTypesStayAsWritten() throws {
    let number = "12345678901234567890123"
    let words = ["-o", "types=infer", "--key", "id"]
    try write("id,v\n1,x\n2,\(number)\n3,1.50\n", "id,v\n2,\(number)\n3,1.50\n")
    let text = try diff(words[0], words[1], words[2], words[3]).text
    #expect(
      text == """
        ~ column v: text → real
        - 0:0  id: 1, v: x
        changed 1 column, deleted 1 row

        """)
    try write("id,v,w\n1,x,a\n", "id,v,w\n2,,b\n3,1,c\n")
    let lines = try diff(words[0], words[1], "--format", "apply").text
    try ledgers.folder.write("lines", lines)
    let applied = try ledgers.tabella(["apply", "a.csv", "lines", "-o", "types=infer"])
    #expect(applied.status == 0, "\(lines)\(applied.errors)")
    #expect(
      String(decoding: try ledgers.folder.read("a.csv"), as: UTF8.self)
        == "id,v,w\n2,,b\n3,1,c\n")
  }

  private static let refused: [([String], Int32, String)] = [
    ([], 2, "the locations are missing"), (["a.csv"], 2, "the second location is missing"),
    (["a.csv", "b.csv", "c.csv"], 2, "c.csv is not expected"),
    (["-", "-"], 2, "can be read only once"),
    (["a.csv", "none.csv"], 1, "none.csv"),
    (["a.csv", "b.csv", "--key", "nmae"], 2, "did you mean name?"),
    (["a.csv", "b.csv", "--columns", "id", "--key", "name"], 2, "name is not compared"),
    (["a.csv", "b.csv", "--key", "city"], 2, "have the same key: city=Rome"),
    (["a.csv", "b.csv", "--format", "csv"], 2, "must be one of text, json, apply"),
    (["a.csv", "b.csv", "--format", "apply", "--filter", "id = 1"], 2, "leave --filter out"),
    (["a.csv", "b.csv", "--format", "apply", "--sort", "id"], 2, "leave --sort out"),
    (["a.csv", "b.csv", "--format", "apply", "-n", "3"], 2, "leave -n out"),
    (["a.csv", "b.csv", "-o", "delimter=;"], 2, "delimter"),
  ]

  @Test(arguments: refused)
  func refusals(_ words: [String], _ status: Int32, _ says: String) throws {
    try write(Self.old.replacingOccurrences(of: "Bonn", with: "Rome"), Self.new)
    let result = try ledgers.tabella(["diff"] + words)
    #expect(result.status == status && result.output.isEmpty, "\(words): \(result.errors)")
    #expect(result.errors.contains(says), "\(words): \(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  @Test func optionsApplyToBothTables() throws {
    try write(Self.old, Self.new)
    let some = try diff("--filter", "id < 4", "--key", "id", "--columns", "id,city")
    #expect(
      some.text == """
        - 0:1  id: 2, city: Bonn
        ~ 0:2  id: 3, city: Riga → Rom\\x1b[31m
        deleted 1 row, changed 1 row

        """)
    // A sorted table has no order of its own.
    #expect(try diff("--sort", "id", "--rows", "0..0").text == "no differences\n")
    #expect(!(try diff("--sort", "name:desc", "--key", "id").text.contains(">")))
  }

  /// A part of a table is read, and the rest fails: JSON is closed, and `apply` gets nothing.
  @Test func standardInputIsATable() throws {
    try write(Self.old, Self.new)
    let result = try ledgers.shell("cat b.csv | tabella diff a.csv - --provider csv --key id")
    #expect(result.status == 0 && result.text.hasSuffix("moved 1 row\n"))
  }

  // The law

  /// `diff` and `apply` make the first file equal to the second, for random files.
  @Test func diffAndApplyMakeFilesEqual() throws {
    let cases = Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 1000
    for seed in 0..<UInt64(max(24, cases / 40)) {
      var generator = SeededGenerator(seed: seed)
      let kind = RandomTable.Kind.allCases[Int(seed) % 3]
      var old = RandomTable(kind, &generator)
      var new = seed % 7 == 0 ? RandomTable(kind, &generator) : old.changed(&generator)
      (old.number, new.number) = (0, 0)
      try ledgers.folder.write("x.\(kind.ending)", old.text(&generator))
      try ledgers.folder.write("y.\(kind.ending)", new.text(&generator))
      let names = "x.\(kind.ending) y.\(kind.ending)"
      for round in 0..<3 {
        let result = try ledgers.shell(
          "tabella diff \(names) --format apply \(kind.options) > lines && tabella apply x.\(kind.ending) lines \(kind.options)"
        )
        #expect(result.status == 0, "seed \(seed): \(result.errors)")
        let left = try ledgers.shell("tabella diff \(names) --exit-code \(kind.options)")
        if left.status == 0 { break }
        #expect(kind == .headings && round == 0, "seed \(seed), round \(round): \(left.text)")
      }
    }
  }
}

/// A random file with rows, for comparisons.
private struct RandomTable {
  enum Kind: CaseIterable {
    case csv, lines, headings

    var ending: String { self == .csv ? "csv" : self == .lines ? "txt" : "md" }
    var options: String { self == .headings ? "-o sections=headings" : "" }
  }

  let kind: Kind
  var sections: [(title: String, rows: [[String]])] = []
  /// The number of the next title.
  var number = 0

  init(_ kind: Kind, _ generator: inout SeededGenerator) {
    self.kind = kind
    for _ in 0..<(kind == .headings ? Int.random(in: 1..<4, using: &generator) : 1) {
      sections.append(section(&generator))
    }
  }

  private mutating func section(_ generator: inout SeededGenerator) -> (String, [[String]]) {
    number += 1
    let rows = (0..<Int.random(in: 0..<9, using: &generator)).map { _ in row(&generator) }
    return ("Title \(number)", rows)
  }

  private func row(_ generator: inout SeededGenerator) -> [String] {
    let cells = ["", "x", "y y", "é", "a,b", "say \"no\"", "\\t", "7", "two\nlines"]
    func cell() -> String { cells.randomElement(using: &generator)! }
    guard kind == .csv else {
      return [cell().replacingOccurrences(of: "\n", with: " ") + cell().prefix(1)]
        .map { $0.replacingOccurrences(of: "\n", with: " ") }
    }
    // Missing cells at the end are left out.
    return (0..<Int.random(in: 1...3, using: &generator)).map { _ in cell() }
  }

  func changed(_ generator: inout SeededGenerator) -> RandomTable {
    var table = self
    for _ in 0..<Int.random(in: 0..<6, using: &generator) {
      let number = Int.random(in: 0..<table.sections.count, using: &generator)
      let count = table.sections[number].rows.count
      let row = Int.random(in: 0..<max(1, count), using: &generator)
      switch Int.random(in: 0..<7, using: &generator) {
      case 0: table.sections[number].rows.insert(self.row(&generator), at: min(row, count))
      case 1 where count > 0: table.sections[number].rows.remove(at: row)
      case 2 where count > 0: table.sections[number].rows[row] = self.row(&generator)
      case 3 where count > 0:
        let moved = table.sections[number].rows.remove(at: row)
        let target = Int.random(in: 0..<table.sections.count, using: &generator)
        table.sections[target].rows.insert(moved, at: 0)
      case 4 where kind == .headings:
        table.sections.swapAt(
          number, Int.random(in: 0..<table.sections.count, using: &generator))
      case 5 where kind == .headings: table.sections.insert(table.section(&generator), at: number)
      case 6 where kind == .headings && table.sections.count > 1: table.sections.remove(at: number)
      default: break
      }
    }
    return table
  }

  func text(_ generator: inout SeededGenerator) -> String {
    var lines: [String] = kind == .csv ? ["k,l,m"] : []
    for section in sections {
      if kind == .headings { lines.append("# \(section.title)") }
      for row in section.rows {
        lines.append(
          kind == .csv
            ? row.map { "\"\($0.replacingOccurrences(of: "\"", with: "\"\""))\"" }
              .joined(separator: ",")
            : row[0])
      }
    }
    return lines.isEmpty ? "" : lines.joined(separator: "\n") + "\n"
  }
}

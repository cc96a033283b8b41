import Foundation
import Tabella
import Testing

@testable import TabellaTestSupport

/// `apply` as a user runs it.
@Suite struct ApplyTests {
  let ledgers: Ledgers

  init() throws { ledgers = try Ledgers() }

  private func apply(_ lines: String, _ more: String...) throws -> ProgramResult {
    try ledgers.folder.write("edits.jsonl", lines)
    return try ledgers.tabella(["apply", "a.ledger", "edits.jsonl"] + more)
  }

  /// The ids of a ledger are keys. A batch that gave a key to another row ended with "broke the contract", after it was
  /// stored.
  @Test(arguments: [
    (
      #"{"op":"delete","row":"id:Ada"}"# + "\n"
        + #"{"op":"insert","at":"0:2","cells":{"name":"Ada","count":9}}"#,
      "Bob\t2\nCy\t\\N\nAda\t9\n"
    ),
    (
      #"{"op":"set","row":"id:Ada","cells":{"name":"Bob"}}"# + "\n"
        + #"{"op":"set","row":"id:Bob","cells":{"name":"Cy"}}"# + "\n"
        + #"{"op":"delete","row":"id:Cy"}"#, "Bob\t1\nCy\t2\n"
    ),
  ])
  func aKeyPassesToAnotherRow(_ batch: String, _ content: String) throws {
    let result = try apply(batch)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.content() == content)
    #expect(ledgers.receiptIDs.count == 1)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  /// The positions of a batch were compared with the number of rows before it, if options could hide rows.
  @Test(arguments: [
    ["-n", "9"], ["--rows", "0..9"], ["--per-section", "9"], ["--section", "0"], [],
  ])
  func positionsCountAfterTheBatch(_ options: [String]) throws {
    let lines = { (edits: [(Int, String)]) in
      edits.map { #"{"op":"insert","at":"0:\#($0.0)","cells":{"a":"\#($0.1)"}}"# }
        .joined(separator: "\n")
    }
    try ledgers.folder.write("r.csv", "a\n1\n2\n")
    try ledgers.folder.write("edits.jsonl", lines([(2, "x"), (3, "y"), (0, "z")]))
    let first = try ledgers.tabella(["apply", "r.csv", "edits.jsonl"] + options)
    #expect(first.status == 0, "\(first)")
    #expect(try ledgers.folder.read("r.csv") == Array("a\nz\n1\nx\ny\n2\n".utf8))
    try ledgers.folder.write("edits.jsonl", lines([(5, "v"), (7, "w")]))
    let refused = try ledgers.tabella(["apply", "r.csv", "edits.jsonl"] + options)
    #expect(refused.status == 1 && refused.errors.contains("position"), "\(refused)")
    try ledgers.folder.write("edits.jsonl", lines([(5, "v"), (6, "w")]))
    let done = try ledgers.tabella(["apply", "r.csv", "edits.jsonl"] + options)
    #expect(done.status == 0, "\(done)")
    #expect(try ledgers.folder.read("r.csv") == Array("a\nz\n1\nx\ny\n2\nv\nw\n".utf8))
  }

  /// Nor may a position lie among hidden rows.
  @Test func positionsAmongHiddenRowsAreRefused() throws {
    try ledgers.folder.write("r.csv", "a\n1\n2\n3\n4\n5\n")
    let insert = { (row: Int) in #"{"op":"insert","at":"0:\#(row)","cells":{"a":"x"}}"# + "\n" }
    try ledgers.folder.write("edits.jsonl", insert(2) + insert(4))
    let refused = try ledgers.tabella("apply", "r.csv", "edits.jsonl", "-n", "2")
    #expect(refused.status == 1 && refused.errors.contains("no position"), "\(refused)")
    try ledgers.folder.write("edits.jsonl", insert(2) + insert(3))
    #expect(try ledgers.tabella("apply", "r.csv", "edits.jsonl", "-n", "2").status == 0)
    #expect(try ledgers.folder.read("r.csv") == Array("a\n1\n2\nx\nx\n3\n4\n5\n".utf8))
  }

  /// Swift takes two spellings of one accent as equal: a batch wrote into the column with the other spelling.
  @Test func columnsAreNamedByTheirBytes() throws {
    let (composed, decomposed) = ("\u{E9}", "e\u{301}")
    let text = "id,\(composed),\(decomposed)\n1,a,b\n"
    try ledgers.folder.write("a.csv", text)
    let set = { (name: String) in #"{"op":"set","row":"0:0","cells":{"\#(name)":"NEW"}}"# }
    try ledgers.folder.write("edits.jsonl", set(decomposed))
    #expect(try ledgers.tabella("apply", "a.csv", "edits.jsonl").status == 2)
    #expect(try ledgers.folder.read("a.csv") == Array(text.utf8))
    try ledgers.folder.write("b.csv", "id,\(composed)\n1,a\n")
    #expect(try ledgers.tabella("apply", "b.csv", "edits.jsonl").status == 2)
    // The second of two such columns has a number.
    try ledgers.folder.write("edits.jsonl", set("\(decomposed) 2"))
    #expect(try ledgers.tabella("apply", "a.csv", "edits.jsonl").status == 0)
    let changed = "id,\(composed),\(decomposed)\n1,a,NEW\n"
    #expect(try ledgers.folder.read("a.csv") == Array(changed.utf8))
    // Columns of two files do not become one.
    try ledgers.folder.write("c.csv", "id,\(decomposed)\n2,c\n")
    let joined = try ledgers.tabella("export", "b.csv", "c.csv", "--format", "csv")
    #expect(joined.text == "id,\(composed),\(decomposed)\n1,a,\n2,,c\n", "\(joined)")
  }

  /// Each edit that named a section by its title read all titles.
  @Test func sectionsOfABatchAreNamedByTheirTitles() throws {
    let text = (0..<40).map { "# H \($0 % 30)\nline \($0)\n" }.joined()
    try ledgers.folder.write("a.md", text)
    // The titles from 10 on are those of one section.
    let numbers = [29, 10, 17, 12, 28]
    let lines = numbers.map { #"{"op":"set","row":"H \#($0):0","cells":{"line":"new"}}"# + "\n" }
    try ledgers.folder.write("edits.jsonl", lines.joined())
    let options = ["-o", "sections=headings"]
    let done = try ledgers.tabella(["apply", "a.md", "edits.jsonl"] + options)
    #expect(done.status == 0, "\(done)")
    let changed = numbers.reduce(text) {
      $0.replacingOccurrences(of: "line \($1)\n", with: "new\n")
    }
    #expect(try ledgers.folder.read("a.md") == Array(changed.utf8))
    for (title, message) in [
      ("H 3", "2 sections have the title"), ("H 99", "no section with the title"),
    ] {
      let line = #"{"op":"set","row":"\#(title):0","cells":{"line":"x"}}"#
      try ledgers.folder.write("edits.jsonl", lines.joined() + line)
      let refused = try ledgers.tabella(["apply", "a.md", "edits.jsonl"] + options)
      #expect(refused.status != 0 && refused.errors.contains(message), "\(refused)")
    }
  }

  /// A move was checked as if it were alone: its position had to exist without the other edits.
  @Test(arguments: [
    (
      #"{"op":"move","row":"0:0","to":"1:end"}"# + "\n"
        + #"{"op":"move","row":"1:0","to":"0:end"}"#, "n,g\n1,Z\n3,y\n2,y\n4,Z\n"
    ),
    (
      #"{"op":"move","row":"y:0","to":"Z:end"}"# + "\n" + #"{"op":"delete","row":"Z:0"}"#,
      "n,g\n1,Z\n3,y\n4,Z\n"
    ),
  ])
  func movesBetweenGroupsMakeRoomForEachOther(_ batch: String, _ content: String) throws {
    let rows = "n,g\n1,y\n3,y\n2,Z\n4,Z\n"
    try ledgers.folder.write("g.csv", rows)
    try ledgers.folder.write("moves.jsonl", batch)
    let result = try ledgers.tabella("apply", "g.csv", "moves.jsonl", "--section-by", "g")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.folder.read("g.csv") == Array(content.utf8))
    #expect(try ledgers.tabella("undo", "g.csv").status == 0)
    #expect(try ledgers.folder.read("g.csv") == Array(rows.utf8))
  }

  /// A move was checked as if it were alone: its name had to be free before the batch.
  @Test(arguments: [
    (#"{"op":"move","row":"id:Y","to":"X:end"}"#, "box/X/a:2\nbox/Y/a:1\n"),
    (#"{"op":"set","row":"id:X","cells":{"name":"b"}}"#, "box/Y/a:2\nbox/Y/b:1\n"),
    (#"{"op":"delete","row":"id:Y"}"#, "box/Y/a:1\n"),
  ])
  func movesBetweenFoldersFreeNames(_ other: String, _ content: String) throws {
    _ = try ledgers.shell("mkdir -p box/X box/Y; echo 1 > box/X/a; echo 2 > box/Y/a")
    let tree = ["-o", "recursive=true", "-o", "sections=folder", "-o", "permanent=true"]
    let sections =
      try jsonObject(ledgers.tabella(["show", "box", "--json"] + tree).text)["sections"]
      as? [[String: Any]]
    // The ids of the files, by the titles of their sections.
    var batch = #"{"op":"move","row":"id:X","to":"Y:end"}"# + "\n" + other
    for title in ["X", "Y"] {
      let section = try #require(sections?.first { $0["title"] as? String == title })
      let id = try #require((section["rows"] as? [[String: Any]])?.first?["id"] as? String)
      batch = batch.replacingOccurrences(of: "id:\(title)", with: "id:\(id)")
    }
    try ledgers.folder.write("moves.jsonl", batch)
    let result = try ledgers.tabella(["apply", "box", "moves.jsonl"] + tree)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.shell("grep -r '' box | LC_ALL=C sort").text == content)
  }

  @Test func aBatch() throws {
    let batch = """
      {"op":"set","row":"id:Bob","cells":{"count":null,"name":"Bo"}}

      {"op": "delete", "row": "0"}\r
      {"op":"insert","at":"0:0","cells":{"name":"New","count":7}}
      {"op":"insert","at":"end"}
      {"op":"move","row":"0:2","to":"0:1"}
      """
    let result = try apply(batch, "--json")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.content() == "New\t7\nCy\t\\N\nBo\t\\N\n\\N\t\\N\n")
    let outcomes = try jsonObject(result.text)["outcomes"] as? [[String: Any]]
    #expect(outcomes?.map { $0["op"] as? String } == ["set", "delete", "insert", "insert", "move"])
    #expect(
      outcomes?.map { $0["row"] as? String } == ["id:Bob", "id:Ada", "id:New", "id:none", "id:Cy"])
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    let log = try ledgers.tabella("log", "--format", "plain").text
    #expect(
      log.contains("changed 1 row (name, count), inserted 2 rows, deleted 1 row, moved 1 row"))
  }

  @Test func standardInput() throws {
    let result = try ledgers.shell(
      #"echo '{"op":"set","row":"0","cells":{"count":9}}' | tabella apply a.ledger -"#)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.content().hasPrefix("Ada\t9\n"))
    let closed = try ledgers.shell("tabella apply a.ledger - <&-")
    #expect(closed.status == 1 && closed.errors.contains("standard input is closed"))
  }

  @Test func nothingToDo() throws {
    for text in ["", "\n\n  \n"] {
      let result = try apply(text)
      #expect(result.status == 0 && result.errors.contains("nothing to do"))
    }
    let document = try jsonObject(apply("", "--json").text)
    #expect(document["receipt"] is NSNull && (document["outcomes"] as? [Any])?.isEmpty == true)
    #expect(ledgers.receiptNames.isEmpty)
  }

  private static let wrongLines: [(String, String)] = [
    ("{", "line 3: column 2: a key is missing"), ("7", "must be a JSON object"),
    ("{} {}", "column 4: there is text after"), ("{}", "\"op\" is missing"),
    (#"{"op":"sett","row":"0","cells":{}}"#, "did you mean set?"),
    (#"{"op":1}"#, "unknown op 1"),
    (#"{"op":"set","row":"0"}"#, "set requires \"cells\""),
    (#"{"op":"set","cells":{}}"#, "set requires \"row\""),
    (
      #"{"op":"set","row":"0","cells":{},"at":"0"}"#,
      "set has no member \"at\"; its members are op, row, cells"
    ),
    (#"{"op":"insert","att":"0"}"#, "did you mean at?"),
    (#"{"op":"insert"}"#, "insert requires \"at\""),
    (#"{"op":"delete","row":0}"#, "\"row\" must be"),
    (#"{"op":"delete","row":"end"}"#, "does not name one row"),
    (#"{"op":"delete","row":"0:-1"}"#, "is not a row name"),
    (#"{"op":"insert","at":"id:Ada"}"#, "\"at\" must be"),
    (#"{"op":"move","row":"0","to":"x"}"#, "is not a row name"),
    (#"{"op":"set","row":"0","cells":[]}"#, "\"cells\" must be an object"),
    (#"{"op":"set","row":"0","cells":{"cuont":1}}"#, "did you mean count?"),
    (#"{"op":"set","row":"0","cells":{"count":"1"}}"#, "count must be an integer, not \"1\""),
    (#"{"op":"set","row":"0","cells":{"count":1.5}}"#, "count must be an integer, not 1.5"),
    (#"{"op":"set","row":"0","cells":{"count":99999999999999999999}}"#, "must be an integer"),
    (#"{"op":"set","row":"0","cells":{"name":1}}"#, "name must be text, not 1"),
    (#"{"op":"set","row":"0","cells":{"name":{"base64":"A"}}}"#, "name must be text"),
    (#"{"op":"set","row":"0","row":"1","cells":{}}"#, "the key \"row\" is repeated"),
  ]

  @Test(arguments: wrongLines)
  func lines(_ line: String, _ says: String) throws {
    let good = #"{"op":"delete","row":"1"}"#
    let result = try apply("\(good)\n\n\(line)\n\(good)")
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.hasPrefix("tabella: edits.jsonl: line 3: "), "\(result.errors)")
    #expect(result.errors.contains(says), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n" && ledgers.receiptNames.isEmpty)
  }

  private static let refused: [([String], Int32, String)] = [
    (["apply"], 2, "a location is missing"), (["apply", "a.ledger"], 2, "a FILE is missing"),
    (["apply", "a.ledger", "x", "y"], 2, "y is not expected"),
    (["apply", "a.ledger", "absent"], 1, "absent: cannot be opened"),
    (["apply", "-", "edits.jsonl"], 4, "standard input cannot be edited"),
    (["apply", "a.ledger", "edits.jsonl", "--if-version", "x"], 5, "nothing was done"),
    (["apply", "a.ledger", "edits.jsonl", "-o", "volatile=true"], 4, "name the row by its id"),
    (["apply", "a.ledger", "edits.jsonl", "-o", "read-only=true"], 4, "is read-only"),
    (["apply", "a.ledger", "moves.jsonl", "-o", "moves=false"], 4, "cannot be moved"),
    (["apply", "a.ledger", "far.jsonl"], 1, "there is no row 9"),
    (["apply", "a.ledger", "twice.jsonl"], 2, "row id:Bob is named twice"),
  ]

  @Test(arguments: refused)
  func refusals(_ arguments: [String], _ status: Int32, _ says: String) throws {
    try ledgers.folder.write("edits.jsonl", #"{"op":"delete","row":"1"}"#)
    try ledgers.folder.write("moves.jsonl", #"{"op":"move","row":"1","to":"end"}"#)
    try ledgers.folder.write("far.jsonl", #"{"op":"delete","row":"9"}"#)
    try ledgers.folder.write(
      "twice.jsonl",
      "{\"op\":\"delete\",\"row\":\"1\"}\n{\"op\":\"move\",\"row\":\"id:Bob\",\"to\":\"0\"}\n")
    let result = try ledgers.tabella(arguments)
    #expect(result.status == status && result.errors.contains(says), "\(result.errors)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n" && ledgers.receiptNames.isEmpty)
  }

  /// A move was validated only if it was the only edit, so of two moves one was done.
  @Test func everyMoveIsProposed() throws {
    let moves = """
      {"op":"move","row":"id:Cy","to":"0"}
      {"op":"move","row":"id:Ada","to":"2"}
      """
    let refused = try apply(moves, "-o", "refuse=Ada")
    #expect(refused.status == 4, "\(refused.errors)")
    #expect(refused.errors.contains("row id:Ada cannot be moved"), "\(refused.errors)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n" && ledgers.receiptNames.isEmpty)
    #expect(try apply(moves).status == 0)
    #expect(try ledgers.content() == "Cy\t\\N\nBob\t2\nAda\t1\n")
  }

  /// Of two moves to one position, the second one was made to the next position. Two insertions were refused.
  @Test func targetsAreDifferent() throws {
    for other in [#"{"op":"move","row":"id:Bob","to":"0"}"#, #"{"op":"insert","at":"0"}"#] {
      let result = try apply("{\"op\":\"move\",\"row\":\"id:Cy\",\"to\":\"0\"}\n\(other)\n")
      #expect(
        result.status == 2 && result.errors.contains("row 0:0 is the target of two edits"),
        "\(result.errors)")
    }
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    let ends =
      #"{"op":"move","row":"id:Ada","to":"end"}"# + "\n"
      + #"{"op":"move","row":"id:Bob","to":"end"}"#
    #expect(try apply(ends).status == 0)
    #expect(try ledgers.content() == "Cy\t\\N\nAda\t1\nBob\t2\n")
  }

  private static let sections: [(edits: [String], content: String?)] = [
    (
      [#""op":"delete","row":"A:""#, #""op":"insert","at":"B:end","cells":{"line":"N"}"#],
      "# B|b1|N|# C|c1|c2|"
    ),
    (
      [#""op":"delete","row":"A:""#, #""op":"insert","at":"B:0","cells":{"line":"N"}"#],
      "# B|N|b1|# C|c1|c2|"
    ),
    (
      [#""op":"insert","at":"0:","cells":{"title":"Z"}"#, #""op":"move","row":"A:0","to":"B:0""#],
      "# Z|# A|# B|a1|b1|# C|c1|c2|"
    ),
    (
      [#""op":"move","row":"2:","to":"0:""#, #""op":"insert","at":"C:end","cells":{"line":"N"}"#],
      "# C|c1|c2|N|# A|a1|# B|b1|"
    ),
    (
      [#""op":"delete","row":"0:""#, #""op":"insert","at":"1:end","cells":{"line":"N"}"#],
      "# B|b1|# C|c1|c2|N|"
    ),
    (
      [
        #""op":"delete","row":"B:""#, #""op":"insert","at":"C:","cells":{"title":"Y"}"#,
        #""op":"insert","at":"A:","cells":{"title":"X"}"#,
        #""op":"insert","at":"C:","cells":{"title":"Z"}"#,
      ], "# X|# A|a1|# Y|# Z|# C|c1|c2|"
    ),
    ([#""op":"delete","row":"A:""#, #""op":"insert","at":"A:end","cells":{"line":"N"}"#], nil),
    (
      [
        #""op":"insert","at":"0:","cells":{"title":"Z"}"#,
        #""op":"insert","at":"0:end","cells":{"line":"N"}"#,
      ], nil
    ),
    (
      [
        #""op":"move","row":"2:","to":"0:""#, #""op":"insert","at":"B:","cells":{"title":"Z"}"#,
      ], nil
    ),
  ]

  @Test func anEndOfASectionThatIsGone() throws {
    try ledgers.folder.write("n.md", "# A\na1\n# B\nb1\n")
    try ledgers.folder.write(
      "edits.jsonl",
      #"{"op":"delete","row":"A:"}"# + "\n"
        + #"{"op":"insert","at":"1:end","cells":{"line":"N"}}"# + "\n")
    let result = try ledgers.tabella(["apply", "n.md", "edits.jsonl", "-o", "sections=headings"])
    #expect(result.status == 1 && result.errors.contains("there is no section 1"))
  }

  /// A batch that also inserted, deleted or moved a section took the number of a title from before the batch for a number
  /// after it. So rows went to another section.
  @Test(arguments: sections)
  func titlesNameTheirSections(_ edits: [String], _ content: String?) throws {
    let text = "# A|a1|# B|b1|# C|c1|c2|"
    try ledgers.folder.write("n.md", text.replacingOccurrences(of: "|", with: "\n"))
    try ledgers.folder.write("edits.jsonl", edits.map { "{\($0)}\n" }.joined())
    let result = try ledgers.tabella(["apply", "n.md", "edits.jsonl", "-o", "sections=headings"])
    #expect(result.status == (content == nil ? 2 : 0), "\(result.errors)")
    let now = try String(contentsOfFile: ledgers.folder.path + "/n.md", encoding: .utf8)
      .split(separator: "\n").map { "\($0)|" }.joined()
    #expect(now == content ?? text)
  }

  /// `set` and `apply` accepted texts that the type of a CSV column cannot have, and then the file could not be read.
  @Test func textsOfTypedColumnsHaveTheirType() throws {
    try ledgers.folder.write("t.csv", "day,n\n2024-01-02,1.5\n")
    let types = ["-o", "column-types=date,real"]
    for value in ["2024-02-28 12:00", "2024-02-28T12:00:00"] {
      let result = try ledgers.tabella(["set", "t.csv", "0", "day=\(value)"] + types)
      #expect(
        result.status == 2 && result.errors.contains("day must be a date"), "\(result.errors)")
    }
    for (column, value, word) in [
      ("n", "1e309", "a number"), ("day", "\"2024-02-28 12:00\"", "a date"),
    ] {
      try ledgers.folder.write(
        "edits.jsonl", "{\"op\":\"set\",\"row\":\"0\",\"cells\":{\"\(column)\":\(value)}}\n")
      let result = try ledgers.tabella(["apply", "t.csv", "edits.jsonl"] + types)
      #expect(
        result.status == 2 && result.errors.contains("\(column) must be \(word)"),
        "\(result.errors)")
    }
    let done = try ledgers.tabella(
      ["set", "t.csv", "0", "day=2024-02-28 12:00:00+01:00", "n=-2.50"] + types)
    #expect(done.status == 0, "\(done.errors)")
    #expect(try ledgers.tabella(["count", "t.csv", "--filter", "n < 0"] + types).text == "1\n")
  }

  /// Batches change a file as UIKit's rules change an array, and undo restores it completely.
  @Test(arguments: sample(15, of: 1...60 as ClosedRange<UInt64>))
  func batchesFollowTheRules(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 0...8, using: &random)
    let names = (0..<count).map { "r\($0)" }
    let before = names.map { "\($0)\t0\n" }.joined()
    try ledgers.folder.write("a.ledger", "name:text count:integer\n" + before)
    var lines: [String] = []
    var cells = Dictionary(uniqueKeysWithValues: names.map { ($0, 0) })
    var rest = names
    var arrivals: [String] = []
    for (number, name) in names.enumerated() {
      let row = Bool.random(using: &random) ? "\(number)" : "id:\(name)"
      switch Int.random(in: 0..<5, using: &random) {
      case 0:
        lines.append("{\"op\":\"delete\",\"row\":\"\(row)\"}")
        rest.removeAll { $0 == name }
      case 1:
        lines.append("{\"op\":\"move\",\"row\":\"\(row)\",\"to\":\"PLACE\"}")
        rest.removeAll { $0 == name }
        arrivals.append(name)
      case 2:
        let value = Int.random(in: 1...9, using: &random)
        lines.append("{\"op\":\"set\",\"row\":\"\(row)\",\"cells\":{\"count\":\(value)}}")
        cells[name] = value
      default: break
      }
    }
    for number in 0..<Int.random(in: 0...3, using: &random) {
      lines.append(
        "{\"op\":\"insert\",\"at\":\"PLACE\",\"cells\":{\"name\":\"n\(number)\",\"count\":0}}")
      arrivals.append("n\(number)")
      cells["n\(number)"] = 0
    }
    // The targets: some arrivals at the end in order, the others at random positions in front.
    let ends = Int.random(in: 0...arrivals.count, using: &random)
    let final = rest.count + arrivals.count
    let free = Array((0..<final - ends).shuffled(using: &random).prefix(arrivals.count - ends))
    var places: [Int: String] = [:]
    for (name, place) in zip(arrivals, free) { places[place] = name }
    for (number, name) in arrivals.suffix(ends).enumerated() {
      places[final - ends + number] = name
    }
    var words = free.map { "0:\($0)" } + Array(repeating: "0:end", count: ends)
    for index in lines.indices where lines[index].contains("PLACE") {
      lines[index] = lines[index].replacingOccurrences(of: "PLACE", with: words.removeFirst())
    }
    var stay = rest[...]
    let expected = (0..<final).map { places[$0] ?? stay.removeFirst() }
    let after = expected.map { "\($0)\t\(cells[$0]!)\n" }.joined()
    let result = try apply(lines.joined(separator: "\n"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.content() == after, "\(lines)")
    // A batch without effect leaves nothing to undo.
    guard before != after else { return }
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.content() == before)
  }
}

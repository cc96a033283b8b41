import Foundation
import Tabella
import TabellaHost
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// `set`, `insert`, `delete` and `move` as a user runs them.
@Suite struct EditCommandTests {
  let ledgers: Ledgers

  init() throws { ledgers = try Ledgers() }

  private static let edited: [([String], String)] = [
    (["set", "1", "count=5"], "Ada\t1\nBob\t5\nCy\t\\N\n"),
    (["set", "0:1", "count=", "name="], "Ada\t1\n\t\\N\nCy\t\\N\n"),
    (["set", "id:Cy", "count=-3", "name=a=b"], "Ada\t1\nBob\t2\na=b\t-3\n"),
    (["insert", "0", "name=New"], "New\t\\N\nAda\t1\nBob\t2\nCy\t\\N\n"),
    (["insert", "end", "count=7"], "Ada\t1\nBob\t2\nCy\t\\N\n\\N\t7\n"),
    (["insert", "id:Bob", "name=New"], "Ada\t1\nNew\t\\N\nBob\t2\nCy\t\\N\n"),
    (["insert", "0:3"], "Ada\t1\nBob\t2\nCy\t\\N\n\\N\t\\N\n"),
    (["delete", "0", "2", "--yes"], "Bob\t2\n"),
    (["delete", "id:Bob", "--yes"], "Ada\t1\nCy\t\\N\n"),
    (["move", "0", "2"], "Bob\t2\nCy\t\\N\nAda\t1\n"),
    (["move", "0", "end"], "Bob\t2\nCy\t\\N\nAda\t1\n"),
    (["move", "id:Cy", "id:Ada"], "Cy\t\\N\nAda\t1\nBob\t2\n"),
    // In views.
    (["set", "0", "count=9", "--sort", "count:desc"], "Ada\t1\nBob\t9\nCy\t\\N\n"),
    (["set", "0", "count=9", "--filter", "name = Cy"], "Ada\t1\nBob\t2\nCy\t9\n"),
    (
      ["delete", "1", "--yes", "--search", "a", "--sort", "name:desc"], "Ada\t1\nBob\t2\nCy\t\\N\n"
    ),
    (
      ["insert", "1:end", "name=New", "--section-by", "count"], "Ada\t1\nBob\t2\nCy\t\\N\nNew\t2\n"
    ),
    (["set", "0", "name=B", "--section-by", "count", "--section", "1"], "Ada\t1\nB\t2\nCy\t\\N\n"),
  ]

  @Test(arguments: edited)
  func edits(_ arguments: [String], _ after: String) throws {
    var words = arguments
    words.insert("a.ledger", at: 1)
    let result = try ledgers.tabella(words)
    if after == "Ada\t1\nBob\t2\nCy\t\\N\n" {
      #expect(result.status == 1)
    } else {
      #expect(result.status == 0, "\(result.errors)")
      #expect(result.output.isEmpty)
      let lines = result.errors.split(separator: "\n")
      #expect(lines.count == 2 && lines[0].hasPrefix("tabella: a.ledger: done: "))
      let id = try #require(ledgers.receiptIDs.first)
      #expect(lines[1].hasSuffix("receipt: \(id) (tabella undo receipt:\(id))"))
    }
    #expect(try ledgers.content() == after)
  }

  @Test func sections() throws {
    let text = "name:text\n# One\nA\nB\n# Two\nC\n"
    func after(_ arguments: String...) throws -> String {
      try ledgers.folder.write("s.ledger", text)
      let result = try ledgers.tabella(arguments)
      #expect(result.status == 0, "\(arguments): \(result.errors)")
      return try ledgers.content(ledgers.folder.path + "/s.ledger")
        .replacingOccurrences(of: "\n", with: " ")
    }
    #expect(try after("move", "s.ledger", "0:0", "1:end") == "# One B # Two C A ")
    #expect(try after("move", "s.ledger", "1:0", "0:1") == "# One A C B # Two ")
    #expect(try after("insert", "s.ledger", "1:end", "name=N") == "# One A B # Two C N ")
    #expect(try after("insert", "s.ledger", "end", "name=N") == "# One A B N # Two C ")
    #expect(try after("set", "s.ledger", "1:0", "name=N") == "# One A B # Two N ")
    // A row number alone refers to the chosen section.
    #expect(try after("set", "s.ledger", "0", "name=N", "--section", "Two") == "# One A B # Two N ")
    #expect(
      try after("delete", "s.ledger", "0", "--yes", "--section", "title:Two") == "# One A B # Two ")
  }

  /// A refused edit leaves the table and the receipts unchanged.
  private static let refused: [([String], Int32, String)] = [
    // The command line.
    (["set"], 2, "a location is missing"),
    (["set", "a.ledger"], 2, "a COLUMN=VALUE is missing"),
    (["set", "a.ledger", "count=1"], 2, "choose rows with --filter"),
    (["delete", "a.ledger", "--yes"], 2, "choose rows with --filter"),
    (["delete", "a.ledger", "--sort", "name", "--yes"], 2, "choose rows with --filter"),
    (
      ["set", "a.ledger", "--filter", "count = 1", "count=2"], 2,
      "count=2 --filter 'count = 1' --yes"
    ),
    (["set", "a.ledger", "0"], 2, "a COLUMN=VALUE is missing"),
    (["set", "a.ledger", "x", "name=A"], 2, "is not a row name"),
    (["set", "a.ledger", "-1", "name=A"], 2, "there is no row -1"),
    (["set", "a.ledger", "0:+1", "name=A"], 2, "is not a row name"),
    (["set", "a.ledger", "end", "name=A"], 2, "does not name one row"),
    (["set", "a.ledger", "0", "cuont=1"], 2, "did you mean count?"),
    (["set", "a.ledger", "0", "count=x"], 2, "count must be an integer, not x"),
    (["set", "a.ledger", "0", "count=1", "count=2"], 2, "column count occurs twice"),
    (
      ["set", "a.ledger", "0", "name=A", "--backup"], 2,
      "--backup: provider ledger does not support this option"
    ),
    (["set", "a.ledger", "0", "name=A", "--in-place"], 2, "--in-place: provider ledger"),
    (["set", "a.ledger", "0", "name=A", "--backup="], 2, "the suffix is empty"),
    (["set", "a.ledger", "0", "name=A", "--yes=no"], 2, "--yes takes no value"),
    (["undo", "a.ledger", "--backup"], 2, "there is no option --backup"),
    (["move", "a.ledger", "0"], 2, "a ROW is missing"),
    (["move", "a.ledger", "0", "1", "2"], 2, "2 is not expected"),
    (["delete", "a.ledger", "0"], 2, "tabella delete a.ledger 0 --yes"),
    (["delete", "a.ledger", "0", "id:Ada", "--yes"], 2, "row id:Ada is named twice"),
    // Options that choose the shown data.
    (["set", "a.ledger", "0", "name=A", "--columns", "name"], 2, "there is no option --columns"),
    (["set", "a.ledger", "0", "name"], 2, "a COLUMN=VALUE is missing"),
    (["set", "a.ledger", "0", "name", "count=1"], 2, "is not a row name"),
    (["set", "a.ledger", "0", "count=1", "name"], 2, "name: must be COLUMN=VALUE"),
    // Missing rows and columns.
    (["set", "a.ledger", "3", "name=A"], 1, "there is no row 3; there are 3, counted from 0"),
    (["set", "a.ledger", "9223372036854775807", "name=A"], 1, "there is no row"),
    (["set", "a.ledger", "1:0", "name=A"], 1, "there is no section 1"),
    (["delete", "a.ledger", "id:Zed", "--yes"], 1, "no row with the id Zed"),
    (["insert", "a.ledger", "4"], 1, "there is no position 0:4"),
    (["insert", "a.ledger", "1:end"], 1, "there is no section 1"),
    (["move", "a.ledger", "0", "3"], 1, "there is no position 0:3"),
    (["set", "b.ledger", "0", "name=A"], 1, "No such file"),
    // Refused edits.
    (["set", "-", "0", "name=A"], 4, "standard input cannot be edited"),
    (["set", "a.ledger", "0", "name=A", "-o", "read-only=true"], 4, "is read-only"),
    (["move", "a.ledger", "0", "1", "-o", "moves=false"], 4, "cannot be moved"),
    (["move", "a.ledger", "0", "1", "--sort", "name"], 4, "in a sorted or grouped table"),
    (["move", "a.ledger", "0", "1", "-o", "refuse=Ada"], 4, "row id:Ada cannot be moved"),
    (["set", "a.ledger", "id:Ada", "name=A", "-o", "ids=false"], 4, "rows have no ids"),
    (
      ["delete", "a.ledger", "0", "--yes", "-o", "refuse=Ada"], 4,
      "nothing was done: row id:Ada: it is refused"
    ),
    (
      ["delete", "a.ledger", "0", "--yes", "-o", "refuse=Ada", "-o", "code=5"], 5,
      "nothing was done"
    ),
    (
      ["delete", "a.ledger", "0", "--yes", "-o", "refuse=Ada", "-o", "code=8"], 1,
      "nothing was done"
    ),
    // Untried edits counted as further kinds of failures, and the message listed them one by one.
    (
      ["delete", "a.ledger", "0", "1", "2", "--yes", "-o", "refuse=Ada", "-o", "stops=true"], 4,
      "nothing was done: row id:Ada: it is refused; not tried because of that: row id:Bob; row id:Cy"
    ),
    (["set", "a.ledger", "0", "name=A", "-o", "fails=5"], 5, "it fails, as it was told"),
    (["set", "a.ledger", "0", "name=A", "-o", "fails=6"], 4, "it fails, as it was told"),
    (["set", "a.ledger", "0", "name=A", "-o", "fails=8"], 1, "it fails, as it was told"),
    (["set", "a.ledger", "0", "name=A", "--if-version", "x"], 5, "nothing was done"),
    (
      ["set", "a.ledger", "0", "name=A", "--if-version", "x", "-o", "versions=false"], 4,
      "has no versions"
    ),
  ]

  @Test(arguments: refused)
  func refusals(_ arguments: [String], _ status: Int32, _ says: String) throws {
    let result = try ledgers.tabella(arguments)
    #expect(result.status == status && result.output.isEmpty, "\(arguments): \(result.errors)")
    #expect(result.errors.contains(says), "\(arguments): \(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    #expect(ledgers.receiptNames.isEmpty)
    let asJSON = try ledgers.tabella(arguments + ["--json"])
    #expect(asJSON.status == status)
    let error = try jsonObject(asJSON.errors)["error"] as? [String: Any]
    #expect(error?["status"] as? Int == Int(status))
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  @Test func partOfABatch() throws {
    let result = try ledgers.tabella(
      "delete", "a.ledger", "0", "1", "id:Cy", "--yes", "-o", "refuse=Bob", "--json")
    #expect(result.status == 1)
    let document = try jsonObject(result.text)
    let outcomes = try #require(document["outcomes"] as? [[String: Any]])
    #expect(outcomes.map { $0["code"] as? String } == [nil, "denied", nil])
    #expect(outcomes.map { $0["row"] as? String } == ["id:Ada", "id:Bob", "id:Cy"])
    #expect(outcomes[2]["id"] as? String == "Cy")
    #expect(document["receipt"] as? String == ledgers.receiptIDs.first)
    let error = try jsonObject(result.errors)["error"] as? [String: Any]
    let message = try #require(error?["message"] as? String)
    #expect(message.contains("1 of 3 edits failed: row id:Bob: it is refused"))
    #expect(message.contains("done: row id:Ada; row id:Cy"))
    let log = try ledgers.tabella("log", "a.ledger", "--format", "plain", "--columns", "edits")
    #expect(log.text == "deleted 2 rows: Ada, Cy\n")
    #expect(try ledgers.content() == "Bob\t2\n")
  }

  @Test func remarksAreSaid() throws {
    let result = try ledgers.tabella(
      "delete", "a.ledger", "0", "--yes", "-o", "remark=sent\u{1B}[31m", "-o", "undoes=false")
    #expect(result.status == 0)
    #expect(result.errors.contains("row id:Ada: sent\\x1b[31m"))
    #expect(result.errors.contains("(cannot be undone)"))
  }

  /// The user learned only after the edit that it could not be undone.
  @Test(arguments: [[], ["--isolate"]])
  func aDryRunSaysWhatCannotBeUndone(_ isolation: [String]) throws {
    let row = String(repeating: "a", count: 1 << 20) + "\n"
    try ledgers.folder.write("large.csv", "name\n" + String(repeating: row, count: 17))
    let delete = ["delete", "large.csv", "--filter", "name != b"] + isolation
    let warning = "cannot be undone; --backup keeps the old file"
    let all = try ledgers.tabella(delete + ["--dry-run"])
    #expect(all.status == 0, "\(all.errors)")
    #expect(all.errors == "tabella: large.csv: dry run: the edits \(warning)\n", "\(all.errors)")
    let asked = try ledgers.onTerminal(delete, answers: [("[y/N] ", "n")])
    #expect(asked.text.contains("large.csv? (the edits \(warning)) [y/N] "))
    for other in [["-n", "15"], ["--backup"]] {
      let quiet = try ledgers.tabella(delete + ["--dry-run"] + other)
      #expect(quiet.status == 0 && !quiet.errors.contains("--backup"), "\(quiet.errors)")
    }
    let json = try ledgers.tabella(delete + ["--dry-run", "--json"])
    let outcomes = try #require(jsonObject(json.text)["outcomes"] as? [[String: Any]])
    #expect(outcomes.count == 17 && outcomes.allSatisfy { $0["final"] as? Bool == true })
    #expect(json.errors.isEmpty)
  }

  /// The group of a row that leaves it can vanish, and then the other groups have other numbers. A dry run printed the
  /// number of before.
  @Test func aDryRunDoesNotPredictThePlaceInAnotherGroup() throws {
    try ledgers.folder.write("t.csv", "i,g\n2,a\n1,b\n0,c\n3,c\n")
    let words = ["--section-by", "g", "--dry-run", "--json"]
    func place(_ row: String, _ target: String) throws -> String? {
      let result = try ledgers.tabella(["move", "t.csv", row, target] + words)
      let outcomes = try #require(jsonObject(result.text)["outcomes"] as? [[String: Any]])
      return outcomes[0]["to"] as? String
    }
    #expect(try place("0:0", "2:0") == nil)
    #expect(try place("2:0", "0:0") == "0:1")
    #expect(try place("2:0", "2:1") == "2:1")
    let real = try ledgers.tabella("move", "t.csv", "0:0", "2:0", "--section-by", "g", "--json")
    #expect(real.text.contains(#""to":"1:0""#), "\(real.text)")
  }

  /// A worker cannot set the time of a link. The dry run accepted it, and earlier edits of a batch stayed done.
  @Test func aDryRunInAWorkerRefusesTheTimeOfALink() throws {
    let folder = ledgers.folder.path + "/links"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/link", withDestinationPath: "nowhere")
    let words = ["set", "links", "--filter", "kind = link", "modified=2020-01-01", "--yes"]
    for more in [["--dry-run"], []] {
      let refused = try ledgers.tabella(words + ["--isolate"] + more)
      #expect(
        refused.status == 4 && refused.errors.contains("cannot get a new time"),
        "\(more) \(refused.status) \(refused.errors)")
    }
    let done = try ledgers.tabella(words + ["--in-process"])
    #expect(done.status == 0, "\(done.errors)")
  }

  /// A worker could not write the old bytes into the user's state folder.
  @Test(arguments: ["t.csv", "t.txt"])
  func savesInPlaceInAWorker(_ name: String) throws {
    let path = try ledgers.folder.write(name, "a\n1\n")
    let cell = name == "t.csv" ? "a=2" : "line=2"
    let words = ["set", name, name == "t.csv" ? "0" : "1", cell, "--in-place", "--isolate"]
    let dry = try ledgers.tabella(words + ["--dry-run"])
    #expect(dry.status == 0, "\(dry.errors)")
    let result = try ledgers.tabella(words)
    #expect(result.status == 0, "\(result.errors)")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "a\n2\n")
    let undo = try ledgers.tabella("undo", name, "--in-place", "--isolate")
    #expect(undo.status == 0, "\(undo.errors)")
    #expect(try String(contentsOfFile: path, encoding: .utf8) == "a\n1\n")
  }

  /// An error after the edit leaves the edit done, with a receipt.
  @Test func anErrorAfterTheEditLeavesItDone() throws {
    let result = try ledgers.tabella(
      "set", "a.ledger", "0", "count=5", "-o", "trouble=may not last")
    #expect(result.status == 1 && !result.errors.contains("nothing was done"))
    #expect(result.errors.contains("a.ledger: done, but row id:Ada: may not last"))
    #expect(try ledgers.content().hasPrefix("Ada\t5\n"))
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.content().hasPrefix("Ada\t1\n"))
  }

  /// An edit without effect succeeds, but leaves no receipt.
  @Test func equalValuesChangeNothing() throws {
    let result = try ledgers.tabella("set", "a.ledger", "0", "count=1")
    #expect(result.status == 0 && result.errors.contains("nothing to change"))
    #expect(ledgers.receiptNames.isEmpty)
    let document = try jsonObject(ledgers.tabella("set", "a.ledger", "0", "count=1", "--json").text)
    #expect(document["receipt"] is NSNull && document["undoable"] as? Bool == false)
  }

  /// A move that left its row in place had no position in a filtered table.
  @Test func aRowThatStaysHasAPosition() throws {
    try ledgers.folder.write("stay.csv", "id,g\n0,x\n1,y\n2,x\n")
    let move = ["move", "stay.csv", "0", "0", "--json", "--filter", "g = x"]
    let outcomes = try jsonObject(ledgers.tabella(move).text)["outcomes"] as? [[String: Any]]
    #expect(outcomes?.first?["to"] as? String == "0:0")
  }

  /// A signal ended the program between an edit and its receipt.
  @Test func aSignalWaitsForTheReceipt() throws {
    for signal in ["TERM", "HUP", "INT"] {
      try ledgers.reset()
      let before = ledgers.receiptNames.count
      // A test runner may ignore signals, and shells let background processes ignore SIGINT.
      let result = try ledgers.shell(
        """
        env --default-signal tabella set a.ledger 0 count=9 -o pause=1500 & child=$!
        while kill -0 $child && ! grep -q 9 a.ledger; do sleep 0.05; done
        kill -\(signal) $child; wait $child; echo $?
        """)
      #expect(Int(result.lines.last ?? "") ?? 0 > 128, "\(signal): \(result.text)")
      #expect(result.errors.contains("done: changed 1 row (count)"), "\(signal): \(result.errors)")
      #expect(ledgers.receiptNames.count == before + 1)
      #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    }
    // A second signal ends the program at once.
    let result = try ledgers.shell(
      """
      env --default-signal tabella set a.ledger 0 count=9 -o pause=60000 & child=$!
      while kill -0 $child && ! grep -q 9 a.ledger; do sleep 0.05; done
      kill $child; sleep 0.1; kill $child; wait $child; echo $?
      """)
    #expect(result.lines.last == "143", "\(result.text) \(result.errors)")
    #expect(!result.errors.contains("done"))
  }

  /// The commands print rows in the form that they accept.
  @Test func rowsAreNamedForEdits() throws {
    func names(_ arguments: String...) throws -> [String] {
      try ledgers.tabella(["show", "a.ledger", "--with-row", "--format", "plain"] + arguments).lines
        .map { String($0.prefix { $0 != "\t" }) }
    }
    #expect(try names() == ["id:Ada", "id:Bob", "id:Cy"])
    #expect(try names("--rows", "1..") == ["id:Bob", "id:Cy"])
    #expect(try names("--filter", "count > 1") == ["id:Bob"])
    // The filtered table named Bob 0:0, and `delete` without the filter deleted Ada by that name.
    #expect(try ledgers.tabella("delete", "a.ledger", "id:Bob", "--yes").status == 0)
    #expect(try ledgers.content() == "Ada\t1\nCy\t\\N\n")
    let table = try ledgers.tabella("show", "a.ledger", "--with-row")
    #expect(table.lines.first == "row     name  count" && table.lines.last == "id:Cy   Cy        ∅")
    let narrow = try ledgers.tabella(
      "show", "a.ledger", "--with-row", "--width", "9", "--vertical", "never")
    #expect(narrow.lines.first == "row", "\(narrow.text)")
    #expect(narrow.lines.contains("id:Ada"))
    // Without ids, index paths are printed, but only for the whole table.
    #expect(try names("-o", "ids=false") == ["0:0", "0:1"])
    #expect(try names("-o", "ids=false", "-n", "1") == ["0:0"])
    for shape in [["--filter", "count > 1"], ["--sort", "name"], ["--rows", "1.."]] {
      let result = try ledgers.tabella(
        ["show", "a.ledger", "--with-row", "-o", "ids=false"] + shape)
      #expect(
        result.status == 2
          && result.errors.contains("tabella show a.ledger --with-row -o ids=false"))
      let edit = try ledgers.tabella(
        ["delete", "a.ledger", "0", "--yes", "-o", "ids=false"] + shape)
      #expect(
        edit.status == 4 && edit.errors.contains("tabella show a.ledger -o ids=false --with-row"))
    }
    #expect(try ledgers.content() == "Ada\t1\nCy\t\\N\n")
    for wrong in [["--json"], ["--style", "collection"]] {
      let result = try ledgers.tabella(["show", "a.ledger", "--with-row"] + wrong)
      #expect(result.status == 2 && result.errors.contains("--with-row does not work with"))
    }
  }

  /// The receipt of such an edit was discarded together with the false result.
  @Test func aLieKeepsItsReceipt() throws {
    let result = try ledgers.tabella("delete", "a.ledger", "0", "--yes", "-o", "lies=true")
    let id = try #require(ledgers.receiptIDs.first)
    #expect(result.errors.contains("undo it with: tabella undo receipt:\(id)"))
    #expect(try ledgers.content() == "Bob\t2\nCy\t\\N\n")
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  @Test func valuesHaveTheTypesOfTheirColumns() throws {
    let file = try ledgers.folder.write(
      "t.ledger", "text:text real:real open:boolean day:date raw:binary a:text a=b:text\n")
    func cells(_ assignments: String...) throws -> [String: Any] {
      let result = try ledgers.tabella(["insert", file, "0", "--dry-run", "--json"] + assignments)
      #expect(result.status == 0, "\(result.errors)")
      let outcomes = try jsonObject(result.text)["outcomes"] as? [[String: Any]]
      return try #require(outcomes?.first?["cells"] as? [String: Any])
    }
    let typed = try cells("real=-1.5e3", "open=true", "day=2026-02-28", "raw=00ff", "text==é")
    #expect(typed["real"] as? Double == -1500 && typed["open"] as? Bool == true)
    #expect(typed["day"] as? String == "2026-02-28T00:00:00Z" && typed["text"] as? String == "=é")
    #expect(typed["raw"] as? [String: String] == ["base64": "AP8="])
    let empty = try cells("real=", "open=", "day=", "raw=", "text=")
    #expect(empty.filter { $0.value is NSNull }.count == 4 && empty["text"] as? String == "")
    // The longest matching name was taken, although the word is ambiguous.
    let unsure = try ledgers.tabella("insert", file, "0", "a=b=c")
    #expect(
      unsure.status == 2 && unsure.errors.contains("\"a=b=c\" can mean the columns a and a=b"))
    // The message did not contain the reason.
    let late = try ledgers.tabella("insert", file, "0", "day=2263-01-01")
    #expect(late.status == 2 && late.errors.contains("from 1677-09-21 to 2262-04-11"))
    for (first, last) in [("1677-09-22", "1677-09-20"), ("2262-04-11", "2262-04-12")] {
      #expect(try ledgers.tabella("insert", file, "0", "day=\(first)", "--dry-run").status == 0)
      #expect(try ledgers.tabella("insert", file, "0", "day=\(last)", "--dry-run").status == 2)
    }
    for wrong in ["real=1,5", "open=maybe", "day=2026-02-30", "raw=abc"] {
      let result = try ledgers.tabella("insert", file, "0", wrong)
      #expect(result.status == 2 && result.errors.contains("must be"), "\(wrong)")
    }
    let bytes = try ledgers.shell(
      "tabella set a.ledger 0 name=\"$(printf '\\377')\" --dry-run --json")
    #expect(bytes.text.contains("\"cells\":{\"name\":{\"base64\":\"/w==\"}}"))
  }

  @Test func aDryRunOnlySaysWhat() throws {
    func dry(_ arguments: String...) throws -> String {
      let result = try ledgers.tabella(arguments + ["--dry-run"])
      #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
      return result.text
    }
    #expect(try dry("set", "a.ledger", "2", "count=5") == "set row id:Cy: count null -> 5\n")
    #expect(
      try dry("set", "a.ledger", "0", "count=1")
        == "set row id:Ada: count 1 -> 1 (no change)\n")
    #expect(
      try dry("delete", "a.ledger", "0", "id:Bob")
        == "delete row id:Ada: name \"Ada\", count 1\ndelete row id:Bob: name \"Bob\", count 2\n"
    )
    #expect(
      try dry("insert", "a.ledger", "end", "name=\u{7}") == "insert row 0:3: name \"\\u0007\"\n")
    #expect(
      try dry("move", "a.ledger", "0", "end") == "move row id:Ada to 0:2: name \"Ada\", count 1\n")
    let refused = try ledgers.tabella(
      "delete", "a.ledger", "0", "1", "--dry-run", "-o", "refuse=Ada")
    #expect(refused.status == 1 && refused.text.contains("(refused: it is refused)"))
    #expect(refused.errors.contains("1 of 2 edits would fail: row id:Ada"))
    let document = try jsonObject(dry("set", "a.ledger", "0", "name=B", "--json"))
    #expect(document["dryRun"] as? Bool == true && document["receipt"] is NSNull)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n" && ledgers.receiptNames.isEmpty)
  }

  @Test func ifVersion() throws {
    let document = try jsonObject(ledgers.tabella("show", "a.ledger", "--json").text)
    let version = try #require(document["version"] as? String)
    func set(_ count: Int) throws -> ProgramResult {
      try ledgers.tabella(
        "set", "a.ledger", "0", "count=\(count)", "--if-version", version, "--json")
    }
    let first = try set(5)
    #expect(first.status == 0)
    let versions = try jsonObject(first.text)["version"] as? [String: String]
    #expect(versions?["from"] == version && versions?["to"] != version)
    let second = try set(6)
    #expect(second.status == 5 && second.output.isEmpty)
    #expect(try ledgers.content().hasPrefix("Ada\t5\n"))
  }

  // Tables with volatile order

  private static let positions: [([String], Int32)] = [
    (["set", "0", "name=A"], 4), (["delete", "0", "--yes"], 4), (["delete", "id:Bob", "--yes"], 0),
    (["set", "id:Bob", "name=A", "--yes"], 0), (["insert", "end", "name=A"], 0),
    (["insert", "0:end", "name=A"], 0), (["insert", "0", "name=A"], 4),
    (["move", "id:Bob", "0"], 4),
    (["move", "id:Bob", "end"], 0), (["set", "0", "name=A", "--sort", "name", "--yes"], 4),
    (["set", "0", "name=A", "--dry-run"], 4), (["set", "id:Bob", "name=A", "--dry-run"], 0),
  ]

  @Test(arguments: positions)
  func positionsWhereTheOrderChanges(_ arguments: [String], _ status: Int32) throws {
    var words = arguments + ["-o", "volatile=true"]
    words.insert("a.ledger", at: 1)
    let result = try ledgers.tabella(words)
    #expect(result.status == status, "\(result.errors)")
    if status == 4 {
      // The message suggests only commands that work.
      let namesRow = arguments[0] != "insert" && !arguments[1].hasPrefix("id:")
      let placesRow = arguments[0] == "insert" || arguments[0] == "move"
      #expect(result.errors.contains("name the row by its id") == namesRow, "\(result.errors)")
      #expect(result.errors.contains("use the position end") == placesRow)
      #expect(result.errors.contains("--if-version"))
      #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
      let document = try jsonObject(
        ledgers.tabella(
          ["show", "a.ledger", "--json", "-o", "volatile=true"]
            + words.filter { $0 == "--sort" || $0 == "name" }
        ).text)
      let version = try #require(document["version"] as? String)
      #expect(try ledgers.tabella(words + ["--if-version", version]).status == 0)
    }
  }

  /// A missing column was refused without a hint how to add it, and an empty CSV file could not be started.
  @Test func columnsThatAreNotThere() throws {
    let file = try ledgers.folder.write("e.csv", "")
    func content() throws -> String { try String(contentsOfFile: file, encoding: .utf8) }
    let insert = ["insert", "e.csv", "0", "name=Ada", "city=Rome"]
    let refused = try ledgers.tabella(insert)
    #expect(refused.status == 2)
    #expect(refused.errors.contains("use -o columns=name,city"), "\(refused.errors)")
    #expect(try ledgers.tabella(insert + ["-o", "columns=name,city"]).status == 0)
    #expect(try content() == "name,city\nAda,Rome\n")
    let set = ["set", "e.csv", "0", "a b=x"]
    let unknown = try ledgers.tabella(set)
    #expect(unknown.status == 2)
    #expect(unknown.errors.contains("use -o 'columns=a b'"), "\(unknown.errors)")
    #expect(try ledgers.tabella(set + ["-o", "columns=a b"]).status == 0)
    #expect(try content() == "name,city,a b\nAda,Rome,x\n")
    for before in ["name,city\nAda,Rome\n", ""] {
      #expect(try ledgers.tabella("undo", "e.csv").status == 0)
      #expect(try content() == before)
    }
    // For a provider without such an option, the message suggests none.
    let other = try ledgers.tabella("set", "a.ledger", "0", "c=x")
    #expect(other.status == 2 && !other.errors.contains("columns="), "\(other.errors)")
  }

  /// Inferred types rewrote numbers and dates in text formats and in edited cells.
  @Test func inferredTypesStayText() throws {
    let file = try ledgers.folder.write("t.csv", "n;d;b\n5,40;2024-02-29;TRUE\n7,0;;false\n")
    let options = ["-o", "types=infer", "-o", "decimal=,"]
    for format in ["csv", "tsv", "plain", "table"] {
      let shown = try ledgers.tabella(["show", "t.csv", "--format", format] + options)
      #expect(shown.text.contains("5,40") && shown.text.contains("7,0"), "\(shown.text)")
      #expect(shown.text.contains("TRUE") && !shown.text.contains("T00:00"), "\(shown.text)")
    }
    let lines = try ledgers.tabella(["show", "t.csv", "--format", "jsonl"] + options)
    #expect(
      lines.text == "{\"n\":5.4,\"d\":\"2024-02-29T00:00:00Z\",\"b\":true}\n"
        + "{\"n\":7,\"d\":null,\"b\":false}\n")
    let wrong = try ledgers.tabella(["set", "t.csv", "0", "n=5.50"] + options)
    #expect(wrong.status == 2 && wrong.errors.contains("must be a number"), "\(wrong.errors)")
    #expect(try ledgers.tabella(["set", "t.csv", "0", "n=5,50"] + options).status == 0)
    try ledgers.folder.write(
      "batch", "{\"op\":\"set\",\"row\":\"1\",\"cells\":{\"n\":8.5,\"b\":null}}\n")
    let applied = try ledgers.tabella(["apply", "t.csv", "batch"] + options)
    #expect(applied.status == 0, "\(applied.errors)")
    #expect(
      try String(contentsOfFile: file, encoding: .utf8)
        == "n;d;b\n5,50;2024-02-29;TRUE\n8,5;;\n")
  }

  /// `apply` rewrote the text of a cell of an inferred type even if the new value was equal to the old one.
  @Test func equalValuesKeepTheirText() throws {
    let content = "n,d,b,r\n1.50,2024-02-29,TRUE,-0.0\n7,2024-03-01T00:00:00+01:00,false,1e3\n"
    let file = try ledgers.folder.write("v.csv", content)
    let options = ["-o", "types=infer"]
    let lines = try ledgers.tabella(["show", "v.csv", "--format", "jsonl"] + options).text
    let edits = lines.split(separator: "\n").enumerated().map { number, cells in
      "{\"op\":\"set\",\"row\":\"\(number)\",\"cells\":\(cells)}"
    }
    try ledgers.folder.write("same", edits.joined(separator: "\n"))
    let same = try ledgers.tabella(["apply", "v.csv", "same"] + options)
    #expect(same.status == 0 && same.errors.contains("nothing"), "\(same.errors)")
    #expect(try String(contentsOfFile: file, encoding: .utf8) == content)
    try ledgers.folder.write(
      "other", "{\"op\":\"set\",\"row\":\"0\",\"cells\":{\"n\":1.25,\"b\":true,\"r\":0}}")
    let other = try ledgers.tabella(["apply", "v.csv", "other"] + options)
    #expect(other.status == 0, "\(other.errors)")
    #expect(
      try String(contentsOfFile: file, encoding: .utf8)
        == content.replacingOccurrences(of: "1.50", with: "1.25"))
  }

  /// Refusals proposed command lines that were refused too, or proposed none.
  @Test func proposedLinesWork() throws {
    try ledgers.folder.write("n.md", "# A\na\n# B\nb\n")
    try ledgers.folder.write("c.csv", "n\n1\n")
    try ledgers.folder.write("s.ledger", "name:text\n# One\nA\nB\n# Two\nC\n")
    func refused(_ words: [String]) throws -> String {
      let result = try ledgers.tabella(words)
      #expect(result.status != 0, "\(words)")
      return result.errors
    }
    // The proposed option selects sections that the provider can edit.
    for extra in [[], ["-o", "sections=paragraphs"]] {
      let errors = try refused(["set", "n.md", "1:", "title=Q"] + extra)
      #expect(errors.contains("tabella set n.md 1: title=Q -o sections=headings"), "\(errors)")
    }
    // The proposal had the second new column without the first.
    let columns = try refused(["set", "c.csv", "0", "b=1", "-o", "columns=a"])
    #expect(columns.contains("-o columns=a,b"), "\(columns)")
    // The proposed line had --yes with a position, although the order of this source may change by itself.
    let volatile = try refused(["delete", "a.ledger", "1", "-o", "volatile=true"])
    #expect(
      volatile.contains("tabella delete a.ledger id:Bob -o volatile=true --yes"), "\(volatile)")
    #expect(
      try ledgers.tabella("delete", "a.ledger", "id:Bob", "-o", "volatile=true", "--yes").status
        == 0)
    #expect(try refused(["delete", "a.ledger", "0"]).contains("tabella delete a.ledger 0 --yes"))
    #expect(try refused(["set", "a.ledger", ":0", "name=x"]).contains("title::0"))
    let title = try refused(["set", "s.ledger", "--section", "Two", "title=Q", "--yes"])
    #expect(title.contains("Two:"), "\(title)")
    let end = try refused(["move", "n.md", "0:", "end:", "-o", "sections=headings"])
    #expect(end.contains("use 1: for the last position"), "\(end)")
  }

  /// A version from other options, with which the index path was another row, was accepted.
  @Test func versionsAreOfOneReading() throws {
    let content = "n\n10\n9\n8\n"
    let file = try ledgers.folder.write("n.csv", content)
    let readings = [
      [], ["-o", "header=false"], ["-o", "skip=1"], ["--provider", "text"],
      ["--sort", "n"], ["--sort", "n", "-o", "types=infer"], ["--filter", "n > 8"],
    ]
    func version(_ reading: [String]) throws -> String {
      let shown = try ledgers.tabella(["show", "n.csv", "--json"] + reading)
      return try #require(try jsonObject(shown.text)["version"] as? String, "\(shown.errors)")
    }
    let versions = try readings.map(version)
    #expect(Set(versions).count == readings.count, "\(versions)")
    for reading in readings {
      for (number, version) in versions.enumerated() where readings[number] != reading {
        let result = try ledgers.tabella(
          ["delete", "n.csv", "0", "--yes", "--if-version", version] + reading)
        #expect(result.status == 5, "\(reading), \(readings[number]): \(result.errors)")
      }
    }
    #expect(try String(contentsOfFile: file, encoding: .utf8) == content)
  }

  /// With several sections, the message suggested the end of one, although the command already contained it.
  @Test func sectionsWhereTheOrderChanges() throws {
    try ledgers.folder.write("s.ledger", "name:text\n# One\nA\nB\n# Two\nC\n")
    for words in [["move", "s.ledger", "id:A", "1:end"], ["insert", "s.ledger", "end", "name=D"]] {
      let result = try ledgers.tabella(words + ["-o", "volatile=true"])
      #expect(result.status == 4, "\(result.errors)")
      #expect(result.errors.contains("name the section by its title, or use --if-version"))
      #expect(
        !result.errors.contains("name the row") && !result.errors.contains("use the position end"))
      let line = words[0] == "move" ? "s.ledger id:A Two:end" : "s.ledger One:end name=D"
      #expect(result.errors.contains("tabella \(words[0]) \(line) -o volatile=true"))
    }
  }

  /// If one of several rows was gone, all edits failed, although the provider could do the others.
  @Test func someOfTheRowsAreGone() throws {
    let volatile = ["-o", "volatile=true"]
    let result = try ledgers.tabella(
      ["delete", "a.ledger", "id:Zed", "id:Bob", "--yes", "--json"] + volatile)
    #expect(result.status == 1 && result.errors.contains("row id:Zed: Zed is gone"))
    let outcomes = try jsonObject(result.text)["outcomes"] as? [[String: Any]]
    #expect(
      outcomes?[0]["row"] as? String == "id:Zed" && outcomes?[0]["code"] as? String == "not-found")
    #expect(outcomes?[1]["row"] as? String == "id:Bob" && outcomes?[1]["code"] is NSNull)
    #expect(try ledgers.content() == "Ada\t1\nCy\t\\N\n")
    try ledgers.folder.write(
      "edits.jsonl",
      """
      {"op":"set","row":"id:Zed","cells":{"count":1}}
      {"op":"insert","at":"end","cells":{"name":"New"}}
      {"op":"delete","row":"id:Bob"}
      {"op":"set","row":"id:Cy","cells":{"count":3}}
      """)
    let batch = try ledgers.tabella(["apply", "a.ledger", "edits.jsonl"] + volatile)
    #expect(batch.status == 1 && batch.errors.contains("2 of 4 edits failed"), "\(batch.errors)")
    #expect(try ledgers.content() == "Ada\t1\nCy\t3\nNew\t\\N\n")
    // A single row, all rows, a move, and a table without volatile order.
    let before = try ledgers.content()
    for words in [
      ["delete", "a.ledger", "id:Zed", "--yes"] + volatile,
      ["delete", "a.ledger", "id:Zed", "id:Yak", "--yes"] + volatile,
      ["delete", "a.ledger", "id:Zed", "id:Cy", "--yes"], ["apply", "a.ledger", "edits.jsonl"],
      ["move", "a.ledger", "id:Zed", "end"] + volatile,
    ] {
      let none = try ledgers.tabella(words)
      #expect(none.status == 1, "\(words): \(none.errors)")
      #expect(try ledgers.content() == before)
    }
    // The note appears in front of the question.
    let shown = try ledgers.onTerminal(
      ["delete", "a.ledger", "id:Zed", "id:Cy"] + volatile, answers: [("[y/N] ", "y")])
    #expect(shown.text.contains("row id:Zed was not found"), "\(shown.text)")
    #expect(try ledgers.content() == "Ada\t1\nNew\t\\N\n")
  }

  /// If one of two processes had ended, neither was signalled.
  @Test func someProcessesHaveEnded() throws {
    let children = try [spawn("/bin/sleep", "1000"), spawn("/bin/sleep", "1000")]
    var isReaped = [false, false]
    defer {
      for (pid, isReaped) in zip(children, isReaped) where !isReaped {
        kill(pid, SIGKILL)
        reap(pid)
      }
    }
    let rows = try children.map { pid in
      let shown = try ledgers.tabella(
        "show", "processes:", "--filter", "pid = \(pid)", "--with-row", "--format", "plain")
      return String(shown.text.prefix { $0 != "\t" })
    }
    kill(children[0], SIGKILL)
    reap(children[0])
    isReaped[0] = true
    let result = try ledgers.tabella(
      ["delete", "processes:", "--yes", "-o", "signal=KILL", "-o", "wait=20"] + rows)
    #expect(result.status == 1, "\(result.errors)")
    var status: Int32 = 0
    isReaped[1] = waitpid(children[1], &status, WNOHANG) == children[1]
    #expect(isReaped[1] && status & 0x7F == SIGKILL)
    #expect(result.errors.contains("1 of 2 edits failed: row id:"))
    #expect(result.errors.contains("has ended"))
  }

  /// A refusal was recorded as an edit if the table changed at the same moment.
  @Test func aRefusalWhileTheTableChanges() throws {
    let result = try ledgers.tabella(
      "delete", "a.ledger", "0", "--yes", "-o", "refuse=Ada", "-o", "churn=true")
    #expect(
      result.status == 4 && result.errors.contains("may be done in part: row id:Ada: it is refused")
    )
    #expect(ledgers.receiptNames.isEmpty)
  }

  @Test func extents() {
    let versions = [nil, Version("a"), Version("b")]
    let (done, failed) = (EditResult.Outcome(), EditResult.Outcome(code: .io))
    for (from, to) in versions.flatMap({ from in versions.map { (from, $0) } }) {
      func extent(
        _ outcomes: [EditResult.Outcome], _ changes: [ChangeBatch.Change]?,
        _ receipt: [UInt8]? = nil
      ) -> EditExtent {
        EditResult(
          outcomes: outcomes, changes: ChangeBatch(from: from, to: to, changes: changes),
          receipt: receipt
        ).extent
      }
      let change = [ChangeBatch.Change.delete(IndexPath(section: 0, row: 0))]
      #expect(extent([done, failed], []) == .nothing && extent([failed], []) == .nothing)
      #expect(extent([done, failed], nil) == .something && extent([failed], nil) == .unclear)
      #expect(extent([failed], change) == .something && extent([], nil) == .unclear)
      #expect(extent([failed], nil, [1]) == .something && extent([failed], [], [1]) == .something)
    }
  }

  // Targets of rows

  /// The output contained the requested target although a view moved the row elsewhere.
  @Test(arguments: sample(10, of: 1...40 as ClosedRange<UInt64>))
  func whereARowStandsAfterwards(_ seed: UInt64) throws {
    var random = SeededGenerator(seed: seed)
    let count = Int.random(in: 1...6, using: &random)
    let rows = (0..<count).map { "r\($0)\t\(Int.random(in: 0...2, using: &random))\n" }
    try ledgers.folder.write("a.ledger", "name:text count:integer\n" + rows.joined())
    let shapes = [
      [], ["--sort", "count:desc"], ["--sort", "name"], ["--section-by", "count"],
      ["--section-by", "count", "--sort", "name:desc"], ["--filter", "count > 0"],
      ["--search", "r"], ["-o", "volatile=true"], ["-o", "volatile=true", "--sort", "count"],
    ]
    let shape = shapes.randomElement(using: &random)!
    func names() throws -> [String: String] {
      let shown = try ledgers.tabella(
        ["show", "a.ledger", "--format", "json"] + shape)
      let sections = try jsonObject(shown.text)["sections"] as? [[String: Any]] ?? []
      var places: [String: String] = [:]
      for (section, content) in sections.enumerated() {
        for (row, line) in (content["rows"] as? [[String: Any]] ?? []).enumerated() {
          places[line["id"] as? String ?? ""] = "\(section):\(row)"
        }
      }
      return places
    }
    let before = try names()
    guard let row = before.keys.sorted().randomElement(using: &random), let path = before[row]
    else {
      return
    }
    let value = Int.random(in: 0...2, using: &random)
    let isMove = Bool.random(using: &random)
    let words =
      isMove
      ? ["move", "a.ledger", "id:\(row)", path]
      : ["insert", "a.ledger", path, "name=new", "count=\(value)"]
    let version = try jsonObject(ledgers.tabella(["show", "a.ledger", "--json"] + shape).text)[
      "version"]
    let pinned = words + shape + ["--if-version", version as? String ?? "", "--json"]
    func told(_ result: ProgramResult) throws -> Any? {
      (try jsonObject(result.text)["outcomes"] as? [[String: Any]])?.first?["to"]
    }
    let dry = try ledgers.tabella(pinned + ["--dry-run"])
    let result = try ledgers.tabella(pinned)
    #expect(dry.status == result.status, "\(pinned): \(result.errors)")
    guard result.status == 0 else { return }
    let after = try names()[isMove ? row : "new"]
    #expect(try told(result) as? String == after, "\(pinned): \(result.text)")
    // A dry run predicts the right result. It always predicts one for an unchanged table.
    let foreseen = try told(dry) as? String
    #expect(foreseen == after || foreseen == nil && !shape.isEmpty, "\(pinned): \(dry.text)")
  }

  @Test func whereARowIsNotShown() throws {
    let filter = ["--filter", "count = 1"]
    let result = try ledgers.tabella(
      ["insert", "a.ledger", "0", "name=New", "count=9", "--json"] + filter)
    let outcomes = try jsonObject(result.text)["outcomes"] as? [[String: Any]]
    #expect(outcomes?[0]["to"] is NSNull && outcomes?[0]["row"] as? String == "id:New")
    let dry = try ledgers.tabella(["insert", "a.ledger", "0", "name=N", "--dry-run"] + filter)
    #expect(dry.text == "insert a row (requested at 0:0): name \"N\"\n")
    let remark = try ledgers.tabella(
      ["insert", "a.ledger", "0", "name=N", "-o", "remark=so", "--sort", "name"])
    #expect(remark.errors.contains("row id:N: so"), "\(remark.errors)")
    let refused = try ledgers.tabella(
      "move", "a.ledger", "0", "1", "-o", "fails=6", "--json")
    #expect(refused.status == 4)
  }

  // Confirmation

  /// The confirmation showed only the present row, not the result of the edit.
  @Test func whatWillBeIsShown() throws {
    let set = try ledgers.onTerminal(
      ["set", "a.ledger", "1", "count=7", "-o", "volatile=true"], answers: [("[y/N] ", "n")])
    #expect(set.text.contains("set row id:Bob: count 2 -> 7\n"), "\(set.text)")
    let delete = try ledgers.onTerminal(
      ["delete", "a.ledger", "1", "2", "-o", "remark=would send KILL"], answers: [("[y/N] ", "n")])
    #expect(delete.text.contains("Delete 2 rows of a.ledger? (would send KILL) [y/N] "))
    let some = try ledgers.onTerminal(
      ["delete", "a.ledger", "0", "1", "-o", "refuse=Ada"], answers: [("[y/N] ", "n")])
    #expect(some.text.contains("row id:Ada: refused: it is refused\n"), "\(some.text)")
    // There is no question if nothing would be done.
    let none = try ledgers.onTerminal(
      ["delete", "a.ledger", "0", "-o", "refuse=Ada"], answers: [("[y/N] ", "y")])
    #expect(none.status == 4 && !none.text.contains("[y/N]"))
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n" && ledgers.receiptNames.isEmpty)
  }

  /// The identifying text of a process came after its numbers, was omitted on narrow terminals, and was not recorded.
  @Test func rowsAreKnownByTheirTexts() throws {
    let numbers = (0..<20).map { "number\($0):integer" }.joined(separator: " ")
    let line = "4711\t" + (0..<20).map { "10000\($0)" }.joined(separator: "\t") + "\troot\tsleep\n"
    try ledgers.folder.write(
      "a.ledger", "pid:integer \(numbers) user:text command:text\n\(line)")
    let words = ["delete", "a.ledger", "0", "-o", "remark=sent KILL"]
    let shown = try ledgers.onTerminal(words, answers: [("[y/N] ", "y")])
    #expect(shown.text.contains("row       pid  user  command  number0"), "\(shown.text)")
    let log = try ledgers.tabella("log", "--format", "plain", "--columns", "edits")
    #expect(log.text == "deleted 1 row: 4711 root sleep (sent KILL)\n")
  }

  @Test func deletingIsConfirmed() throws {
    let question = "Delete 2 rows of a.ledger? [y/N] "
    for (answer, isYes) in [("n", false), ("", false), ("yes please", false), ("y", true)] {
      let shown = try ledgers.onTerminal(
        ["delete", "a.ledger", "0", "2"], answers: [(question, answer)])
      #expect(shown.text.contains("row     name  count") && shown.text.contains("id:Cy   Cy"))
      #expect(!shown.text.contains("Bob"))
      #expect(shown.status == (isYes ? 0 : 1), "\(shown.text)")
      #expect(shown.text.contains("not confirmed; nothing was done") == !isYes)
      #expect(try ledgers.content() == (isYes ? "Bob\t2\n" : "Ada\t1\nBob\t2\nCy\t\\N\n"))
    }
    // With `--yes` there is no question, so no terminal is needed.
    #expect(try ledgers.tabella("delete", "a.ledger", "0", "--yes").status == 0)
  }

  @Test func manyRowsAreConfirmedByTheirNumber() throws {
    let rows = (0..<150).map { "row\($0)\t\($0)\n" }.joined()
    try ledgers.folder.write("a.ledger", "name:text count:integer\n" + rows)
    let words = ["delete", "a.ledger"] + (0..<101).map { "\($0)" }
    let question = "Delete 101 rows of a.ledger? Type the number of rows to confirm: "
    let no = try ledgers.onTerminal(words, answers: [(question, "y")])
    #expect(no.status == 1 && no.text.contains("and 81 more"))
    #expect(try ledgers.content() == rows)
    #expect(try ledgers.onTerminal(words, answers: [(question, "101")]).status == 0)
    #expect(try ledgers.content().hasPrefix("row101\t101\n"))
  }

  /// The row that was shown and confirmed is edited by its id, also with `--yes`.
  @Test func whatWasShownIsEditedByItsID() throws {
    let shown = try ledgers.onTerminal(
      ["set", "a.ledger", "1", "count=7", "--yes", "--json", "-o", "volatile=true"],
      answers: [("Change 1 row of a.ledger? [y/N] ", "y")])
    #expect(shown.status == 0 && shown.text.contains("\"id\":\"Bob\""), "\(shown.text)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t7\nCy\t\\N\n")
  }

  /// A change of the table during the question is a conflict.
  @Test func aChangeWhileTheQuestionStands() throws {
    let shown = try ledgers.onTerminal(
      ["delete", "a.ledger", "0"], answers: [("[y/N] ", "y")]
    ) { try ledgers.folder.write("a.ledger", "name:text count:integer\nBob\t2\nAda\t1\n") }
    #expect(shown.status == 5, "\(shown.text)")
    #expect(try ledgers.content() == "Bob\t2\nAda\t1\n" && ledgers.receiptNames.isEmpty)
  }

  /// The rows on standard error are as safe as those on standard output.
  @Test func confirmationIsSafe() throws {
    try ledgers.folder.write("a.ledger", "na\u{1B}me:text\nA\u{1B}[31md\u{202E}a\n")
    let shown = try ledgers.onTerminal(
      ["delete", "a.ledger", "0", "-o", "ids=false"], answers: [("[y/N] ", "n")])
    #expect(shown.status == 1 && !shown.bytes.contains(0x1B))
    #expect(!shown.text.contains("\u{202E}"))
  }

  /// The edit was done, so the message must not deny that.
  @Test func aFullDiskBehindTheReport() throws {
    let result = try ledgers.shell("tabella set a.ledger 0 count=9 --json > /dev/full")
    #expect(result.status == 1)
    let error = try jsonObject(result.errors)["error"] as? [String: Any]
    let message = try #require(error?["message"] as? String)
    let id = try #require(ledgers.receiptIDs.first)
    #expect(message.contains("was done (changed 1 row (count): Ada; receipt:\(id))"))
    #expect(try ledgers.content().hasPrefix("Ada\t9\n"))
  }

  /// A message contained the name of the column and also its number: "(column 1)".
  @Test func columnsAreNamed() throws {
    #expect(try ledgers.shell("mkdir d && touch d/f").status == 0)
    let row = try ledgers.tabella("show", "d", "--with-row", "--format", "plain").text
      .prefix { $0 != "\t" }
    let result = try ledgers.tabella("set", "d", "\(row)", "kind=x")
    #expect(result.status == 4 && !result.errors.contains("column 1"), "\(result.errors)")
    let asJSON = try ledgers.tabella("set", "d", "\(row)", "kind=x", "--json")
    let error = try jsonObject(asJSON.errors)["error"] as? [String: Any]
    #expect(error?["column"] as? Int == 1, "\(asJSON.errors)")
  }

  @Test func completions() throws {
    func complete(_ words: String...) throws -> [String] {
      try ledgers.tabella(["complete", "--"] + words).lines.dropFirst().map {
        $0.components(separatedBy: "\t")[0]
      }
    }
    #expect(try complete("set", "a.ledger", "0", "") == ["name=", "count="])
    #expect(try complete("insert", "a.ledger", "0", "name=A", "c") == ["count="])
    // Without ROW, `set` changes all rows that the options choose.
    #expect(try complete("set", "a.ledger", "") == ["name=", "count="])
    #expect(try complete("set", "--b") == ["--backup"])
    #expect(try complete("set", "--backup", "a.ledger", "0", "na") == ["name="])
    _ = try ledgers.tabella("set", "a.ledger", "0", "count=2")
    let id = try #require(ledgers.receiptIDs.first)
    #expect(try complete("undo", "rec") == ["receipt:\(id)"])
  }
}

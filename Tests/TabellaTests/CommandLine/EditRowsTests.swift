import Foundation
import Glibc
import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// `edit` as a user runs it, with scripts as editors.
@Suite struct EditRowsTests {
  let ledgers: Ledgers
  private var folder: TemporaryFolder { ledgers.folder }

  init() throws {
    ledgers = try Ledgers()
    try FileManager.default.createDirectory(
      atPath: folder.path + "/tmp", withIntermediateDirectories: true)
  }

  /// Runs `edit` with a shell script as the editor. `$1` is the file.
  ///
  /// The shell reads the script. To run it as a program would fail (ETXTBSY) while a program that another test has just
  /// started still has the script open for writing.
  private func edit(_ words: String, _ script: String) throws -> ProgramResult {
    try folder.write("editor", "\(script)\n")
    return try ledgers.shell(
      "EDITOR=\"sh '\(folder.path)/editor'\" VISUAL= TMPDIR='\(folder.path)/tmp' tabella edit \(words)"
    )
  }

  /// The text of the buffers that were kept.
  private func kept() throws -> [String] {
    let folders = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/tmp")
    return try folders.map {
      try String(contentsOfFile: "\(folder.path)/tmp/\($0)/rows.txt", encoding: .utf8)
    }
  }

  private func text(_ name: String) throws -> String {
    String(decoding: try folder.read(name), as: UTF8.self)
  }

  /// Keeps the comments and prints other lines. `{}` stands for the lines of the script.
  private func lines(_ lines: String) -> String {
    "{ grep '^#' \"$1\"; cat <<'END'\n\(lines)\nEND\n} > \"$1.new\" && mv \"$1.new\" \"$1\""
  }

  /// `--rows -2..` opened all rows, so that the script edited rows that the user did not mean.
  @Test func theLastRowsAreOpened() throws {
    try folder.write("last.csv", "name,n\na,1\nb,1\nc,1\nd,1\n")
    let result = try edit("last.csv --rows -2.. --yes", "sed -i 's/1$/9/' \"$1\"")
    #expect(result.errors.contains("done: changed 2 rows (n)"), "\(result.errors)")
    #expect(try text("last.csv") == "name,n\na,1\nb,1\nc,9\nd,9\n")
    let sorted = try edit(
      "last.csv --sort name:desc --rows -1.. --yes", "sed -i '/^[0-9]/d' \"$1\"")
    #expect(sorted.errors.contains("done: deleted 1 row: a"), "\(sorted.errors)")
  }

  /// Editors that remove blanks at the ends of lines removed empty last cells, and the edit was refused.
  @Test func removedEmptyCellsAreUnchanged() throws {
    try folder.write("t.csv", "k,v,w\n1,,\n2,b,\n3,c,d\n")
    let result = try edit("t.csv --yes", "sed -i 's/[ \t]*$//; s/^3\tc/3\te/' \"$1\"")
    let strip = try edit("t.csv --yes", "sed -i 's/[ \t]*$//' \"$1\"")
    #expect(strip.status == 0 && strip.errors.contains("nothing changed"), "\(strip.errors)")
    #expect(result.status == 0, "\(result.errors)")
    let missing = try edit("t.csv --yes", "sed -i 's/\td$//' \"$1\"")
    #expect(missing.status == 2 && missing.errors.contains("has 2 cells"), "\(missing.errors)")
  }

  /// If the parent ignored SIGCHLD, the status of the editor was lost, and a failed editor counted as a success.
  @Test func theStatusOfTheEditorIsKnown() throws {
    try folder.write("editor", "sed -i 's/Ada/Eve/' \"$1\"; exit 3\n")
    let result = try ledgers.shell(
      "trap '' CHLD; EDITOR=\"sh '\(folder.path)/editor'\" VISUAL= tabella edit a.ledger --yes")
    #expect(
      result.status == 1 && result.errors.contains("ended with status 3"),
      "\(result.status) \(result.errors)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  // The four providers

  @Test func filesAreRenamed() throws {
    _ = try ledgers.shell("mkdir box && touch 'box/IMG 1' box/IMG_2 box/other")
    let result = try edit("box --columns name --yes", "sed -i 's/IMG/photo/' \"$1\"")
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("done: changed 2 rows (name)"))
    #expect(try ledgers.shell("ls box").text == "other\nphoto 1\nphoto_2\n")
    // Names can be exchanged, deleted and created.
    let more = try edit(
      "box -o permanent=true --columns name,kind --yes",
      lines("1\tphoto 1\tfile\n2\tother\tfile\n+\tnew\tdirectory"))
    #expect(more.status == 0, "\(more.errors)")
    #expect(try ledgers.shell("ls -F box").text == "new/\nother\nphoto 1\n")
    #expect(try kept().isEmpty)
    let moved = try edit("box --columns name --yes", lines("2\tother\n1\tnew\n3\tphoto 1"))
    #expect(moved.status == 4 && moved.errors.contains("orders its rows itself"))
    let kind = try edit("box --columns name,kind --yes", "sed -i 's/directory/file/' \"$1\"")
    #expect(
      kind.status == 2 && kind.errors.contains("line 6: column kind cannot be changed"),
      "\(kind.errors)")
  }

  @Test func filesMoveToOtherFolders() throws {
    _ = try ledgers.shell("mkdir -p box/a box/b && touch box/a/one box/a/two box/b/three")
    let result = try edit(
      "box -o recursive=true -o sections=folder --columns name --filter 'kind = file' --yes",
      "sed -n '/two/!p; /three/p' \"$1\" > /dev/null; line=$(grep two \"$1\"); sed -i '/two/d' \"$1\"; echo \"$line\" >> \"$1\""
    )
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.shell("ls box/a box/b").text == "box/a:\none\n\nbox/b:\nthree\ntwo\n")
  }

  @Test func linesOfCSVAreReordered() throws {
    try folder.write("a.csv", "id,name\n1,Ada\n2,Bob\n3,\"C\ty\\\"\n4,Dee\n")
    let result = try edit("a.csv --yes", lines("4\t4\tDee\n2\t2\tBob\n+\t9\tNew\n3\t3\tC\\ty\\\\"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(result.errors.contains("deleted 1 row"))
    #expect(try text("a.csv") == "id,name\n4,Dee\n2,Bob\n9,New\n3,\"C\ty\\\"\n")
    #expect(try ledgers.shell("tabella undo a.csv").status == 0)
    #expect(try text("a.csv") == "id,name\n1,Ada\n2,Bob\n3,\"C\ty\\\"\n4,Dee\n")
  }

  @Test func linesOfTextAreDeletedAndInserted() throws {
    try folder.write("n.md", "# A\none\n# B\ntwo\nthree\n")
    let result = try edit(
      "n.md -o sections=headings --yes",
      lines("[1]\tBee\n2\ttwo\n+\tfour\n[0]\tA\n3\tthree\n1\tone"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(try text("n.md") == "# Bee\ntwo\nfour\n# A\nthree\none\n")
    // Sections can be inserted and deleted.
    let more = try edit(
      "n.md -o sections=headings --yes", lines("[+]\tNew\n[0]\tBee\n1\ttwo\n2\tfour"))
    #expect(more.status == 0, "\(more.errors)")
    #expect(try text("n.md") == "# New\n# Bee\ntwo\nfour\n")
    let orphan = try edit("n.md -o sections=headings --yes", lines("[0]\tNew\n1\ttwo"))
    #expect(
      orphan.status == 2 && orphan.errors.contains("belongs to section [1], which was removed"))
    let early = try edit(
      "n.md -o sections=headings --yes", lines("[0]\tNew\n[1]\tBee\n1\ttwo\n2\tfour\n[+]\tX\n+\ty"))
    #expect(
      early.status == 2 && early.errors.contains("a new section has no rows yet"),
      "\(early.status) \(early.errors)")
  }

  /// A text without headings had no line for its section, so `[+]` was refused.
  @Test func aFirstHeadingIsInserted() throws {
    try folder.write("n.md", "one\ntwo\n")
    let result = try edit(
      "n.md -o sections=headings --yes", "printf '[+]\\tNew\\n' >> \"$1\"")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try text("n.md") == "one\ntwo\n# New\n")
  }

  /// Two rows that exchanged their groups were refused: each move was checked as if it were alone.
  @Test func rowsExchangeGroups() throws {
    try folder.write("g.csv", "n,g\n1,y\n2,Z\n")
    let result = try edit("g.csv --section-by g --yes", lines("[0]\ty\n2\t2\tZ\n[1]\tZ\n1\t1\ty"))
    #expect(result.status == 0, "\(result.errors)")
    #expect(try text("g.csv") == "n,g\n1,Z\n2,y\n")
  }

  @Test func processesAreChanged() throws {
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/sleep")
    child.arguments = ["600"]
    try child.start()
    defer {
      kill(child.processIdentifier, SIGKILL)
      child.waitForEnd()
    }
    let pid = child.processIdentifier
    let words = "processes: --filter 'pid = \(pid)' --columns pid,nice --yes"
    let nice = try edit(words, "sed -i 's/\t0$/\t5/' \"$1\"")
    #expect(nice.status == 0, "\(nice.errors)")
    #expect(getpriority(__priority_which_t(PRIO_PROCESS.rawValue), id_t(pid)) == 5)
    // The test's own programs block SIGTERM.
    let end = try edit("\(words) -o signal=KILL", "sed -i '/^1\t/d' \"$1\"")
    try #require(end.status == 0, "\(end.errors)")
    child.waitForEnd()
    #expect(child.terminationReason == .uncaughtSignal && child.terminationStatus == SIGKILL)
  }

  // Views

  @Test func onlyShownRowsAreEdited() throws {
    try folder.write("a.csv", "id,name\n1,Ada\n2,Bob\n3,Cy\n4,Bert\n")
    let some = try edit(
      "a.csv --filter 'name ~ ^B' --columns name --yes", "sed -i 's/\tB/\tP/' \"$1\"")
    #expect(some.status == 0, "\(some.errors)")
    #expect(try text("a.csv") == "id,name\n1,Ada\n2,Pob\n3,Cy\n4,Pert\n")
    let first = try edit("a.csv --rows 1..2 --yes", lines("2\t3\tCy\n+\t8\tx\n+\t9\ty\n1\t2\tPob"))
    #expect(first.status == 0, "\(first.errors)")
    #expect(try text("a.csv") == "id,name\n1,Ada\n3,Cy\n8,x\n9,y\n2,Pob\n4,Pert\n")
    let sorted = try edit("a.csv --sort name --yes", "sed -i 's/Ada/Zed/' \"$1\"")
    #expect(sorted.status == 0, "\(sorted.errors)")
    #expect(try text("a.csv").hasPrefix("id,name\n1,Zed\n"))
    let moved = try edit("a.csv --sort name -n 2 --yes", "sed -i '$!b;h;d' \"$1\"; true")
    #expect(moved.status == 0, "\(moved.errors)")
    // A row in another group gets the value of the group.
    try folder.write("c.csv", "name,city\nAda,Rome\nBob,Bonn\nCy,Rome\n")
    let group = try edit(
      "c.csv --section-by city --yes",
      lines("[0]\tBonn\n[1]\tRome\n2\tAda\tRome\n3\tCy\tRome\n1\tBob\tBonn"))
    #expect(group.status == 0, "\(group.errors)")
    #expect(try text("c.csv") == "name,city\nAda,Rome\nBob,Rome\nCy,Rome\n")
    let title = try edit("c.csv --section-by city --yes", "sed -i 's/\\]\tRome/]\tBari/' \"$1\"")
    #expect(title.status == 4 && title.errors.contains("cannot be edited"))
    let order = try edit(
      "c.csv --sort name --yes", lines("2\tBob\tRome\n1\tAda\tRome\n3\tCy\tRome"))
    #expect(order.status == 4 && order.errors.contains("leave out --sort"))
  }

  /// Escapes, bytes that are not UTF-8, missing cells and changed line ends survive.
  @Test func cellsKeepTheirBytes() throws {
    let bytes = Array("a,b,c\n\"x\ty\",".utf8) + [0xFF, 0x1B] + Array(",\"l1\nl2\\\"\nq\n".utf8)
    try folder.write("a.csv", bytes)
    let unchanged = try edit("a.csv --yes", "sed -i 's/$/\\r/' \"$1\"")
    #expect(
      unchanged.status == 0 && unchanged.errors.contains("nothing changed"), "\(unchanged.errors)")
    let result = try edit(
      "a.csv --yes",
      "grep -q '^1\tx.ty\t.xff.x1b\tl1.nl2..$' \"$1\" || exit 9; grep -q '^2\tq\t.N\t.N$' \"$1\" || exit 8; sed -i 's/xff/xfe/; s/q\t.N/q\tr/' \"$1\""
    )
    #expect(result.status == 0, "\(result.errors)")
    #expect(
      try folder.read("a.csv") == Array("a,b,c\n\"x\ty\",".utf8) + [0xFE, 0x1B]
        + Array(",\"l1\nl2\\\"\nq,r\n".utf8))
  }

  /// Each escape is one byte, and an unknown escape is an error.
  @Test func escapesAreRead() {
    let text = Array(#"a\t\n\r\\\x00\xfF"#.utf8)
    #expect(unescapedCell(text[...]) == [97, 9, 10, 13, 92, 0, 255])
    for wrong in [#"\q"#, #"\x1"#, #"\x+1"#, #"\xg0"#, #"a\"#] {
      #expect(unescapedCell(Array(wrong.utf8)[...]) == nil, "\(wrong)")
    }
  }

  @Test func typedCellsAreRead() throws {
    let result = try edit(
      "a.ledger --yes", "sed -i 's/Bob\t2/Bob\t-7/; s/Ada\t1/Ada\t.N/; s/.N$/\\\\N/' \"$1\"")
    #expect(result.status == 0, "\(result.errors)")
    #expect(try ledgers.content() == "Ada\t\\N\nBob\t-7\nCy\t\\N\n")
    let wrong = try edit("a.ledger --yes", "sed -i 's/-7/many/' \"$1\"")
    #expect(wrong.status == 2 && wrong.errors.contains("count must be an integer, not many"))
  }

  // No change

  @Test func nothingChanges() throws {
    for script in ["true", "touch \"$1\"", "echo '# a remark' >> \"$1\""] {
      let result = try edit("a.ledger --yes", script)
      #expect(result.status == 0 && result.errors.contains("nothing changed"))
      #expect(result.output.isEmpty)
    }
    #expect(try kept().isEmpty && ledgers.receiptNames.isEmpty)
    let document = try jsonObject(edit("a.ledger --yes --json", "true").text)
    #expect((document["outcomes"] as? [Any])?.isEmpty == true)
    let dry = try edit("a.ledger --dry-run", "sed -i '/Bob/d' \"$1\"; echo words")
    #expect(dry.status == 0 && dry.text == "delete row id:Bob: name \"Bob\", count 2\n")
    #expect(dry.errors == "words\n")
    #expect(try kept().isEmpty && ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  private static let wrong: [(String, Int32, String)] = [
    ("exit 3", 1, "ended with status 3"), ("kill -9 $$", 1, "ended with status 137"),
    ("echo junk >> \"$1\"", 2, "\"junk\" is not the number of a row"),
    ("echo '9\tx\t1' >> \"$1\"", 2, "there was no row 9"),
    ("echo '0\tx\t1' >> \"$1\"", 2, "there was no row 0"),
    ("echo '2\tBob\t2' >> \"$1\"", 2, "row 2 is in line 7, too"),
    ("sed -i 's/Bob\t2/Bob/' \"$1\"", 2, "line 7: row 2 has 1 cell, but the table has 2 columns"),
    ("echo '+\ta\t1\tb' >> \"$1\"", 2, "the new row has 3 cells"),
    ("sed -i 's/Bob/B\\\\q/' \"$1\"", 2, "line 7: column name has an unknown escape"),
    ("rm \"$1\"", 1, "rows.txt"),
  ]

  @Test(arguments: wrong)
  func wrongTextChangesNothing(_ script: String, _ status: Int32, _ says: String) throws {
    let result = try edit("a.ledger --yes", script)
    #expect(result.status == status && result.output.isEmpty, "\(script): \(result.errors)")
    #expect(result.errors.contains(says), "\(script): \(result.errors)")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    // A text with changes is kept, and only then.
    let isKept = result.errors.contains("your text is kept in \(folder.path)/tmp/tabella-edit-")
    #expect(isKept == (status == 2))
    #expect(try kept().count == (isKept ? 1 : 0))
  }

  @Test func theTextIsKeptIfTheEditFails() throws {
    let refused = try edit("a.ledger -o refuse=Bob --yes", "sed -i '/Bob/d' \"$1\"")
    #expect(refused.status == 4 && refused.errors.contains("your text is kept in"))
    #expect(try kept().count == 1 && !kept()[0].contains("Bob"))
  }

  /// Another program changes the file while the editor is open.
  @Test func aConflictKeepsTheText() throws {
    try folder.write("a.csv", "id,name\n1,Ada\n2,Bob\n")
    let result = try edit(
      "a.csv --yes", "sed -i 's/Ada/Ann/' \"$1\"; printf '3,Cy\\n' >> '\(folder.path)/a.csv'")
    #expect(
      result.status == 5 && result.errors.contains("your text is kept in"), "\(result.errors)")
    #expect(try text("a.csv") == "id,name\n1,Ada\n2,Bob\n3,Cy\n")
    #expect(try kept().count == 1 && kept()[0].contains("Ann"))
    let stale = try edit("a.csv --yes --if-version x", "exit 7")
    #expect(stale.status == 5 && stale.errors.contains("nothing was done"))
  }

  /// A kill leaves the text where it was, readable only for the user.
  @Test func aKillKeepsTheText() throws {
    let result = try edit(
      "a.ledger --yes",
      "sed -i 's/Ada/Ann/' \"$1\"; stat -c %a \"$1\" \"$(dirname \"$1\")\" >&2; kill -9 $(cut -d ' ' -f 4 /proc/$PPID/stat)"
    )
    #expect(result.status == 137 || result.status == 9)
    #expect(result.errors.contains("600\n700\n"))
    #expect(try kept().count == 1 && kept()[0].contains("Ann"))
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
  }

  @Test func aScriptNeedsAnEditorAndYes() throws {
    let asks = try edit("a.ledger", "exit 7")
    #expect(asks.status == 2 && asks.errors.contains("tabella edit a.ledger --yes"))
    let none = try ledgers.shell("unset EDITOR VISUAL; tabella edit a.ledger --yes")
    #expect(none.status == 4 && none.errors.contains("set VISUAL or EDITOR"))
    let readOnly = try edit("a.ledger -o read-only=true --yes", "exit 7")
    #expect(readOnly.status == 4 && readOnly.errors.contains("is read-only"))
    #expect(try edit("a.ledger b.ledger --yes", "exit 7").status == 2)
    // VISUAL comes first, and both can have arguments.
    let visual = try ledgers.shell(
      "VISUAL='sed -i s/Ada/Eve/' EDITOR=false tabella edit a.ledger --yes")
    #expect(visual.status == 0, "\(visual.errors)")
    #expect(try ledgers.content().hasPrefix("Eve\t1\n"))
  }

  @Test func aTerminalAsks() throws {
    let script = try folder.write("editor", "#!/bin/sh\nsed -i '/Bob/d' \"$1\"\n")
    chmod(script, 0o755)
    func answered(_ answers: [(question: String, answer: String)]) throws -> Shown {
      try runOnTerminal(
        buildFolder + "/tabella", ["edit", "a.ledger"], width: 100,
        environment: ledgers.environment([
          "EDITOR": script, "VISUAL": "", "TMPDIR": folder.path + "/tmp",
        ]), directory: folder.path, answers: answers)
    }
    let no = try answered([("Delete 1 row of a.ledger? [y/N]", "n")])
    #expect(no.status == 1 && no.text.contains("not confirmed"))
    #expect(try kept().count == 1)
    let yes = try answered([("Delete 1 row of a.ledger? [y/N]", "y")])
    #expect(yes.status == 0)
    #expect(try ledgers.content() == "Ada\t1\nCy\t\\N\n")
    // A wrong line opens the editor again.
    try ledgers.reset()
    try folder.write(
      "editor",
      "#!/bin/sh\nif grep -q junk \"$1\"; then sed -i '/junk/d; /Bob/d' \"$1\"; else echo junk >> \"$1\"; fi\n"
    )
    let again = try answered([("Edit again? [Y/n]", ""), ("Delete 1 row of a.ledger? [y/N]", "y")])
    #expect(again.status == 0, "\(again.text)")
    #expect(try ledgers.content() == "Ada\t1\nCy\t\\N\n")
  }

  /// Any new order of random rows, with changes, deletions and insertions, arrives in the file.
  @Test func everyEditOfTheLinesArrives() throws {
    for seed in 0..<30 as Range<UInt64> {
      var generator = SeededGenerator(seed: seed)
      let count = Int.random(in: 0..<8, using: &generator)
      let rows = (0..<count).map { "\($0),n\($0)" }
      try folder.write("r.csv", (["id,name"] + rows).joined(separator: "\n") + "\n")
      var edited: [(line: String, row: String)] = (0..<count).map {
        ("\($0 + 1)\t\($0)\tn\($0)", rows[$0])
      }
      for _ in 0..<Int.random(in: 0..<6, using: &generator) {
        let index = Int.random(in: 0..<max(1, edited.count), using: &generator)
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where !edited.isEmpty: edited.remove(at: index)
        case 1: edited.insert(("+\t7\tnew", "7,new"), at: min(index, edited.count))
        case 2 where !edited.isEmpty:
          edited[index].line += "x"
          edited[index].row += "x"
        case 3: edited.shuffle(using: &generator)
        default: break
        }
      }
      let result = try edit("r.csv --yes", lines(edited.map(\.line).joined(separator: "\n")))
      #expect(result.status == 0, "seed \(seed): \(result.errors)")
      let after = (["id,name"] + edited.map(\.row)).joined(separator: "\n") + "\n"
      #expect(try text("r.csv") == after, "seed \(seed)")
    }
  }
}

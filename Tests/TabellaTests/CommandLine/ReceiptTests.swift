import Foundation
import Tabella
import TabellaFiles
import Testing

@testable import TabellaCLI
@testable import TabellaHost
@testable import TabellaTestSupport

/// Receipts, `undo` and `log`.
@Suite struct ReceiptTests {
  let ledgers: Ledgers

  init() throws { ledgers = try Ledgers() }

  /// Edits the first row and returns the id of the receipt.
  @discardableResult
  private func edit(_ assignment: String, _ location: String = "a.ledger") throws -> String {
    let result = try ledgers.tabella("set", location, "0", assignment, "--json")
    return try #require(jsonObject(result.text)["receipt"] as? String, "\(result.errors)")
  }

  private func mode(_ path: String) throws -> Int? {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return (attributes[.posixPermissions] as? NSNumber)?.intValue
  }

  private func path(_ id: String) -> String { "\(ledgers.receipts)/\(id).receipt" }

  /// A receipt with an edited line and a matching digest. Other texts stay unchanged.
  private func signed(_ text: [UInt8], _ edit: (String) -> String = { $0 }) -> [UInt8] {
    let end = text.firstIndex(of: 10) ?? text.count
    let head = edit(String(decoding: text[..<end], as: UTF8.self))
    guard case .object(var members)? = try? JSONValue(parsing: Array(head.utf8)) else {
      return Array(head.utf8) + text[end...]
    }
    members["digest"] = nil
    members["digest"] = .string(Receipt.digest(of: members))
    var bytes: [UInt8] = []
    JSONValue.object(members).append(to: &bytes)
    return bytes + text[end...]
  }

  // Undo

  /// The advice of the host was lost when an undo could not open the table.
  @Test func anUndoKeepsTheRemediesOfTheHost() {
    let error = TableError(.denied, "cannot be confined").with(.acceptWeakIsolation)
    let failure = Failure.of(ReceiptError(.table, "t.csv", error))
    #expect(failure.message == "cannot be confined; use --weak-isolation to edit anyway")
    #expect(failure.subject == "t.csv" && failure.status == .refused)
  }

  @Test func undoAndRedo() throws {
    try edit("count=5")
    let changed = try ledgers.content()
    let undo = try ledgers.tabella("undo", "a.ledger", "--json")
    #expect(undo.status == 0 && undo.errors.isEmpty, "\(undo.errors)")
    let document = try jsonObject(undo.text)
    #expect(
      document["undoable"] as? Bool == true && document["location"] as? String == ledgers.file)
    let outcomes = document["outcomes"] as? [[String: Any]]
    #expect(outcomes?.count == 1 && outcomes?[0]["op"] as? String == "undo")
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    // Undoing the undo repeats the edit.
    let id = try #require(document["receipt"] as? String)
    let redo = try ledgers.tabella("undo", "receipt:\(id)")
    #expect(redo.status == 0 && redo.errors.contains("a.ledger: redo: changed 1 row (count): Ada"))
    #expect(try ledgers.content() == changed)
    #expect(ledgers.receiptNames.count == 3)
  }

  /// Repeated undos of a location alternated over its newest edit. Now each one undoes an older edit, and its own
  /// receipt reverts it.
  @Test(arguments: ["a.ledger", "data.csv", "lines.txt"])
  func oneAfterTheOther(_ name: String) throws {
    let file = try ledgers.folder.write(
      name, name == "a.ledger" ? Ledgers.three : "name\nAda\nBob\n")
    let column = name == "lines.txt" ? "line" : "name"
    var states = [try ledgers.content(file)]
    for number in 0..<4 {
      let edit = try ledgers.tabella("set", name, "1", "\(column)=N\(number)")
      #expect(edit.status == 0, "\(edit.errors)")
      states.append(try ledgers.content(file))
    }
    var undos: [String] = []
    for state in states.dropLast().reversed() {
      // Changed times and modes do not change rows.
      if name != "a.ledger" {
        #expect(try ledgers.shell("chmod 600 \(name); touch \(name)").status == 0)
      }
      let undo = try ledgers.tabella("undo", name, "--json")
      #expect(undo.status == 0, "\(undo.errors)")
      undos.append(try #require(jsonObject(undo.text)["receipt"] as? String))
      #expect(try ledgers.content(file) == state)
    }
    let none = try ledgers.tabella("undo", name)
    #expect(none.status == 1 && none.errors.contains("that is not yet undone"))
    for (id, state) in zip(undos.reversed(), states.dropFirst()) {
      #expect(try ledgers.tabella("undo", "receipt:\(id)").status == 0)
      #expect(try ledgers.content(file) == state)
    }
    // A repeated edit can be undone again.
    #expect(try ledgers.tabella("undo", name).status == 0)
    #expect(try ledgers.content(file) == states[3])
    let rows = try ledgers.tabella("log", name, "--format", "jsonl").lines.map(jsonObject)
    let undone = rows.map { $0["undone"] as? Bool ?? false }
    // Newest first: an undo, four redos of which it reverted one, four undos, four edits.
    let (no, yes) = (false, true)
    #expect(undone == [no, yes, no, no, no, yes, yes, yes, no, yes, no, no, no])
  }

  /// An edit by another provider, or by a scheme, was not found by the path of the file.
  @Test func undoFindsEditsOfOtherProviders() throws {
    let file = try ledgers.folder.write("data.csv", "a\n1\n")
    for location in [["text:data.csv"], ["data.csv", "--provider", "text"]] {
      let set = try ledgers.tabella(["set", location[0], "1", "line=2"] + location.dropFirst())
      #expect(set.status == 0, "\(set.errors)")
      #expect(try ledgers.tabella("undo", "data.csv").status == 0)
      #expect(try ledgers.content(file) == "1\n")
    }
  }

  @Test func undoOfANamedReceipt() throws {
    let first = try edit("count=5")
    let other = try ledgers.folder.write("b.ledger", Ledgers.three)
    try edit("count=6", other)
    let dry = try ledgers.tabella("undo", "receipt:\(first)", "--dry-run")
    #expect(dry.status == 0 && dry.text == "undo: changed 1 row (count): Ada\n")
    #expect(ledgers.receiptNames.count == 2)
    #expect(try ledgers.tabella("undo", "receipt:\(first)").status == 0)
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    #expect(try ledgers.content(other).hasPrefix("Ada\t6\n"))
    // The file is no longer in the state that the edit left.
    let again = try ledgers.tabella("undo", "receipt:\(first)")
    #expect(again.status == 5 && again.errors.contains("no longer as the receipt says"))
    #expect(try ledgers.tabella("undo", "receipt:\(first)", "--dry-run").status == 5)
  }

  /// Every name for the same table finds it, from every folder.
  @Test func receiptsWorkFromAnyFolder() throws {
    let folder = ledgers.folder.path
    try FileManager.default.createDirectory(
      atPath: folder + "/deep", withIntermediateDirectories: true)
    try FileManager.default.createSymbolicLink(
      atPath: folder + "/link.ledger", withDestinationPath: ledgers.file)
    for (location, other) in [
      ("../a.ledger", ledgers.file), ("ledger:../a.ledger", "../link.ledger"),
      ("../link.ledger", "ledger:../deep/../a.ledger"),
    ] {
      try ledgers.reset()
      let set = try ledgers.tabella(
        ["set", location, "0", "count=5"], directory: folder + "/deep")
      #expect(set.status == 0, "\(set.errors)")
      let elsewhere = try ledgers.tabella(["log", "-n", "1", "--format", "jsonl"], directory: "/")
      let id = try #require(jsonObject(elsewhere.text)["id"] as? String)
      let undo = try ledgers.tabella(["undo", "receipt:\(id)"], directory: "/")
      #expect(undo.status == 0, "\(undo.errors)")
      #expect(
        try ledgers.tabella(["set", location, "0", "count=5"], directory: folder + "/deep").status
          == 0)
      let other = try ledgers.tabella(["undo", other], directory: folder + "/deep")
      #expect(other.status == 0, "\(other.errors)")
      #expect(try ledgers.content().hasPrefix("Ada\t1\n"))
    }
  }

  /// Undo opened the path as it had been typed, through a folder or a link that was gone or had changed.
  @Test func theRealPathIsOpened() throws {
    let folder = ledgers.folder.path
    #expect(
      try ledgers.shell("mkdir -p q/w v1 v2 && touch q/f v1/f v2/f && ln -s v1 cur").status == 0)
    func rename(_ location: String, in directory: String) throws {
      let row = try ledgers.tabella(
        ["show", location, "--filter", "name = f", "--with-row", "--format", "plain"],
        directory: directory
      ).text.prefix { $0 != "\t" }
      let set = try ledgers.tabella(["set", location, "\(row)", "name=g"], directory: directory)
      #expect(set.status == 0, "\(set.errors)")
    }
    try rename("..", in: folder + "/q/w")
    #expect(try ledgers.shell("rmdir q/w").status == 0)
    #expect(try ledgers.tabella("undo", "q").status == 0)
    #expect(try ledgers.shell("ls q").text == "f\n")
    try rename("cur", in: folder)
    #expect(try ledgers.shell("ln -sfn v2 cur").status == 0)
    #expect(try ledgers.tabella("undo", "cur").status == 1)
    let undo = try ledgers.tabella("undo", "v1")
    #expect(undo.status == 0, "\(undo.errors)")
    #expect(try ledgers.shell("ls v1 v2").text == "v1:\nf\n\nv2:\nf\n")
  }

  /// `directory:` without a path named the same location in all folders.
  @Test func aSchemeAloneIsTheFolderOneIsIn() throws {
    #expect(try ledgers.shell("mkdir d e && touch d/f e/f").status == 0)
    let set = try ledgers.shell(
      """
      cd d && tabella set directory: "$(tabella show directory: --with-row --format plain | cut -f 1)" name=g
      """)
    #expect(set.status == 0, "\(set.errors)")
    for wrong in ["cd e && tabella undo directory:", "cd e && tabella undo ."] {
      let undo = try ledgers.shell(wrong)
      #expect(undo.status == 1 && undo.errors.contains("no receipt of an edit"), "\(undo.errors)")
    }
    let undo = try ledgers.shell("cd d && tabella undo .")
    #expect(undo.status == 0, "\(undo.errors)")
    let redo = try ledgers.shell("cd / && tabella undo receipt:\(ledgers.receiptIDs.last ?? "")")
    #expect(redo.status == 0, "\(redo.errors)")
    #expect(try ledgers.shell("cd d && tabella undo directory: && ls").text == "f\n")
  }

  /// A partial undo counted as complete, and the next undo reverted an older edit.
  @Test func aPartialUndoIsEndedFirst() throws {
    let older = try edit("count=5")
    let before = try ledgers.content()
    try ledgers.folder.write(
      "two.jsonl",
      """
      {"op":"set","row":"0","cells":{"count":6}}
      {"op":"set","row":"1","cells":{"count":7}}
      {"op":"set","row":"2","cells":{"count":8}}
      """)
    let batch = try ledgers.tabella("apply", "a.ledger", "two.jsonl", "-o", "halves=true")
    #expect(batch.status == 0, "\(batch.errors)")
    let edit = try #require(ledgers.receiptIDs.last)
    func undone() throws -> [String: Bool] {
      let rows = try ledgers.tabella("log", "a.ledger", "--format", "jsonl").lines.map(jsonObject)
      return Dictionary(
        uniqueKeysWithValues: rows.map {
          ($0["id"] as? String ?? "", $0["undone"] as? Bool == true)
        })
    }
    for content in ["Ada\t5\nBob\t7\nCy\t8\n", "Ada\t5\nBob\t2\nCy\t8\n"] {
      let undo = try ledgers.tabella("undo", "a.ledger")
      let partial = try #require(ledgers.receiptIDs.last)
      #expect(undo.status == 1 && undo.errors.contains("lines were taken back"), "\(undo.errors)")
      #expect(undo.errors.contains("for the rest: tabella undo receipt:\(partial)"))
      #expect(try ledgers.content() == content)
      #expect(try undone()[edit] == false)
      let log = try ledgers.tabella("log", "a.ledger", "--format", "jsonl").lines.map(jsonObject)
      #expect((log[0]["edits"] as? String)?.hasSuffix("(with errors)") == true)
    }
    let end = try ledgers.tabella("undo", "a.ledger")
    #expect(end.status == 0 && end.errors.contains("undo: changed 3 rows"), "\(end.errors)")
    #expect(try ledgers.content() == before)
    #expect(try undone()[edit] == true)
    // By its receipt it is the same edit. The next undo takes the older edit, and then there is none.
    #expect(try ledgers.tabella("undo", "receipt:\(edit)").status != 0)
    #expect(try undone()[older] == false)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try undone()[older] == true)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 1)
  }

  /// A refusal recommended `--in-place`, which undo did not have.
  @Test func undoSavesAsItIsTold() throws {
    let file = try ledgers.folder.write("links.csv", "a,b\n1,2\n")
    #expect(try ledgers.tabella("set", "links.csv", "0", "b=3").status == 0)
    #expect(link(file, file + ".other") == 0)
    let refused = try ledgers.tabella("undo", "links.csv")
    #expect(refused.status == 4 && refused.errors.contains("in-place=true"), "\(refused.errors)")
    let undo = try ledgers.tabella("undo", "links.csv", "--in-place")
    #expect(undo.status == 0, "\(undo.errors)")
    for name in [file, file + ".other"] {
      #expect(try String(contentsOfFile: name, encoding: .utf8) == "a,b\n1,2\n")
    }
    // The redo saves in the same way without the option.
    let redo = try ledgers.tabella("undo", "receipt:\(ledgers.receiptIDs.last ?? "")")
    #expect(redo.status == 0, "\(redo.errors)")
    #expect(try String(contentsOfFile: file + ".other", encoding: .utf8) == "a,b\n1,3\n")
  }

  /// Undo leaves the backup of an edit unchanged.
  @Test func undoKeepsTheBackup() throws {
    let file = try ledgers.folder.write("kept.csv", "a\n1\n")
    #expect(try ledgers.tabella("set", "kept.csv", "0", "a=2", "--backup").status == 0)
    #expect(try ledgers.tabella("undo", "kept.csv").status == 0)
    for name in [file, file + "~"] {
      #expect(try String(contentsOfFile: name, encoding: .utf8) == "a\n1\n")
    }
  }

  /// An edit that made the table narrower ended the program after the save, without a receipt. An edit that changed the
  /// type of a column was reported as wrong.
  @Test func columnsMayBeOthersAfterwards() throws {
    let ragged = try ledgers.folder.write("ragged.csv", "id,name\n1,Ada\n2,Bob,x\n")
    try ledgers.folder.write(
      "narrow.jsonl", #"{"op":"set","row":"1","cells":{"column 3":null}}"# + "\n")
    let narrow = try ledgers.tabella("apply", "ragged.csv", "narrow.jsonl")
    #expect(narrow.status == 0 && narrow.errors.contains("changed 1 row (column 3): 2"))
    #expect(try String(contentsOfFile: ragged, encoding: .utf8) == "id,name\n1,Ada\n2,Bob\n")
    #expect(try ledgers.tabella("undo", "ragged.csv").status == 0)
    #expect(try String(contentsOfFile: ragged, encoding: .utf8) == "id,name\n1,Ada\n2,Bob,x\n")
    try ledgers.folder.write("typed.csv", "1,2\n")
    let untyped = try ledgers.tabella(
      "set", "typed.csv", "0", "column 2=", "-o", "header=false", "-o", "types=infer")
    #expect(untyped.status == 0, "\(untyped.errors)")
  }

  /// A pipe after a scheme was opened, and the command waited for its writer.
  @Test func pipesAreNotEdited() throws {
    for location in ["p", "csv:p", "text:p"] {
      let result = try ledgers.shell(
        "test -p p || mkfifo p; timeout 20 tabella insert \(location) end a=1")
      #expect(result.status == 4 && result.errors.contains("is a pipe"), "\(result.errors)")
    }
  }

  /// After a partial undo without a new receipt, users must repair the rest by hand.
  @Test func aPartialUndoWithoutAWayBack() throws {
    let store = ReceiptFolder(Array(ledgers.receipts.utf8))
    let id = try #require(ReceiptID(edit("count=5")))
    let place = try store.receipt(id).place
    let undo = Receipt(
      id: store.newID(at: Timestamp(nanoseconds: 0)), provider: "ledger", place: place,
      options: [:],
      summary: "changed 1 row", kind: .undo, undoes: id, trouble: "half of it")
    try store.keep(undo, [], in: store.reserve())
    let next = try ledgers.tabella("undo", "a.ledger")
    #expect(next.status == 4 && next.errors.contains("it cannot be undone: correct"))
    #expect(next.errors.contains("half of it") && next.errors.contains("receipt:\(undo.id)"))
    // Later edits can still be undone.
    try edit("count=9")
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 4)
  }

  /// Two programs edited at the same time, and the later edit got the older receipt: no undo of the location was possible.
  @Test(arguments: [[0, 2, 1], [2, 1, 0], [1, 0, 2], [1, 2, 0], [2, 0, 1]])
  func receiptsOfConcurrentEditsCanHaveAnotherOrder(_ order: [Int]) throws {
    let original = try ledgers.content()
    let ids = try (0..<3).map { try edit("count=\($0 + 5)") }
    let texts = try ids.map { Array(try Data(contentsOf: URL(fileURLWithPath: path($0)))) }
    for (id, number) in zip(ids, order) {
      let text = signed(texts[number]) { $0.replacing(ids[number], with: id) }
      try Data(text).write(to: URL(fileURLWithPath: path(id)))
    }
    for count in [6, 5, nil] {
      let undo = try ledgers.tabella("undo", "a.ledger")
      #expect(undo.status == 0, "\(undo.errors)")
      let content = try ledgers.content()
      if let count {
        #expect(content.contains("\t\(count)\n"), "\(content)")
      } else {
        #expect(content == original)
      }
    }
    #expect(try ledgers.tabella("undo", "a.ledger").status == 1)
  }

  /// An undo without effect was recorded if the table changed at the same moment.
  @Test func anUndoThatDidNothingIsNone() throws {
    try edit("count=5")
    try ledgers.folder.write(
      "two.jsonl",
      """
      {"op":"set","row":"0","cells":{"count":6}}
      {"op":"set","row":"1","cells":{"count":7}}
      """)
    let batch = try ledgers.tabella(
      "apply", "a.ledger", "two.jsonl", "-o", "halves=true", "-o", "churn=true")
    #expect(batch.status == 0, "\(batch.errors)")
    let edited = try ledgers.content()
    let receipts = ledgers.receiptNames
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(
      undo.status == 1
        && undo.errors.contains("failed, and may be done in part: 0 of 2 lines were taken back"))
    #expect(ledgers.receiptNames == receipts)
    // The file has changed, so this edit cannot be undone, and no earlier one is tried.
    #expect(try ledgers.tabella("undo", "a.ledger").status == 5)
    #expect(try ledgers.content() == edited + "\n")
  }

  @Test func optionsAreRemembered() throws {
    let result = try ledgers.tabella(
      "delete", "a.ledger", "1", "--yes", "-o", "refuse=Ada", "-o", "remark=gone", "--json")
    let id = try #require(jsonObject(result.text)["receipt"] as? String)
    let store = ReceiptFolder(Array(ledgers.receipts.utf8))
    let receipt = try store.receipt(#require(ReceiptID(id)))
    #expect(receipt.options == ["refuse": "Ada", "remark": "gone"])
    #expect(receipt.provider == "ledger" && receipt.summary == "deleted 1 row: Bob (gone)")
    let wayBack = try store.wayBack(of: receipt)
    #expect(String(decoding: wayBack, as: UTF8.self).hasSuffix(Ledgers.three))
  }

  @Test func whatCannotBeTakenBack() throws {
    let result = try ledgers.tabella("set", "a.ledger", "0", "count=5", "-o", "undoes=false")
    #expect(result.status == 0 && result.errors.contains("cannot be undone"))
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(
      undo.status == 4 && undo.errors.contains("ledger cannot undo this edit"), "\(undo.errors)")
    #expect(ledgers.receiptNames.count == 1)
  }

  private static let refused: [([String], Int32, String)] = [
    ([], 2, "a location or a receipt is missing"), (["a.ledger", "b"], 2, "b is not expected"),
    (["a.ledger"], 1, "no receipt of an edit that is not yet undone"),
    (["b.ledger"], 1, "no receipt of an edit that is not yet undone"),
    (["-"], 4, "standard input cannot be edited"),
    (["receipt:20261121T150733.000000Z-1f3a9c"], 1, "there is no such receipt"),
    (["receipt:"], 2, "is not the name of a receipt"),
    (["receipt:../../x"], 2, "is not the name of a receipt"),
    (["receipt:20261121T150733.000000Z-1f3a9C"], 2, "is not the name of a receipt"),
    (["receipt:20261321T150733.000000Z-1f3a9c"], 2, "is not the name of a receipt"),
    (["receipt:20261121T150733.000000Z-1f3a9c.json"], 2, "is not the name of a receipt"),
  ]

  @Test(arguments: refused)
  func undoRefuses(_ arguments: [String], _ status: Int32, _ says: String) throws {
    let result = try ledgers.tabella(["undo"] + arguments)
    #expect(result.status == status && result.errors.contains(says), "\(result.errors)")
    #expect(result.output.isEmpty && result.errors.split(separator: "\n").count == 1)
  }

  // The folder

  @Test func receiptsAreTheirOwnersAlone() throws {
    let id = try edit("count=5")
    #expect(try mode(path(id)) == 0o600)
    for folder in [ledgers.receipts, ledgers.folder.path + "/state/tabella"] {
      #expect(try mode(folder) == 0o700)
    }
    #expect(ledgers.receiptNames == ["\(id).receipt"])
  }

  /// A relative XDG_STATE_HOME is ignored.
  @Test func homeHasThemOtherwise() throws {
    let home = ledgers.folder.path + "/home"
    let result = try ledgers.tabella(
      "set", "a.ledger", "0", "count=5", environment: ["XDG_STATE_HOME": "state", "HOME": home])
    #expect(result.status == 0)
    #expect(
      try FileManager.default.contentsOfDirectory(
        atPath: home + "/.local/state/tabella/receipts"
      ).count == 1)
  }

  /// Without a folder for the receipt, nothing is done.
  @Test func noPlaceForTheReceipt() throws {
    let none = try ledgers.tabella(
      "set", "a.ledger", "0", "count=5", environment: ["XDG_STATE_HOME": "", "HOME": "here"])
    #expect(none.status == 1 && none.errors.contains("neither XDG_STATE_HOME nor HOME"))
    try ledgers.folder.write("state", "a file is in the way")
    let blocked = try ledgers.tabella("set", "a.ledger", "0", "count=5")
    #expect(blocked.status == 1 && blocked.errors.contains("so nothing was done"))
    let proc = try ledgers.tabella(
      "set", "a.ledger", "0", "count=5", environment: ["XDG_STATE_HOME": "/proc/self"])
    #expect(proc.status == 4 && proc.errors.contains("so nothing was done"))
    #expect(try ledgers.content() == "Ada\t1\nBob\t2\nCy\t\\N\n")
    // A dry run promised the edit.
    let dry = try ledgers.tabella("set", "a.ledger", "0", "count=5", "--dry-run")
    #expect(dry.status == 1 && dry.errors.contains("so nothing was done"))
    let other = try ledgers.tabella(
      "set", "a.ledger", "0", "count=5", "--dry-run",
      environment: ["XDG_STATE_HOME": ledgers.folder.path + "/new/and/deep"])
    #expect(other.status == 0, "\(other.errors)")
    #expect(!FileManager.default.fileExists(atPath: ledgers.folder.path + "/new"))
  }

  @Test func theOldestGiveWay() throws {
    let first = try edit("count=5")
    let bytes = try ledgers.folder.read("state/tabella/receipts/\(first).receipt")
    for number in 0..<1000 {
      let digits = String(1_000_000 + number).dropFirst()
      let id = "20010101T000000.\(digits)Z-abcdef"
      let copy = signed(bytes) { $0.replacingOccurrences(of: first, with: id) }
      try ledgers.folder.write("state/tabella/receipts/\(id).receipt", copy)
    }
    try ledgers.folder.write("state/tabella/receipts/notes.txt", "not ours")
    let second = try edit("count=6")
    let names = ledgers.receiptNames
    #expect(names.count == 1001 && names.contains("notes.txt"))
    #expect(names.contains("\(first).receipt") && names.contains("\(second).receipt"))
    #expect(!names.contains("20010101T000000.000001Z-abcdef.receipt"))
    #expect(names.contains("20010101T000000.000002Z-abcdef.receipt"))
    #expect(try ledgers.tabella("log", "--format", "plain").lines.count == 1000)
  }

  /// Only the number of receipts was limited, so they could use 16 GB.
  @Test func soDoTheLargest() throws {
    let first = try edit("count=5")
    for digit in 1...5 {
      // A file of 60 MiB that uses no space on the disk.
      let file = path("2001010\(digit)T000000.000000Z-abcdef")
      #expect(FileManager.default.createFile(atPath: file, contents: nil))
      #expect(truncate(file, 60 << 20) == 0)
    }
    let second = try edit("count=6")
    // The newest four fit into 256 MiB with these two.
    #expect(
      ledgers.receiptIDs
        == (2...5).map { "2001010\($0)T000000.000000Z-abcdef" } + [first, second])
    func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    let longest = ReceiptFolder.longestWayBack
    #expect(Receipt.WayBack(to: zeros(longest + 1)) == nil)
    #expect(Receipt.WayBack(to: zeros(longest))?.count == longest)
    #expect(ReceiptFolder.longestWayBack * 4 <= ReceiptFolder.mostBytes)
  }

  /// After the clock was set back, undo reverted another edit than the newest.
  @Test func theClockGoesBack() throws {
    let first = try edit("count=5")
    let bytes = try ledgers.folder.read("state/tabella/receipts/\(first).receipt")
    let later = "21990101T000000.999999Z-ffffff"
    try ledgers.folder.write(
      "state/tabella/receipts/\(later).receipt",
      signed(bytes) { $0.replacingOccurrences(of: first, with: later) })
    try FileManager.default.removeItem(atPath: path(first))
    let second = try edit("count=6")
    #expect(second.hasPrefix("21990101T000001.000000Z-"))
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    #expect(try ledgers.content().hasPrefix("Ada\t5\n"))
    // There is no later time than this, so none is invented.
    let last = try #require(ReceiptID("22620411T234716.854775Z-000000"))
    #expect(ReceiptID(at: Timestamp(nanoseconds: 0), after: last).time == last.time)
  }

  // Damaged and hostile receipts

  @Test func damagedReceipts() throws {
    let id = try edit("count=5")
    let name = "state/tabella/receipts/\(id).receipt"
    let good = try ledgers.folder.read(name)
    func replaced(_ old: String, _ new: String) -> [UInt8] {
      signed(good) { $0.replacingOccurrences(of: old, with: new, options: .regularExpression) }
    }
    for (text, says) in [
      ([], "damaged"), (Array("{".utf8), "damaged"), (Array("[]\n".utf8), "damaged"),
      (Array(good.dropLast()), "damaged: \"receipt\""), (good + [10], "damaged: \"receipt\""),
      (Array(good.dropLast()) + [0], "damaged: the data for undo"),
      (replaced(id, "20010101T000000.000000Z-abcdef"), "damaged: \"id\""),
      (replaced("\"receipt\":\\{[^}]*\\}", "\"receipt\":7"), "damaged: \"receipt\""),
      (replaced("\"bytes\":", "\"bytes\":-"), "damaged: \"receipt\""),
      (replaced("\"rest\":\"[^\"]*\"", "\"rest\":\"\""), "damaged"),
      (replaced("\"rest\":\"", "\"rest\":\"\\\\u0000"), "damaged"),
      (replaced("\"kind\":\"edit\"", "\"kind\":\"undo\""), "damaged: \"kind\""),
      (replaced("\"kind\":\"edit\"", "\"kind\":\"edits\""), "damaged: \"kind\""),
      (replaced("\"options\":\\{\\}", "\"options\":{\"a\":1}"), "damaged: \"options\""),
      (replaced("\"options\":\\{\\}", "\"options\":{\"a\":\"1\"}"), "has no option a"),
      (replaced("\"provider\":\"ledger\"", "\"provider\":\"../x\""), "../x"),
      (replaced("\"folder\":null", "\"folder\":\"/absent\""), "cannot be made the current folder"),
    ] {
      try ledgers.folder.write(name, text)
      let result = try ledgers.tabella("undo", "receipt:\(id)")
      #expect([1, 3].contains(result.status), "\(says): \(result.status) \(result.errors)")
      #expect(result.errors.contains(says), "\(says): \(result.errors)")
      if says.hasPrefix("damaged") {
        #expect(result.errors.contains("remove the file \(path(id))"))
      }
      #expect(try ledgers.content().hasPrefix("Ada\t5\n"))
    }
    // Without its digest, a line is invalid.
    try ledgers.folder.write(
      name, String(decoding: good, as: UTF8.self).replacingOccurrences(of: "Ada", with: "Bob"))
    #expect(try ledgers.tabella("undo", "receipt:\(id)").errors.contains("the receipt is damaged"))
    // Other files than regular ones are not followed, read or waited for.
    for make in ["ln -s /etc/passwd", "mkfifo", "mkdir"] {
      let result = try ledgers.shell("rm -rf \(path(id)); \(make) \(path(id))")
      #expect(result.status == 0)
      #expect(try ledgers.tabella("undo", "receipt:\(id)").status == 1)
      let log = try ledgers.tabella("log")
      #expect(log.status == 1 && log.errors.contains("receipt:\(id)"))
    }
    // The receipts after it are still found.
    let second = try edit("count=6")
    #expect(try ledgers.tabella("log", "--format", "plain").text.contains(second))
    let undo = try ledgers.tabella("undo", "a.ledger")
    #expect(undo.status == 0, "\(undo.errors)")
  }

  /// A damaged receipt was skipped with a warning, and the edit in front of it was undone.
  @Test func aDamagedReceiptIsNotPassedOver() throws {
    let older = try edit("count=5")
    let newest = try edit("name=New", "a.ledger")
    let changed = try ledgers.content()
    try ledgers.folder.write("state/tabella/receipts/\(newest).receipt", "{}\n")
    for location in ["a.ledger", "b.ledger"] {
      let undo = try ledgers.tabella("undo", location)
      #expect(undo.status == 1 && undo.errors.contains("receipt:\(newest) may belong"))
      #expect(undo.errors.contains("remove the file \(path(newest))"), "\(undo.errors)")
      #expect(try ledgers.content() == changed)
      let log = try ledgers.tabella("log", location, "--format", "plain")
      #expect(log.status == 1 && log.errors.contains("remove the file \(path(newest))"))
      #expect(log.text.contains(older) == (location == "a.ledger"))
    }
    // If the first line is intact, the location of a receipt is known.
    let other = try ledgers.folder.write("b.ledger", Ledgers.three)
    let third = try edit("count=7", other)
    try FileManager.default.removeItem(atPath: path(newest))
    let bytes = try ledgers.folder.read("state/tabella/receipts/\(third).receipt")
    try ledgers.folder.write(
      "state/tabella/receipts/\(third).receipt", Array(bytes.dropLast()) + [0])
    #expect(try ledgers.tabella("log").status == 0)
    #expect(try ledgers.tabella("undo", other).errors.contains("damaged: the data for undo"))
    #expect(try ledgers.tabella("undo", "a.ledger", "--dry-run").status == 5)
  }

  /// A changed byte anywhere in a receipt leads to an error or another receipt, and never ends the program.
  @Test func brokenReceiptsAreErrors() throws {
    let id = try #require(ReceiptID("20261121T150733.000000Z-1f3a9c"))
    let receipt = Receipt(
      id: id, provider: "csv",
      place: .init(scheme: "csv", rest: [0xFF, 47], folder: Array("/tmp".utf8)),
      options: ["header": "no"], from: "a", to: nil, summary: "changed 1 row", kind: .undo,
      undoes: id, trouble: "half of it", wayBack: .init(to: [1, 2, 255]))
    let good = receipt.head
    let read = try Receipt(parsing: good, id: id, rest: 3)
    #expect(read.place == receipt.place && read.wayBack == receipt.wayBack)
    #expect(read.options == receipt.options && read.undoes == id && read.to == nil)
    #expect(read.kind == .undo && read.trouble == "half of it")
    var random = SeededGenerator(seed: 7)
    for _ in 0..<20_000 {
      var text = good
      for _ in 0..<Int.random(in: 1...4, using: &random) {
        let at = Int.random(in: 0..<text.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: text[at] = UInt8.random(in: 0...255, using: &random)
        case 1: text.remove(at: at)
        case 2: text.insert(contentsOf: good.prefix(at).suffix(9), at: at)
        default: text.swapAt(at, Int.random(in: 0..<text.count, using: &random))
        }
      }
      if Bool.random(using: &random) { text = signed(text) }
      do throws(TableError) {
        let other = try Receipt(parsing: text, id: id, rest: 3)
        #expect(other.id == id && !other.place.location.contains(0))
      } catch {
        #expect(error.code == .invalidArgument)
      }
    }
  }

  // Ids and bytes

  @Test func idsStandInTheOrderOfTime() throws {
    var random = SeededGenerator(seed: 3)
    for _ in 0..<10_000 {
      // A clock can be wrong, also before 1970.
      let first = Timestamp(nanoseconds: .random(in: -(1 << 61)...(1 << 62), using: &random))
      let later = Timestamp(
        nanoseconds: first.nanoseconds + .random(in: 1000...1 << 50, using: &random))
      let (a, b) = (ReceiptID(at: first), ReceiptID(at: later))
      #expect(a < b && !(b < a))
      #expect(ReceiptID(a.text) == a)
      #expect(a.time?.nanoseconds == first.nanoseconds / 1000 * 1000)
    }
  }

  @Test func base64IsReadAsItIsWritten() {
    var random = SeededGenerator(seed: 5)
    for count in 0..<300 {
      let original = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
      let text = original.withUnsafeBytes { base64($0) }
      #expect(bytes(base64: text) == original)
      guard !text.isEmpty else { continue }
      #expect(bytes(base64: String(text.dropLast())) == nil)
    }
    for wrong in ["A", "AA", "AA=", "A===", "====", "AB==", "AAB=", "A=AA", "A A=", "AAé"] {
      #expect(bytes(base64: wrong) == nil, "\(wrong)")
    }
  }

  @Test func durableFiles() throws {
    let folder = try TemporaryFolder()
    let path = Array(folder.path.utf8)
    func names() throws -> [String] {
      try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
    }
    do {
      let file = try DurableFile(in: path, room: 1 << 16)
      #expect(try names().isEmpty)
      try file.write(Array("abc".utf8), name: "a")
      #expect(try Data(contentsOf: URL(fileURLWithPath: folder.path + "/a")) == Data("abc".utf8))
      _ = try DurableFile(in: path, room: 0)
    }
    // No file is replaced, and an abandoned file leaves nothing behind.
    let second = try DurableFile(in: path, room: 1)
    #expect(throws: TableError(.conflict, "a exists")) { try second.write([1], name: "a") }
    #expect(try names() == ["a"])
    #expect(throws: TableError.self) { try DurableFile(in: path + Array("/absent".utf8), room: 1) }
  }

  // Log

  @Test func logLists() throws {
    // Only a header was shown.
    for (arguments, says) in [([], "tabella: log: there is"), (["b"], "tabella: b: there is")] {
      let none = try ledgers.tabella(["log"] + arguments)
      #expect(none.status == 0 && none.text.isEmpty && none.errors.hasPrefix(says))
    }
    #expect(try ledgers.tabella("log", "--format", "csv").text.hasPrefix("id,"))
    #expect(try ledgers.tabella("log", "--json").errors.isEmpty)
    let first = try edit("count=5")
    let other = try ledgers.folder.write("b.ledger", Ledgers.three)
    let second = try edit("count=6", other)
    #expect(try ledgers.tabella("undo", "a.ledger").status == 0)
    let rows = try ledgers.tabella("log", "--format", "jsonl").lines.map(jsonObject)
    #expect(rows.count == 3)
    #expect(rows[1]["id"] as? String == second && rows[2]["id"] as? String == first)
    #expect(rows[2]["location"] as? String == ledgers.file)
    #expect(rows[2]["edits"] as? String == "changed 1 row (count): Ada")
    #expect(rows[0]["edits"] as? String == "undo: changed 1 row (count): Ada")
    #expect(
      rows.allSatisfy { $0["undoable"] as? Bool == true && $0["provider"] as? String == "ledger" })
    let own = try ledgers.tabella("log", "a.ledger", "-n", "1", "--format", "jsonl").lines
    #expect(own.count == 1 && own[0].contains("undo: "))
    #expect(try ledgers.tabella("log", "absent.ledger", "--format", "plain").text.isEmpty)
    let document = try jsonObject(ledgers.tabella("log", "--json").text)
    #expect(document["provider"] as? String == "tabella")
    #expect((document["columns"] as? [[String: Any]])?.count == 7)
    #expect(try ledgers.tabella("log").text.hasPrefix("id "))
    #expect(try ledgers.tabella("log", "a", "b").status == 2)
  }
}

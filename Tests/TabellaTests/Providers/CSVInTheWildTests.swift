import Foundation
import Tabella
import TabellaBridge
import TabellaConformance
import TabellaSDK
import Testing

@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport

/// Features of real files that once were silently read wrong, or could not be read or edited.
@Suite struct CSVInTheWildTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder(inMemory: true) }

  func open(
    _ text: [UInt8], _ options: [String: String] = [:], name: String = "t.csv"
  ) throws -> CSVSource {
    let path = try folder.write(name, text)
    return try CSVSource(path: Array(path.utf8), options: Options(options))
  }

  func open(
    _ text: String, _ options: [String: String] = [:], name: String = "t.csv"
  ) throws -> CSVSource { try open(Array(text.utf8), options, name: name) }

  /// All cells as text; nil for missing ones.
  func cells(_ source: CSVSource) throws -> [[String?]] {
    try readAll(source).map { $0.map { $0 == .missing ? nil : $0.description } }
  }

  func warnings(_ source: CSVSource) throws -> [String] {
    _ = try readAll(source)
    var messages: [String] = []
    while let diagnostic = source.nextDiagnostic() { messages.append(diagnostic.message) }
    return messages
  }

  /// Commits edits and returns the file. The undo afterwards must restore the old bytes.
  func after(
    _ edits: EditBatch.Edit..., in text: String, _ options: [String: String] = [:],
    name: String = "t.csv"
  ) throws -> String {
    let source = try open(text, options, name: name)
    let result = try #require(source.editing).commit(EditBatch(edits))
    #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result)")
    let new = String(decoding: try folder.read(name), as: UTF8.self)
    _ = try #require(source.undoing).undo(try #require(result.receipt), isDryRun: false)
    #expect(String(decoding: try folder.read(name), as: UTF8.self) == text)
    return new
  }

  func refusal(
    _ edits: EditBatch.Edit..., in text: String, _ options: [String: String] = [:]
  ) throws -> String {
    let source = try open(text, options)
    do throws(TableError) {
      _ = try source.editing!.commit(EditBatch(edits))
      Issue.record("done")
      return ""
    } catch {
      #expect(error.code == .constraint)
      return error.message
    }
  }

  static func row(_ row: Int) -> RowReference { .path(at(row)) }
  static func at(_ row: Int) -> Tabella.IndexPath { IndexPath(section: 0, row: row) }

  // Stray quotes

  /// A stray quote in tab-separated text silently swallowed rows up to the next quote.
  @Test func aStrayQuoteSwallowsNoRows() throws {
    let stray = "id\ttext\n1\t\"a\n2\tb\n3\tc\"\n4\t5\" disk\n"
    #expect(
      try cells(open(stray)) == [["1", "\"a"], ["2", "b"], ["3", "c\""], ["4", "5\" disk"]])
    // A quote that is never closed.
    #expect(try cells(open("id\ttext\n1\t\"a\n2\tb\n")) == [["1", "\"a"], ["2", "b"]])
    // The user's option takes precedence.
    #expect(try cells(open(stray, ["quote": "\""])).count == 2)
    #expect(try open(stray, ["quote": "\""]).text.rules.quote != nil)
    // Plausible quotes are quotes: a tab in one cell, a line end in another.
    #expect(
      try cells(open("id\ttext\n1\t\"a\tb\"\n2\t\"c\nd\"\n")) == [["1", "a\tb"], ["2", "c\nd"]])
    // This applies only to tab-separated text, whether the delimiter is given or detected.
    #expect(try cells(open("id,text\n1,\"a\tb\nc\"\n")) == [["1", "a\tb\nc"]])
    #expect(try cells(open(stray, ["delimiter": "tab"])).count == 4)
    #expect(try cells(open("sep=\t\n" + stray)).count == 4)
  }

  /// The first MiB decides, and the rest of the file is read in the same way.
  @Test func theFirstMebibyteDecides() throws {
    var early = "id\ttext\n"
    for row in 0..<40_000 { early += "\(row)\tsome text\n" }
    early += "x\t\"a\ny\tb\nz\tc\"\n"
    #expect(early.utf8.count < Sniffer.sampleSize)
    #expect(try open(early).exactNumberOfRows(inSection: 0) == 40_003)
    var late = early.replacingOccurrences(of: "some text", with: "some longer text of a row")
    #expect(late.utf8.count > Sniffer.sampleSize)
    #expect(try open(late).exactNumberOfRows(inSection: 0) == 40_001)
    // A quoted cell that is cut at the limit is no sign of a stray quote.
    late = "id\ttext\n1\t\"" + String(repeating: "words and\n", count: 200_000) + "\"\n2\tb\n"
    #expect(try open(late).exactNumberOfRows(inSection: 0) == 2)
  }

  /// If the first rows have the same number of cells, later rows do not decide the columns. A wider row then keeps its
  /// cells in the last column.
  @Test func evenRowsDecideEarly() throws {
    let rows = String(repeating: "1,2\n", count: 40_000)
    let even = try open("a,b\n" + rows + "1,2,3\n")
    #expect(even.columns.map(\.name) == ["a", "b"])
    #expect(
      try even.rows(RowRequest(first: 40_000, count: 1, columns: [0, 1])).row(0) == ["1", "2,3"])
    #expect(try open("a,b\n1\n" + rows + "1,2,3\n").columns.count == 3)
    // Tabs can stand between false quotes, so the whole first MiB is read.
    let tabs = rows.replacing(",", with: "\t")
    #expect(try open("a\tb\n" + tabs + "1\t2\t3\n").columns.count == 3)
  }

  /// Edits that would change the meaning of quotes are refused.
  @Test func editsKeepHowQuotesAreRead() throws {
    let text = "id\ttext\n1\t\"a\"\n2\tb\n"
    let message = try refusal(.set(Self.row(1), cells: [1: "c\td\ne"]), in: text)
    #expect(message.contains("-o quote"))
    #expect(
      try after(.set(Self.row(1), cells: [1: "c\td\ne"]), in: text, ["quote": "\""])
        == "id\ttext\n1\t\"a\"\n2\t\"c\td\ne\"\n")
  }

  // Warnings

  /// A cell that swallowed hundreds of rows was not reported.
  @Test func longCellsAndOpenQuotesAreRemarkedOn() throws {
    func text(_ lines: Int) -> String {
      "a,b\n1,x\n2,\"" + (1...lines).map(String.init).joined(separator: "\n") + "\"\n3,z\n"
    }
    #expect(try warnings(open(text(20))) == [])
    let long = try warnings(open(text(21)))
    #expect(long.count == 1 && long[0].hasPrefix("line 3 (row 1)") && long[0].contains("21 lines"))
    // Line numbers agree with editors, for all line ends and distances.
    let windows = String(repeating: "q,\"two\r\nlines\"\r\n", count: 30_000) + text(30)
    #expect(try warnings(open(windows, ["header": "false"]))[0].hasPrefix("line 60003 (row 30002)"))
    let open = try warnings(open("a,b\n1,\"x\ny\"\n2,\"z\n\n\n"))
    #expect(open.count == 1 && open[0].hasPrefix("line 4 (row 1)"), "\(open)")
    #expect(open[0].contains("never closed"))
    // Also in gathered rows.
    let gathered = try self.open(text(40))
    _ = try gathered.rows(
      at: [2, 1, 0].map { Self.at($0) }, columns: [0], includesIDs: false)
    #expect(gathered.nextDiagnostic()?.message.hasPrefix("line 3 (row 1)") == true)
  }

  /// Only the header led to a hint about the encoding.
  @Test func otherEncodingsAreRemarkedOn() throws {
    let latin = Array("id,name\n1,Ada\n2,Ren".utf8) + [0xE9] + Array(",x\n".utf8)
    let messages = try warnings(open(latin))
    #expect(messages.count == 1 && messages[0].contains("line 3 (row 1, name)"), "\(messages)")
    #expect(messages[0].contains("-o encoding=latin1"))
    #expect(try warnings(open(latin, ["encoding": "latin1"])) == [])
    #expect(try warnings(open("id,name\n1,René\n2,🙂\n")) == [])
    // The hint appears once, for the header or for a row.
    let header = Array("id,nam".utf8) + [0xE9] + Array("\n1,".utf8) + [0xE9, 10]
    #expect(try warnings(open(header)).count == 1)
  }

  // Columns

  /// A cell beyond the header made the row longer than the header, in a column without a name.
  @Test func rowsAreNotLongerThanTheHeader() throws {
    let set = EditBatch.Edit.set(Self.row(0), cells: [2: "x"])
    #expect(try refusal(set, in: "a,b\n1,2\n", ["columns": "3"]).contains("-o columns=NAME"))
    #expect(try refusal(set, in: "a,b\n1,2\n3,4,5\n").contains("-o columns=NAME"))
    let insert = EditBatch.Edit.insert(at: Self.at(0), cells: [2: "x"])
    #expect(try refusal(insert, in: "a,b\n1,2\n", ["columns": "3"]).contains("-o columns=NAME"))
    // A new row is as long as the header.
    #expect(
      try after(.insert(at: Self.at(1), cells: [0: "6"]), in: "a,b\n1,2\n3,4,5\n")
        == "a,b\n1,2\n6,\n3,4,5\n")
    // An existing cell can be set. Without a header there is no limit.
    #expect(
      try after(.set(Self.row(1), cells: [2: "x"]), in: "a,b\n1,2\n3,4,5\n")
        == "a,b\n1,2\n3,4,x\n")
    #expect(try after(set, in: "a,b\n", ["columns": "3", "header": "false"]) == "a,b,x\n")
  }

  /// A column could not be added.
  @Test func columnsAreAddedWithTheirHeader() throws {
    let set = EditBatch.Edit.set(Self.row(0), cells: [2: "x"])
    #expect(try after(set, in: "a,b\n1,2\n3,4\n", ["columns": "c"]) == "a,b,c\n1,2,x\n3,4\n")
    #expect(
      try after(set, in: "a;b\r\n1\r\n", ["columns": "b,c d,e,"]) == "a;b;c d;e\r\n1;;x\r\n")
    #expect(
      try after(.insert(at: Self.at(0), cells: [2: "x"]), in: "a,b", ["columns": "c"])
        == "a,b,c\n,,x")
    #expect(
      try after(set, in: "a,b\n1,2\n", ["columns": "2024,"]) == "a,b,2024\n1,2,x\n")
    // Only an edit of such a column adds it. An existing column is not added again.
    #expect(
      try after(.set(Self.row(0), cells: [0: "7"]), in: "a,b\n1,2\n", ["columns": "c"])
        == "a,b\n7,2\n")
    #expect(try after(set, in: "a,b,c\n1,2\n", ["columns": "c"]) == "a,b,c\n1,2,x\n")
    #expect(try open("a,b\n1,2\n", ["columns": "c"]).columns.map(\.name) == ["a", "b", "c"])
    #expect(
      try open("1,2\n", ["columns": "x,y", "header": "false"]).columns.map(\.name) == ["x", "y"])
    for value in ["a,,b", "a,a", ",", ""] {
      #expect(throws: TableError.self) { try open("a\n", ["columns": value]) }
    }
  }

  /// A file of 0 bytes could not be started.
  @Test func anEmptyFileIsBegun() throws {
    let insert = EditBatch.Edit.insert(at: Self.at(0), cells: [0: "Ada", 1: "Rome, Italy"])
    let options = ["columns": "name,city"]
    #expect(try after(insert, in: "", options) == "name,city\nAda,\"Rome, Italy\"\n")
    #expect(
      try after(insert, in: "", options, name: "t.tsv") == "name\tcity\nAda\tRome, Italy\n")
    #expect(
      try after(insert, in: "\u{FEFF}", options) == "\u{FEFF}name,city\nAda,\"Rome, Italy\"\n")
    #expect(
      try after(insert, in: "note", ["columns": "name,city", "skip": "1"])
        == "note\nname,city\nAda,\"Rome, Italy\"")
    #expect(
      try after(insert, in: "", ["columns": "2", "header": "false"]) == "Ada,\"Rome, Italy\"\n")
    #expect(try refusal(.insert(at: Self.at(0), cells: [:]), in: "").contains("-o columns=NAME"))
  }

  // Comments

  static let commented = """
    # a note, "with a quote
    id,text
    # before one
    # and one more
    1,"a
    # no comment
    b"
    2,#fff
    # before three
    3,c
    # the end
    """

  @Test func commentsAreSkipped() throws {
    let options = ["comment": "#"]
    #expect(
      try cells(open(Self.commented, options)) == [
        ["1", "a\n# no comment\nb"], ["2", "#fff"], ["3", "c"],
      ])
    #expect(try cells(open(Self.commented)).count > 3)
    let source = try open(
      Self.commented + "\n4,\"\(String(repeating: "x\n", count: 30))\"", options)
    #expect(try warnings(source)[0].hasPrefix("line 12 (row 3)"))
    #expect(try open("x\n#c\na;b\n1;2\n", ["comment": "#", "skip": "1"]).columns.count == 2)
    let id = try open(Self.commented, options)
      .rows(RowRequest(first: 2, count: 1, columns: [], includesIDs: true)).id(0)
    #expect(
      try open(Self.commented, options).indexPath(forID: try #require(id)) == Self.at(2))
    #expect(throws: TableError.self) { try Options(["comment": ",", "delimiter": ","]) }
    #expect(try open("a,b\n;c\n", ["comment": ";"]).columns.count == 2)
  }

  @Test func commentsStayInEdits() throws {
    func after(_ edits: EditBatch.Edit...) throws -> [String] {
      let source = try open(Self.commented, ["comment": "#"])
      let result = try #require(source.editing).commit(EditBatch(edits))
      #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result)")
      return String(decoding: try folder.read("t.csv"), as: UTF8.self)
        .components(separatedBy: "\n")
    }
    let old = Self.commented.components(separatedBy: "\n")
    var new = old
    new[4] = "7,\"a"
    #expect(try after(.set(Self.row(0), cells: [0: "7"])) == new)
    #expect(try after(.delete(Self.row(2))) == old.filter { $0 != "3,c" })
    // A cell at the start of a row must not become a comment.
    new = old + ["\"#4\",", ""]
    #expect(try after(.insert(at: Self.at(3), cells: [0: "#4"])) == new)
    #expect(
      try after(.delete(Self.row(1)), .set(Self.row(2), cells: [0: "8"]))
        == old.filter { $0 != "2,#fff" }.map { $0 == "3,c" ? "8,c" : $0 })
    let moved = try after(.move(Self.row(2), to: Self.at(0)))
    #expect(moved.sorted() == old.sorted())
    #expect(moved.filter { $0.hasPrefix("# ") } == old.filter { $0.hasPrefix("# ") })
  }

  /// A comment behind the last row became the last line with an LF of its own: the line end of a row that no edit named
  /// changed, and an empty row appeared behind a byte order mark.
  @Test func lineEndsBesideCommentsStay() throws {
    func after(
      _ text: String, _ edit: EditBatch.Edit, _ options: [String: String] = [:]
    ) throws -> String {
      let options = options.merging(["comment": "#", "delimiter": ","]) { first, _ in first }
      let source = try open(text, options)
      let result = try #require(source.editing).commit(EditBatch([edit]))
      #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result)")
      return String(decoding: try folder.read("t.csv"), as: UTF8.self)
    }
    for end in ["\n", "\r\n", "\r"] {
      #expect(
        try after("h\(end)a\(end)# c\(end)b", .delete(Self.row(1))) == "h\(end)a\(end)# c\(end)")
      #expect(
        try after("h\(end)a\(end)# c", .insert(at: Self.at(1), cells: [0: "b"]))
          .hasPrefix("h\(end)a\(end)# c\(end)b"))
    }
    #expect(
      try after("\u{FEFF}# note\nRome", .delete(Self.row(0)), ["header": "false"])
        == "\u{FEFF}# note\n")
  }

  /// A comment between a CR and an empty line with an LF hid the empty row, and an edit of the row in front deleted it.
  @Test func aCommentBetweenHalvesOfALineEndIsNamed() throws {
    let options = ["comment": "#"]
    let error = #expect(throws: TableError.self) {
      _ = try readAll(open("h\na\r# x\n# y\n\nb\n", options))
    }
    #expect(error?.code == .constraint && error?.message.contains("line 3 is a comment") == true)
    #expect(try cells(open("h\na\r# x\r\rb\n", options)) == [["a"], [""], ["b"]])
    #expect(try cells(open("h\na\n# x\n\nb\n", options)) == [["a"], [""], ["b"]])
    #expect(try cells(open("h\na\r\n# x\n\nb\n", options)) == [["a"], [""], ["b"]])
  }

  /// A deletion put the LF of an empty row behind a comment that ends with CR. The comment took it, and the row was gone.
  @Test func aCommentTakesNoLineEnd() throws {
    let text = "h\n#c\rx\n\ny\n"
    let source = try open(text, ["comment": "#"])
    let error = #expect(throws: TableError.self) {
      _ = try #require(source.editing).commit(EditBatch([.delete(Self.row(0))]))
    }
    #expect(error?.code == .constraint && error?.message.contains("mac2unix") == true)
    #expect(try folder.read("t.csv").elementsEqual(text.utf8))
    let other = try open(text, ["comment": "#"])
    let result = try #require(other.editing).commit(
      EditBatch([.delete(Self.row(0)), .delete(Self.row(1))]))
    #expect(result.outcomes.allSatisfy { $0.code == nil })
    #expect(try folder.read("t.csv").elementsEqual("h\n#c\ry\n".utf8))
  }

  /// Random edits with comments between the rows, compared with the same edits without comments. The rows are equal,
  /// and all comments remain in order, byte for byte.
  @Test(arguments: 0..<300 as Range<UInt64>)
  func editsWithCommentsAreThoseWithout(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let end = ["\n", "\r\n", "\r"].randomElement(using: &generator)!
    let count = Int.random(in: 0...6, using: &generator)
    var (plain, text, comments) = ("", "", [String]())
    func addComments() {
      while generator.chance(3) == 0 {
        comments.append("#\(comments.count) \(["\"", "x", "a,\"b"][generator.chance(3)])")
        text += comments.last! + end
      }
    }
    for number in 0...count {
      addComments()
      let isLast = number == count && generator.chance(2) == 0
      let cells =
        number == 0 ? "id,note" : "\(number),\(["", "\"a\(end)#b\"", "x"][generator.chance(3)])"
      plain += cells + (isLast ? "" : end)
      text += cells + (isLast && generator.chance(2) == 0 ? "" : end)
      if isLast { break }
    }
    if text.hasSuffix(end) {
      addComments()
      if generator.chance(2) == 0, text.hasSuffix(end), comments.count > 0 {
        text.removeLast(end.unicodeScalars.count == 2 ? 1 : 1)
      }
    }
    guard plain.hasSuffix(end) == true else { return }
    var edits: [EditBatch.Edit] = []
    var free = Array(0..<count).shuffled(using: &generator)
    while let row = free.popLast(), generator.chance(4) > 0 {
      switch generator.chance(4) {
      case 0: edits.append(.delete(Self.row(row)))
      case 1: edits.append(.set(Self.row(row), cells: [0: .text(Array("#\(row)".utf8))]))
      case 2: edits.append(.set(Self.row(row), cells: [1: "set"]))
      default: edits.append(.move(Self.row(row), to: Self.at(generator.chance(max(1, count)))))
      }
    }
    if edits.allSatisfy({ if case .set = $0 { true } else { false } }) {
      edits.append(.insert(at: Self.at(generator.chance(count + 1)), cells: [0: "#new"]))
    }
    let options = ["comment": "#", "delimiter": ","]
    let without = try open(plain, options)
    let expected: [[String?]]
    do throws(TableError) {
      _ = try without.editing!.commit(EditBatch(edits))
    } catch { return }
    expected = try cells(without)
    let source = try open(text, options)
    _ = try #require(source.editing).commit(EditBatch(edits))
    #expect(try cells(source) == expected, "\(edits)")
    let new = String(decoding: try folder.read("t.csv"), as: UTF8.self)
    #expect(try cells(open(new, options)) == expected)
    let lines = new.unicodeScalars.split { $0 == "\n" || $0 == "\r" }.map(String.init)
    #expect(lines.filter { comments.contains($0) } == comments, "\(text)\n\(new)\n\(edits)")
  }

  // Numbers

  /// Numbers with a decimal comma were text, and were sorted and compared as text.
  @Test func decimalCommas() throws {
    let text = "n;d\n5,40;a\n10,5;b\n1,25;c\n"
    let source = try open(text, ["decimal": ","])
    #expect(source.columns.map(\.name) == ["n", "d"])
    #expect(source.columns[0].type == .text)
    let sorted = try source.sorted(by: [SortDescriptor(column: 0)])
    #expect(try readAll(sorted).map { $0[1] } == ["c", "a", "b"])
    for value in ["5,3", "5.3"] {
      let filtered = try open(text, ["decimal": ","]).filtered(
        by: [Condition(column: 0, comparison: .greater, value: Array(value.utf8))])
      #expect(try readAll(filtered).map { $0[1] } == ["a", "b"])
    }
    let inferred = try open(text, ["decimal": ",", "types": "infer"])
    #expect(inferred.columns[0].valueType == .real)
    let batch = try inferred.rows(RowRequest(first: 0, count: 3, columns: [0]))
    let values = inferred.columns[0].values(of: batch.columns[0])
    #expect((0..<3).map { values[$0] } == [5.4, 10.5, 1.25])
    // The comma is the delimiter only if no other character splits the records.
    #expect(try open("n,d\n\"1,5\",a\n", ["decimal": ","]).columns.count == 2)
    // With this option, a point is no decimal point. Without it, a comma is no decimal comma.
    #expect(try open("n;d\n1.5;a\n", ["decimal": ",", "types": "infer"]).columns[0].reads == nil)
    #expect(try open(text, ["types": "infer"]).columns[0].reads == nil)
  }

  /// Inferred types rewrote the text: 5.40 appeared as 5.4, and a date as a time stamp.
  @Test func inferredTypesRewriteNothing() throws {
    let text = "n,d,b,i\n5.40,2024-02-29,TRUE,7\n1e2,2024-02-29T10:00:00+02:00,false,\n"
    let source = try open(text, ["types": "infer"])
    #expect(source.columns.map(\.valueType) == [.real, .date, .boolean, .integer])
    #expect(
      try cells(source) == [
        ["5.40", "2024-02-29", "TRUE", "7"], ["1e2", "2024-02-29T10:00:00+02:00", "false", ""],
      ])
    // Views use the values.
    let filtered = try source.filtered(
      by: [Condition(column: 2, comparison: .equal, value: Array("true".utf8))])
    #expect(try readAll(filtered).count == 1)
    let sorted = try open(text, ["types": "infer"]).sorted(by: [SortDescriptor(column: 1)])
    #expect(try readAll(sorted).map { $0[0] } == ["5.40", "1e2"])
    let empty = try open(text, ["types": "infer"]).filtered(
      by: [Condition(column: 3, comparison: .matches, value: Array(".".utf8))])
    #expect(try readAll(empty).count == 1)
    // An edited cell keeps the typed text.
    #expect(
      try after(.set(Self.row(0), cells: [0: "7.10"]), in: "n\n5.40\n", ["types": "infer"])
        == "n\n7.10\n")
  }

  // Escapes

  /// No option could read the output of `export --format tsv`.
  @Test func escapesAreRead() throws {
    let text = "a\tb\n\\t\\n\\r\\\\\t\\N\nx\\x00\\x1Fy\t\\q\\\n\"q\t\\N \n"
    let source = try open(text, ["escapes": "true"])
    #expect(
      try cells(source) == [["\t\n\r\\", nil], ["x\0\u{1F}y", "\\q\\"], ["\"q", "\\N "]])
    #expect(
      try after(
        .set(Self.row(0), cells: [0: "new\ttab", 1: "\\N"]),
        .set(Self.row(1), cells: [0: .missing]),
        in: text, ["escapes": "true"])
        == "a\tb\nnew\\ttab\t\\\\N\n\\N\t\\q\\\n\"q\t\\N \n")
    #expect(
      try after(
        .insert(at: Self.at(0), cells: [0: "#a;b", 1: "c\r\n"]), in: "a;b\n",
        ["escapes": "true", "delimiter": ";", "comment": "#"])
        == "a;b\n\\x23a\\x3bb;c\\r\\n\n")
    for other in [["quote": "'"], ["escape": "^"]] {
      #expect(throws: TableError.self) {
        try open(text, other.merging(["escapes": "true"]) { $1 })
      }
    }
  }
}

/// The type of a column's text crosses the contract and reaches a worker.
@Suite struct TextColumnTests {
  @Test func readingsCross() throws {
    let columns = [
      Column("a", reads: .date), Column("b", hasDecimalComma: true),
      Column("c", reads: .real, hasDecimalComma: true), Column("d"),
    ]
    let source = InMemorySource(columns, rows: [["2024-02-29", "1,5", "2,5", "x"]])
    let imported = try importSource(exportSource(source), provider: "test")
    #expect(imported.columns == columns)
  }

  /// Joined columns have a text type if all of them have it.
  @Test func joinedColumnsReadAsAllDo() throws {
    func table(_ column: Column) -> any TableDataSource { InMemorySource([column], rows: [["1"]]) }
    func joined(_ left: Column, _ right: Column) -> Column {
      JoinedSource([("l", table(left)), ("r", table(right))]).columns[0]
    }
    let comma = Column("n", reads: .real, hasDecimalComma: true)
    #expect(joined(comma, comma) == comma)
    #expect(joined(comma, Column("n")) == Column("n"))
    #expect(joined(Column("n"), comma) == Column("n"))
  }
}

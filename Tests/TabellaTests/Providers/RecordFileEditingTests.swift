import Tabella
import TabellaSDK
import Testing

@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport
@testable import TabellaText

/// Edits of csv and text files that once went wrong, one file each.
@Suite struct RecordFileEditingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder(inMemory: true) }

  func open(
    _ bytes: [UInt8], _ options: [String: String], _ provider: any Provider = CSVProvider()
  ) throws -> any TableDataSource {
    let path = try folder.write("t.csv", bytes)
    return try provider.open(OpenRequest(location: Array(path.utf8), options: options))
  }

  /// The file after a batch.
  func after(
    _ edits: EditBatch.Edit..., in text: [UInt8], _ options: [String: String] = [:],
    _ provider: any Provider = CSVProvider()
  ) throws -> [UInt8] {
    let source = try open(text, options, provider)
    let result = try #require(source.editing).commit(EditBatch(edits))
    #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result)")
    return try folder.read("t.csv")
  }

  func after(
    _ edits: EditBatch.Edit..., in text: String, _ options: [String: String] = [:]
  ) throws -> String {
    let source = try open(Array(text.utf8), options)
    let result = try #require(source.editing).commit(EditBatch(edits))
    #expect(result.outcomes.allSatisfy { $0.code == nil }, "\(result)")
    return String(decoding: try folder.read("t.csv"), as: UTF8.self)
  }

  /// Expects that a batch is refused, in a run and a dry run, and that the file stays the same.
  func expectRefusal(
    _ code: TableError.Code, _ part: String, _ edits: EditBatch.Edit..., in text: [UInt8],
    _ options: [String: String] = [:], _ provider: any Provider = CSVProvider(),
    row: Int? = nil, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let source = try open(text, options, provider)
    for isDryRun in [true, false] {
      do throws(TableError) {
        _ = try source.editing!.commit(EditBatch(edits, isDryRun: isDryRun))
        Issue.record("done", sourceLocation: sourceLocation)
      } catch {
        #expect(error.code == code, "\(error)", sourceLocation: sourceLocation)
        #expect(error.message.contains(part), "\(error)", sourceLocation: sourceLocation)
        if let row { #expect(error.row == row, "\(error)", sourceLocation: sourceLocation) }
      }
    }
    #expect(try folder.read("t.csv") == text, sourceLocation: sourceLocation)
  }

  static func row(_ row: Int) -> RowReference { .path(at(row)) }
  static func at(_ row: Int) -> IndexPath { IndexPath(section: 0, row: row) }

  // The end of the file

  /// A lone escape absorbed the line end that an edit put after it: two rows became one, and the edit was reported as
  /// done.
  @Test func aLoneEscapeAtTheEnd() throws {
    let text = Array("id,name\n1,a\n2,b\\".utf8)
    let options = ["escape": "\\"]
    let insert = EditBatch.Edit.insert(at: Self.at(2), cells: [0: "3", 1: "c"])
    try expectRefusal(.readOnly, "escape", insert, in: text, options)
    try expectRefusal(.readOnly, "escape", .move(Self.row(0), to: Self.at(1)), in: text, options)
    try expectRefusal(.readOnly, "escape", .move(Self.row(1), to: Self.at(0)), in: text, options)
    try expectRefusal(.readOnly, "header", insert, in: Array("id,name\\".utf8), options)
    // An escape that itself is escaped does not matter.
    #expect(
      try after(insert, in: "id,name\n1,a\n2,b\\\\", options) == "id,name\n1,a\n2,b\\\\\n3,c")
    #expect(
      try after(.insert(at: Self.at(0), cells: [:]), in: "id,name\\\n", options)
        == "id,name\\\n\n,")
  }

  /// A missing final line end did not stay missing after moving or deleting the last row.
  @Test func aMissingFinalLineEndStays() throws {
    #expect(try after(.move(Self.row(1), to: Self.at(0)), in: "h\na\nb") == "h\nb\na")
    #expect(try after(.delete(Self.row(1)), in: "h\na\nb") == "h\na")
    #expect(try after(.delete(Self.row(1)), .delete(Self.row(2)), in: "h\na\nb\nc") == "h\na")
    #expect(
      try after(.delete(Self.row(1)), .insert(at: Self.at(1), cells: [0: "x"]), in: "h\na\nb")
        == "h\na\nx")
    #expect(
      try after(.move(Self.row(1), to: Self.at(0)), in: Array("a\r\nb".utf8), [:], TextProvider())
        == Array("b\r\na".utf8))
    // An empty row without a line end would not exist, and the header keeps its own.
    #expect(try after(.delete(Self.row(2)), in: "h\na\n\nb") == "h\na\n\n")
    #expect(try after(.delete(Self.row(0)), in: "h\na") == "h\n")
  }

  // The start of the file

  /// A first row of up to two bytes became the header or was skipped, and the edit was reported as done.
  @Test func aFirstRowIsNoHeader() throws {
    let empty = EditBatch.Edit.insert(at: Self.at(0), cells: [:])
    try expectRefusal(.constraint, "header", empty, in: [], ["columns": "2"])
    for text in ["a", "a\n"] {
      try expectRefusal(
        .constraint, "-o skip", empty, in: Array(text.utf8),
        ["skip": "2", "header": "false", "columns": "1"])
    }
    #expect(try after(empty, in: "", ["columns": "2", "header": "false"]) == ",\n")
    #expect(try after(.insert(at: Self.at(0), cells: [0: "x"]), in: "h") == "h\nx")
    #expect(try after(.insert(at: Self.at(0), cells: [0: "x"]), in: "h\r\n") == "h\r\nx\r\n")
  }

  // Binary files and other encodings

  /// UTF-16 without a byte order mark, and compressed files, received rows in UTF-8.
  @Test func whatIsNoText() throws {
    let utf16 = "id,name\n1,a\n".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    let insert = EditBatch.Edit.insert(at: Self.at(0), cells: [0: "x"])
    try expectRefusal(.readOnly, "not text", insert, in: utf16)
    try expectRefusal(.readOnly, "not text", insert, in: [0x1F, 0x8B, 8, 0, 0, 0, 10, 65])
    let source = try open(utf16, [:])
    let rows = try source.editing?.editability(ofRows: 0..<1, inSection: 0)
    #expect(rows == [[]])
  }

  /// An edit could bring a NUL into the first 8 KiB, from a cell or from a later offset. Then the file was no text, and
  /// neither undo nor further edits were possible.
  @Test(arguments: 0..<60 as Range<UInt64>)
  func whatIsEditedStaysEditable(_ seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    let provider: any Provider = seed.isMultiple(of: 2) ? CSVProvider() : TextProvider()
    // Rows of 9 bytes each, after a header of 4.
    let count = 1200
    let nul = Int.random(in: 912..<count, using: &generator)
    var text = Array("a,b\n".utf8)
    for row in 0..<count { text += Array("\(1000 + row),\(row == nul ? "\0" : "x")wy\n".utf8) }
    let row = Int.random(in: 0..<count, using: &generator)
    let cell = Cell.text(Array("5\0\(String(repeating: "z", count: row % 50))".utf8))
    let edits: [EditBatch.Edit] =
      switch Int.random(in: 0..<5, using: &generator) {
      case 0: (0..<row % 100 + 1).map { .delete(Self.row($0)) }
      case 1: [.set(Self.row(row), cells: [0: cell])]
      case 2: [.insert(at: Self.at(row), cells: [0: cell])]
      case 3: [.move(Self.row(nul), to: Self.at(row))]
      default: [.set(Self.row(row), cells: [0: "no NUL"])]
      }
    let source = try open(text, [:], provider)
    func refusal(isDryRun: Bool) -> TableError? {
      do throws(TableError) {
        _ = try source.editing!.commit(EditBatch(edits, isDryRun: isDryRun))
        return nil
      } catch { return error }
    }
    let foreseen = refusal(isDryRun: true)
    #expect(try folder.read("t.csv") == text)
    let path = Array("\(folder.path)/t.csv".utf8)
    let before = try provider.open(OpenRequest(location: path, options: [:]))
    let receipt: [UInt8]?
    do throws(TableError) {
      receipt = try source.editing!.commit(EditBatch(edits)).receipt
    } catch {
      #expect(error.code == .constraint && error == foreseen, "\(error) \(edits)")
      #expect(try folder.read("t.csv") == text)
      #expect(try before.editing?.editability(ofRows: 0..<1, inSection: 0) != [[]])
      return
    }
    #expect(foreseen == nil, "\(edits)")
    let after = try provider.open(OpenRequest(location: path, options: [:]))
    #expect(
      try after.editing?.editability(ofRows: 0..<1, inSection: 0) == [[.editable, .delete]],
      "\(edits)")
    let undone = try #require(after.undoing).undo(try #require(receipt), isDryRun: false)
    #expect(undone.outcomes.allSatisfy { $0.code == nil })
    #expect(try folder.read("t.csv") == text)
  }

  /// A UTF-8 cell in a Latin-1 file led to a file in neither encoding.
  @Test func encodingsAreNotMixed() throws {
    let latin1 = Array("id,name\n1,caf".utf8) + [0xE9, 10] + Array("2,b\n".utf8)
    let set = EditBatch.Edit.set(Self.row(1), cells: [1: "né"])
    try expectRefusal(.constraint, "iconv", set, in: latin1)
    try expectRefusal(
      .constraint, "iconv", .insert(at: Self.at(0), cells: [0: "é"]), in: latin1, [:],
      TextProvider())
    #expect(
      try after(.set(Self.row(1), cells: [1: "ne"]), in: latin1) == latin1.dropLast(2)
        + Array("ne\n".utf8))
    // Bytes in the file's own encoding, a file in UTF-8, and one that is already damaged.
    let own = EditBatch.Edit.set(Self.row(1), cells: [1: .text([0x6E, 0xE9])])
    #expect(try after(own, in: latin1) == latin1.dropLast(2) + [0x6E, 0xE9, 10])
    #expect(try after(set, in: "id,name\n1,ö\n2,b\n") == "id,name\n1,ö\n2,né\n")
    #expect(
      try after(set, in: Array("ö,name\n1,".utf8) + [0xE9] + Array("\n2,b\n".utf8)).count == 18)
    // Beyond the sample, only the row itself shows the encoding.
    let long =
      Array("id,name\n".utf8) + [UInt8](repeating: 120, count: 2 << 20) + Array("\n1,".utf8)
    try expectRefusal(.constraint, "iconv", set, in: long + [0xE9, 10])
    // A character across the end of the sample is valid.
    let cut = Array("id,name\nx\n2,".utf8)
    let padding = [UInt8](repeating: 120, count: EncodingTally.sampleSize - cut.count - 1)
    let text = cut + padding + Array("é\n".utf8)
    #expect(try after(set, in: text) == Array("id,name\nx\n2,né\n".utf8))
  }

  @Test func convertedTextSaysWhatToDo() throws {
    let set = EditBatch.Edit.set(Self.row(0), cells: [0: "x"])
    try expectRefusal(
      .readOnly, "leave -o encoding out", set, in: Array("id\n1\n".utf8), ["encoding": "UTF-8"])
    let utf16: [UInt8] =
      [0xFF, 0xFE] + "id\n1\n".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    try expectRefusal(.readOnly, "is shown in a converted encoding", set, in: utf16)
    try expectRefusal(
      .readOnly, "is shown in a converted encoding", set, in: utf16, [:], TextProvider())
  }

  // Types

  /// Equal values were written in another form. Text that reads as a type keeps the form in which it was set.
  @Test func textThatReadsAsATypeKeepsItsForm() throws {
    let text = "n,r,d,s\n1,1.50,2024-02-29,a\n2,2.5,2024-03-01,b\n"
    let options = ["types": "infer"]
    #expect(
      try after(.set(Self.row(0), cells: [2: "2024-02-29", 1: "1.50"]), in: text, options) == text)
    #expect(
      try after(.set(Self.row(1), cells: [2: "2024-02-29", 1: "3.00"]), in: text, options)
        == "n,r,d,s\n1,1.50,2024-02-29,a\n2,3.00,2024-02-29,b\n")
    #expect(
      try after(.insert(at: Self.at(2), cells: [2: "2024-02-29"]), in: text, options)
        == text + ",,2024-02-29,\n")
    #expect(
      try after(.set(Self.row(0), cells: [0: "", 2: ""]), in: text, options)
        == "n,r,d,s\n,1.50,,a\n2,2.5,2024-03-01,b\n")
    #expect(
      try after(.set(Self.row(0), cells: [1: .missing]), in: "a,b\nx,1\ny,2\n", options)
        == "a,b\nx\ny,2\n")
    try expectRefusal(
      .constraint, "must be text", .set(Self.row(0), cells: [1: 1.5]), in: Array(text.utf8), options
    )
  }

  // Messages

  /// The error of a batch with many edits did not name the row.
  @Test func errorsNameRowAndColumn() throws {
    let text = Array("id,city\n1,a\n2,b\n3,c\n".utf8)
    let good = EditBatch.Edit.set(Self.row(0), cells: [0: "5"])
    try expectRefusal(
      .constraint, "city: ", good, .set(Self.row(2), cells: [1: "x\ny"]), in: text,
      ["quote": "none"], row: 2)
    try expectRefusal(
      .constraint, "id cannot be missing", good, .set(Self.row(1), cells: [0: .missing]), in: text,
      row: 1)
    try expectRefusal(
      .constraint, "line end", .insert(at: Self.at(3), cells: [0: "x\ny"]), in: text, [:],
      TextProvider(), row: 3)
  }

  // Versions

  /// A version from other options, or from the other provider, counted as equal, although its index paths were other
  /// rows.
  @Test func versionsAreOfOneReading() throws {
    let path = Array(try folder.write("t.csv", "a,b\n1,2\n").utf8)
    func version(_ provider: any Provider, _ options: [String: String] = [:]) throws -> String {
      let source = try provider.open(OpenRequest(location: path, options: options))
      return try #require(try source.version()).token
    }
    let readings: [[String: String]] = [
      [:], ["header": "false"], ["skip": "1"], ["delimiter": ";"], ["quote": "none"],
      ["quote": "'"], ["escape": "\\"], ["encoding": "latin1"], ["skip": "1", "header": "false"],
    ]
    var tokens = try readings.map { try version(CSVProvider(), $0) }
    for options in [[:], ["sections": "headings"], ["sections": "paragraphs"]] {
      tokens.append(try version(TextProvider(), options))
    }
    #expect(Set(tokens).count == tokens.count, "\(tokens)")
    let saving = ["in-place": "true", "backup": "~", "columns": "3", "header": "true"]
    #expect(try version(CSVProvider(), saving) == tokens[0])
    let source = try TextProvider().open(OpenRequest(location: path, options: [:]))
    let delete = EditBatch([.delete(Self.row(0))], version: Version(tokens[0]))
    #expect(throws: TableError.self) { try source.editing?.commit(delete) }
    // The version after an edit equals that of a new opening.
    let result = try #require(source.editing).commit(EditBatch([.delete(Self.row(0))]))
    #expect(try result.changes.to?.token == version(TextProvider()))
  }

  /// A file of /sys, which reports a page and contains less, was reported as "shortened while it was read".
  @Test(.needs(.hugePages)) func filesOfSys() throws {
    let path = Need.hugePagesPath
    let source = try TextProvider().open(
      OpenRequest(location: Array(path.utf8), options: [:]))
    #expect(try readAll(source).count == 1)
    #expect(try source.version() == nil && source.editing == nil)
  }
}

extension Need {
  fileprivate static let hugePagesPath = "/sys/kernel/mm/transparent_hugepage/enabled"
  fileprivate static let hugePages = Need(hugePagesPath) { access(hugePagesPath, R_OK) == 0 }
}

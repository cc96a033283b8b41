import Tabella
import TabellaBridge
import TabellaCSV
import TabellaSDK
import TabellaText

import class Foundation.ProcessInfo

/// A kind of editable table: how to create one from rows, and how to open it again.
///
/// A row has a unique number, a note and a kind, in three columns or in one.
struct EditSubject: Sendable {
  enum Sections {
    /// One section without a title.
    case one
    /// Several sections with titles. They can be inserted, renamed, deleted and moved.
    case titled
    /// The same, possibly without titles.
    case edited
  }

  typealias Open = () throws -> any TableDataSource
  /// Opens a file with options of its provider.
  typealias FileOpener =
    @Sendable (_ path: [UInt8], _ options: [String: String]) throws ->
    any TableDataSource

  var name: String
  var sections = Sections.edited
  /// Whether opening the table again yields a separate source, which is not notified of edits of the first.
  var isFile = false
  /// Whether there is one column, in which a row is "a 12 note": kind, number, note.
  var isLine = false
  var kinds: [Cell] = ["a", "b", "c", .missing]
  /// The kind of a row that is inserted without one; nil if that is impossible.
  var kindLeftOut: Cell? = .missing
  var notes = ["note"]
  /// Creates a table of these sections. Returns how to open it, again after each batch.
  var make: @Sendable ([EditModel.Section], inout SeededGenerator) throws -> Open

  static let memory = EditSubject(name: "memory") { sections, _ in
    let source = InMemorySource(
      [Column("number", .integer), Column("note"), Column("kind")],
      sections: sections.map { ($0.title, nil, nil, $0.rows.map(\.cells)) },
      persistence: .byAuthor)
    return { source }
  }

  static let csv = csv("csv", types: "text")
  /// The type of the first column changes with the rows.
  static let inferred = csv("csv, types inferred", types: "infer")

  static func csv(
    _ name: String, types: String,
    open: @escaping FileOpener = { try CSVProvider().open(OpenRequest(location: $0, options: $1)) }
  ) -> EditSubject {
    EditSubject(
      name: name, sections: .one, isFile: true, kinds: ["a", "b", "c", "", .missing],
      kindLeftOut: "", notes: ["note", "a,b;c", "\"quoted\"", "two\nlines", "\t|é", "cr\r\n"]
    ) { sections, generator in
      let dialect = RandomDialect(&generator)
      let hasHeader = Bool.random(using: &generator)
      var records: [[Cell]] = hasHeader ? [["number", "note", "kind"]] : []
      records += sections.flatMap(\.rows).map(\.cells)
      // Missing cells at the end are left out.
      let fields = records.map { $0.filter { $0 != .missing }.map { Array($0.description.utf8) } }
      return try file("t.csv", dialect.text(of: fields, &generator)) { path in
        try open(
          path,
          [
            "delimiter": dialect.delimiter, "header": "\(hasHeader)", "columns": "3",
            "types": types,
          ])
      }
    }
  }

  static let text = text("text", .one)
  static let headings = text("text, sections by heading", .titled)
  static let ini = text("text, sections in brackets", .titled, "t.ini", ("[", "]"))

  static func text(
    _ name: String, _ sectioning: Sections, _ fileName: String = "t.md",
    _ marks: (String, String) = ("# ", ""),
    open: @escaping FileOpener = { try TextProvider().open(OpenRequest(location: $0, options: $1)) }
  ) -> EditSubject {
    EditSubject(
      name: name, sections: sectioning, isFile: true, isLine: true, kinds: ["a", "b", "c"],
      kindLeftOut: nil, notes: ["note", "# é", ""]
    ) { sections, generator in
      let lines = sections.flatMap { section in
        let heading = section.title.map { [marks.0 + $0 + marks.1] } ?? []
        return heading + section.rows.map { line($0.cells).description }
      }
      let end = ["\n", "\r\n"].randomElement(using: &generator)!
      let mark = ["", "\u{FEFF}"].randomElement(using: &generator)!
      let last = lines.isEmpty ? "" : ["", end].randomElement(using: &generator)!
      let text = mark + lines.joined(separator: end) + last
      return try file(fileName, Array(text.utf8)) { path in
        try open(path, ["sections": sectioning == .one ? "none" : "headings"])
      }
    }
  }

  /// A file in a separate folder, which exists as long as the file can be opened.
  private static func file(
    _ name: String, _ bytes: [UInt8],
    open: @escaping ([UInt8]) throws -> any TableDataSource
  ) throws -> Open {
    let folder = try TemporaryFolder(inMemory: true)
    try folder.write(name, bytes)
    return { try open(Array("\(folder.path)/\(name)".utf8)) }
  }

  /// The same subject through the contract.
  var exported: EditSubject {
    var subject = self
    subject.name += ", through the contract"
    subject.make = { [make] sections, generator in
      let open = try make(sections, &generator)
      return { try importSource(exportSource(open()), provider: "test") }
    }
    return subject
  }

  // Cells

  /// The cells of a row as one cell.
  static func line(_ cells: [Cell]) -> Cell { .text("\(cells[2]) \(cells[0]) \(cells[1])") }

  /// Converts the cells of a table's row into those of a model's row, in which numbers are numbers.
  func modelCells(_ cells: [Cell]) -> [Cell] {
    var cells = cells
    if isLine, let line = cells[0].string {
      let parts = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
      guard parts.count == 3 else { return cells }
      cells = [1, 2, 0].map { .text(String(parts[$0])) }
    }
    if let number = Int64(cells[0].description) { cells[0] = .integer(number) }
    return cells
  }

  /// The number of sequences of a test: `TABELLA_SEQUENCES`, or the usual number.
  static func sequences(_ usual: Int) -> Int {
    ProcessInfo.processInfo.environment["TABELLA_SEQUENCES"].flatMap { Int($0) } ?? usual
  }
}

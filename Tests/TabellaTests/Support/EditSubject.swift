import Tabella
import TabellaBridge
import TabellaCSV
import TabellaSDK
import TabellaText

import class Foundation.ProcessInfo

/// A kind of table to edit: how one is made of rows, and opened again to see what became of it.
///
/// A row has a number that no other has, a note and a kind: in three columns, or in one.
struct EditSubject: Sendable {
  enum Sections {
    /// One, untitled.
    case one
    /// Some, each with a title, which are inserted, renamed, deleted and moved.
    case titled
    /// The same, also without titles.
    case edited
  }

  typealias Open = () throws -> any TableDataSource

  var name: String
  var sections = Sections.edited
  /// Whether a table that is opened again is another one, which nobody tells of edits of the first.
  var isFile = false
  /// Whether there is one column, in which a row is "a 12 note": its kind, its number, its note.
  var isLine = false
  var kinds: [Cell] = ["a", "b", "c", .missing]
  /// The kind of a row that is inserted without one; nil if that cannot be.
  var kindLeftOut: Cell? = .missing
  var notes = ["note"]
  /// Makes a table of these sections, and says how it is opened: anew after each batch.
  var make: @Sendable ([EditModel.Section], inout SeededGenerator) throws -> Open

  static let memory = EditSubject(name: "memory") { sections, _ in
    let source = InMemorySource(
      [Column("number", .integer), Column("note"), Column("kind")],
      sections: sections.map { ($0.title, nil, nil, $0.rows.map(\.cells)) },
      persistence: .byAuthor)
    return { source }
  }

  static let csv = csv("csv", types: "text")
  /// The type of the first column comes and goes with the rows.
  static let inferred = csv("csv, types inferred", types: "infer")

  private static func csv(_ name: String, types: String) -> EditSubject {
    EditSubject(
      name: name, sections: .one, isFile: true, kinds: ["a", "b", "c", "", .missing],
      kindLeftOut: "", notes: ["note", "a,b;c", "\"quoted\"", "two\nlines", "\t|é", "cr\r\n"]
    ) { sections, generator in
      let dialect = RandomDialect(&generator)
      let hasHeader = Bool.random(using: &generator)
      var records: [[Cell]] = hasHeader ? [["number", "note", "kind"]] : []
      records += sections.flatMap(\.rows).map(\.cells)
      // What is missing at the end is left out.
      let fields = records.map { $0.filter { $0 != .missing }.map { Array($0.description.utf8) } }
      return try file("t.csv", dialect.text(of: fields, &generator)) { path in
        try CSVProvider().open(
          OpenRequest(
            location: path,
            options: [
              "delimiter": dialect.delimiter, "header": "\(hasHeader)", "columns": "3",
              "types": types,
            ]))
      }
    }
  }

  static let text = text("text", .one)
  static let headings = text("text, sections by heading", .titled)
  static let ini = text("text, sections in brackets", .titled, "t.ini", ("[", "]"))

  private static func text(
    _ name: String, _ sectioning: Sections, _ fileName: String = "t.md",
    _ marks: (String, String) = ("# ", "")
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
        try TextProvider().open(
          OpenRequest(
            location: path, options: ["sections": sectioning == .one ? "none" : "headings"]))
      }
    }
  }

  /// A file in a folder of its own, which is there as long as it can be opened.
  private static func file(
    _ name: String, _ bytes: [UInt8],
    open: @escaping ([UInt8]) throws -> any TableDataSource
  ) throws -> Open {
    let folder = try TemporaryFolder(inMemory: true)
    try folder.write(name, bytes)
    return { try open(Array("\(folder.path)/\(name)".utf8)) }
  }

  /// The same, through the contract.
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

  /// A row's cells as one.
  static func line(_ cells: [Cell]) -> Cell { .text("\(cells[2]) \(cells[0]) \(cells[1])") }

  /// Cells of a row of the table as those of a row of the model, in which numbers are numbers.
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

  /// How many sequences a test takes: TABELLA_SEQUENCES, or so many.
  static func sequences(_ usual: Int) -> Int {
    ProcessInfo.processInfo.environment["TABELLA_SEQUENCES"].flatMap { Int($0) } ?? usual
  }
}

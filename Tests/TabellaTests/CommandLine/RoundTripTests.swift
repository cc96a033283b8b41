import Foundation
import Tabella
import Testing

@testable import TabellaCLI
@testable import TabellaCSV
@testable import TabellaTestSupport

/// Generated tables through each format that tabella can read back: cells with quotes, tabs, line ends, backslashes and
/// bytes that are not UTF-8, empty and missing cells, surrounding blanks, numbers and dates.
///
/// `TABELLA_CASES` sets the number of tables (500 by default; 10,000 for the documented promise), and `TABELLA_SEED`
/// the seed.
@Suite struct RoundTripTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder(inMemory: true) }

  private static let values: [[UInt8]] =
    [
      "", " ", " lead", "trail ", "\t", "a\tb", "\n", "two\nlines", "\r\n", "cr\r", "\\", "\\t",
      "\\N", "N", "\\x41", "a\\", "\"", "\"\"", "\"q\"", "5\" disk", "a,b", ";", "a;b;c", "|",
      "x|y",
      "#", "# c", "sep=;", "12", "-0", "5.40", "1e5", "00", "1,5", "2024-02-29",
      "2024-02-29T10:00:00Z", "true", "NULL", "é", "日本", "🙂", "\u{FEFF}", "\u{202E}abc", "\0",
      "\u{7F}",
      "\u{1B}[31m", "'", "`", "=1+1",
    ].map { Array($0.utf8) } + [[0xFF, 0xFE], [0xE9], [0x41, 0xC3], [0x80, 0x0A, 0xFF]]

  private static func cell(_ generator: inout SeededGenerator) -> Cell {
    if generator.chance(10) == 0 { return .missing }
    let parts = [1, 1, 1, 2, 5].randomElement(using: &generator)!
    return .text((0..<parts).flatMap { _ in values.randomElement(using: &generator)! })
  }

  private static func table(_ generator: inout SeededGenerator) -> (names: [String], rows: [[Cell]])
  {
    let names = ["id", "a b", "x,y", "q\"q", "t\tt", "l\nl", "b\\b", "ü", " n ", "N", "\\N"]
    let width = 1 + generator.chance(4)
    let chosen = names.shuffled(using: &generator).prefix(width)
    let rows = (0..<generator.chance(6)).map { _ in (0..<width).map { _ in cell(&generator) } }
    return (Array(chosen), rows)
  }

  /// The output of a format for a table.
  private func written(
    _ format: String, _ names: [String], _ rows: [[Cell]], hasHeader: Bool = true
  ) throws -> [UInt8] {
    let path = folder.path + "/out"
    let descriptor = Foundation.open(path, O_RDWR | O_CLOEXEC | O_CREAT | O_TRUNC, 0o600)
    defer { close(descriptor) }
    let output = Output(descriptor: descriptor)
    var writer = Formats.make(format, output, DisplayOptions())
    let source = InMemorySource(names.map { Column($0) }, rows: rows)
    try writer.begin(ShownTable(ShapedTable(source), hasHeader: hasHeader))
    let batch = try source.rows(
      RowRequest(first: 0, count: max(1, rows.count), columns: Array(names.indices)))
    if batch.rowCount > 0 {
      try writer.write(ShownRows(batch: batch, first: IndexPath(section: 0, row: 0)))
    }
    try writer.end(failure: nil)
    try output.finish()
    return try folder.read("out")
  }

  /// The cells that a format preserves: csv and tsv write a missing cell as an empty one.
  private func kept(_ rows: [[Cell]], _ format: String) -> [[Cell]] {
    format == "plain" ? rows : rows.map { $0.map { $0 == .missing ? "" : $0 } }
  }

  static let formats: [(name: String, options: [String: String])] = [
    ("csv", ["delimiter": "comma"]), ("tsv", ["escapes": "true"]),
    ("plain", ["escapes": "true", "header": "false"]),
  ]

  @Test func formatsReadBackEqual() throws {
    let environment = ProcessInfo.processInfo.environment
    let count = Int(environment["TABELLA_CASES"] ?? "") ?? 500
    let first = UInt64(environment["TABELLA_SEED"] ?? "") ?? 0
    for seed in first..<first + UInt64(count) {
      var generator = SeededGenerator(seed: seed)
      let (names, rows) = Self.table(&generator)
      for (format, options) in Self.formats {
        let text = try written(format, names, rows)
        let path = try folder.write("t.csv", text)
        let source = try CSVSource(path: Array(path.utf8), options: Options(options))
        let expected = kept(rows, format)
        #expect(try readAll(source) == expected, "seed \(seed), \(format)")
        if format != "plain" {
          #expect(source.columns.map(\.name) == names, "seed \(seed), \(format)")
        }
        try edit(source, expected, &generator, "seed \(seed), \(format)")
      }
      try expectJSONLines(names, rows, seed)
    }
  }

  /// A first cell that looked like a byte order mark or like the line `sep=;` was lost: CSV now quotes it.
  @Test func theFirstCellIsACell() throws {
    for names in [["sep=;"], ["sep=", "b"], ["\u{FEFF}a", "b"], ["\u{FEFF}"], ["sep=a,b", "c"]] {
      let rows = [names.map { Cell.text(Array($0.utf8)) }]
      for hasHeader in [true, false] {
        let text = try written("csv", names, rows, hasHeader: hasHeader)
        let path = try folder.write("t.csv", text)
        let options = ["delimiter": "comma", "header": hasHeader ? "true" : "false"]
        let source = try CSVSource(path: Array(path.utf8), options: Options(options))
        #expect(try readAll(source) == rows, "\(names), \(hasHeader)")
        if hasHeader { #expect(source.columns.map(\.name) == names) }
      }
    }
    #expect(
      try written("csv", ["a", "sep=;"], [["sep=;", "x"]]) == Array("a,sep=;\nsep=;,x\n".utf8))
    #expect(try written("tsv", ["sep=;"], []) == Array("sep=;\n".utf8))
    // TSV escapes the first byte, also of the marks of UTF-16.
    #expect(try written("tsv", ["\u{FEFF}a"], []) == Array("\\xef".utf8) + [0xBB, 0xBF, 0x61, 10])
    for (mark, escaped) in [([0xFF, 0xFE], "\\xff"), ([0xFE, 0xFF], "\\xfe")] as [([UInt8], String)]
    {
      let rows = [[Cell.text(mark + [0x7A]), "x"]]
      #expect(
        try written("csv", ["a", "b"], rows, hasHeader: false)
          == [0x22] + mark + Array("z\",x\n".utf8))
      #expect(
        try written("tsv", ["a", "b"], rows, hasHeader: false)
          == Array(escaped.utf8) + mark[1...] + Array("z\tx\n".utf8))
    }
  }

  /// An edited cell reads back as it was set, and the others stay the same.
  private func edit(
    _ source: CSVSource, _ rows: [[Cell]], _ generator: inout SeededGenerator, _ comment: String
  ) throws {
    guard !rows.isEmpty, let editing = source.editing else { return }
    var rows = rows
    let (row, column) = (generator.chance(rows.count), generator.chance(rows[0].count))
    let cell = Self.cell(&generator)
    guard cell != .missing else { return }
    do throws(TableError) {
      _ = try editing.commit(
        EditBatch([.set(.path(IndexPath(section: 0, row: row)), cells: [column: cell])]))
    } catch {
      // A NUL would make the file binary, a file that is not UTF-8 accepts no UTF-8, and a byte order mark must not
      // begin the file.
      let isKnown = ["NUL", "no text", "UTF-8", "other rules"].contains {
        error.message.contains($0)
      }
      #expect(isKnown, "\(comment): \(error)")
      return
    }
    rows[row][column] = cell
    #expect(try readAll(source) == rows, "\(comment), edited")
  }

  private func expectJSONLines(_ names: [String], _ rows: [[Cell]], _ seed: UInt64) throws {
    let lines = try written("jsonl", names, rows).split(separator: 10)
    #expect(lines.count == rows.count, "seed \(seed)")
    for (line, row) in zip(lines, rows) {
      let object = try #require(
        try JSONSerialization.jsonObject(with: Data(line)) as? [String: Any])
      let cells = names.map { name -> Cell in
        switch object[name] {
        case let text as String: .text(Array(text.utf8))
        case let bytes as [String: String]:
          .text(Array(Data(base64Encoded: bytes["base64"] ?? "") ?? Data()))
        default: .missing
        }
      }
      #expect(cells == row, "seed \(seed)")
    }
  }
}

import Foundation
import Tabella
import Testing

@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport

/// The option `delimiter=whitespace`: outputs of commands such as `ps` and `df`, compared with a naive splitter.
@Suite struct CSVWhitespaceTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder(inMemory: true) }

  private func open(
    _ text: [UInt8], _ options: [String: String] = [:]
  ) throws -> CSVSource {
    let path = try folder.write("t.txt", text)
    let options = try Options(options.merging(["delimiter": "whitespace"]) { $1 })
    return try CSVSource(path: Array(path.utf8), options: options)
  }

  private func open(
    _ text: String, _ options: [String: String] = [:]
  ) throws -> CSVSource { try open(Array(text.utf8), options) }

  private func cells(_ source: CSVSource) throws -> [[String?]] {
    try readAll(source).map { $0.map { $0 == .missing ? nil : $0.description } }
  }

  private func isBlank(_ byte: UInt8) -> Bool { byte == 32 || byte == 9 }

  /// The words of a line; the last of `width` words is the rest of the line.
  private func naive(_ line: ArraySlice<UInt8>, width: Int) -> [[UInt8]] {
    var line = line
    var words: [[UInt8]] = []
    while let last = line.last, isBlank(last) { line.removeLast() }
    while true {
      line = line.drop(while: isBlank)
      if line.isEmpty { return words }
      if words.count == width - 1 { return words + [Array(line)] }
      words.append(Array(line.prefix { !isBlank($0) }))
      line = line.dropFirst(words.last!.count)
    }
  }

  @Test(arguments: 0..<40)
  func linesAreThoseOfANaiveSplitter(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let letters = Array("ab,\"'\\;  \t\té".utf8) + [0xFF]
    let lines = (0..<Int.random(in: 1...30, using: &generator)).map { number in
      // A header without words has no columns to compare.
      (number == 0 ? [97] : [])
        + (0..<Int.random(in: 0...40, using: &generator)).map { _ in
          letters.randomElement(using: &generator)!
        }
    }
    let end: [UInt8] = [[10], [13, 10], [13]].randomElement(using: &generator)!
    let text = lines.reduce(into: []) { $0 += $1 + end }
    let width = naive(lines[0][...], width: .max).count
    let rows = lines.dropFirst().map { line in
      let words = naive(line[...], width: width).map { Cell.text($0) }
      return words + Array(repeating: .missing, count: width - words.count)
    }
    let source = try open(Bool.random(using: &generator) ? text : text.dropLast(end.count))
    #expect(source.columns.count == width)
    let shown = try readAll(source)
    // An empty last line without a line end is no row.
    #expect(shown == rows || shown == rows.dropLast() && lines.last!.isEmpty)
    // The same rows in another order.
    let paths = shown.indices.reversed().map { IndexPath(section: 0, row: $0) }
    let batch = try source.rows(
      at: paths, columns: Array(source.columns.indices), includesIDs: true)
    #expect((0..<batch.rowCount).map { batch.row($0) } == shown.suffix(batch.rowCount).reversed())
  }

  @Test func outputsOfCommands() throws {
    let ps = """
      USER         PID %CPU COMMAND
      root           1  0.0 /sbin/init  splash
        ada       4711 12.5 vim "my file.txt"   \u{20}

      root           2  0.0
      """
    let source = try open(ps)
    #expect(source.columns.map(\.name) == ["USER", "PID", "%CPU", "COMMAND"])
    #expect(
      try cells(source) == [
        ["root", "1", "0.0", "/sbin/init  splash"], ["ada", "4711", "12.5", "vim \"my file.txt\""],
        [nil, nil, nil, nil], ["root", "2", "0.0", nil],
      ])
    #expect(source.nextDiagnostic() == nil)
    let typed = try open(ps, ["types": "infer"])
    #expect(typed.columns.map(\.reads) == [nil, .integer, .real, nil])

    // Names that fix the columns, because a header with blanks has too many words.
    let df = "Filesystem  Size Mounted on\n/dev/a 10G /\n/dev/b  2G /mnt/my disk\n"
    let named = try open(df, ["header": "false", "skip": "1", "columns": "device,size,path"])
    #expect(named.columns.map(\.name) == ["device", "size", "path"])
    #expect(try cells(named) == [["/dev/a", "10G", "/"], ["/dev/b", "2G", "/mnt/my disk"]])
    // Without a header and names, the widest line fixes them.
    let plain = try open("a b\nc  d e\n", ["header": "false"])
    #expect(try cells(plain) == [["a", "b", nil], ["c", "d", "e"]])
    #expect(try cells(open("# no\na b\n1 2 3\n", ["comment": "#"])) == [["1", "2 3"]])
    #expect(try open("").columns.isEmpty)
  }

  /// The columns of a page are divided once, not once per column.
  @Test func wideLines() throws {
    let line = (0..<3000).map { "\($0)" }.joined(separator: "  ")
    let source = try open(line + "\n" + String(repeating: line + "\n", count: 40))
    #expect(source.columns.count == 3000)
    #expect(try cells(source).allSatisfy { $0[2999] == "2999" && $0[0] == "0" })
  }

  @Test func itIsReadOnly() throws {
    let source = try open("a b\n1 2\n")
    let error = #expect(throws: TableError.self) {
      try source.editing?.commit(
        EditBatch([.set(.path(IndexPath(section: 0, row: 0)), cells: [0: .text([51])])]))
    }
    #expect(error?.code == .readOnly && error?.message.contains("blanks") == true)
    let rows = try source.editing?.editability(ofRows: 0..<1, inSection: 0)
    #expect(rows == [[]])
  }

  @Test(arguments: [["quote": "'"], ["escape": "x"], ["escapes": "true"]])
  func nothingIsQuoted(_ options: [String: String]) throws {
    let error = #expect(throws: TableError.self) { try open("a\n", options) }
    #expect(error?.code == .invalidArgument && error?.message.contains("whitespace") == true)
    _ = try open("a\n", ["quote": "none"])
  }

  /// Another way to read the rows is another version.
  @Test func versionsDiffer() throws {
    let text = "a b\n1 2\n"
    let blanks = try open(text).version()
    let path = "\(folder.path)/t.txt"
    let spaces = try CSVSource(path: Array(path.utf8), options: Options(["delimiter": "space"]))
    #expect(try blanks != spaces.version())
  }
}

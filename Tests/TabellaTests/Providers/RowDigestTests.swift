import Foundation
import TabellaSDK
import TabellaThreads
import Testing

@testable import Tabella
@testable import TabellaBridge
@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport
@testable import TabellaText

/// Digests of rows: two rows have equal digests exactly if they have equal cells.
@Suite struct RowDigestTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func path(of text: [UInt8]) throws -> String {
    let path = "\(folder.path)/\(UInt64.random(in: 0 ... .max)).csv"
    try Data(text).write(to: URL(fileURLWithPath: path))
    return path
  }

  private func open(
    _ text: [UInt8], _ options: [String: String], through crosses: Bool = false
  ) throws -> any TableDataSource {
    let source = try CSVSource(path: Array(try path(of: text).utf8), options: Options(options))
    return crosses ? try importSource(exportSource(source), provider: "csv") : source
  }

  /// The digests of all rows for each list, one list after the other in each row.
  private func digests(
    _ source: any TableDataSource, _ lists: [[Int]], shareSize: Int? = nil
  ) throws -> [[RowDigest]] {
    let digester = try #require(source.digesting(lists[0]))
    let digests = try digester.digests(of: lists, from: .empty)
    #expect(digests.columns.count == lists.count * 2)
    let columns = Array(digests.columns.indices)
    var rows: [[RowDigest]] = []
    func add(_ batch: Batch) {
      for row in 0..<batch.rowCount {
        rows.append(
          lists.indices.map { list in
            RowDigest(
              UInt64(bitPattern: batch.columns[list * 2].integer(row)),
              UInt64(bitPattern: batch.columns[list * 2 + 1].integer(row)))
          })
      }
    }
    if let shareSize {
      _ = try digests.readShares(ofSection: 0, from: 0, size: shareSize, always: true) {
        share throws(TableError) in
        var batches: [Batch] = []
        try share.forEachBatch(ofShare: columns) { batch, _ in batches.append(batch) }
        return batches
      } _: { (batches: [Batch]) in
        batches.forEach(add)
        return true
      }
    }
    while true {
      let batch = try digests.rows(RowRequest(first: rows.count, count: 7, columns: columns))
      if batch.rowCount == 0 { return rows }
      add(batch)
    }
  }

  /// Cells with everything that is special, in some texts, and the bytes of the digests' own text.
  private static func text(_ seed: Int, _ generator: inout SeededGenerator) -> [UInt8] {
    let header = Array("a,b,c\n".utf8)
    switch seed % 4 {
    case 0: return header + RecordReaderTests.randomText(&generator, 900)
    case 1: return header + RecordReaderTests.orderlyText(&generator, 3000)
    case 2:
      let cells: [[UInt8]] = [
        [], [0x1F], [0x10], [0x4E], [0x10, 0x4E], [0x10, 0x1F], [0x61, 0x1F], [0x22, 0x1F, 0x22],
        [0xFF],
      ]
      var text = header
      for _ in 0..<300 {
        let row = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
          cells.randomElement(using: &generator)!
        }
        text += row.joined(separator: [UInt8(ascii: ",")]) + [10]
      }
      return text
    default:
      let cells = [
        "", "\"\"", "a", "\"a\"", "\"a,b\"", "a\"b", "\"a\"b", "\"x\"\"y\"", "\"l\r\nm\"",
      ]
      var text = "a,b,c\r\n"
      for _ in 0..<200 {
        let count = [3, 3, 3, 3, 1, 2, 4].randomElement(using: &generator)!
        let row = (0..<count).map { _ in cells.randomElement(using: &generator)! }
        text += row.joined(separator: ",") + (Bool.random(using: &generator) ? "\n" : "\r\n")
      }
      return Array(text.utf8)
    }
  }

  private static let options: [[String: String]] = [
    [:], ["quote": "none"], ["escape": "\\"], ["escapes": "true"], ["delimiter": "a"],
    ["header": "false", "columns": "2"], ["comment": "b"],
  ]

  /// The diagnostics without their places: if several cells deserve the same one, it can name any of them.
  private func diagnosed(_ source: any TableDataSource) -> Set<String> {
    var messages: Set<String> = []
    while let diagnostic = source.diagnostics?.nextDiagnostic() {
      messages.insert(String(diagnostic.message.filter { !$0.isNumber }.suffix(60)))
    }
    return messages
  }

  @Test(arguments: 0..<140) func equalRowsHaveEqualDigests(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let options = Self.options[seed / 4 % Self.options.count]
    let text = Self.text(seed, &generator)
    let naive = try open(text, options)
    let rows = try readAll(naive)
    let all = Array(naive.columns.indices)
    let lists = [all, [all.last!], [all.last!, 0]]
    let crosses = Bool.random(using: &generator)
    for shareSize in [nil, 100, 1000] {
      let source = try open(text, options, through: crosses)
      let digests = try digests(source, lists, shareSize: shareSize)
      #expect(digests.count == rows.count)
      for (list, columns) in lists.enumerated() {
        expectPairs(digests.map { $0[list] }, rows.map { row in columns.map { row[$0] } })
      }
      if shareSize == nil { #expect(diagnosed(source) == diagnosed(naive)) }
    }
  }
  /// Expects that equal rows have equal digests, and different rows have different ones.
  private func expectPairs(_ digests: [RowDigest], _ rows: [[Cell]]) {
    var (byDigest, byRow): ([RowDigest: [Cell]], [[Cell]: RowDigest]) = ([:], [:])
    for (digest, row) in zip(digests, rows) {
      #expect(byDigest[digest, default: row] == row)
      #expect(byRow[row, default: digest] == digest)
      (byDigest[digest], byRow[row]) = (row, digest)
    }
  }

  /// The same rows with another delimiter, and with quotes around other cells.
  @Test(arguments: 0..<60) func digestsDoNotDependOnTheNotation(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let source = try open(Self.text(seed, &generator), [:])
    let rows = try readAll(source)
    let delimiter: UInt8 = [UInt8(ascii: ","), UInt8(ascii: ";"), 9, 0x1F, 0].randomElement(
      using: &generator)!
    func written(_ text: [UInt8]) -> [UInt8] {
      let needsQuotes = text.contains { [delimiter, UInt8(ascii: "\""), 10, 13].contains($0) }
      if !needsQuotes, !text.isEmpty, Bool.random(using: &generator) { return text }
      let quote = UInt8(ascii: "\"")
      return [quote] + text.flatMap { $0 == quote ? [quote, quote] : [$0] } + [quote]
    }
    var text = Array(
      source.columns.map { written(Array($0.name.utf8)) }.joined(separator: [delimiter]))
    text.append(10)
    for row in rows {
      // Missing cells are at the end of a row.
      let cells = row.compactMap { if case .text(let bytes) = $0 { bytes } else { nil } }
      text += cells.map(written).joined(separator: [delimiter]) + [10]
    }
    let other = try open(text, ["delimiter": String(decoding: [delimiter], as: UTF8.self)])
    #expect(try readAll(other) == rows)
    let all = Array(source.columns.indices)
    let lists = [all, [all.last!], [0]]
    #expect(try digests(other, lists) == digests(source, lists))
  }

  @Test(arguments: 0..<40) func linesHaveTheDigestsOfCells(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.text(seed, &generator).filter { $0 != 13 }
    let lines = try TextProvider().open(
      OpenRequest(path: try path(of: text)))
    let cells = try open(text, ["delimiter": "\u{1}", "header": "false", "quote": "none"])
    #expect(cells.columns.count == 1)
    #expect(try readAll(lines) == readAll(cells))
    #expect(try digests(lines, [[0]]) == digests(cells, [[0]]))
    #expect(try digests(lines, [[0]], shareSize: 100) == digests(cells, [[0]], shareSize: 300))
  }

  @Test func typedAndBlankSeparatedCellsHaveNoDigests() throws {
    let text = Array("a,b\n1,x\n".utf8)
    let typed = try open(text, ["types": "infer"])
    #expect(typed.digesting([0, 1]) == nil)
    #expect(typed.digesting([1]) != nil)
    #expect(try open(text, ["delimiter": "whitespace"]).digesting([0]) == nil)
    #expect(try open(text, [:]).filtered(by: []).digesting([0]) == nil)
  }
}

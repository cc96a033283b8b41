import Foundation
import Tabella
import TabellaConformance
import TabellaFiles
import Testing

@testable import TabellaCSV
@testable import TabellaText

/// Random batches on files of records, against arrays: what the table shows, what a fresh opening
/// shows, and that no byte changed which no edit names.
@Suite struct RecordModelTests {
  static let sequences = Int(ProcessInfo.processInfo.environment["TABELLA_SEQUENCES"] ?? "") ?? 150

  /// A record as bytes, with its line end.
  struct Line: Equatable {
    var content: [UInt8]
    var end: [UInt8]
    /// Whether it is the old file's and was not set.
    var isOld = true
  }

  static func lines(_ text: [UInt8], _ rules: RecordRules, from start: Int) -> [Line] {
    let records = naiveRecords(Array(text[start...]), rules)
    return records.enumerated().map { number, record in
      let next = number + 1 < records.count ? records[number + 1].start : text.count - start
      return Line(
        content: Array(text[start + record.start..<start + record.end]),
        end: Array(text[start + record.end..<start + next]))
    }
  }

  static func pick<T>(_ values: [T], _ generator: inout SeededGenerator) -> T {
    values[Int.random(in: 0..<values.count, using: &generator)]
  }

  static let values: [[UInt8]] = [
    "", "x", "a,b", "q\"uote", "line\nbreak", "cr\rx", "end\r", "\n", ";", "\t", "é", " sp ", "\"",
    "\"\"", "\\", "a\r\nb", "=1+1", "12", "#", "|",
  ].map { Array($0.utf8) } + [[0xFF, 0xFE], [0xEF, 0xBB, 0xBF]]

  /// A file in some dialect, and the options to read it.
  static func file(
    _ generator: inout SeededGenerator
  ) -> (text: [UInt8], options: [String: String]) {
    let delimiter = pick([",", ";", "\t", "|"], &generator)
    let ends = pick([["\n"], ["\r\n"], ["\r"], ["\n", "\r\n", "\r"]], &generator)
    var options: [String: String] = [:]
    if Bool.random(using: &generator) { options["delimiter"] = delimiter }
    let hasHeader = Int.random(in: 0..<4, using: &generator) > 0
    if !hasHeader { options["header"] = "false" }
    let style = Int.random(in: 0..<3, using: &generator)
    let columns = Int.random(in: 1...4, using: &generator)
    var text: [UInt8] = Int.random(in: 0..<5, using: &generator) == 0 ? [0xEF, 0xBB, 0xBF] : []
    let count = Int.random(in: 0...8, using: &generator) + (hasHeader ? 1 : 0)
    for row in 0..<count {
      let isHeader = row == 0 && hasHeader
      let width =
        Int.random(in: 0..<5, using: &generator) == 0 && !isHeader
        ? Int.random(in: 1...columns, using: &generator) : columns
      let fields = (0..<width).map { column -> [UInt8] in
        var value = isHeader ? Array("c\(column)".utf8) : pick(values, &generator)
        if value == [0xEF, 0xBB, 0xBF] { value = [] }
        let mustQuote = value.contains {
          [10, 13, UInt8(ascii: "\""), Array(delimiter.utf8)[0]].contains($0)
        }
        let quotes = style == 2 || (style == 1 && column % 2 == 1)
        guard mustQuote || quotes else { return value }
        return Array("\"".utf8) + value.flatMap { $0 == 34 ? [34, 34] : [$0] } + [34]
      }
      text += fields.joined(separator: Array(delimiter.utf8))
      let isLast = row == count - 1
      if !isLast || Bool.random(using: &generator) {
        text += Array(pick(ends, &generator).utf8)
      }
    }
    return (text, options)
  }

  @Test func editsOfCSVAreThoseOfAnArray() throws {
    let folder = try TemporaryFolder()
    var refused = 0
    var done = 0
    for seed in 0..<UInt64(Self.sequences) {
      var generator = SeededGenerator(seed: seed)
      let (text, options) = Self.file(&generator)
      let path = Array(try folder.write("t.csv", text).utf8)
      var source = try CSVSource(path: path, options: Options(options))
      guard !source.columns.isEmpty else { continue }
      var model = try readAll(source)
      for step in 0..<20 {
        let before = try Array(Data(contentsOf: URL(fileURLWithPath: folder.path + "/t.csv")))
        let columns = source.columns.count
        let batch = RandomBatch<[Int: Cell]?>(of: model.count, &generator) { generator in
          var cells: [Int: Cell] = [:]
          for column in 0..<columns where Bool.random(using: &generator) {
            cells[column] = .text(Self.pick(Self.values, &generator))
          }
          return cells
        }
        var sets: [Int: [Int: Cell]] = [:]
        for case .set(let row) in batch.edits {
          let column = Int.random(in: 0..<columns, using: &generator)
          sets[row] = [column: .text(Self.pick(Self.values, &generator))]
        }
        let byID = Int.random(in: 0..<3, using: &generator) == 0
        func reference(_ row: Int) throws -> RowReference {
          guard byID else { return .path(IndexPath(section: 0, row: row)) }
          let id = try source.rows(
            RowRequest(first: row, count: 1, columns: [], includesIDs: true)).id(0)
          return .id(try #require(id))
        }
        let edits = try batch.edits.map { edit -> EditBatch.Edit in
          switch edit {
          case .insert(let cells, let target):
            .insert(at: IndexPath(section: 0, row: target), cells: cells ?? [:])
          case .delete(let row): .delete(try reference(row))
          case .set(let row): .set(try reference(row), cells: sets[row] ?? [:])
          case .move(let row, let target):
            .move(try reference(row), to: IndexPath(section: 0, row: target))
          }
        }
        let version = try source.version()
        let rules = source.text.rules
        let start = source.text.start
        let comment = "seed \(seed), step \(step), \(options), \(edits), \(before)"
        let result: EditResult
        do throws(TableError) {
          result = try source.commit(EditBatch(edits, version: version))
        } catch {
          // What changes how the file is read is refused.
          #expect(error.code == .constraint, "\(error) \(comment)")
          refused += 1
          let after = try Array(Data(contentsOf: URL(fileURLWithPath: folder.path + "/t.csv")))
          #expect(after == before)
          continue
        }
        done += 1
        #expect(result.outcomes.allSatisfy { $0.code == nil })

        // The rows.
        let rows: [[Int: Cell]?] = model.map { row in
          Dictionary(uniqueKeysWithValues: row.enumerated().map { ($0, $1) })
        }
        func full(_ cells: [Int: Cell]) -> [Int: Cell] {
          Dictionary(uniqueKeysWithValues: (0..<columns).map { ($0, cells[$0] ?? "") })
        }
        let isNew = batch.edits.isEmpty
        let expected = batch.applied(to: rows) { row, cells in
          for (column, cell) in sets[row] ?? [:] {
            for between in 0..<column where cells?[between] == .some(.missing) {
              cells?[between] = ""
            }
            cells?[column] = cell
          }
        }.map { cells in
          let all = full(cells ?? [:])
          return (0..<columns).map { all[$0] ?? .missing }
        }
        #expect(!isNew || expected == model)
        let fresh = try CSVSource(path: path, options: Options(options))
        try #require(try readAll(source) == expected, "\(comment)")
        let reread = try readAll(fresh)
        // Without a header a narrower table may be all that is left.
        if fresh.columns.count == columns { try #require(reread == expected, "\(comment)") }
        #expect(fresh.columns.prefix(columns).map(\.name) == source.columns.prefix(fresh.columns.count).map(\.name))
        #expect(try fresh.version() == source.version())

        // The bytes.
        let after = try Array(Data(contentsOf: URL(fileURLWithPath: folder.path + "/t.csv")))
        let old = Self.lines(before, rules, from: start)
        let wasOpen = old.last?.end.isEmpty ?? false
        let lines = batchOfLines(batch).applied(to: old) { _, line in line.isOld = false }
        let new = Self.lines(after, rules, from: source.text.start)
        try #require(new.count == lines.count, "\(comment)")
        #expect(after.prefix(start) == before.prefix(start))
        let moved = Set(batch.edits.compactMap { if case .move(_, let to) = $0 { to } else { nil } })
        for (number, (line, new)) in zip(lines, new).enumerated() where line.isOld {
          #expect(new.content == line.content, "\(comment)")
          let mayChange = line.end.isEmpty || (wasOpen && number == lines.count - 1 && moved.contains(number))
          let follows = number + 1 < lines.count && line.end == [13]
          if !mayChange, !follows { #expect(new.end == line.end, "\(comment)") }
        }
        source = Bool.random(using: &generator) || fresh.columns.count != columns ? fresh : source
        model = reread
        if let receipt = result.receipt, Int.random(in: 0..<4, using: &generator) == 0 {
          let undone = try source.undo(receipt, isDryRun: false)
          #expect(undone.changes.to != result.changes.to)
          let back = try Array(Data(contentsOf: URL(fileURLWithPath: folder.path + "/t.csv")))
          try #require(back == before, "\(comment)")
          source = try CSVSource(path: path, options: Options(options))
          model = try readAll(source)
        }
        if source.columns.isEmpty { break }
      }
    }
    print("csv: \(done) batches done, \(refused) refused")
    #expect(done > refused * 5)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["t.csv"])
  }

  private func batchOfLines(_ batch: RandomBatch<[Int: Cell]?>) -> RandomBatch<Line> {
    batch.mapped { _ in Line(content: [], end: [], isOld: false) }
  }
}

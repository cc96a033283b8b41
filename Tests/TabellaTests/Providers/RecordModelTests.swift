import Foundation
import Tabella
import TabellaConformance
import TabellaFiles
import Testing

@testable import TabellaCSV
@testable import TabellaTestSupport
@testable import TabellaText

/// Random batches on files of records, compared with arrays: the shown table, a new opening, and the bytes that no edit
/// names.
@Suite struct RecordModelTests {
  /// The bytes of a record, with its line end.
  struct Line: Equatable {
    var content: [UInt8]
    var end: [UInt8]
    /// Whether it comes from the old file and was not set.
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

  static let values: [[UInt8]] =
    [
      "", "x", "a,b", "q\"uote", "line\nbreak", "cr\rx", "end\r", "\n", ";", "\t", "é", " sp ",
      "\"",
      "\"\"", "\\", "a\r\nb", "=1+1", "12", "#", "|",
    ].map { Array($0.utf8) } + [[0xFF, 0xFE], [0xEF, 0xBB, 0xBF]]

  /// A file in some dialect, and the options to read it. If it has many rows, a few cells are long.
  static func file(
    rows: Int = 8, _ generator: inout SeededGenerator
  ) -> (text: [UInt8], options: [String: String]) {
    let dialect = RandomDialect(&generator)
    var options: [String: String] = [:]
    if Bool.random(using: &generator) { options["delimiter"] = dialect.delimiter }
    // A backslash is read as an escape, even at the end of the text, although the dialect writes it unescaped.
    if Int.random(in: 0..<4, using: &generator) == 0 { options["escape"] = "\\" }
    let hasHeader = Int.random(in: 0..<4, using: &generator) > 0
    if !hasHeader { options["header"] = "false" }
    let columns = Int.random(in: 1...4, using: &generator)
    let count = Int.random(in: 0...rows, using: &generator)
    var records = hasHeader ? [(0..<columns).map { Array("c\($0)".utf8) }] : []
    records += (0..<count).map { _ in
      let isShort = Int.random(in: 0..<5, using: &generator) == 0
      let width = isShort ? Int.random(in: 1...columns, using: &generator) : columns
      return (0..<width).map { _ in
        let value = pick(values, &generator)
        if rows > 8, Int.random(in: 0..<300, using: &generator) == 0 {
          return [UInt8](repeating: 0x78, count: Int.random(in: 1...50_000, using: &generator))
        }
        return value == [0xEF, 0xBB, 0xBF] ? [] : value
      }
    }
    let text = dialect.text(of: records, &generator)
    // These bytes would be the byte order mark of UTF-16.
    return (text.starts(with: [0xFF, 0xFE]) ? [0x78] + text : text, options)
  }

  @Test func editsOfCSVAreThoseOfAnArray() throws {
    try run("csv") { generator in
      let (text, options) = Self.file(&generator)
      return (text, { try CSVSource(path: $0, options: Options(options)) }, "\(options)")
    }
  }

  @Test func editsOfTextAreThoseOfAnArray() throws {
    try run("text") { generator in (Self.file(&generator).text, Self.text, "") }
  }

  private static func text(_ path: [UInt8]) throws -> Source {
    let file = try OpenFile(path: path)
    return try TextSource(
      ShownFile(path: path, file, SaveOptions(), reading: Reading("text")), file.bytes(),
      encoding: nil, sectioning: .none, pattern: nil, headings: nil)
  }

  /// Large batches read and write larger blocks than small ones.
  @Test func manyEditsAreThoseOfAnArray() throws {
    try run("many", sequences: EditSubject.sequences(6), steps: 4, most: 700) { generator in
      let (text, options) = Self.file(rows: 1500, &generator)
      return (text, { try CSVSource(path: $0, options: Options(options)) }, "\(options)")
    }
    try run("many lines", sequences: EditSubject.sequences(4), steps: 4, most: 700) { generator in
      (Self.file(rows: 1500, &generator).text, Self.text, "")
    }
  }

  typealias Source = any RecordEditing

  private func run(
    _ name: String, sequences: Int = EditSubject.sequences(150), steps: Int = 20, most: Int = 4,
    _ make: (inout SeededGenerator) throws -> ([UInt8], ([UInt8]) throws -> Source, String)
  ) throws {
    let folder = try TemporaryFolder(inMemory: true)
    var (done, refused) = (0, 0)
    for seed in 0..<UInt64(sequences) {
      var generator = SeededGenerator(seed: seed)
      let (text, open, options) = try make(&generator)
      let path = Array(try folder.write("t", text).utf8)
      var source = try open(path)
      var model = try readAll(source)
      for step in 0..<steps where !source.columns.isEmpty {
        let trial = try Trial(source, of: model, most: most, &generator)
        let before = try folder.read("t")
        let comment = Comment(
          rawValue:
            most > 4
            ? "seed \(seed), step \(step), \(options)"
            : "seed \(seed), step \(step), \(options), \(trial.edits), \(before)")
        let (version, width) = (try source.version(), source.columns.count)
        let (rules, start) = (source.reader.rules, source.recordsStart.offset)
        let result: EditResult
        do throws(TableError) {
          result = try source.commit(EditBatch(trial.edits, version: version))
        } catch {
          // A file of this kind cannot contain the value, or would be read differently.
          #expect(error.code == .constraint, "\(error) \(comment)")
          #expect(try folder.read("t") == before)
          refused += 1
          continue
        }
        done += 1
        #expect(result.outcomes.allSatisfy { $0.code == nil })
        #expect(try result.changes.to == source.version())
        let fresh = try open(path)
        model = try readAll(fresh)
        try #require(try readAll(source) == model, comment)
        // Without a header, the table may become narrower.
        if source.columns.count == width { try #require(model == trial.expected, comment) }
        #expect(try fresh.version() == source.version())
        let after = try folder.read("t")
        #expect(after.prefix(start) == before.prefix(start))
        try check(
          Self.lines(before, rules, from: start),
          Self.lines(after, rules, from: source.recordsStart.offset), trial.batch, comment)
        for (outcome, edit) in zip(result.outcomes, trial.edits) {
          guard let id = outcome.id, version != result.changes.to else { continue }
          let path = try #require(source.identity).indexPath(forID: id)
          if case .insert(let target, _) = edit { #expect(path == target, comment) }
          if case .move(_, let target) = edit { #expect(path == target, comment) }
        }
        if Bool.random(using: &generator) { source = fresh }
        if let receipt = result.receipt, Int.random(in: 0..<4, using: &generator) == 0 {
          let undone = try source.undo(receipt, isDryRun: false)
          try #require(try folder.read("t") == before, comment)
          // Undoes the undo.
          if Bool.random(using: &generator) {
            _ = try source.undo(try #require(undone.receipt), isDryRun: false)
            try #require(try folder.read("t") == after, comment)
          }
          source = try open(path)
          model = try readAll(source)
        }
      }
    }
    print("\(name): \(done) batches done, \(refused) refused")
    #expect(done > refused * 3)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["t"])
  }

  /// A batch for a table, and its expected rows.
  private struct Trial {
    let batch: RandomBatch<[Cell]>
    let edits: [EditBatch.Edit]
    let expected: [[Cell]]

    init(
      _ source: Source, of rows: [[Cell]], most: Int, _ generator: inout SeededGenerator
    ) throws {
      let columns = source.columns.indices
      // A line cannot contain a line end, so a large batch with one would be refused.
      let values = RecordModelTests.values.filter { value in
        most == 4 || source is CSVSource || !value.contains { $0 == 10 || $0 == 13 }
      }
      // A new row is at most as long as the header.
      let width = (source as? CSVSource)?.text.header?.width ?? columns.count
      var inserted: [[Int: Cell]] = []
      batch = RandomBatch(of: rows.count, most: most, &generator) { generator in
        var cells: [Int: Cell] = [:]
        for column in columns where Bool.random(using: &generator) {
          cells[column] = .text(pick(values, &generator))
        }
        // Some rows are short.
        let end = Int.random(in: 1...4 * columns.count, using: &generator)
        for column in columns.dropFirst(end) { cells[column] = .missing }
        inserted.append(cells)
        return columns.map { cells[$0] ?? ($0 < width ? "" : .missing) }
      }
      var sets: [Int: [Int: Cell]] = [:]
      for case .set(let row) in batch.edits {
        let column = Int.random(in: columns, using: &generator)
        sets[row] = [column: .text(pick(values, &generator))]
      }
      let byID = Int.random(in: 0..<3, using: &generator) == 0
      func reference(_ row: Int) throws -> RowReference {
        guard byID else { return .path(IndexPath(section: 0, row: row)) }
        let request = RowRequest(first: row, count: 1, columns: [], includesIDs: true)
        return .id(try #require(try source.rows(request).id(0)))
      }
      edits = try batch.edits.map { edit in
        switch edit {
        case .insert(let row, let target):
          let number = try #require(
            inserted.firstIndex { cells in
              columns.map { cells[$0] ?? ($0 < width ? "" : .missing) } == row
            })
          return .insert(at: IndexPath(section: 0, row: target), cells: inserted[number])
        case .delete(let row): return .delete(try reference(row))
        case .set(let row): return .set(try reference(row), cells: sets[row] ?? [:])
        case .move(let row, let target):
          return .move(try reference(row), to: IndexPath(section: 0, row: target))
        }
      }
      expected = batch.applied(to: rows) { row, cells in
        for (column, cell) in sets[row] ?? [:] {
          // A short row is padded.
          for between in 0..<column where cells[between] == .missing { cells[between] = "" }
          cells[column] = cell
        }
      }
    }
  }

  /// Unedited rows keep their bytes, and their line ends if possible.
  private func check(
    _ old: [Line], _ new: [Line], _ batch: RandomBatch<[Cell]>, _ comment: Comment
  ) throws {
    let wasOpen = old.last?.end.isEmpty ?? false
    // A row without bytes needs a line end to exist.
    if !old.isEmpty, let last = new.last, !last.content.isEmpty {
      #expect(last.end.isEmpty == wasOpen, comment)
    }
    let expected = batch.mapped { _ in Line(content: [], end: [], isOld: false) }
      .applied(to: old) { _, line in line.isOld = false }
    try #require(new.count == expected.count, comment)
    for (number, (line, new)) in zip(expected, new).enumerated() where line.isOld {
      #expect(new.content == line.content, comment)
      let isLast = number == expected.count - 1
      if line.end.isEmpty || (wasOpen && isLast) { continue }
      // A CR must not form one line end with the following LF.
      if line.end == [13], !isLast { continue }
      #expect(new.end == line.end, comment)
    }
  }
}

import Foundation
import Tabella
import TabellaSDK
import Testing

@testable import TabellaBridge
@testable import TabellaCSV
@testable import TabellaTestSupport
@testable import TabellaText

/// Filters over sources that skip rows, compared with the same filters over a copy in memory, which cannot skip.
@Suite struct SearchTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private static let options: [[String: String]] = [
    [:], [:], ["quote": "none"], ["escape": "\\"], ["escapes": "true"], ["encoding": "latin1"],
    ["delimiter": "whitespace"], ["delimiter": ";", "comment": "#"], ["types": "infer"],
    ["header": "false", "columns": "4"], ["quote": "'"], ["decimal": ","],
  ]

  private static let patterns = [
    "ab", "a+b", "(ab|ß)", "^a", "b$", "a.b", "[ab]x", "(?i)ab", "(?i)k", "\\bab", "a{2}",
    "(a|b)?x",
    "", "5\" disk", "a\"b", "\\xff", "é|É", "(abc|abd|x)+s", "ſ", "(?i)(kab|ia)", "a\\nb", "x*",
  ]

  private static func conditions(_ generator: inout SeededGenerator, width: Int) -> [Condition] {
    (0..<Int.random(in: 0...2, using: &generator)).map { _ in
      let column = Int.random(in: 0..<width, using: &generator)
      let comparison = Condition.Comparison.allCases.randomElement(using: &generator)!
      let isPattern = comparison == .matches || comparison == .doesNotMatch
      let value =
        isPattern
        ? Array(patterns.randomElement(using: &generator)!.utf8)
        : RecordSearchTests.text(&generator, 2)
      return Condition(column: column, comparison: comparison, value: value)
    }
  }

  /// The rows that a filter shows, read as a program reads them: some columns, in batches of some size.
  private func rows(
    _ source: any TableDataSource, _ conditions: [Condition], _ search: [UInt8]?, columns: [Int],
    most: Int
  ) throws -> [[Cell]]? {
    let view: FilteredSource
    do {
      view = try source.filtered(by: conditions, search: search)
    } catch {
      return nil
    }
    var rows: [[Cell]] = []
    while true {
      let batch = try view.rows(RowRequest(first: rows.count, count: most, columns: columns))
      if batch.rowCount == 0 { break }
      for row in 0..<batch.rowCount { rows.append(batch.row(row)) }
    }
    #expect(try view.numberOfRows(inSection: 0, knowing: .max) == .exact(rows.count))
    return rows
  }

  private func compare(_ source: any TableDataSource, _ generator: inout SeededGenerator) throws {
    let width = source.columns.count
    guard width > 0 else { return }
    let copy = InMemorySource(source.columns, rows: try readAll(source))
    #expect(copy.searching == nil)
    for _ in 0..<6 {
      let conditions = Self.conditions(&generator, width: width)
      let search = Bool.random(using: &generator) ? RecordSearchTests.text(&generator, 3) : nil
      let columns = (0..<width).filter { _ in Bool.random(using: &generator) }
      let most = [1, 3, 1000].randomElement(using: &generator)!
      let found = try rows(source, conditions, search, columns: columns, most: most)
      let wanted = try rows(copy, conditions, search, columns: columns, most: 1000)
      #expect(found == wanted, "\(conditions), search \(search.map { "\($0)" } ?? "none")")
    }
  }

  @Test(arguments: 0..<90)
  func filtersOfCSVFilesAreThoseOfAllRows(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let options = Self.options[seed % Self.options.count]
    var text = Array("a,b,c\n".utf8) + RecordSearchTests.text(&generator, 400)
    if seed.isMultiple(of: 4) { text += RecordReaderTests.orderlyText(&generator, 2000) }
    let path = "\(folder.path)/\(seed).csv"
    try Data(text).write(to: URL(fileURLWithPath: path))
    let source = try CSVSource(path: Array(path.utf8), options: Options(options))
    #expect(source.searching != nil)
    try compare(source, &generator)
    // The same through C.
    let imported = try importSource(exportSource(source), provider: "csv")
    #expect(imported.searching != nil)
    try compare(imported, &generator)
    try compare(joined([("one", imported), ("two", Tables.plain())]), &generator)
  }

  @Test(arguments: 0..<30)
  func filtersOfTextFilesAreThoseOfAllLines(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let path = "\(folder.path)/\(seed).txt"
    // A file with a NUL is shown as bytes.
    let text = RecordSearchTests.text(&generator, 400).filter { $0 != 0 }
    try Data(text).write(to: URL(fileURLWithPath: path))
    let all: [[String: String]] = [[:], ["encoding": "latin1"], ["pattern": "(?<x>a+)"]]
    let options = all[seed % 3]
    let source = try TextProvider().open(
      OpenRequest(location: Array(path.utf8), options: options))
    #expect(source.searching != nil)
    try compare(source, &generator)
    try compare(try importSource(exportSource(source), provider: "text"), &generator)
  }

  /// A long file, of which a filter shows a few rows: the numbers of rows, ids and gathered rows stay right.
  @Test func pathsOfALongFileAreRight() throws {
    var text = "number,name\n"
    for number in 0..<60_000 { text += "\(number),\"name \(number % 997)\"\n" }
    let path = try folder.write("long.csv", text)
    let source = try CSVSource(path: Array(path.utf8), options: Options([:]))
    let view = try source.filtered(by: [], search: Array("name 99".utf8))
    let wanted = (0..<60_000).filter { "name \($0 % 997)".contains("name 99") }
    #expect(try view.numberOfRows(inSection: 0, knowing: .max) == .exact(wanted.count))
    let batch = try view.rows(
      RowRequest(first: 100, count: 50, columns: [0], includesIDs: true))
    let ids = try #require(batch.ids)
    for row in 0..<batch.rowCount {
      #expect(batch.columns[0][row] == .text(Array("\(wanted[100 + row])".utf8)))
      guard case .binary(let id) = ids[row] else { continue }
      #expect(
        try view.indexPath(forID: String(decoding: id, as: UTF8.self))
          == IndexPath(section: 0, row: 100 + row))
    }
  }

  /// A source that lies about the rows that it found.
  private final class Liar: TableDataSource, RowSearching {
    let columns = [Column("a")]
    let numbers: [Int]
    let next: Int

    init(_ numbers: [Int], next: Int) { (self.numbers, self.next) = (numbers, next) }

    func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
      .exact(3)
    }

    func rows(_ request: RowRequest) throws(TableError) -> Batch {
      let builder = BatchBuilder([.text])
      for _ in numbers { builder.columns[0].append("x") }
      return builder.finish(rowCount: numbers.count)
    }

    func rows(
      _ request: RowRequest, containing terms: [SearchTerm]
    ) throws(TableError) -> FoundRows { FoundRows(try rows(request), numbers: numbers, next: next) }
  }

  @Test(
    arguments: [([0, 0], 3), ([1, 0], 3), ([0, 3], 3), ([], -1), ([-1], 3)] as [([Int], Int)])
  func falseAnswersAreRefused(_ numbers: [Int], _ next: Int) throws {
    let imported = try importSource(exportSource(Liar(numbers, next: next)), provider: "liar")
    let searching = try #require(imported.searching)
    let error = #expect(throws: TableError.self) {
      _ = try searching.rows(
        RowRequest(first: 0, count: 10, columns: [0]), containing: [SearchTerm([[120]])])
    }
    #expect(error?.code == .misbehaved && error?.provider == "liar")
  }

  @Test func termsCrossAsBytes() throws {
    for seed in 0..<40 {
      var generator = SeededGenerator(seed: UInt64(seed))
      let terms = RecordSearchTests.terms(&generator)
      let bytes = SearchTerms.encoded(terms)
      #expect(try SearchTerms.decoded(bytes) == terms)
      for cut in 1..<bytes.count where cut < SearchTerms.encoded([terms[0]]).count {
        #expect(throws: TableError.self) { try SearchTerms.decoded(Array(bytes.prefix(cut))) }
      }
    }
  }
}

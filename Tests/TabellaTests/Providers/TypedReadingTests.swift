import Foundation
import Tabella
import Testing

@testable import TabellaCSV
@testable import TabellaTestSupport

/// The types that the CSV provider gives its columns, compared with the simple way: try each type with each cell.
@Suite struct TypedReadingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func open(_ text: [UInt8], _ options: [String: String] = [:]) throws -> CSVSource {
    let path = try folder.write("\(UUID().uuidString).csv", text)
    return try CSVSource(path: Array(path.utf8), options: Options(options))
  }

  /// The first type of the list that all non-empty cells have; nil for text.
  private func naiveTypes(_ rows: [[Cell]], _ width: Int, hasComma: Bool = false) -> [ColumnType?] {
    (0..<width).map { column in
      let texts = rows.compactMap { row -> [UInt8]? in
        if case .text(let text) = row[column], !text.isEmpty { text } else { nil }
      }
      if texts.isEmpty { return nil }
      return [.integer, .real, .boolean, .date].first { type in
        texts.allSatisfy { text in
          text.withUnsafeBytes {
            TextValue.value(in: $0, as: type, hasDecimalComma: hasComma) != nil
          }
        }
      }
    }
  }

  /// A file whose columns each have texts of one kind. Some cells are quoted, missing, empty or other texts.
  private func draw(_ seed: Int, rows: Int, faults: Int) -> [UInt8] {
    var generator = SeededGenerator(seed: UInt64(seed))
    func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
    let kinds = (0..<4).map { _ in below(DrawnTexts.kinds - 1) }
    var text = Array("a,b,c,d\n".utf8)
    for row in 0..<rows {
      let width = below(20) == 0 ? 1 + below(3) : 4
      for column in 0..<width {
        var cell: [UInt8]
        // Most files keep to the types of their columns up to the last row.
        if row == rows - 1 || faults > 0 && below(faults) == 0 {
          cell = DrawnTexts.text(below(DrawnTexts.kinds), using: &generator)
        } else {
          cell = Self.fitting[kinds[column]][below(4)]
        }
        if below(15) == 0 { cell = [] }
        if cell.contains(where: { [10, 13, 34, 44].contains($0) }) || below(6) == 0 {
          cell = [34] + cell.flatMap { $0 == 34 ? [34, 34] : [$0] } + [34]
        }
        text += (column == 0 ? [] : [44]) + cell
      }
      text += [10]
    }
    return text
  }

  private static let fitting: [[[UInt8]]] = [
    ["1", "-20", "0", "9007199254740993"], ["1.5", "-0.25", "0.1234567890123456", "7e3"],
    ["true", "false", "TRUE", "False"], ["2024-02-29", "1999-01-01", "2000-12-31", "1970-01-01"],
    ["2024-02-29T12:00:00Z", "1999-01-01 00:00:00.5+01:00", "2000-12-31", "1969-12-31T23:59:59z"],
  ].map { $0.map { Array($0.utf8) } }

  @Test(arguments: 0..<60)
  func typesAreThoseOfAllCells(_ seed: Int) throws {
    let text = draw(seed, rows: 40, faults: seed % 4 == 0 ? 0 : 60)
    let rows = try readAll(open(text))
    let expected = naiveTypes(rows, 4)
    for option in ["infer", "sample"] {
      let source = try open(text, ["types": option])
      #expect(source.columns.map(\.reads) == expected)
      let values = try readAll(source, asValues: true)
      let naive = rows.map { row in
        zip(row, expected).map { cell, type -> Cell in
          guard let type, case .text(let text) = cell else { return cell }
          return text.withUnsafeBytes { TextValue.value(in: $0, as: type) } ?? .missing
        }
      }
      #expect(values == naive)
    }
  }

  /// Threads divide a long text, also inside quoted cells with line ends. Their number makes no difference.
  @Test(arguments: 0..<6)
  func threadsFindTheSameTypes(_ seed: Int) throws {
    var text = draw(seed, rows: 12_000, faults: 0)
    if seed % 2 == 0 {
      let noise = Array("1,\"\n\"\"2,3\n\n\",true,2024-01-01\n".utf8)
      text = text + Array(repeatElement(noise, count: 4000).joined())
    }
    let expected = naiveTypes(try readAll(open(text)), 4)
    for threads in [1, 2, 4] {
      let source = try open(text)
      let types = try source.text.typesOfAllCells(
        CancelFlag(), threads: threads, size: 40_000)
      #expect(types.types == expected, "\(threads) threads")
      #expect(try #require(try source.text.reader.shares(from: 0, size: 40_000)).count > 4)
    }
  }

  /// A cell after the first MiB that is no integer. `infer` makes the column text; with `sample`, the cell is an
  /// error with its row, and the rows in front of it are read.
  @Test func aLateMisfitWidensOrFails() throws {
    let rows = 250_000
    var text = "n,m\n" + (0..<rows).map { "\($0),x\n" }.joined() + "oops,x\n"
    #expect(text.utf8.count > 2 << 20)
    let inferred = try open(Array(text.utf8), ["types": "infer"])
    #expect(inferred.columns[0].reads == nil)
    let sampled = try open(Array(text.utf8), ["types": "sample"])
    #expect(sampled.columns[0].reads == .integer)
    var read = 0
    let error = #expect(throws: TableError.self) {
      while true {
        let batch = try sampled.rows(RowRequest(first: read, count: 1 << 20, columns: [1, 0]))
        let values = sampled.columns[0].values(of: batch.columns[1])
        #expect(values.missingCount == 0 && values.integer(0) == read && batch.rowCount > 0)
        read += batch.rowCount
      }
    }
    #expect(read == rows)
    #expect(error?.code == .constraint && error?.row == rows && error?.column == 0)
    #expect(error?.message.contains("\"oops\"") == true)
    // Another column, or another row, is no error.
    let other = try sampled.rows(RowRequest(first: rows, count: 1, columns: [1]))
    #expect(other.row(0) == ["x"])
    let path = IndexPath(section: 0, row: rows)
    #expect(throws: TableError.self) {
      try sampled.rows(at: [path], columns: [0], includesIDs: false)
    }
    let gathered = try sampled.rows(
      at: [IndexPath(section: 0, row: 7), path], columns: [0], includesIDs: true)
    #expect(gathered.rowCount == 1 && gathered.row(0) == ["7"] && gathered.ids?.count == 1)
    // Of a column that is text in the sample, any cell is right.
    text = "n\n" + (0..<rows).map { "x\($0)\n" }.joined() + "1\n"
    #expect(try open(Array(text.utf8), ["types": "sample"]).columns[0].reads == nil)
  }
}

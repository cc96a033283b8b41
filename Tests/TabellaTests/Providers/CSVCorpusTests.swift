import Foundation
import Tabella
import TabellaConformance
import Testing

@testable import TabellaCSV
@testable import TabellaTestSupport

/// Small difficult files with their expected results: Tests/TabellaTests/Providers/Corpus/csv. The expected values were
/// written manually from docs/providers/csv.md.
@Suite struct CSVCorpusTests {
  struct Expected: Decodable {
    var options: [String: String]?
    var columns: [String]
    var types: [String]?
    var rows: [[ExpectedCell]]
    var warnings: [String]?
  }

  static let folder = packageFolder + "/Tests/TabellaTests/Providers/Corpus/csv"

  static let names: [String] = {
    let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return files.filter { $0.hasSuffix(".json") }.map { String($0.dropLast(5)) }.sorted()
  }()

  @Test func thereIsACorpus() { #expect(Self.names.count >= 60) }

  @Test(arguments: names)
  func becomes(_ name: String) throws {
    let expected = try JSONDecoder().decode(
      Expected.self, from: Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(name).json")))
    let source = try CSVSource(
      path: Array("\(Self.folder)/\(name).csv".utf8), options: Options(expected.options ?? [:]))
    #expect(source.columns.map(\.name) == expected.columns)
    if let types = expected.types { #expect(source.columns.map(\.valueType.name) == types) }
    let rows = try readAll(source, asValues: true)
    #expect(rows.count == expected.rows.count)
    for (number, (row, wanted)) in zip(rows, expected.rows).enumerated() {
      #expect(row.map(ExpectedCell.init) == wanted, "row \(number)")
    }
    var warnings: [String] = []
    while let diagnostic = source.nextDiagnostic() { warnings.append(diagnostic.message) }
    let wanted = expected.warnings ?? []
    #expect(warnings.count == wanted.count, "\(warnings)")
    for (warning, part) in zip(warnings, wanted) { #expect(warning.contains(part)) }
  }

  @Test(arguments: sample(80, of: names))
  func keepsTheLaws(_ name: String) throws {
    let expected = try JSONDecoder().decode(
      Expected.self, from: Data(contentsOf: URL(fileURLWithPath: "\(Self.folder)/\(name).json")))
    let options = try Options(expected.options ?? [:])
    expectConformance { () throws(TableError) in
      try CSVSource(path: Array("\(Self.folder)/\(name).csv".utf8), options: options)
    }
  }
}

/// A cell in the JSON of the corpus.
enum ExpectedCell: Decodable, Hashable {
  case missing
  case text(String)
  case bytes(String)
  case number(Double)
  case boolean(Bool)

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .missing
    } else if let boolean = try? container.decode(Bool.self) {
      self = .boolean(boolean)
    } else if let number = try? container.decode(Double.self) {
      self = .number(number)
    } else if let text = try? container.decode(String.self) {
      self = .text(text)
    } else {
      self = .bytes(try container.decode([String: String].self)["base64"] ?? "")
    }
  }

  init(_ cell: Cell) {
    switch cell {
    case .missing: self = .missing
    case .text(let bytes):
      self = cell.string.map { .text($0) } ?? .bytes(Data(bytes).base64EncodedString())
    case .integer(let value): self = .number(Double(value))
    case .real(let value): self = .number(value)
    case .boolean(let value): self = .boolean(value)
    case .date(let value): self = .text(value.description)
    case .binary(let bytes): self = .bytes(Data(bytes).base64EncodedString())
    }
  }
}

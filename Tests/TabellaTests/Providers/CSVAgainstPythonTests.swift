import Foundation
import Tabella
import Testing

@testable import TabellaCSV
@testable import TabellaTestSupport

/// Generated files, read by this provider and by Python's `csv` module. docs/providers/csv.md lists the intended
/// differences, which are not generated.
///
/// `TABELLA_CASES` sets the number of files (1,000 by default; CI 2,000; `make fuzz` 100,000), and `TABELLA_SEED` the
/// seed.
@Suite struct CSVAgainstPythonTests {
  struct Case: Decodable {
    var file: String
    var options: [String: String]
    var rows: [[String?]]
  }

  @Test(.needs("python3")) func agree() throws {
    let environment = ProcessInfo.processInfo.environment
    let count = Int(environment["TABELLA_CASES"] ?? "") ?? 1000
    let seed = environment["TABELLA_SEED"] ?? "1"
    let folder = try TemporaryFolder()
    let made = try run(
      findProgram("python3"),
      [packageFolder + "/Tests/Fuzz/csv_cases.py", seed, "\(count)", folder.path])
    try #require(made.status == 0, "\(made.errors)")
    let lines = try Data(contentsOf: URL(fileURLWithPath: folder.path + "/expected.jsonl"))
      .split(separator: 10)
    #expect(lines.count == count)
    var failures = 0
    for line in lines where failures < 5 {
      let expected = try JSONDecoder().decode(Case.self, from: line)
      let source = try CSVSource(
        path: Array("\(folder.path)/\(expected.file)".utf8), options: Options(expected.options))
      let rows = try readAll(source).map { row in row.map(\.string) }
      if rows != expected.rows {
        failures += 1
        let text = try String(contentsOfFile: "\(folder.path)/\(expected.file)", encoding: .utf8)
        Issue.record(
          "seed \(seed), \(expected.file) \(expected.options): \(text.debugDescription) became \(rows), Python says \(expected.rows)"
        )
      }
      // Counting must not read rows first, and must agree with them.
      let counted = try CSVSource(
        path: Array("\(folder.path)/\(expected.file)".utf8), options: Options(expected.options))
      if try counted.exactNumberOfRows(inSection: 0) != expected.rows.count {
        failures += 1
        Issue.record("seed \(seed), \(expected.file): counted otherwise than read")
      }
    }
  }
}

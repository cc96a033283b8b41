import Foundation
import Tabella
import TabellaFiles
import Testing

@testable import TabellaCSV
@testable import TabellaTestSupport

/// A save without changes writes nothing, and a changed cell is one span of the file. Tested over all files of the
/// corpora and `TABELLA_CASES` generated ones.
@Suite struct RecordSpanTests {
  static let cases = Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 1000

  @Test func corpora() throws {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
      .appendingPathComponent("Corpus")
    let files = try #require(
      FileManager.default.enumerator(at: root, includingPropertiesForKeys: nil))
    var generator = SeededGenerator(seed: 1)
    var tried = 0
    for case let file as URL in files where file.pathExtension == "csv" {
      let text = Array(try Data(contentsOf: file))
      for options in [[:], ["header": "false"]] {
        tried += try check(text, options, file.lastPathComponent, &generator)
      }
    }
    #expect(tried > 50)
  }

  @Test func generated() throws {
    var tried = 0
    for seed in 0..<UInt64(Self.cases) {
      var generator = SeededGenerator(seed: seed)
      let (text, options) = RecordModelTests.file(&generator)
      tried += try check(text, options, "seed \(seed)", &generator)
    }
    #expect(tried > Self.cases / 2)
  }

  /// Checks both laws for one file. Returns the number of tried cells.
  private func check(
    _ text: [UInt8], _ options: [String: String], _ name: String,
    _ generator: inout SeededGenerator
  ) throws -> Int {
    let folder = try TemporaryFolder(inMemory: true)
    let path = Array(try folder.write("t.csv", text).utf8)
    var tried = 0
    for _ in 0..<3 {
      let source = try CSVSource(path: path, options: Options(options))
      guard source.editing != nil, (try? source.checkEditable()) != nil else { return tried }
      let rows = try readAll(source)
      guard let row = rows.indices.randomElement(using: &generator),
        let column = rows[row].indices.filter({ rows[row][$0] != .missing })
          .randomElement(using: &generator)
      else { return tried }
      let place = IndexPath(section: 0, row: row)
      let old = try #require(try source.reader.page(with: row))
      if old.span(of: row).content.upperBound == text.count, old.openEnd != nil { return tried }
      let field = try #require(source.text.bounds(column, old, row).map { old.place($0) })
      // Without a change, even the inode stays the same. Only a surplus needs new quotes.
      let isSurplus = old.fields(of: row).count > source.columns.count
      if !isSurplus {
        let version = try source.version()
        let same = EditBatch.Edit.set(.path(place), cells: [column: rows[row][column]])
        let result = try source.commit(EditBatch([same], version: version))
        #expect(try folder.read("t.csv") == text, "\(name), \(options), \(place)")
        #expect(try source.version() == version)
        #expect(result.changes.changes == [])
      }
      // One cell.
      let value = RecordModelTests.pick(RecordModelTests.values, &generator)
      do throws(TableError) {
        _ = try source.commit(EditBatch([.set(.path(place), cells: [column: .text(value)])]))
      } catch {
        #expect(error.code == .constraint, "\(error)")
        #expect(try folder.read("t.csv") == text)
        continue
      }
      let after = try folder.read("t.csv")
      #expect(
        after.prefix(field.lowerBound) == text.prefix(field.lowerBound), "\(name), \(options)")
      let rest = text[field.upperBound...]
      #expect(
        after.suffix(rest.count) == rest
          // An empty last row needs a line end to exist.
          || after.dropLast().suffix(rest.count) == rest, "\(name), \(options)")
      var expected = rows
      expected[row][column] = .text(value)
      let fresh = try CSVSource(path: path, options: Options(options))
      if fresh.columns.count == source.columns.count {
        #expect(try readAll(fresh) == expected, "\(name), \(options), \(place)")
      }
      try folder.write("t.csv", text)
      tried += 1
    }
    return tried
  }
}

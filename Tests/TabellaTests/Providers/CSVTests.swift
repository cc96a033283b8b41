import Foundation
import Tabella
import TabellaConformance
import Testing

@testable import TabellaCSV
@testable import TabellaTestSupport

@Suite struct CSVTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func open(_ text: String, _ options: [String: String] = [:]) throws -> CSVSource {
    let path = try folder.write("\(UUID().uuidString).csv", text)
    return try CSVSource(path: Array(path.utf8), options: Options(options))
  }

  /// After the first MiB, a longer row keeps its undecoded surplus in the last cell, with one warning.
  @Test func surplusBeyondTheSample() throws {
    var text = "a,b\n"
    while text.utf8.count < 1_100_000 { text += "some text,more of it\n" }
    let rows = text.split(separator: "\n").count - 1
    text += "1,2,\"3,3\",4\n5,\"6\"\n7,8,9\n"
    let source = try open(text)
    #expect(source.columns.count == 2)
    let batch = try source.rows(RowRequest(first: rows, count: 5, columns: [0, 1]))
    #expect(batch.row(0) == ["1", "2,\"3,3\",4"])
    #expect(batch.row(1) == ["5", "6"])
    #expect(batch.row(2) == ["7", "8,9"])
    let warning = try #require(source.nextDiagnostic())
    #expect(warning.message.contains("row \(rows) "))
    #expect(warning.message.contains("columns=4"))
    #expect(source.nextDiagnostic() == nil)
    // A gathered row has another offset in its page than in the file, but the same diagnostic.
    let gathered = try open(text)
    let rowPaths = [rows + 2, rows, 0].map { IndexPath(section: 0, row: $0) }
    _ = try gathered.rows(at: rowPaths, columns: [0, 1], includesIDs: false)
    let start = try #require(text.range(of: "7,8,9")).lowerBound.utf16Offset(in: text)
    #expect(gathered.nextDiagnostic()?.message.contains("row \(rows + 2) (byte \(start))") == true)
    let wider = try open(text, ["columns": "4"])
    #expect(
      try wider.rows(RowRequest(first: rows, count: 1, columns: [2, 3])).row(0) == ["3,3", "4"])
  }

  /// Lines to skip were counted only within the first MiB, and the table began in the middle of a line.
  @Test(arguments: ["\n", "\r\n", "\r"])
  func skipBeyondTheSample(_ end: String) throws {
    let lines = 60_000
    let text =
      (0..<lines).map { "preamble line \($0), with \"noise\(end)" }.joined()
      + "a;b\(end)1;2\(end)"
    #expect(text.utf8.count > 1 << 20)
    let source = try open(text, ["skip": "\(lines)"])
    #expect(source.columns.map(\.name) == ["a", "b"])
    #expect(try readAll(source) == [["1", "2"]])
    #expect(try readAll(open(text, ["skip": "\(lines + 2)"])) == [])
  }

  /// Some encodings buffer a character, which was lost at the end of the text. UTF-32 with a byte order mark of the
  /// other byte order, and UCS2 without a hyphen, were decoded wrong.
  @Test func encodingsToTheLastCharacter() throws {
    func cells(_ bytes: [UInt8], _ encoding: String?) throws -> [[Cell]] {
      let path = try folder.write("\(UUID().uuidString).csv", bytes)
      var options = ["header": "false"]
      options["encoding"] = encoding
      return try readAll(CSVSource(path: Array(path.utf8), options: Options(options)))
    }
    #expect(try cells(Array("1,xa".utf8), "CP1258") == [["1", "xa"]])
    #expect(try cells(Array("1,".utf8) + [0xE0], "CP1255") == [["1", "א"]])
    let text = "\u{FEFF}a,é\n"
    let utf32 = text.unicodeScalars.flatMap { scalar in
      [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: scalar.value >> $0) }
    }
    #expect(try cells(utf32, nil) == [["a", "é"]])
    let lone: [UInt8] = [0x61, 0, 0x2C, 0, 0, 0xD8, 0x62, 0, 0x0A, 0]
    #expect(try cells(lone, "UCS2") == [["a", "\u{FFFD}b"]])
  }

  /// Many invalid bytes are each replaced, with one warning, and in reasonable time.
  @Test func manyBadBytes() throws {
    let path = try folder.write("bad.csv", [UInt8](repeating: 0xFF, count: 300_000))
    let source = try CSVSource(
      path: Array(path.utf8), options: Options(["header": "false", "encoding": "UTF-8"]))
    let cell = try #require(try readAll(source).first?.first)
    #expect(cell == .text(String(repeating: "\u{FFFD}", count: 300_000)))
    #expect(source.nextDiagnostic()?.message.contains("byte 0 could not be converted") == true)
    #expect(source.nextDiagnostic() == nil)
  }

  /// A detected delimiter must not be the quote or the escape, because the text would be split wrong.
  @Test func theDelimiterIsNotTheQuote() throws {
    #expect(
      try readAll(open("a;b;c\n1;2;3\n4,5,6\n", ["quote": ";", "header": "false"])).first?.count
        == 3)
    #expect(try open("sep=\"\n\"a,b\"\n", ["header": "true"]).columns.map(\.name) == ["a,b"])
  }

  /// With many columns and many short rows, the size of the result ends a batch, not only the bytes that were read.
  @Test func batchesOfManyColumnsAreShort() throws {
    let source = try open(
      String(repeating: ",", count: 49_999) + "\n" + String(repeating: "\n", count: 1000))
    let batch = try source.rows(
      RowRequest(first: 0, count: 1000, columns: Array(source.columns.indices)))
    #expect((1...40).contains(batch.rowCount))
    // Each batch has a cost per column: batches of 13 rows took twice the time of batches of 60.
    let line = Array(repeating: "1", count: 10_000).joined(separator: ",") + "\n"
    let wide = try open(String(repeating: line, count: 200))
    let more = try wide.rows(
      RowRequest(first: 0, count: 200, columns: Array(wide.columns.indices)))
    #expect(more.rowCount >= 50)
    #expect(try source.exactNumberOfRows(inSection: 0) == 1000)
  }

  @Test func aFileThatChangesIsAConflict() throws {
    let path = try folder.write("c.csv", "a\n1\n2\n")
    let source = try CSVSource(path: Array(path.utf8), options: Options([:]))
    #expect(try source.exactNumberOfRows(inSection: 0) == 2)
    let before = try source.version()
    try folder.write("c.csv", "a\n1\n3\n3\n")
    #expect(throws: TableError.self) {
      try source.rows(RowRequest(first: 0, count: 1, columns: [0]))
    }
    do throws(TableError) { _ = try source.version() } catch { #expect(error.code == .conflict) }
    let again = try CSVSource(path: Array(path.utf8), options: Options([:]))
    #expect(try again.version() != before)
    #expect(try again.exactNumberOfRows(inSection: 0) == 3)
  }

  @Test func aFileThatShrinksIsAConflict() throws {
    let path = try folder.write("s.csv", String(repeating: "a,b,c\n", count: 300_000))
    let source = try CSVSource(path: Array(path.utf8), options: Options([:]))
    truncate(path, 0)
    do throws(TableError) {
      _ = try source.exactNumberOfRows(inSection: 0)
      Issue.record("no error")
    } catch { #expect(error.code == .conflict) }
  }

  @Test func idsOutliveAppending() throws {
    let path = try folder.write("i.csv", "a,b\n1,2\n3,4\n")
    let options = try Options([:])
    let first = try CSVSource(path: Array(path.utf8), options: options)
    let id = try #require(
      try first.rows(RowRequest(first: 1, count: 1, columns: [], includesIDs: true)).id(0))
    try folder.write("i.csv", "a,b\n1,2\n3,4\n5,6\n")
    let second = try CSVSource(path: Array(path.utf8), options: options)
    #expect(try second.indexPath(forID: id) == IndexPath(section: 0, row: 1))
    try folder.write("i.csv", "a,b\n1,2\n3,9\n5,6\n")
    let third = try CSVSource(path: Array(path.utf8), options: options)
    do throws(TableError) {
      _ = try third.indexPath(forID: id)
      Issue.record("a changed row kept its id")
    } catch { #expect(error.code == .notFound) }
  }

  @Test(arguments: [
    ["delimiter": ""], ["delimiter": "ab"], ["delimiter": "é"], ["delimiter": "\n"],
    ["quote": "''"],
    ["escape": "xy"], ["skip": "-1"], ["skip": "x"], ["columns": "a,,b"], ["header": "maybe"],
    ["types": "guess"], ["encoding": "no-such-encoding"], ["nothing": "1"],
    ["delimiter": ",", "quote": ","], ["escape": "\""],
  ])
  func badOptionsAreRefused(_ options: [String: String]) throws {
    do throws(TableError) {
      let path = try wrapping { try folder.write("o.csv", "a\n") }
      _ = try CSVSource(path: Array(path.utf8), options: Options(options))
      Issue.record("accepted \(options)")
    } catch { #expect(error.code == .invalidArgument) }
  }

  private func wrapping<R>(_ body: () throws -> R) throws(TableError) -> R {
    do { return try body() } catch { throw TableError(.internal, "\(error)") }
  }

  /// A file that cannot be opened leads to an error with the reason, and nothing hangs.
  @Test func whatIsNoFile() throws {
    func code(_ path: String) -> TableError.Code? {
      do throws(TableError) {
        _ = try CSVSource(path: Array(path.utf8), options: Options([:]))
        return nil
      } catch { return error.code }
    }
    #expect(code(folder.path + "/absent.csv") == .notFound)
    #expect(code(folder.path) == .invalidArgument)
  }

  /// Fifty million columns led to a crash, and a hundred thousand columns reserved memory for a whole row in each.
  @Test func columnsAreLimited() throws {
    let path = try folder.write("wide.csv", String(repeating: "x,", count: 1_000_000) + "\n1\n")
    #expect(throws: TableError.self) {
      try CSVSource(path: Array(path.utf8), options: Options([:]))
    }
    let source = try CSVSource(path: Array(path.utf8), options: Options(["header": "false"]))
    #expect(source.columns.count == 1_000_000)
    #expect(
      try source.rows(RowRequest(first: 0, count: 1, columns: [0, 999_999])).row(0) == ["x", "x,"])
    #expect(try source.exactNumberOfRows(inSection: 0) == 2)
  }

  @Test func filesOfProcHaveContent() throws {
    let source = try CSVSource(
      path: Array("/proc/self/status".utf8),
      options: Options(["delimiter": "tab", "header": "false", "quote": "none"]))
    let rows = try readAll(source)
    #expect(rows.first?[0] == "Name:")
    #expect(try source.version() == nil)
  }

  /// A stream larger than the buffer in memory can be read again from the start.
  @Test func aLongStreamCanBeReadAgain() throws {
    let path = folder.path + "/pipe.csv"
    mkfifo(path, 0o600)
    let line = "0123456789,abcdefghij\n"
    let count = 150_000
    let writer = Thread {
      let descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC)
      let bytes = Array(String(repeating: line, count: count).utf8)
      var sent = 0
      while sent < bytes.count {
        let result = bytes.withUnsafeBytes {
          write(descriptor, $0.baseAddress! + sent, $0.count - sent)
        }
        if result <= 0 { break }
        sent += result
      }
      close(descriptor)
    }
    // Opening the pipe for reading and writing keeps it alive until the writer opens it.
    let keeper = Foundation.open(path, O_RDWR | O_CLOEXEC)
    writer.start()
    let source = try CSVSource(path: Array(path.utf8), options: Options(["header": "false"]))
    #expect(try source.rows(RowRequest(first: 0, count: 1, columns: [0])).row(0) == ["0123456789"])
    usleep(100_000)
    close(keeper)
    #expect(try source.exactNumberOfRows(inSection: 0) == count)
    let last = try source.rows(RowRequest(first: count - 1, count: 5, columns: [1]))
    #expect(last.rowCount == 1 && last.row(0) == ["abcdefghij"])
    #expect(try source.rows(RowRequest(first: 0, count: 1, columns: [1])).row(0) == ["abcdefghij"])
  }

  /// The provider's options equal those of its manifest.
  @Test func manifestAgrees() throws {
    let manifest = try Manifest(parsing: shippedManifest("CSV/tabella-csv.json"))
    #expect(manifest.id == CSVProvider.id)
    #expect(manifest.version == CSVProvider.version)
    #expect(manifest.options == CSVProvider.options)
  }
}

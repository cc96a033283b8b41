import Foundation
import Tabella
import Testing

@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport

/// The options `bytes` and `column-types` of the CSV provider: the rows of a range, compared with those of the whole file.
@Suite struct CSVRangeTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  func open(_ text: String, _ options: [String: String] = [:]) throws -> CSVSource {
    let path = try folder.write("\(UUID().uuidString).csv", Array(text.utf8))
    return try CSVSource(path: Array(path.utf8), options: Options(options))
  }

  /// The offset of each row, as the element says it.
  private func offsets(_ source: CSVSource) throws -> [Int] {
    let count = try source.numberOfRows(inSection: 0, knowing: .max).value
    return try (0..<count).map { row in
      let path = IndexPath(section: 0, row: row)
      guard case .text(let text) = try source.supplementaryElement(ofKind: "offset", at: path)
      else { return -1 }
      return try #require(Int(String(decoding: text.bytes, as: UTF8.self)))
    }
  }

  private func ids(_ source: CSVSource) throws -> [String?] {
    let count = try source.numberOfRows(inSection: 0, knowing: .max).value
    let batch = try source.rows(
      RowRequest(first: 0, count: max(1, count), columns: [], includesIDs: true))
    return (0..<count).map { batch.id($0) }
  }

  static let texts = [
    "a,b\n1,\"x\ny\"\n2,z\n\n\"3\"\"\",\"\r\n\"\n4,end",
    "a,b\r\n1,x\r\n2,y\r\n3,z\r\n", "a\r1\r2\r\r3\r", "\u{FEFF}a,b\n1,2\n3,4\n", "a\n",
    "sep=;\na;b\n1;2\n3;4\n",
  ]

  /// Every division of a file at the starts of its rows has the rows of the whole file, with their ids and offsets.
  @Test(arguments: texts)
  func rangesAreTheRowsBetweenTwoOffsets(_ text: String) throws {
    let whole = try open(text)
    let (rows, starts, wholeIDs) = (try readAll(whole), try offsets(whole), try ids(whole))
    #expect(starts == starts.sorted() && !starts.contains(-1))
    let path = String(decoding: whole.shownFile.path, as: UTF8.self)
    let ends = [0] + starts + [text.utf8.count]
    let names = whole.columns.map(\.name)
    for first in ends.indices {
      for last in ends.indices[first...] where ends[first] <= ends[last] {
        let source = try CSVSource(
          path: Array(path.utf8), options: Options(["bytes": "\(ends[first])-\(ends[last])"]))
        let kept = starts.indices.filter { ends[first] <= starts[$0] && starts[$0] < ends[last] }
        #expect(source.columns.map(\.name) == names)
        #expect(try readAll(source) == kept.map { rows[$0] })
        #expect(try offsets(source) == kept.map { starts[$0] })
        #expect(try ids(source) == kept.map { wholeIDs[$0] })
      }
    }
  }

  /// A range of one file reads only its bytes, and the sample at the start of the file.
  @Test func aRangeReadsOnlyItsBytes() throws {
    let rows = 400_000
    let text = "n,m\n" + (0..<rows).map { "\($0 + 1_000_000),x\n" }.joined()
    let whole = try open(text)
    let path = whole.shownFile.path
    let middle = 4 + 10 * (rows / 2)
    let source = try CSVSource(
      path: path, options: Options(["bytes": "\(middle)-\(middle + 1000)"]))
    #expect(try readAll(source).count == 100)
    #expect(source.reader.index.known == 100)
    #expect(source.reader.heldEnd <= middle + 1000)
  }

  @Test(arguments: [
    ("5-3", "it must be FROM-TO"), ("x", "it must be FROM-TO"), ("1-2-3", "it must be FROM-TO"),
    ("0-5", "no row begins at the offset 5"), ("5-8", "no row begins at the offset 5"),
    ("0-99", "offset 99 is after the end of the file at 12"),
  ])
  func wrongRanges(_ range: String, _ message: String) throws {
    let error = #expect(throws: TableError.self) {
      try open("a,b\n1,2\n3,4\n", ["bytes": range])
    }
    #expect(error?.code == .invalidArgument)
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  /// Offsets of converted or commented text are not those of the file.
  @Test func textThatIsNotTheFilesHasNoOffsets() throws {
    for options in [["comment": "#"], ["encoding": "latin1"]] {
      let source = try open("a\n#\n1\n", options)
      #expect(source.supplementaryKinds() == ["line"])
      #expect(throws: TableError.self) {
        try open("a\n#\n1\n", options.merging(["bytes": "0-4"]) { $1 })
      }
    }
  }

  @Test func aRangeIsReadOnlyAndNotFollowed() throws {
    let source = try open("a\n1\n2\n", ["bytes": "0-4"])
    #expect(source.changes == nil)
    let error = #expect(throws: TableError.self) { try source.checkEditable() }
    #expect(error?.code == .readOnly)
    #expect(try source.version() != open("a\n1\n2\n").version())
  }

  /// Types that the user names are checked like those of a sample, and read no cell in advance.
  @Test func namedTypes() throws {
    let text = "a,b,c,d,e\n1,1.5,true,2024-02-29,x\n,,,,\n-7,2,FALSE,2024-01-01T00:00:00Z,5\n"
    let named = try open(text, ["column-types": "integer,real,boolean,date"])
    let inferred = try open(text, ["types": "infer"])
    #expect(named.columns.map(\.reads) == inferred.columns.map(\.reads))
    #expect(try readAll(named, asValues: true) == readAll(inferred, asValues: true))
    let wrong = try open(text, ["column-types": "text,integer"])
    let error = #expect(throws: TableError.self) { try readAll(wrong) }
    #expect(error?.code == .constraint && error?.row == 0 && error?.column == 1)
    #expect(error?.message.contains("that the option column-types names") == true)
    #expect(throws: TableError.self) { try open(text, ["column-types": "number"]) }
    #expect(throws: TableError.self) {
      try open(text, ["column-types": "integer", "types": "infer"])
    }
  }
}

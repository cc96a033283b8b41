import Tabella
import TabellaBridge
import TabellaSDK
import Testing

@testable import TabellaTestSupport
@testable import TabellaText

/// The text provider compared with naive reading: the whole text in an array, split at line feeds.
@Suite struct TextTests {
  let folder = try! TemporaryFolder()

  private func open(
    _ text: [UInt8], _ options: [String: String] = [:], name: String = "a.txt"
  ) throws -> any TableDataSource {
    let path = try folder.write(name, text)
    return try TextProvider().open(OpenRequest(path: path, options: options))
  }

  private func open(
    _ text: String, _ options: [String: String] = [:], name: String = "a.txt"
  ) throws -> any TableDataSource {
    try open(Array(text.utf8), options, name: name)
  }

  /// The titles and lines of all sections.
  private func sections(_ source: any TableDataSource) throws -> [(String?, [String])] {
    try (0..<source.numberOfSections(knowing: .max).value).map { section in
      (
        try source.sections?.title(.header, ofSection: section),
        try readAll(source, section: section).map { $0[0].description }
      )
    }
  }

  private func expect(
    _ source: any TableDataSource, _ wanted: [(String?, [String])],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let found = try sections(source)
    #expect(found.map(\.0) == wanted.map(\.0), sourceLocation: sourceLocation)
    #expect(found.map(\.1) == wanted.map(\.1), sourceLocation: sourceLocation)
  }

  static func naiveLines(_ text: [UInt8]) -> [[UInt8]] {
    var lines = text.split(separator: 10, omittingEmptySubsequences: false).map { Array($0) }
    if lines.last == [] { lines.removeLast() }
    for index in lines.indices where lines[index].last == 13 {
      let isLast = index == lines.count - 1 && text.last != 10
      if !isLast { lines[index].removeLast() }
    }
    return lines
  }

  /// A part of a line, such as the time that a request took, was no column, so no command could sort or add it.
  @Test func groupsOfAPatternAreColumns() throws {
    let text = "start\nGET /a took 23ms\nGET /b took 1316ms\n"
    let options = ["pattern": "(?<path>/\\w+) took (?<took>\\d+)ms"]
    let source = try open(text, options)
    #expect(source.columns.map(\.name) == ["line", "path", "took"])
    #expect(
      try readAll(source) == [
        ["start", .missing, .missing], ["GET /a took 23ms", "/a", "23"],
        ["GET /b took 1316ms", "/b", "1316"],
      ])
    let batch = try source.rows(
      RowRequest(first: 1, count: 2, columns: [2, 0]))
    #expect(batch.row(1) == ["1316", "GET /b took 1316ms"])
    let gathered = try #require(source.gathering).rows(
      at: [IndexPath(section: 0, row: 2), IndexPath(section: 0, row: 0)], columns: [1],
      includesIDs: false)
    #expect((0..<2).map { gathered.row($0) } == [["/b"], [.missing]])
    let largest = try source.shaped(filter: "took > 1000")
    #expect(try readAll(largest).map { $0[1] } == ["/b"])
    #expect(try source.version() != open(text, ["pattern": "(?<x>a)"]).version())
  }

  /// Only the line can be edited; its parts follow.
  @Test func partsFollowTheLine() throws {
    let source = try open("a=1\nb=2\n", ["pattern": "(?<key>\\w)=(?<value>\\d)"])
    #expect(try source.editing?.editableColumns() == [true, false, false])
    var edits = TableEdits(of: try source.shaped(filter: "value = 2"))
    try edits.set(where: "key = b", to: ["line": "c=3"])
    _ = try edits.commit()
    #expect(try readAll(source) == [["a=1", "a", "1"], ["c=3", "c", "3"]])
    var wrong = TableEdits(of: source)
    try wrong.set(where: "key = c", to: ["value": "4"])
    #expect(throws: TableError.self) { try wrong.commit() }
    #expect(try readAll(source)[1] == ["c=3", "c", "3"])
  }

  @Test(arguments: [
    ("took", "names no column"), ("(?<line>a)", "the column line is the whole line"),
    ("(?<a>", "no closing )"), ("(?=a)", "only (?<NAME>…)"),
  ])
  func wrongPatternsAreRefused(_ pattern: String, _ message: String) {
    let error = #expect(throws: TableError.self) { try open("a\n", ["pattern": pattern]) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
    let bytes = #expect(throws: TableError.self) {
      try open([0, 1, 2], ["pattern": "(?<a>b)"], name: "b.bin")
    }
    #expect(bytes?.message.contains("this file is not text") == true)
  }

  @Test(arguments: 0..<40)
  func linesAreTheNaiveLines(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let alphabet: [UInt8] = [97, 98, 32, 10, 10, 13, 0xFF, 0xC3]
    let text = (0..<Int.random(in: 0...300, using: &generator)).map { _ in
      alphabet.randomElement(using: &generator)!
    }
    let source = try open(text)
    #expect(try readAll(source).map { $0[0] } == Self.naiveLines(text).map { .text($0) })

    // Paragraphs: sequences of lines that are not blank.
    var paragraphs: [[[UInt8]]] = []
    var isOpen = false
    for line in Self.naiveLines(text) {
      let isBlank = line.allSatisfy { $0 == 32 || $0 == 9 }
      if !isBlank, isOpen { paragraphs[paragraphs.count - 1].append(line) }
      if !isBlank, !isOpen { paragraphs.append([line]) }
      isOpen = !isBlank
    }
    let bySection = try open(text, ["sections": "paragraphs"])
    #expect(try bySection.numberOfSections(knowing: .max) == .exact(paragraphs.count))
    for (section, lines) in paragraphs.enumerated() {
      #expect(try readAll(bySection, section: section).map { $0[0] } == lines.map { .text($0) })
    }
  }

  @Test func markdownHeadings() throws {
    let source = try open(
      """
      before
      # One #
      a
      ####### seven is none
      #none
        ### Two  ##
      ```sh
      # a comment
      ````
      ## Three#
      ~~~
      # in a fence that is never closed
      """, ["sections": "headings"])
    try expect(
      source,
      [
        (nil, ["before"]), ("One", ["a", "####### seven is none", "#none"]),
        ("Two", ["```sh", "# a comment", "````"]),
        ("Three#", ["~~~", "# in a fence that is never closed"]),
      ])
    let index = try #require(source.sectionIndex)
    #expect(try index.sectionIndexTitles() == ["One", "Two", "Three#"])
    #expect(try index.indexPath(forIndexTitle: "Two", at: 1) == .section(2))
    #expect(throws: TableError.self) { try index.indexPath(forIndexTitle: "Two", at: 0) }
  }

  /// Code in three backticks within a line hid all later headings (CommonMark 4.5).
  @Test func codeInALineIsNoFence() throws {
    try expect(
      try open(
        "# One\n```make``` builds it.\n## Two\n```js a`b\n## Three\n~~~ a`b\n# code\n~~~\n## Four\n",
        ["sections": "headings"]),
      [
        ("One", ["```make``` builds it."]), ("Two", ["```js a`b"]),
        ("Three", ["~~~ a`b", "# code", "~~~"]), ("Four", []),
      ])
  }

  @Test func iniHeadings() throws {
    let text = "# a comment\n[ first ]\nx=1\n[[second]]\n[no\n# [third]\n"
    try expect(
      try open(text, ["sections": "headings"], name: "a.ini"),
      [(nil, ["# a comment"]), ("first", ["x=1"]), ("second", ["[no", "# [third]"])])
    // Without a known extension, the first line that looks like a heading decides.
    try expect(
      try open("x\n[a]\n# b\n[c]\n", ["sections": "headings"], name: "noname"),
      [(nil, ["x"]), ("a", ["# b"]), ("c", [])])
    try expect(
      try open("# a\n[b]\n", ["sections": "headings"], name: "noname"), [("a", ["[b]"])])
  }

  @Test func noHeadings() throws {
    try expect(try open("a\nb", ["sections": "headings"]), [(nil, ["a", "b"])])
    try expect(try open("", ["sections": "headings"]), [])
    try expect(try open(""), [(nil, [])])
  }

  /// The largest section number ended the process.
  @Test(arguments: ["headings", "paragraphs"])
  func hugeSectionNumbersAreNotFound(_ sections: String) throws {
    let source = try open("# a\nb\n\n# c\nd\n", ["sections": sections])
    let views: [any TableDataSource] = [
      source, try source.filtered(by: [], search: Array("b".utf8)),
      try source.grouped(by: Grouping(column: 0)),
    ]
    for view in views {
      for section in [Int.max, .max - 1, 1 << 40] {
        let calls: [() throws -> Void] = [
          { _ = try view.numberOfRows(inSection: section, knowing: 1) },
          { _ = try view.numberOfRows(inSection: section, knowing: .max) },
          { _ = try view.rows(RowRequest(section: section, first: 0, count: 1, columns: [0])) },
          { _ = try view.sections?.title(.header, ofSection: section) },
          { _ = try view.editing?.editability(ofRows: 0..<1, inSection: section) },
        ]
        for (number, call) in calls.enumerated() {
          #expect(throws: TableError.self, "call \(number), \(section)") { try call() }
        }
      }
    }
  }

  /// Sections are found only as far as requested.
  @Test func sectionsAreFoundAsNeeded() throws {
    let text = (0..<200_000).map { "# \($0)\nline\n" }.joined()
    let source = try open(text, ["sections": "headings"], name: "a.md")
    #expect(try !source.numberOfSections(knowing: 3).isExact)
    #expect(try source.numberOfRows(inSection: 2, knowing: 1).value == 1)
    #expect(try source.numberOfSections(knowing: .max) == .exact(200_000))
    let id = try #require(
      try source.rows(
        RowRequest(section: 150_000, first: 0, count: 1, columns: [], includesIDs: true)
      ).id(0))
    let fresh = try open(text, ["sections": "headings"], name: "a.md")
    #expect(
      try fresh.identity?.indexPath(forID: id) == IndexPath(section: 150_000, row: 0))
  }

  /// A heading has an offset in the file but is no row, so it has no id.
  @Test func headingsHaveNoIDs() throws {
    let plain = try open("# a\nb\n", name: "a.md")
    let batch = try plain.rows(RowRequest(first: 0, count: 2, columns: [], includesIDs: true))
    let source = try open("# a\nb\n", ["sections": "headings"], name: "a.md")
    let (heading, line) = (try #require(batch.id(0)), try #require(batch.id(1)))
    #expect(try source.identity?.indexPath(forID: line) == IndexPath(section: 0, row: 0))
    #expect(throws: TableError.self) { try source.identity?.indexPath(forID: heading) }
  }

  @Test func previews() throws {
    let source = try open((0..<30).map { "line \($0)\n" }.joined())
    func preview(_ path: IndexPath) throws -> StyledText? {
      guard
        case .text(let text)? = try source.supplementary?.supplementaryElement(
          ofKind: "preview", at: path)
      else { return nil }
      return text
    }
    let start = try #require(try preview(.section(0)))
    #expect(
      String(decoding: start.bytes, as: UTF8.self)
        == (0..<10).map { "line \($0)" }.joined(separator: "\n"))
    let middle = try #require(try preview(IndexPath(section: 0, row: 20)))
    #expect(
      String(decoding: middle.bytes, as: UTF8.self)
        == (17..<24).map { "line \($0)" }.joined(separator: "\n"))
    #expect(middle.spans.map { Array(middle.bytes[$0.bytes]) } == [Array("line 20".utf8)])
    #expect(throws: TableError.self) { try preview(IndexPath(section: 0, row: 30)) }
    let other = try source.supplementary?.supplementaryElement(ofKind: "other", at: .section(0))
    #expect(other == nil)
  }

  /// The element `line` counts all lines of the file, also those that are no rows.
  @Test(arguments: [("none", [1, 2, 3, 4, 5]), ("paragraphs", [1, 3, 5]), ("headings", [2, 5])])
  func lineNumbers(_ sections: String, _ expected: [Int]) throws {
    let source = try open(
      sections == "headings" ? "# a\nb\n# c\n# d\ne" : "a\n\nc\n\ne", ["sections": sections])
    var lines: [Int?] = []
    func line(_ path: IndexPath) throws -> Int? {
      guard
        case .text(let text)? = try source.supplementary?.supplementaryElement(
          ofKind: "line", at: path)
      else { return nil }
      return Int(String(decoding: text.bytes, as: UTF8.self))
    }
    for section in 0..<(try source.numberOfSections(knowing: .max).value) {
      let count = try source.exactNumberOfRows(inSection: section)
      for row in 0..<count { lines.append(try line(IndexPath(section: section, row: row))) }
      #expect(try line(.section(section)) == nil)
      #expect(throws: TableError.self) { try line(IndexPath(section: section, row: count)) }
    }
    #expect(lines == expected)
  }

  @Test func encodings() throws {
    let utf16: [UInt8] =
      [0xFF, 0xFE] + "é\r\nb\n".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
    #expect(try readAll(open(utf16)) == [["é"], ["b"]])
    #expect(try readAll(open([0xEF, 0xBB, 0xBF] + Array("a\n".utf8))) == [["a"]])
    #expect(try readAll(open([0xE9, 10], ["encoding": "latin1"])) == [["é"]])
    #expect(throws: TableError.self) { try open("a", ["encoding": "nonsense-9"]) }
    #expect(throws: TableError.self) { try open("a", ["sections": "chapters"]) }
  }

  /// A binary file is shown as its bytes, completely.
  @Test(arguments: [1, 15, 16, 17, 1000, 300_000])
  func bytesOfWhatIsNoText(_ count: Int) throws {
    var generator = SeededGenerator(seed: UInt64(count))
    let bytes = [0] + (1..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
    let source = try open(bytes, name: "a.bin")
    #expect(source.columns.map(\.name) == ["offset", "bytes", "text"])
    let rows = try readAll(source)
    #expect(rows.count == (count + 15) / 16)
    var found: [UInt8] = []
    for (number, row) in rows.enumerated() {
      #expect(row[0] == .integer(Int64(number * 16)))
      let hex = row[1].description.split(separator: " ")
      found += hex.map { UInt8($0, radix: 16)! }
      #expect(
        row[2].description.utf8.elementsEqual(
          hex.map { UInt8($0, radix: 16)! }.map { 32...126 ~= $0 ? $0 : 46 }))
    }
    #expect(found == bytes)
  }

  /// Setting no cells was refused together with another edit, because the line was expected to read back empty.
  @Test func setOfNoCellsLeavesTheLine() throws {
    let source = try open("one\ntwo\nthree\n")
    let edits: [EditBatch.Edit] = [
      .set(.path(IndexPath(section: 0, row: 0)), cells: [:]),
      .delete(.path(IndexPath(section: 0, row: 1))),
    ]
    let result = try #require(source.editing).commit(EditBatch(edits))
    #expect(result.outcomes.map(\.code) == [nil, nil])
    try expect(source, [(nil, ["one", "three"])])
  }
}

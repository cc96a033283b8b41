import Foundation
import Synchronization
import TabellaSDK
import TabellaThreads
import Testing

@testable import Tabella
@testable import TabellaBridge
@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport
@testable import TabellaText

/// Tables that several threads read in shares: rows, numbers and diagnostics are those of one thread.
@Suite struct SharedReadingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private func open(
    _ text: [UInt8], _ options: [String: String] = [:], through crosses: Bool = false
  ) throws -> any TableDataSource {
    let path = "\(folder.path)/\(text.count)-\(UInt64.random(in: 0 ... .max)).csv"
    try Data(text).write(to: URL(fileURLWithPath: path))
    let source = try CSVSource(path: Array(path.utf8), options: Options(options))
    return crosses ? try importSource(exportSource(source), provider: "csv") : source
  }

  private static let options: [[String: String]] = [
    [:], [:], ["quote": "none"], ["escape": "\\"], ["escapes": "true"],
    ["delimiter": "whitespace"], ["types": "infer"], ["header": "false", "columns": "3"],
  ]

  /// A text with everything that is special, or one in which borders are easy to guess.
  private static func text(_ seed: Int, _ generator: inout SeededGenerator) -> [UInt8] {
    if seed % 3 == 0 { return RecordSearchTests.text(&generator, 900) }
    if seed % 3 == 1 {
      return Array("a,b,c\n".utf8) + RecordReaderTests.orderlyText(&generator, 4000)
    }
    // Quoted cells with line ends, rows with too many cells, cells that are not UTF-8.
    var text = Array("a,b,c\r\n".utf8)
    for number in 0..<300 {
      switch Int.random(in: 0..<12, using: &generator) {
      case 0: text += Array("\(number),\"x\r\ny,\"\"z\"\"\n\",end\r\n".utf8)
      case 1: text += Array("\(number),b,c,d,e\r\n".utf8)
      case 2: text += Array("\(number),".utf8) + [0xFF] + Array(",c\r\n".utf8)
      case 3: text += Array("\(number),\"\(String(repeating: "l\n", count: 25))\",c\n".utf8)
      default: text += Array("\(number),plain,\"cell \(number % 7)\"\n".utf8)
      }
    }
    if Bool.random(using: &generator) { text += Array("9,\"open\nquote".utf8) }
    return text
  }

  /// All rows from one on: shares first, and the source itself from the first share that fails.
  private func readShared(
    _ source: any TableDataSource, section: Int = 0, from first: Int, size: Int
  ) throws -> (rows: [[Cell]], end: SharedReading) {
    var rows: [[Cell]] = []
    let columns = Array(source.columns.indices)
    let end = try source.readShares(ofSection: section, from: first, size: size) {
      share throws(TableError) in
      var rows: [[Cell]] = []
      while true {
        let batch = try share.rows(RowRequest(first: rows.count, count: 5, columns: columns))
        if batch.rowCount == 0 { break }
        for row in 0..<batch.rowCount { rows.append(batch.row(row)) }
      }
      guard try share.numberOfRows(inSection: 0, knowing: .max) == .exact(rows.count) else {
        throw TableError(.misbehaved, "the share counts wrong")
      }
      return rows
    } _: { (read: [[Cell]]) throws(TableError) in
      rows += read
      return true
    }
    while true {
      let batch = try source.rows(
        RowRequest(section: section, first: first + rows.count, count: 100, columns: columns))
      if batch.rowCount == 0 { break }
      #expect(end != .complete)
      for row in 0..<batch.rowCount { rows.append(batch.row(row)) }
    }
    return (rows, end)
  }

  private func diagnostics(_ source: any TableDataSource) throws -> Set<String> {
    var messages: Set<String> = []
    while let diagnostic = source.diagnostics?.nextDiagnostic() {
      messages.insert(diagnostic.message)
    }
    return messages
  }

  @Test(.enabled(if: Cores.count > 1, "shares need two processors"), arguments: 0..<60)
  func `shares of a file are its rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let options = Self.options[seed / 3 % Self.options.count]
    let text = Self.text(seed, &generator)
    let crosses = Bool.random(using: &generator)
    let naive = try open(text, options)
    let rows = try readAll(naive)
    for size in [30, 100, 700, 3000] {
      let source = try open(text, options, through: crosses)
      #expect(source.sharing != nil)
      // The first rows are read by the source itself.
      let first = Int.random(in: 0...min(3, rows.count), using: &generator)
      if first > 0 { _ = try source.rows(RowRequest(first: 0, count: first, columns: [])) }
      let (read, end) = try readShared(source, from: first, size: size)
      #expect(read == Array(rows[first...]), "size \(size), \(end)")
      // The shares found the right positions.
      #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(rows.count))
      let paths = (0..<8).compactMap { _ in
        rows.indices.randomElement(using: &generator).map { IndexPath(section: 0, row: $0) }
      }
      let some = try source.gather(
        paths, columns: Array(source.columns.indices), includesIDs: false)
      #expect((0..<some.rowCount).map { some.row($0) } == paths.map { rows[$0.row] })
      guard first == 0 else { continue }
      let (found, wanted) = (try diagnostics(source), try diagnosticsOfAllRows(text, options))
      // If several cells deserve the same diagnostic, it can name another one of them.
      #expect(found.map(kind).sorted() == wanted.map(kind).sorted())
      if seed % 3 != 0 { #expect(found == wanted) }
    }
  }

  /// A diagnostic without numbers.
  private func kind(_ message: String) -> String {
    String(message.filter { !$0.isNumber }.suffix(60))
  }

  private func diagnosticsOfAllRows(
    _ text: [UInt8], _ options: [String: String]
  ) throws -> Set<String> {
    let source = try open(text, options)
    _ = try readAll(source)
    return try diagnostics(source)
  }

  @Test(.enabled(if: Cores.count > 1, "shares need two processors"), arguments: 0..<30)
  func `shares of a text are its lines`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    // A file with a NUL is shown as bytes.
    let text = Self.text(seed, &generator).filter { $0 != 0 }
    let path = "\(folder.path)/\(seed).txt"
    try Data(text).write(to: URL(fileURLWithPath: path))
    let all: [[String: String]] = [[:], ["encoding": "latin1"], ["pattern": "(?<x>a+|[0-9]+)"]]
    let request = OpenRequest(location: Array(path.utf8), options: all[seed / 3 % 3])
    let rows = try readAll(try TextProvider().open(request))
    for size in [30, 100, 3000] {
      var source: any TableDataSource = try TextProvider().open(request)
      if seed % 2 == 0 { source = try importSource(exportSource(source), provider: "text") }
      let (read, end) = try readShared(source, from: 0, size: size)
      #expect(read == rows, "size \(size), \(end)")
      #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(rows.count))
    }
  }

  @Test(.enabled(if: Cores.count > 1, "shares need two processors"), arguments: 0..<30)
  func `shares of joined files are the rows of each`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let texts = (0..<3).map { _ in Self.text(seed, &generator) }
    let same = ["header": "false", "columns": "3"]
    // Other names in the last file change the columns of all.
    let last = seed % 2 == 0 ? same : ["header": "true"]
    func open() throws -> JoinedSource {
      joined(
        try zip(texts, [same, same, last]).enumerated().map {
          ("\($0)", try self.open($1.0, $1.1, through: seed % 5 == 0))
        })
    }
    for section in texts.indices {
      let rows = try readAll(try open(), section: section)
      for size in [100, 700] {
        let source = try open()
        let (read, end) = try readShared(source, section: section, from: 0, size: size)
        #expect(read == rows)
        #expect(
          try source.numberOfRows(inSection: section, knowing: .max) == .exact(rows.count))
        if seed % 3 == 1 { #expect((end == .unshared) == (seed % 2 != 0)) }
      }
      let order = [SortDescriptor(column: 1, isDescending: true)]
      let naive = try InMemorySource(try open().columns, rows: rows).sorted(by: order)
      let (read, _) = try readShared(
        try open().sorted(by: order), section: section, from: 0, size: 700)
      #expect(read == (try readAll(naive)))
    }
  }

  /// A column that only some files infer as booleans is text in the joined table, and a filter compares it as text.
  @Test(.enabled(if: Cores.count > 1, "shares need two processors"))
  func `a filter of joined files compares as the joined columns say`() throws {
    let infer = ["types": "infer"]
    let booleans = "n,m\n" + (0..<900).map { "\($0 % 20 == 5),1\n" }.joined()
    func equal(_ source: any TableDataSource) throws -> any TableDataSource {
      try source.filtered(by: [
        Condition(column: 0, comparison: .equal, value: Array("TRUE".utf8))
      ])
    }
    func view() throws -> any TableDataSource {
      try equal(
        joined([
          ("a", try open(Array(booleans.utf8), infer)),
          ("b", try open(Array("n,m\nx,1\n".utf8), infer)),
        ]))
    }
    #expect(try view().columns[0].reads == nil)
    #expect(try readAll(equal(try open(Array(booleans.utf8), infer))).count == 45)
    #expect(try readAll(try view()).isEmpty)
    let (read, _) = try readShared(try view(), from: 0, size: 700)
    #expect(read.isEmpty)
  }

  @Test(.enabled(if: Cores.count > 1, "shares need two processors"), arguments: 0..<40)
  func `shares of a filtered file are its rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let text = Self.text(seed, &generator)
    let search = Bool.random(using: &generator) ? RecordSearchTests.text(&generator, 2) : nil
    let condition = Condition(
      column: 0, comparison: [.notEqual, .matches].randomElement(using: &generator)!,
      value: Array("1".utf8))
    let conditions = Bool.random(using: &generator) ? [condition] : []
    let naive = try open(text).filtered(by: conditions, search: search)
    let rows = try readAll(naive)
    for size in [100, 700] {
      let source = try open(text, through: seed % 2 == 0)
      let view = try source.filtered(by: conditions, search: search)
      let first = Int.random(in: 0...min(3, rows.count), using: &generator)
      if first > 0 { _ = try view.rows(RowRequest(first: 0, count: first, columns: [0])) }
      let (read, _) = try readShared(view, from: first, size: size)
      #expect(read == Array(rows[first...]))
      #expect(try view.numberOfRows(inSection: 0, knowing: .max) == .exact(rows.count))
      if let row = rows.indices.randomElement(using: &generator) {
        let batch = try view.rows(
          RowRequest(first: row, count: 1, columns: Array(source.columns.indices)))
        #expect(batch.row(0) == rows[row])
      }
    }
  }

  @Test(.enabled(if: Cores.count > 1, "shares need two processors"), arguments: 0..<60)
  func `shares of a sorted file are its rows`(seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    let options = Self.options[seed / 3 % Self.options.count]
    let text = Self.text(seed, &generator)
    let filters =
      Bool.random(using: &generator)
      ? [Condition(column: 0, comparison: .notEqual, value: Array("1".utf8))] : []
    func view(_ source: any TableDataSource) throws -> any TableDataSource {
      let base = filters.isEmpty ? source : try source.filtered(by: filters)
      let column = seed % min(2, source.columns.count)
      return try base.sorted(by: [SortDescriptor(column: column, isDescending: seed % 4 < 2)])
    }
    let naive = try open(text, options)
    let rows = try readAll(
      try view(InMemorySource(naive.columns, rows: try readAll(naive))))
    for size in [30, 100, 3000] {
      let source = try open(text, options, through: Bool.random(using: &generator))
      let sorted = try view(source)
      let first = Int.random(in: 0...min(3, rows.count), using: &generator)
      let (read, _) = try readShared(sorted, from: first, size: size)
      #expect(read == Array(rows[first...]), "size \(size)")
      // The rows between the shares are those that the source still has.
      let row = rows.indices.randomElement(using: &generator)
      let batch = try row.map {
        try sorted.rows(
          RowRequest(first: $0, count: 2, columns: Array(source.columns.indices)))
      }
      if let row { #expect(batch?.row(0) == rows[row]) }
      // Only cells that were read have diagnostics.
      guard filters.isEmpty, first == 0 else { continue }
      let (found, wanted) = (try diagnostics(source), try diagnosticsOfAllRows(text, options))
      #expect(found.map(kind).sorted() == wanted.map(kind).sorted())
    }
  }

  /// A caller that needs no more rows, and then reads on from the source, gets the rows that follow.
  @Test(.enabled(if: Cores.count > 1, "shares need two processors"))
  func `a sorted file can be read on behind its shares`() throws {
    // The last row in the order is the only one without a line end, and one in the middle is larger than a page.
    let long = String(repeating: "x", count: 600_000)
    let rows = (0..<2000).map { "\(($0 * 7) % 2000),\($0 == 700 ? long : "b\($0)")" }
    let text = Array(("a,b\n" + rows.joined(separator: "\n")).utf8)
    for crosses in [false, true] {
      let source = try open(text, through: crosses)
      let sorted = try source.sorted(by: [SortDescriptor(column: 0)])
      let naive = try readAll(
        try InMemorySource(source.columns, rows: try readAll(try open(text)))
          .sorted(by: [SortDescriptor(column: 0)]))
      let sharing = try #require(sorted.sharing)
      var next = 0
      while next < naive.count {
        // One share is read and taken, and then some rows are read without shares.
        if let shares = try sharing.shares(ofSection: 0, from: next, size: 2000) {
          #expect(shares.rowCount.map { $0 > 0 } == true)
          let share = try shares.share(0)
          let read = try readAll(share)
          #expect(read == Array(naive[next..<next + read.count]))
          try shares.take(share)
          next += read.count
        }
        let batch = try sorted.rows(RowRequest(first: next, count: 9, columns: [0, 1]))
        for row in 0..<batch.rowCount { #expect(batch.row(row) == naive[next + row]) }
        next += batch.rowCount
        if batch.rowCount == 0 { break }
      }
      #expect(next == naive.count)
    }
  }

  /// A reader keeps the finder of its last search, which is of no use for other texts.
  @Test func `searches of one source have their own texts`() throws {
    let text = "a,b\n" + (0..<300).map { "row \($0),\($0 % 7)\n" }.joined()
    let source = try open(Array(text.utf8))
    let rows = try readAll(source)
    for term in ["row 7", "row 11", "row 7", "w 29"] {
      let found = try readAll(try source.filtered(by: [], search: Array(term.utf8)))
      let isIn = { (row: [Cell]) in row[0].description.contains(term) }
      #expect(found == rows.filter(isIn) && !found.isEmpty, "\(term)")
    }
  }

  /// Found records are copied, so a page does not number them as its share does.
  @Test(.enabled(if: Cores.count > 1, "shares need two processors"))
  func `diagnostics of shares name the found rows`() throws {
    // Of two rows with the same fault, the search finds the second one.
    var text = Array("a,b,c\n".utf8)
    for row in 0..<120 {
      text += Array("\(row),\(row % 10 == 3 ? "needle" : "other"),".utf8)
      switch row {
      case 62, 63: text += [0xFF, 10]
      case 92, 93: text += Array("\"\(String(repeating: "l\n", count: 25))\"\n".utf8)
      default: text += Array("c\n".utf8)
      }
    }
    let isFound = Condition(column: 1, comparison: .matches, value: Array("needle".utf8))
    let naive = try open(text)
    let rows = try readAll(try naive.filtered(by: [isFound]))
    let wanted = try diagnostics(naive)
    #expect(wanted.count == 2)
    for size in [200, 700] {
      let source = try open(text)
      let (read, end) = try readShared(try source.filtered(by: [isFound]), from: 0, size: size)
      #expect(read == rows && end == .complete)
      #expect(try diagnostics(source) == wanted)
    }
  }

  /// A cell that ends with a line feed made every second guess wrong, so that parts of the file were read again. Only what
  /// follows a closing quote tells such a line feed from the end of a row.
  @Test(.enabled(if: Cores.count > 1, "shares need two processors"))
  func `a line end in front of a closing quote is no border`() throws {
    let filler = String(repeating: "x", count: 80)
    let text = "n,day,text\n" + (0..<3000).map { "\($0),\($0 / 60),\"\(filler)\n\"\n" }.joined()
    // A guess moves a border by up to a KiB, so shares are longer.
    for size in [3001, 7003, 20_011, 50_021] {
      let (read, end) = try readShared(try open(Array(text.utf8)), from: 0, size: size)
      #expect(read.count == 3000)
      #expect(end == .complete, "a border of the size \(size) is wrong")
    }
  }

  /// A guess is wrong if a quoted cell looks like rows. The rows are right nevertheless.
  @Test(.enabled(if: Cores.count > 1, "shares need two processors"))
  func `a wrong guess of a border changes no row`() throws {
    // A cell is longer than the text from which a border is guessed.
    let cell = String(repeating: "1,2,3\n", count: 15_000)
    let text = "a,b,c\n" + (0..<10).map { "\($0),\"\(cell)\",z\n" }.joined()
    let rows = try readAll(try open(Array(text.utf8)))
    #expect(rows.count == 10)
    var broken = 0
    for size in [10_000, 40_000, 200_000] {
      let (read, end) = try readShared(try open(Array(text.utf8)), from: 0, size: size)
      #expect(read == rows)
      if end == .broken { broken += 1 }
    }
    #expect(broken > 0, "the text does not mislead any guess")
  }

  /// Files that are long enough for the views to share them, with their usual sizes.
  @Test(.enabled(if: Cores.count > 1, "shares need two processors"))
  func `views of a long file are those of a copy in memory`() throws {
    var generator = SeededGenerator(seed: 3)
    var text = "id,name,city,amount\n"
    for number in 0..<110_000 {
      let name = "name \(Int.random(in: 0..<4000, using: &generator))"
      text += number % 50 == 0 ? "\(number),\"\(name), \"\"x\"\"\n\"," : "\(number),\(name),"
      text += "city \(number % 11),\(Int.random(in: 0..<100_000, using: &generator)).5\n"
    }
    #expect(text.utf8.count > 3 << 20)
    let source = try open(Array(text.utf8), through: true)
    let copy = InMemorySource(source.columns, rows: try readAll(source))
    #expect(copy.sharing == nil)

    func same(_ make: (any TableDataSource) throws -> any TableDataSource) throws {
      // A source whose rows are not known yet.
      let (shared, naive) = (
        try make(try open(Array(text.utf8), through: true)), try make(copy)
      )
      let count = try shared.numberOfSections(knowing: .max).value
      #expect(count == (try naive.numberOfSections(knowing: .max).value))
      for section in Set([0, count / 2, count - 1]) where count > 0 {
        #expect(
          try shared.sections?.title(.header, ofSection: section)
            == naive.sections?.title(.header, ofSection: section))
        #expect(
          try shared.exactNumberOfRows(inSection: section)
            == naive.exactNumberOfRows(inSection: section))
        #expect(try readAll(shared, section: section) == readAll(naive, section: section))
      }
    }
    let greater = Condition(column: 3, comparison: .greater, value: Array("99000".utf8))
    let city = Condition(column: 2, comparison: .equal, value: Array("city 3".utf8))
    try same { try $0.filtered(by: [greater]) }
    try same { try $0.filtered(by: [city], search: Array("name 39".utf8)) }
    try same { try $0.grouped(by: Grouping(column: 1, by: .value)) }
    try same {
      try $0.filtered(by: [greater]).grouped(by: [
        Grouping(column: 2, by: .value), Grouping(column: 1, by: .letter),
      ])
    }
    try same {
      try $0.filtered(by: [city]).sorted(by: [
        SortDescriptor(column: 1), SortDescriptor(column: 3, isDescending: true),
      ])
    }
    try same {
      try $0.summarized(
        by: [Grouping(column: 2, by: .value)],
        computing: [
          Aggregate(.rows), Aggregate(.sum, ofColumn: 3), Aggregate(.median, ofColumn: 3),
          Aggregate(.min, ofColumn: 1),
          Aggregate(.distinct, ofColumn: 1), Aggregate(.first, ofColumn: 0),
          Aggregate(.last, ofColumn: 0),
        ])
    }
    let top = try open(Array(text.utf8)).sorted(by: [SortDescriptor(column: 3)])
    let whole = try copy.sorted(by: [SortDescriptor(column: 3)])
    let request = RowRequest(first: 0, count: 60, columns: [0, 3])
    let (left, right) = (try top.rows(request), try whole.rows(request))
    #expect((0..<60).map { left.row($0) } == (0..<60).map { right.row($0) })
  }

  /// An aggregate of a cell that is no number fails with the same error as for one thread, with its line.
  @Test func `an error in a share is the error of its row`() throws {
    var text = "id,amount\n" + (0..<200_000).map { "\($0),\($0 % 100)\n" }.joined()
    text += "x,oops\n" + (0..<100_000).map { "\($0),1\n" }.joined()
    let source = try open(Array(text.utf8), through: true)
    let error = #expect(throws: TableError.self) {
      try source.summarized(by: [], computing: [Aggregate(.sum, ofColumn: 1)])
    }
    #expect(error?.code == .wrongData && error?.row == 200_000)
    #expect(error?.message.contains("line 200002") == true)
  }

  /// A share gave its buffers away when its last rows were found, and took new ones to read them. A summary of 1 GB so
  /// kept 160 MB.
  @Test func `a share gives its buffers away once`() throws {
    let text = "id,amount\n" + (0..<400_000).map { "\($0),\($0 % 100)\n" }.joined()
    let source = try open(Array(text.utf8))
    let shares = try #require(
      try source.sharing?.shares(ofSection: 0, from: 0, size: 1 << 19) as? SharedRecords<RowCells>)
    #expect(shares.count > 4)
    var rows = 0
    for number in 0..<shares.count {
      let share = try shares.share(number)
      try share.forEachBatch(ofShare: [1]) { batch, _ in rows += batch.rowCount }
      try shares.take(share)
      #expect(shares.shares.spares.count == 1)
    }
    #expect(rows == 400_000)
  }

  /// The start of a share was searched in 16 KiB. So most shares of long records were empty, and their rows were left to
  /// one thread.
  @Test(arguments: ["", "\""])
  func `long records are divided into shares`(quote: String) throws {
    let cell = String(repeating: quote.isEmpty ? "plain text " : "text, ", count: 10_000)
    let record = "1,\(quote)\(cell)\(quote)\n"
    let text = "id,note\n" + String(repeating: record, count: 100_000_000 / 8 / record.utf8.count)
    let source = try open(Array(text.utf8))
    _ = try source.rows(RowRequest(first: 0, count: 8, columns: [0]))
    let shares = try #require(
      try source.sharing?.shares(ofSection: 0, from: 8, size: 1 << 20) as? SharedRecords<RowCells>)
    #expect(shares.count > 8)
    var rows = 8
    for number in 0..<shares.count {
      // The last share can be shorter than a record.
      let isEmpty = try shares.shares.reader(of: number) == nil
      #expect(!isEmpty || number == shares.count - 1, "share \(number)")
      let share = try shares.share(number)
      try share.forEachBatch(ofShare: [0]) { batch, _ in rows += batch.rowCount }
      try shares.take(share)
    }
    #expect(rows == text.utf8.count / record.utf8.count)
  }

  /// The rows of a summary were made and written by one thread.
  @Test func `the shares of a summary have its rows`() throws {
    let count = 30_000
    let source = InMemorySource(
      [Column("key"), Column("n", .integer)],
      rows: (0..<count).map {
        [.text(Array("key \($0 * 7919 % count)".utf8)), .integer(Int64($0))]
      })
    let summary = try source.summarized(
      by: [Grouping(column: 0)], computing: [Aggregate(.rows), Aggregate(.sum, ofColumn: 1)])
    let all = try readAll(summary).map { [$0[2], $0[0]] }
    #expect(all.count == count)
    let sharing = try #require(summary.sharing)
    for first in [0, 1, 8_192, 13_616] {
      let shares = try #require(try sharing.shares(ofSection: 0, from: first, size: 1))
      var rows: [[Cell]] = []
      for number in 0..<shares.count {
        let share = try shares.share(number)
        let before = rows.count
        try share.forEachBatch(ofShare: [2, 0]) { batch, at in
          #expect(at == rows.count - before)
          rows += (0..<batch.rowCount).map { batch.row($0) }
        }
        #expect(try share.exactNumberOfRows(inSection: 0) == rows.count - before)
        #expect(throws: TableError.self) { try share.exactNumberOfRows(inSection: 1) }
        try shares.take(share)
      }
      #expect(shares.count == (count - first + 8_191) / 8_192)
      #expect(rows == Array(all[first...]), "from \(first)")
    }
    for first in [count - 8_192, count] {
      #expect(try sharing.shares(ofSection: 0, from: first, size: 1) == nil)
    }
    #expect(throws: TableError.self) { try sharing.shares(ofSection: 1, from: 0, size: 1) }
  }

  /// Among so many keys, about 19 pairs have the same 32 bits of a hash. Keys that nearly all differ become a list, and a
  /// seventh of equal ones prevents it.
  @Test(arguments: [true, false], [true, false])
  func `keys with equal hashes are different groups`(isShared: Bool, isList: Bool) throws {
    let count = 400_000
    let keys = (0..<count).map { String(UInt64($0) &* 0x9E37_79B9_7F4A_7C15, radix: 36) }
    let cells = isList ? keys : keys.enumerated().flatMap { $0 % 6 == 0 ? [$1, keys[0]] : [$1] }
    let source: any TableDataSource =
      isShared
      ? try open(Array(("id,note\n" + cells.map { "\($0),x\n" }.joined()).utf8))
      : InMemorySource([Column("id")], rows: cells.map { [.text(Array($0.utf8))] })
    let view = try source.grouped(by: Grouping(column: 0, by: .value))
    #expect(try view.numberOfSections(knowing: .max) == .exact(count))
    let groups = try view.allGroups()
    #expect(groups.counts.count { $0 != 1 } == (isList ? 0 : 1))
    #expect(groups.counts.max() == 1 + cells.count - count)
    var titles: [String] = []
    groups.forEachTitle(ofGroups: 0..<count) {
      titles.append(
        String(decoding: $0 ?? UnsafeRawBufferPointer(start: nil, count: 0), as: UTF8.self))
    }
    #expect(Set(titles) == Set(keys))
    for group in stride(from: 0, to: count, by: 8000) {
      #expect(try view.title(.header, ofSection: group) == titles[group])
    }
  }

  /// A program that cancels a view stops all threads.
  @Test func `a cancelled reading in shares ends`() throws {
    let text = "id,amount\n" + (0..<400_000).map { "\($0),\($0 % 100)\n" }.joined()
    let source = try open(Array(text.utf8), through: true)
    let view = try source.grouped(by: Grouping(column: 1, by: .value))
    let cancel = try #require(view.cancellation)
    view.onProgress = { _ in cancel() }
    #expect(throws: TableError(.cancelled, "cancelled")) {
      try view.numberOfSections(knowing: .max)
    }
  }

  /// A filter that passes few rows read the file with one thread until it had found enough of them.
  /// The question whether there is another row found rows without their cells, so that all of them were read again.
  @Test func `a filtered share reads the cells of a found row once`() throws {
    final class Searched: TableDataSource, RowSearching {
      let columns = [Column("text")]
      let count = 1000
      var (searches, otherReads) = (0, 0)
      func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(count) }
      func rows(_ request: RowRequest) -> Batch {
        otherReads += 1
        return .empty([.text], ids: false)
      }
      func rows(_ request: RowRequest, containing terms: [SearchTerm]) -> FoundRows {
        searches += 1
        let next = min(count, request.first + 100)
        let numbers = (request.first..<next).filter { $0 % 40 == 7 }
        let builder = BatchBuilder(request.columns.map { columns[$0].type }, ids: false)
        for number in numbers {
          for column in builder.columns { column.append("found \(number)") }
        }
        return FoundRows(builder.finish(rowCount: numbers.count), numbers: numbers, next: next)
      }
    }
    let source = Searched()
    let view = try source.filtered(by: [
      Condition(column: 0, comparison: .matches, value: Array("found".utf8))
    ])
    view.earlier = (1, 40)
    var found: [Cell] = []
    try view.forEachBatch(ofShare: [0]) { batch, first throws(TableError) in
      #expect(first == found.count)
      for row in 0..<batch.rowCount { found += batch.row(row) }
    }
    #expect(found == (0..<25).map { .text("found \($0 * 40 + 7)") })
    #expect(source.otherReads == 0 && source.searches == 10)
  }

  @Test func `threads find rare rows`() throws {
    let count = 700_000
    let rare = [5, 150_000, 150_001, 320_000, 511_111, count - 1]
    var text = "id,note\n"
    for row in 0..<count { text += "\(row),\(rare.contains(row) ? "rare" : "usual")\n" }
    let conditions = [(Condition.Comparison.equal, "rare"), (.matches, "^r[a-z]r")]
    for (comparison, value) in conditions {
      let source = try open(Array(text.utf8), through: true)
      let view = try source.filtered(by: [
        Condition(column: 1, comparison: comparison, value: Array(value.utf8))
      ])
      var progress: [Int] = []
      view.onProgress = { progress.append($0) }
      for (number, row) in rare.enumerated() {
        progress = []
        let batch = try view.rows(RowRequest(first: number, count: 1, columns: [0]))
        #expect(batch.rowCount == 1 && batch.row(0) == [.text("\(row)")])
        let read = try #require(view.known[0]?.read)
        #expect(read > row && zip(progress, progress.dropFirst()).allSatisfy { $0 < $1 })
      }
      #expect(try view.numberOfRows(inSection: 0, knowing: .max) == .exact(rare.count))
      #expect(view.known[0]?.read == count)
    }
  }

  @Test(arguments: [1, 2, 4], [1, 2, 5])
  func `ordered work consumes each result once, in order`(threads: Int, ahead: Int) {
    for stop in [0, 1, 7, 40] {
      let most = Mutex((open: 0, most: 0))
      var consumed: [Int] = []
      produceInOrder(40, threads: threads, ahead: ahead) { number in
        most.withLock {
          $0.open += 1
          $0.most = max($0.most, $0.open)
        }
        return number * 2
      } consume: { number, value in
        #expect(value == number * 2)
        most.withLock { $0.open -= 1 }
        consumed.append(number)
        return consumed.count < stop ? .all : .none
      }
      #expect(consumed == Array(0..<max(1, stop)))
      // A result that is being consumed no longer counts.
      #expect(most.withLock { $0.most } <= ahead + 1)
    }
  }

  /// A consumer that has enough can still take what the threads have begun.
  @Test(arguments: [1, 2, 4], [1, 2, 5])
  func `started work is consumed to its end`(threads: Int, ahead: Int) {
    for stop in [1, 7, 40] {
      let started = Mutex(0)
      var consumed: [Int] = []
      produceInOrder(40, threads: threads, ahead: ahead) { number in
        started.withLock { $0 += 1 }
        return number
      } consume: { number, _ in
        consumed.append(number)
        return consumed.count < stop ? .all : .started
      }
      #expect(consumed == Array(0..<started.withLock { $0 }))
      #expect(stop...(stop + ahead) ~= consumed.count)
    }
  }
}

import Foundation
import Synchronization
import Tabella
import TabellaConformance
import TabellaSDK
import Testing

@testable import TabellaCSV
@testable import TabellaFiles
@testable import TabellaTestSupport
@testable import TabellaText

/// CSV and text files that other programs write while they are shown.
@Suite struct LiveFileTests {
  /// `TABELLA_CASES` sets the number of random trials, up to 500: 150 by default, CI 500.
  static let cases = min(
    500, Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 150)

  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder(inMemory: true) }

  /// A source that follows a file, with its rows from the last reading.
  final class Followed {
    let source: any TableDataSource
    let live: LiveFile
    private(set) var rows: NaiveTable
    /// The cells that a follower has, who reads only the rows that the changes name.
    private var model: TableSnapshot
    /// Whether growth can hide an edit, so that rows in front of the new ones are unreliable until the file is at rest.
    var isDoubtful = false
    private let open: () throws -> any TableDataSource
    /// The text of the first cell of each inserted row, in the order of the pulls.
    private(set) var inserted: [String] = []
    private(set) var last = ChangeBatch(from: nil, to: nil, changes: [])

    init(rest: Double = 0, _ open: @escaping () throws -> any TableDataSource) throws {
      self.open = open
      source = try open()
      live = try #require((source as? any LiveRecords)?.live)
      live.pace = LiveFile.Pace(rest: rest, patience: min(rest, 0.05), share: .infinity)
      rows = try NaiveTable(of: source)
      model = try Self.snapshot(of: source)
    }

    private static func snapshot(of source: any TableDataSource) throws -> TableSnapshot {
      try TableSnapshot(of: CellsOnly(source), columns: Array(source.columns.indices))
    }

    var changes: [ChangeBatch.Change]? { last.changes }

    /// Pulls, and replays the changes.
    func pull(_ comment: @autoclosure () -> String = "") throws {
      let version = try? source.version()
      let before = rows
      last = try #require(source.changes).pull()
      do {
        if let list = last.changes {
          try model.apply(list, from: CellsOnly(source))
        } else {
          model = try Self.snapshot(of: source)
        }
        rows = try NaiveTable(of: source)
      } catch {
        Issue.record("\(comment()): \(last), \(error)")
        throw error
      }
      #expect(try last.to == source.version())
      if let version { #expect(last.from == version) }
      guard !isDoubtful, let list = last.changes else { return }
      let replayed = before.applying(list, content: rows)
      // An id can depend on the offset of its row, so only cells and titles are compared.
      #expect(
        replayed?.withoutIDs == rows.withoutIDs,
        "\(comment()): \(list)\n\(before)\n\(rows)")
      for case .insert(let path) in list where !path.isSection {
        guard case .text(let text) = rows.sections[path.section].rows[path.row].cells.first else {
          continue
        }
        inserted.append(String(decoding: text, as: UTF8.self))
      }
    }

    /// Pulls until nothing more comes, and compares with a new opening.
    func settle(_ comment: @autoclosure () -> String = "") throws {
      for _ in 0..<6 {
        try pull(comment())
        usleep(300)
      }
      try pull(comment())
      #expect(last.changes == [], "\(comment()): still changing")
      let fresh = try open()
      #expect(fresh.columns == source.columns, "\(comment())")
      #expect(try rows == NaiveTable(of: fresh), "\(comment())")
      #expect(try source.version() == fresh.version(), "\(comment())")
      #expect(try model.changes(to: Self.snapshot(of: fresh)) == [], "\(comment())")
      isDoubtful = false
    }
  }

  private func csv(
    _ file: ForeignFile, _ options: [String: String] = [:], rest: Double = 0
  ) throws -> Followed {
    try Followed(rest: rest) {
      try CSVProvider().open(OpenRequest(location: Array(file.path.utf8), options: options))
    }
  }

  private func text(
    _ file: ForeignFile, _ options: [String: String] = [:], rest: Double = 0
  ) throws -> Followed {
    try Followed(rest: rest) {
      try TextProvider().open(OpenRequest(location: Array(file.path.utf8), options: options))
    }
  }

  private func file(_ name: String, _ text: String) throws -> ForeignFile {
    try ForeignFile("\(folder.path)/\(name)", text)
  }

  private func row(_ row: Int, section: Int = 0) -> Tabella.IndexPath {
    Tabella.IndexPath(section: section, row: row)
  }

  // Growth

  @Test func appendedRecordsAreInserted() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file)
    try followed.pull()
    #expect(followed.changes == [])
    file.append("3,4\n5,6\n")
    // Old rows stay readable.
    #expect(try NaiveTable(of: followed.source) == followed.rows)
    try followed.pull()
    #expect(followed.changes == [.insert(row(1)), .insert(row(2))])
    try followed.settle()
  }

  /// A pull left the old change time of a file behind, so every edit was a conflict until the table was opened again.
  @Test func aFileWithOtherPermissionsCanBeEdited() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file)
    try followed.pull()
    #expect(chmod(file.path, 0o600) == 0)
    try followed.pull()
    #expect(followed.changes == [])
    try followed.settle()
    let editing = try #require(followed.source.editing)
    let batch = EditBatch(
      [.set(.path(row(0)), cells: [1: "3"])], version: try followed.source.version())
    #expect(try editing.commit(batch).outcomes.allSatisfy { $0.code == nil })
    #expect(try String(contentsOfFile: file.path, encoding: .utf8) == "a,b\n1,3\n")
  }

  @Test func aRecordWithoutAnEndWaitsUntilTheFileIsAtRest() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file, rest: 0.1)
    try followed.pull()
    file.append("3,")
    try followed.pull()
    #expect(followed.changes == [] && followed.last.from == followed.last.to)
    file.append("4\n5,\"x\ny")
    try followed.pull()
    #expect(followed.changes == [.insert(row(1))])
    usleep(120_000)
    try followed.pull()
    #expect(followed.changes == [.insert(row(2))])
    file.append("\"\n")
    try followed.pull()
    #expect(followed.changes == [.reload(row(2))])
    file.append("7,8\n")
    try followed.pull()
    #expect(followed.changes == [.insert(row(3))])
  }

  /// `show --follow` printed half a line when its writer paused: programs write their output in blocks.
  @Test func aRecordWithoutAnEndWaitsForItsWriter() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file, rest: 0.01)
    try followed.source.changes?.listen {}
    defer { try? followed.source.changes?.listen(nil) }
    try followed.pull()
    let writer = try #require(FileHandle(forWritingAtPath: file.path))
    try writer.seekToEnd()
    try writer.write(contentsOf: Data("3,4\n5,".utf8))
    for _ in 0..<3 {
      usleep(20_000)
      try followed.pull()
    }
    #expect(followed.inserted == ["3"])
    try writer.write(contentsOf: Data("6\n7".utf8))
    usleep(20_000)
    try followed.pull()
    #expect(followed.inserted == ["3", "5"])
    try writer.close()
    try followed.pull()
    // A program that another test starts holds the file open for a moment.
    for _ in 0..<100 where followed.inserted.count < 3 {
      usleep(20_000)
      try followed.pull()
    }
    #expect(followed.inserted == ["3", "5", "7"])
  }

  /// The CR of a CRLF arrives first.
  @Test func halfALineEndIsNoLineEnd() throws {
    let file = try file("t.csv", "a\r\n1\r\n")
    let followed = try csv(file)
    try followed.pull()
    file.append("2\r")
    try followed.pull()
    #expect(followed.changes == [.insert(row(1))])
    file.append("\n3\r\n")
    try followed.pull()
    #expect(followed.changes == [.insert(row(2))])
    try followed.settle()
  }

  @Test func headingsThatArriveBeginSections() throws {
    let file = try file("t.md", "# A\none\n")
    let followed = try text(file, ["sections": "headings"])
    try followed.pull()
    file.append("two\n# B")
    try followed.pull()
    #expect(followed.changes == [.insert(row(1)), .insert(.section(1))])
    file.append("C\nthree\n")
    try followed.pull()
    #expect(followed.changes == [.reconfigure(.section(1)), .insert(row(0, section: 1))])
    try followed.settle()
  }

  @Test func otherColumnsMeanReadingAgain() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file)
    try followed.pull()
    file.append("1,2,3\n")
    try followed.pull()
    #expect(followed.changes == nil && followed.source.columns.count == 3)
    try followed.settle()
  }

  // Other changes

  @Test func anEditIsAReload() throws {
    let file = try file("t.csv", "a,b\n1,2\n3,4\n5,6\n")
    let followed = try csv(file)
    try followed.pull()
    file.overwrite(Array("9".utf8), at: 8)
    try followed.pull()
    #expect(followed.changes == [.reload(row(1))])
    try file.replace(with: "a,b\n1,2\n3,4 and more\n7,8\n5,6\n")
    try followed.pull()
    #expect(followed.changes.map { Set($0) } == [.reload(row(1)), .insert(row(2))])
    try followed.settle()
  }

  /// An edit in the middle, hidden by growth, is found when the file is at rest.
  @Test func growthHidesNoEdit() throws {
    let file = try file("t.csv", "a,b\n1,2\n" + String(repeating: "3,4\n", count: 100))
    let followed = try csv(file, rest: 0.05)
    followed.isDoubtful = true
    usleep(60_000)
    try followed.pull()
    file.overwrite(Array("9".utf8), at: 4)
    file.append("5,6\n")
    try followed.pull()
    #expect(followed.changes == [.insert(row(101))])
    usleep(60_000)
    try followed.pull()
    #expect(followed.changes == [.reload(row(0))])
    try followed.settle()
  }

  /// Only line ends differ: no row changes, but all offsets.
  @Test func otherLineEndsChangeNoRow() throws {
    let end = String(repeating: "c\n", count: 100)
    let file = try file("t.txt", "a\r\nb\n" + end)
    let followed = try text(file)
    try followed.pull()
    file.overwrite(Array("a\nb\r\n".utf8), at: 0)
    file.append("e\n")
    try followed.settle()
  }

  @Test func editsThroughTheSourceArePartOfTheNextPull() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file)
    try followed.pull()
    let edit = EditBatch([.set(.path(row(0)), cells: [0: .text(Array("7".utf8))])])
    _ = try #require(followed.source.editing).commit(edit)
    let batch = try #require(followed.source.changes).pull()
    #expect(batch.changes == [] && batch.from == batch.to)
    file.append("8,9\n")
    #expect(try followed.source.changes?.pull().changes == [.insert(row(1))])
    // A file that has grown since the last pull is not the edited version.
    file.append("10,11\n")
    #expect(throws: TableError.self) { try followed.source.editing?.commit(edit) }
    #expect(try followed.source.changes?.pull().changes == [.insert(row(2))])
    _ = try followed.source.editing?.commit(edit)
  }

  // Rotation

  @Test func aRenamedLogIsReadToItsEndFirst() throws {
    let file = try file("log", "1\n2\n")
    let followed = try text(file)
    try followed.pull()
    let old = open(file.path, O_WRONLY | O_CLOEXEC | O_APPEND)
    file.moveAway()
    try followed.pull()
    #expect(followed.changes == [])
    let diagnostic = try #require(followed.source.diagnostics?.nextDiagnostic())
    #expect(diagnostic.message.contains("waiting for it"))
    write(old, "3\n4", 3)
    file.create()
    file.append("5\n")
    try followed.pull()
    #expect(followed.changes == [.insert(row(2)), .insert(row(3))])
    try followed.pull()
    #expect(followed.changes?.count == 5 && followed.changes?.last == .insert(row(0)))
    try followed.settle()
    #expect(followed.inserted == ["3", "4", "5"])
    close(old)
  }

  /// Lines were lost if a log was truncated, written and renamed between two pulls.
  @Test func aTruncatedLogThatWasRenamedIsReadFirst() throws {
    let file = try file("log", "1\n2\n3\n")
    let followed = try text(file)
    try followed.pull()
    file.truncate(to: 0)
    file.append("4\n5\n")
    file.moveAway()
    file.create()
    file.append("6\n")
    try followed.pull()
    #expect(followed.inserted == ["4", "5"])
    try followed.settle()
    #expect(followed.inserted == ["4", "5", "6"])
  }

  /// The lines that a log got before it was deleted come first, too.
  @Test func aLogThatWasDeletedIsReadToItsEndFirst() throws {
    let file = try file("log", "1\n")
    let followed = try text(file)
    try followed.pull()
    file.append("2\n3\n")
    file.remove()
    file.create()
    file.append("4\n")
    try followed.pull()
    #expect(followed.inserted == ["2", "3"])
    try followed.settle()
    #expect(followed.inserted == ["2", "3", "4"])
  }

  /// A new log that repeats the lines of the old one is another log nevertheless.
  @Test func aTruncatedLogHasOnlyNewRows() throws {
    let file = try file("log", "1 x\n2 x\n3 x\n")
    let followed = try text(file)
    try followed.pull()
    file.truncate(to: 0)
    file.append("4 x\n")
    try followed.pull()
    #expect(
      followed.changes == [.delete(row(0)), .delete(row(1)), .delete(row(2)), .insert(row(0))])
    file.rewrite(Array("5 x\n6 x\n7 x\n8 x\n".utf8))
    try followed.settle()
    #expect(followed.inserted == ["4 x", "5 x", "6 x", "7 x", "8 x"])
  }

  // Random histories

  private static let words = [
    "a", "bb", "ccc", "x,y", "\"q,\n\"", "", "1;2", "# h", "[s]", "\t", "é", "```", "=", "0",
  ]

  private func line(_ generator: inout SeededGenerator) -> [UInt8] {
    let words = (0..<Int.random(in: 0...3, using: &generator)).map { _ in
      Self.words.randomElement(using: &generator)!
    }
    let ends = ["\n", "\n", "\n", "\r\n", "\r"]
    return Array((words.joined(separator: ",") + ends.randomElement(using: &generator)!).utf8)
  }

  private func lines(_ generator: inout SeededGenerator, most: Int = 6) -> [UInt8] {
    (0..<Int.random(in: 0...most, using: &generator)).flatMap { _ in line(&generator) }
  }

  /// One act of another program.
  private func act(
    _ file: ForeignFile, hidesEdits: Bool, _ generator: inout SeededGenerator
  ) throws -> String {
    let text = file.text
    let place = Int.random(in: 0...text.count, using: &generator)
    switch Int.random(in: hidesEdits ? 0..<12 : 2..<10, using: &generator) {
    case 2, 3: file.append(lines(&generator))
    case 4, 5:
      let line = line(&generator)
      file.append(Array(line.prefix(Int.random(in: 0...line.count, using: &generator))))
    case 0, 10: file.overwrite(Array(line(&generator).prefix(text.count - place)), at: place)
    case 1, 11:
      file.overwrite([UInt8(ascii: "Z")], at: min(place, max(0, text.count - 1)))
      file.append(lines(&generator))
    case 6: file.truncate(to: Bool.random(using: &generator) ? 0 : place)
    case 7: file.rewrite(Array(text[..<place]) + lines(&generator, most: 2) + text[place...])
    case 8:
      try file.replace(with: Array(text[..<place]) + lines(&generator, most: 2) + text[place...])
    default:
      file.moveAway()
      if Bool.random(using: &generator) { file.create() }
      if Bool.random(using: &generator) { file.append(lines(&generator)) }
      if access(file.path, F_OK) != 0 { file.create() }
    }
    return "\(String(decoding: file.text, as: UTF8.self).debugDescription)"
  }

  @Test func randomHistoriesEndInAFreshReading() throws {
    let csvOptions: [[String: String]] = [
      [:], ["header": "false"], ["delimiter": ","], ["delimiter": ",", "quote": "none"],
      ["escape": "\\"], ["skip": "1"], ["columns": "3"], ["types": "infer"], ["comment": "#"],
      ["encoding": "latin1"], ["delimiter": "whitespace"], ["header": "false", "skip": "2"],
    ]
    let textOptions: [[String: String]] = [
      [:], ["sections": "paragraphs"], ["sections": "headings"], ["encoding": "latin1"],
    ]
    for number in 0..<Self.cases {
      var generator = SeededGenerator(seed: UInt64(number))
      let isCSV = Bool.random(using: &generator)
      let options = (isCSV ? csvOptions : textOptions).randomElement(using: &generator)!
      let file = try file("t\(number)", "")
      let length = [6, 60].randomElement(using: &generator)!
      file.append(lines(&generator, most: length))
      let rest = [0, 0, 0.002].randomElement(using: &generator)!
      let followed = try isCSV ? csv(file, options, rest: rest) : text(file, options, rest: rest)
      var history = ["\(number) \(options) \(rest)"]
      followed.isDoubtful = Bool.random(using: &generator)
      for _ in 0..<Int.random(in: 1...8, using: &generator) {
        history.append(try act(file, hidesEdits: followed.isDoubtful, &generator))
        // A reading in between sees the old rows, or a conflict.
        if Bool.random(using: &generator) { _ = try? NaiveTable(of: followed.source) }
        if Bool.random(using: &generator) { try followed.pull("\(history)") }
      }
      usleep(rest > 0 ? 2500 : 0)
      try followed.settle("\(history)")
    }
  }

  // Listening

  /// A number that several threads use.
  private final class Shared: Sendable {
    private let number = Atomic(0)

    var value: Int {
      get { number.load(ordering: .relaxed) }
      set { number.store(newValue, ordering: .relaxed) }
    }
    func increment() { number.add(1, ordering: .relaxed) }
  }

  @Test func aListenerHearsOfEveryChange() throws {
    let file = try file("t.csv", "a,b\n1,2\n")
    let followed = try csv(file)
    let calls = Shared()
    try followed.source.changes?.listen { calls.increment() }
    func expectCall(_ what: String) throws {
      let end = Date() + 3
      while calls.value == 0, Date() < end { usleep(200) }
      let count = calls.value
      #expect(count > 0, "\(what)")
      usleep(20_000)
      let later = calls.value
      #expect(later == 1, "one notice of \(what) is enough")
      calls.value = 0
      try followed.pull(what)
      usleep(20_000)
      calls.value = 0
      try followed.pull(what)
    }
    for line in 0..<5 { file.append("\(line),x\n") }
    try expectCall("growth")
    file.overwrite(Array("9".utf8), at: 4)
    try expectCall("an edit")
    try file.replace(with: "a,b\n5,6\n")
    try expectCall("a replacement")
    file.moveAway()
    file.create()
    file.append("a,b\n7,8\n")
    try expectCall("a rotation")
    file.append("9,9\n")
    try expectCall("growth of the new log")
    try followed.source.changes?.listen(nil)
    calls.value = 0
    file.append("1,1\n")
    usleep(20_000)
    let count = calls.value
    #expect(count == 0)
  }

  /// A writer at full speed, and ten rotations of both kinds: each line is inserted once, in order.
  @Test func noLineIsLostAcrossRotations() throws {
    let file = try file("log", "0\n")
    let followed = try text(file, rest: 0.25)
    try followed.pull()
    let signal = DispatchSemaphore(value: 0)
    try followed.source.changes?.listen { signal.signal() }
    let pulled = Shared()
    let path = file.path
    let written = Shared()
    let writer = Thread {
      var log = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_APPEND)
      var number = 0
      for rotation in 0...10 {
        for _ in 0..<300 {
          number += 1
          // Now and then half a line arrives first.
          let line = Array("\(number)\n".utf8)
          let half = number % 7 == 0 ? line.count / 2 : 0
          if half > 0 { Glibc.write(log, line, half) }
          Glibc.write(log, Array(line[half...]), line.count - half)
          if number % 20 == 0 { usleep(500) }
        }
        if rotation == 10 { break }
        if rotation % 2 == 0 {
          rename(path, path + ".1")
          // The program writes to the old file until it hears of the rotation.
          number += 1
          Glibc.write(log, "\(number)\n", "\(number)\n".utf8.count)
          if rotation % 4 == 0 { usleep(3000) }
          close(log)
          log = Glibc.open(path, O_WRONLY | O_CLOEXEC | O_APPEND | O_CREAT, 0o644)
        } else {
          // Nobody can read lines that are truncated at once.
          while pulled.value < number { usleep(500) }
          ftruncate(log, 0)
        }
      }
      close(log)
      written.value = number
    }
    writer.start()
    let end = Date() + 20
    var last = "0"
    while Date() < end {
      _ = signal.wait(timeout: .now() + 0.5)
      try followed.pull()
      last = followed.inserted.last ?? last
      pulled.value = Int(last) ?? 0
      if written.value > 0, Int(last) == written.value { break }
    }
    try followed.source.changes?.listen(nil)
    let number = written.value
    #expect(followed.inserted.compactMap { Int($0) } == Array(1...max(1, number)))
  }
}

/// A table without ids.
private final class CellsOnly: TableDataSource {
  private let base: any TableDataSource

  init(_ base: any TableDataSource) { self.base = base }

  var columns: [Column] { base.columns }
  var sections: (any TableSections)? { base.sections }

  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfRows(inSection: section, knowing: minimum)
  }
  func rows(_ request: RowRequest) throws(TableError) -> Batch { try base.rows(request) }
}

extension NaiveTable {
  fileprivate var withoutIDs: NaiveTable {
    NaiveTable(
      sections.map { section in
        Section(title: section.title, rows: section.rows.map { Row(id: nil, cells: $0.cells) })
      })
  }
}

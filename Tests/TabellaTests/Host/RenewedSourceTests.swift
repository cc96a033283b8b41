import Foundation
import Synchronization
import Tabella
import TabellaHost
import Testing

@testable import TabellaTestSupport

/// A file that another program replaces by renaming, while a provider in a worker shows it.
///
/// The worker may not open the new file. Following ended with an error, or showed the old file forever.
@Suite struct RenewedSourceTests {
  let folder: TemporaryFolder
  let file: String

  init() throws {
    folder = try TemporaryFolder()
    _ = try compileLibrary(
      packageFolder + "/Tests/TabellaTests/Host/Libraries/reread.c", into: folder,
      name: "reread.so",
      flags: ["-Wl,-z,nodelete", "-D_GNU_SOURCE"])
    try folder.write(
      "reread.tabella.json",
      #"""
      {"id": "reread", "version": "1", "contract": "0.9", "library": "reread.so",
       "patterns": ["*.lines"], "options": [{"name": "open", "type": "boolean"}]}
      """#)
    try FileManager.default.createDirectory(
      atPath: folder.path + "/data", withIntermediateDirectories: true)
    file = folder.path + "/data/a.lines"
    try "one\ntwo\n".write(toFile: file, atomically: false, encoding: .utf8)
  }

  private func replace(_ text: String) throws {
    try text.write(toFile: file + ".new", atomically: false, encoding: .utf8)
    #expect(rename(file + ".new", file) == 0)
  }

  private func open(
    _ isolation: TabellaHost.Host.Isolation, options: [String: String] = [:],
    onOutput: (@Sendable (WorkerOutput) -> Void)? = nil
  ) throws -> OpenedTable {
    let host = TabellaHost.Host(searchPath: SearchPath([folder.path]))
    host.isolation = isolation
    host.onOutput = onOutput
    return try host.open(Location(file), options: options, access: .reading)
  }

  private func text(_ source: any TableDataSource) throws -> String {
    try readAll(source).map { "\($0[0])" }.joined(separator: ",")
  }

  /// On both roads, each pull shows the file that has the name, and a follower lists the new rows.
  @Test(arguments: [TabellaHost.Host.Isolation.automatic, .never])
  func eachFileIsShown(_ isolation: TabellaHost.Host.Isolation) throws {
    let table = try open(isolation)
    let follower = try TableFollower(table.source)
    var lines = ["one", "two"]
    for number in 3..<8 {
      lines.append("\(number)")
      try replace(lines.joined(separator: "\n") + "\n")
      let changes = try follower.pull()
      #expect(changes.list == [.insert(IndexPath(section: 0, row: lines.count - 1))])
      #expect(try text(table.source) == lines.joined(separator: ","))
      // Without another file, nothing has changed.
      #expect(try follower.pull().list == [])
    }
  }

  /// The refused reading of the new file was reported, although the host shows that file.
  @Test func theRefusalIsNotReported() throws {
    let denied = Mutex<[String]>([])
    let source = try open(.automatic) { output in
      guard output.kind == .denied else { return }
      denied.withLock { $0.append(String(decoding: output.text, as: UTF8.self)) }
    }.source
    for number in 1...3 {
      try replace("\(number)\n")
      _ = try #require(source.changes).pull()
      #expect(try text(source) == "\(number)")
    }
    let reported = denied.withLock { $0 }
    #expect(reported == [])
  }

  /// A file that was replaced while its worker started was an error about permissions.
  @Test func aReplacementDuringTheOpeningIsAConflictAtMost() throws {
    let host = TabellaHost.Host(searchPath: SearchPath([buildFolder]))
    host.isolation = .always
    let isDone = Mutex(false)
    let path = folder.path + "/data/t.csv"
    try folder.write("data/t.csv", "a\n1\n")
    let replacer = Thread {
      while !isDone.withLock({ $0 }) {
        try? "a\n1\n".write(toFile: path + ".new", atomically: false, encoding: .utf8)
        rename(path + ".new", path)
        usleep(5000)
      }
    }
    replacer.start()
    defer { isDone.withLock { $0 = true } }
    for _ in 0..<20 {
      do {
        _ = try host.open(Location(path), access: .reading)
      } catch {
        #expect(error.code == .conflict, "\(error)")
      }
    }
  }

  /// A provider in a worker cannot watch its file. Each attempt was a line for the user.
  @Test func theAttemptToWatchIsNotReported() throws {
    let reported = Mutex<[String]>([])
    let host = TabellaHost.Host(searchPath: SearchPath([buildFolder]))
    host.isolation = .always
    host.onOutput = { output in
      reported.withLock { $0.append(String(decoding: output.text, as: UTF8.self)) }
    }
    try folder.write("data/t.csv", "a\n1\n")
    let source = try host.open(Location(folder.path + "/data/t.csv"), access: .reading).source
    let changes = try #require(source.changes)
    try changes.listen {}
    try folder.write("data/t.csv", "a\n1\n2\n")
    _ = try changes.pull()
    #expect(try text(source) == "1,2")
    try changes.listen(nil)
    #expect(reported.withLock { $0 } == [])
  }

  /// A provider that reads the file that it opened, whatever its name is, moves on, too.
  @Test func anOpenFileIsLeft() throws {
    let source = try open(.automatic, options: ["open": "true"]).source
    for text in ["new", "newer"] {
      try replace("\(text)\n")
      #expect(try #require(source.changes).pull().changes == nil)
      #expect(try self.text(source) == text)
    }
  }

  /// The last lines of a renamed log come before those of the next one.
  @Test func theLastLinesOfALogComeFirst() throws {
    let log = try folder.write("a.log", "one\ntwo\n")
    let host = TabellaHost.Host()
    host.isolation = .always
    let source = try host.open(Location(log), provider: "text", access: .reading).source
    let changes = try #require(source.changes)
    #expect(try changes.pull().changes == [])
    let old = try FileHandle(forWritingTo: URL(fileURLWithPath: log))
    try old.seekToEnd()
    #expect(rename(log, log + ".1") == 0)
    try old.write(contentsOf: Data("three\n".utf8))
    try "four\n".write(toFile: log, atomically: false, encoding: .utf8)
    #expect(try changes.pull().changes == [.insert(IndexPath(section: 0, row: 2))])
    #expect(try text(source) == "one,two,three")
    #expect(try changes.pull().changes == nil)
    #expect(try text(source) == "four")
  }

  /// Notices are paired for each worker. The provider aborts otherwise.
  @Test func noticesStayPaired() throws {
    let table = try open(.automatic)
    table.source.display?.willDisplay(rows: 0..<2, inSection: 0)
    try replace("three\n")
    _ = try #require(table.source.changes).pull()
    table.source.display?.didEndDisplaying(rows: 0..<2, inSection: 0)
    table.source.display?.willDisplay(rows: 0..<1, inSection: 0)
    table.source.display?.didEndDisplaying(rows: 0..<1, inSection: 0)
    #expect(try text(table.source) == "three")
    #expect(table.worker?.ending == nil)
  }

  /// While no file has the name, the table stays. It moves to the next file with the name.
  @Test func aMissingFileIsAwaited() throws {
    let source = try open(.automatic).source
    #expect(unlink(file) == 0)
    #expect(try #require(source.changes).pull().changes == [])
    #expect(try text(source) == "one,two")
    try replace("three\n")
    #expect(try #require(source.changes).pull().changes == nil)
    #expect(try text(source) == "three")
  }

  /// A file that the provider cannot show is an error. The old rows stay, and a later file is shown.
  @Test func anErrorChangesNothing() throws {
    let source = try open(.automatic).source
    try FileManager.default.removeItem(atPath: file)
    #expect(mkdir(file, 0o700) == 0)
    #expect(throws: TableError.self) { _ = try source.changes?.pull() }
    #expect(try text(source) == "one,two")
    #expect(rmdir(file) == 0)
    try replace("three\n")
    _ = try #require(source.changes).pull()
    #expect(try text(source) == "three")
  }

  /// The host notices the new file, because a worker gets no events. The provider never calls its listener.
  @Test func theHostNoticesTheNewFile() throws {
    let source = try open(.automatic).source
    let notices = Atomic(0)
    try #require(source.changes).listen { notices.add(1, ordering: .relaxed) }
    for number in 1...3 {
      try replace("\(number)\n")
      let end = Date().addingTimeInterval(30)
      while notices.load(ordering: .relaxed) < number, Date() < end { usleep(2000) }
      #expect(notices.load(ordering: .relaxed) == number)
      _ = try #require(source.changes).pull()
      #expect(try text(source) == "\(number)")
    }
    try #require(source.changes).listen(nil)
    try replace("4\n")
    usleep(50_000)
    #expect(notices.load(ordering: .relaxed) == 3)
  }
}

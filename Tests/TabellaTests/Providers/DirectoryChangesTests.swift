import Foundation
import Synchronization
import Tabella
import TabellaSystem
import Testing

@testable import TabellaDirectory
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

/// Folders that change while they are shown.
@Suite(.serialized) struct DirectoryChangesTests {
  /// `TABELLA_CASES` sets the number of trials (24 by default; CI 500).
  static let cases = min(
    500, Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 24)

  /// Random acts on the files of a tree.
  private struct Acts {
    let root: String
    var random: SeededGenerator
    let names = ["a", "b", "c", "a.b", ".h", "z z", "ä"]

    mutating func path() -> String {
      let depth = Int.random(in: 1...3, using: &random)
      return ([root] + (0..<depth).map { _ in names.randomElement(using: &random)! })
        .joined(separator: "/")
    }

    mutating func act() {
      let path = path()
      switch Int.random(in: 0..<12, using: &random) {
      case 0, 1: mkdir(path, 0o755)
      case 2, 3: write(path, O_CREAT | O_WRONLY | O_EXCL)
      case 4: write(path, O_WRONLY | O_APPEND)
      case 5, 6: rename(path, self.path())
      case 7: unlink(path)
      case 8: rmdir(path)
      case 9:
        // Another length, because a new link can have the inode and the time of the old one.
        symlink(String(repeating: "t", count: Int.random(in: 1...999, using: &random)), path)
      case 10: chmod(path, [0o600, 0o644, 0o755].randomElement(using: &random)!)
      default: try? FileManager.default.removeItem(atPath: path)
      }
    }

    private mutating func write(_ path: String, _ flags: Int32) {
      let file = open(path, flags | O_CLOEXEC, 0o644)
      if file < 0 { return }
      let count = Int.random(in: 0..<9, using: &random)
      _ = Glibc.write(file, "content..", count)
      close(file)
    }
  }

  private static func settings(_ number: Int) -> DirectorySettings {
    DirectorySettings(
      showsHidden: number & 1 != 0, isRecursive: number & 2 != 0, hasSections: number & 4 != 0)
  }

  /// The rows with all cells. With `omitsTotals`, without those that depend on folders that the table does not list.
  private func read(_ source: DirectorySource, omitsTotals: Bool) throws -> NaiveTable {
    var table = try NaiveTable(of: source)
    guard omitsTotals else { return table }
    for section in table.sections.indices {
      for row in table.sections[section].rows.indices {
        table.sections[section].rows[row].cells.removeLast()
      }
    }
    return table
  }

  /// Pulls, and checks the batch.
  private func follow(
    _ source: DirectorySource, _ table: inout NaiveTable, omitsTotals: Bool, _ what: String
  ) throws {
    let version = try source.version()
    let batch = try source.pull()
    let new = try read(source, omitsTotals: omitsTotals)
    #expect(batch.from == version, "\(what)")
    #expect(try batch.to == source.version(), "\(what)")
    let changes = try #require(batch.changes)
    let replayed = table.applying(changes, content: new)
    #expect(replayed == new, "\(what): \(changes)")
    table = new
  }

  /// Files are created, renamed, moved, modified and deleted at random, in folders, trees and sections. With a
  /// listener, only what inotify reports is listed again.
  @Test(arguments: [false, true]) func randomActsLeadToTheTableOfAFreshReading(
    listens: Bool
  ) throws {
    for trial in 0..<Self.cases {
      let folder = try TemporaryFolder(inMemory: trial % 2 == 0)
      var acts = Acts(root: folder.path, random: SeededGenerator(seed: UInt64(trial)))
      for _ in 0..<30 { acts.act() }
      let settings = Self.settings(trial % 8)
      let source = try DirectorySource(path: Array(folder.path.utf8), settings)
      let omitsTotals = listens && !(settings.isRecursive && settings.showsHidden)
      var table = try read(source, omitsTotals: omitsTotals)
      if listens { try source.listen {} }
      for round in 0..<8 {
        for _ in 0..<Int.random(in: 0...12, using: &acts.random) { acts.act() }
        try follow(source, &table, omitsTotals: omitsTotals, "trial \(trial), round \(round)")
        let fresh = try DirectorySource(path: Array(folder.path.utf8), settings)
        #expect(
          try table == read(fresh, omitsTotals: omitsTotals), "trial \(trial), round \(round)")
      }
      let rest = try source.pull()
      #expect(rest.changes == [] && rest.from == rest.to)
      try source.listen(nil)
    }
  }

  /// A tree is listed only as far as needed. The changes of the known rows lead to the first rows of a fresh reading.
  @Test func changesOfAPartOfATreeLeadToTheSamePart() throws {
    for trial in 0..<Self.cases {
      let folder = try TemporaryFolder(inMemory: true)
      var acts = Acts(root: folder.path, random: SeededGenerator(seed: UInt64(trial) + 1000))
      for _ in 0..<80 { acts.act() }
      let settings = DirectorySettings(showsHidden: true, isRecursive: true)
      func ids(_ source: DirectorySource, _ count: Int) throws -> [String] {
        if count == 0 { return [] }
        let request = RowRequest(first: 0, count: count, columns: [], includesIDs: true)
        let batch = try source.rows(request)
        return try (0..<batch.rowCount).map { try #require(batch.id($0)) }
      }
      let source = try DirectorySource(path: Array(folder.path.utf8), settings)
      let least = Int.random(in: 1...9, using: &acts.random)
      let count = try source.numberOfRows(inSection: 0, knowing: least).value
      var rows = try ids(source, count).map { Optional($0) }
      for _ in 0..<10 { acts.act() }
      let changes = try #require(try source.pull().changes)
      // A pull lists only as far as before.
      let known = try source.numberOfRows(inSection: 0, knowing: 0)
      let fresh = try DirectorySource(path: Array(folder.path.utf8), settings)
      let all = try ids(fresh, fresh.numberOfRows(inSection: 0, knowing: .max).value)
      #expect(known.value <= all.count && (!known.isExact || known.value == all.count))
      for case .reload(let path) in changes { rows[path.row] = nil }
      var gone: Set<Int> = []
      for case .delete(let path) in changes { gone.insert(path.row) }
      rows = rows.enumerated().filter { !gone.contains($0.offset) }.map(\.element)
      for case .insert(let path) in changes { rows.insert(nil, at: path.row) }
      #expect(rows.count <= all.count)
      for (row, id) in zip(all, rows) where id != nil { #expect(row == id, "trial \(trial)") }
    }
  }

  // Listening

  /// Counts notices.
  private final class Notices: Sendable {
    private let number = Atomic(0)

    var count: Int { number.load(ordering: .acquiring) }
    func add() { number.add(1, ordering: .acquiringAndReleasing) }

    /// Waits for more than `count` notices, at most five seconds.
    func exceed(_ count: Int) -> Bool {
      let end = now() + 5
      while self.count <= count, now() < end { usleep(500) }
      return self.count > count
    }
  }

  /// Opens a folder with a listener, and deals with the first notice.
  private func listen(
    _ folder: TemporaryFolder, _ path: String? = nil, _ settings: DirectorySettings = .init()
  ) throws -> (DirectorySource, Notices) {
    let source = try DirectorySource(path: Array((path ?? folder.path).utf8), settings)
    _ = try NaiveTable(of: source)
    let notices = Notices()
    try source.listen { notices.add() }
    #expect(notices.exceed(0))
    _ = try source.pull()
    return (source, notices)
  }

  @Test func aNoticeComesForEachKindOfChangeAndNoneAtRest() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", "1")
    try folder.write("b", "1")
    let (source, notices) = try listen(folder)
    func expect(_ changes: [ChangeBatch.Change], _ act: () throws -> Void) throws {
      let count = notices.count
      try act()
      #expect(notices.exceed(count))
      #expect(try source.pull().changes == changes)
    }
    func row(_ number: Int) -> IndexPath { IndexPath(section: 0, row: number) }
    try expect([.reconfigure(row(1))]) { chmod(folder.path + "/b", 0o600) }
    try expect([.reconfigure(row(0))]) {
      let file = open(folder.path + "/a", O_WRONLY | O_CLOEXEC | O_APPEND)
      #expect(write(file, "23", 2) == 2)
      close(file)
    }
    try expect([.insert(row(2))]) { try folder.write("c", "") }
    try expect([.delete(row(0)), .insert(row(2))]) {
      rename(folder.path + "/a", folder.path + "/d")
    }
    try expect([.delete(row(1))]) { unlink(folder.path + "/c") }
    try expect([.reload(row(0)), .reload(row(1))]) {
      rename(folder.path + "/b", folder.path + "/d")
      try folder.write("b", "")
    }
    let count = notices.count
    usleep(1_200_000)
    #expect(notices.count == count)
    #expect(try source.pull().changes == [])
    try source.listen(nil)
    try folder.write("z", "")
    usleep(50_000)
    #expect(notices.count == count)
    // Without a listener, a pull lists everything again.
    #expect(try source.pull().changes == [.insert(row(2))])
  }

  /// The status of a subfolder changes with its content, which the table does not list.
  @Test func theTimeOfASubfolderIsFollowed() throws {
    let folder = try TemporaryFolder()
    #expect(mkdir(folder.path + "/sub", 0o755) == 0)
    let (source, notices) = try listen(folder)
    usleep(20_000)
    let count = notices.count
    try folder.write("sub/a", "")
    #expect(notices.exceed(count))
    #expect(try source.pull().changes == [.reconfigure(IndexPath(section: 0, row: 0))])
  }

  /// New folders get a watch before they are listed, so that nothing between is lost.
  @Test func newFoldersOfATreeAreWatched() throws {
    let folder = try TemporaryFolder()
    let (source, notices) = try listen(folder, nil, DirectorySettings(isRecursive: true))
    var path = folder.path
    for depth in 0..<5 {
      let count = notices.count
      path += "/d"
      #expect(mkdir(path, 0o755) == 0)
      #expect(notices.exceed(count))
      let changes = try #require(try source.pull().changes)
      #expect(changes.contains(.insert(IndexPath(section: 0, row: depth))))
    }
    #expect(rename(folder.path + "/d", folder.path + "/e") == 0)
    _ = try source.pull()
    #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(5))
    let count = notices.count
    try folder.write("e/d/d/d/d/f", "")
    #expect(notices.exceed(count))
    #expect(try source.pull().changes?.contains(.insert(IndexPath(section: 0, row: 5))) == true)
  }

  // Faults

  @Test func aRemovedFolderIsNotFoundUntilItIsBack() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/shown"
    #expect(mkdir(path, 0o755) == 0)
    try folder.write("shown/a", "")
    let (source, notices) = try listen(folder, path)
    source.patience = 0
    let count = notices.count
    #expect(rename(path, folder.path + "/other") == 0)
    #expect(notices.exceed(count))
    for _ in 0..<2 {
      let error = #expect(throws: TableError.self) { try source.pull() }
      #expect(error?.code == .notFound)
      #expect(error?.message == "the folder was removed, renamed or replaced")
    }
    // The old rows stay readable.
    #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(1))
    #expect(mkdir(path, 0o755) == 0)
    try folder.write("shown/b", "")
    #expect(
      try source.pull().changes == [
        .delete(IndexPath(section: 0, row: 0)), .insert(IndexPath(section: 0, row: 0)),
      ])
  }

  /// `show --follow` sometimes ended when another folder took the name: it looked while there was none.
  @Test func aFolderIsMissedForAMoment() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/shown"
    #expect(mkdir(path, 0o755) == 0)
    try folder.write("shown/a", "")
    let (source, _) = try listen(folder, path)
    #expect(rename(path, folder.path + "/other") == 0)
    #expect(try source.pull().changes == [])
    #expect(mkdir(path, 0o755) == 0)
    try folder.write("shown/b", "")
    #expect(
      try source.pull().changes == [
        .delete(IndexPath(section: 0, row: 0)), .insert(IndexPath(section: 0, row: 0)),
      ])
    // Each absence has its own time.
    #expect(rename(path, folder.path + "/third") == 0)
    #expect(try source.pull().changes == [])
    source.patience = 0
    #expect(throws: TableError.self) { try source.pull() }
  }

  @Test func aFolderReplacedByALinkShowsTheTarget() throws {
    let folder = try TemporaryFolder()
    for name in ["shown", "target"] {
      #expect(mkdir("\(folder.path)/\(name)", 0o755) == 0)
      try folder.write("\(name)/a", name)
    }
    let path = folder.path + "/shown"
    let (source, notices) = try listen(folder, path)
    let count = notices.count
    #expect(rename(path, folder.path + "/old") == 0)
    #expect(symlink("target", path) == 0)
    #expect(notices.exceed(count))
    #expect(try source.pull().changes == [.reload(IndexPath(section: 0, row: 0))])
    let fresh = try DirectorySource(path: Array(path.utf8), DirectorySettings())
    #expect(try NaiveTable(of: source) == NaiveTable(of: fresh))
    let before = notices.count
    try folder.write("target/b", "")
    #expect(notices.exceed(before))
    #expect(try source.pull().changes == [.insert(IndexPath(section: 0, row: 1))])
  }

  @Test(.needs(.mounts)) func anUnmountedFolderShowsWhatIsBelow() throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/mounted"
    #expect(mkdir(path, 0o755) == 0)
    let mount = try #require(Mount(path))
    try folder.write("mounted/a", "")
    let (source, notices) = try listen(folder, path)
    let count = notices.count
    mount.unmount()
    #expect(notices.exceed(count))
    #expect(try source.pull().changes == [.delete(IndexPath(section: 0, row: 0))])
    #expect(try source.numberOfRows(inSection: 0, knowing: .max) == .exact(0))
  }

  /// Runs `body` while a setting of inotify has another value. Needs root.
  private func with<R>(_ name: String, _ value: String, _ body: () throws -> R) throws -> R {
    let path = "/proc/sys/fs/inotify/\(name)"
    let old = try String(contentsOfFile: path, encoding: .utf8)
    func set(_ value: String) {
      let file = open(path, O_WRONLY | O_CLOEXEC)
      _ = write(file, value, value.utf8.count)
      close(file)
    }
    set(value)
    defer { set(old) }
    return try body()
  }

  private static let setsInotify = access("/proc/sys/fs/inotify/max_queued_events", W_OK) == 0

  /// An overflow of the queue loses events, but no change.
  @Test(.enabled(if: setsInotify)) func anOverflowLosesNoChange() throws {
    for trial in 0..<4 {
      let folder = try TemporaryFolder()
      var acts = Acts(root: folder.path, random: SeededGenerator(seed: UInt64(trial)))
      let settings = DirectorySettings(
        showsHidden: true, isRecursive: true, hasSections: trial % 2 == 1)
      let (source, _) = try with("max_queued_events", "2") {
        try listen(folder, nil, settings)
      }
      var table = try NaiveTable(of: source)
      for round in 0..<4 {
        for _ in 0..<200 { acts.act() }
        try follow(source, &table, omitsTotals: false, "trial \(trial), round \(round)")
        let fresh = try DirectorySource(path: Array(folder.path.utf8), settings)
        #expect(try table == NaiveTable(of: fresh))
      }
    }
  }

  /// At the limit of watches, the source compares the unwatched folders once a second, and says so once.
  @Test(.enabled(if: setsInotify)) func withoutWatchesTheFolderIsCompared() throws {
    let folder = try TemporaryFolder()
    try folder.write("a", "")
    let (source, notices) = try with("max_user_watches", "0") { try listen(folder) }
    let warning = source.nextDiagnostic()
    #expect(warning?.severity == .warning)
    #expect(warning?.message.contains("fs.inotify.max_user_watches") == true)
    #expect(source.nextDiagnostic() == nil)
    let count = notices.count
    try folder.write("b", "")
    #expect(notices.exceed(count))
    #expect(try source.pull().changes == [.insert(IndexPath(section: 0, row: 1))])
    #expect(source.nextDiagnostic() == nil)
  }
}

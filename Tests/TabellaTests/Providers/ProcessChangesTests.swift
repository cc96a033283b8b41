import Foundation
import Synchronization
import Tabella
import TabellaSystem
import Testing

@testable import TabellaProcesses
@testable import TabellaTestSupport

private typealias IndexPath = Tabella.IndexPath

/// Process lists that are followed.
@Suite struct ProcessChangesTests {
  /// A tenth of `TABELLA_CASES` is the number of trials (10 by default; CI 200).
  static let cases = (Int(ProcessInfo.processInfo.environment["TABELLA_CASES"] ?? "") ?? 100) / 10

  /// Starts, changes or ends a process at random.
  private func act(_ procfs: FakeProcfs, _ random: inout SeededGenerator) throws {
    let pid = Int.random(in: 2...15, using: &random)
    if Int.random(in: 0..<3, using: &random) == 0 {
      try? FileManager.default.removeItem(atPath: "\(procfs.root)/\(pid)")
      return
    }
    try procfs.add(
      pid, ["a", "b"].randomElement(using: &random)!,
      state: ["R", "S"].randomElement(using: &random)!,
      parent: Int.random(in: 1...2, using: &random),
      nice: Int.random(in: 0...1, using: &random), start: Int.random(in: 100...101, using: &random),
      pages: Int.random(in: 1...2, using: &random),
      arguments: Array(["", "x\u{0}", "y\u{0}"].randomElement(using: &random)!.utf8))
  }

  @Test func randomChangesLeadToTheTableOfAFreshReading() throws {
    for trial in 0..<Self.cases {
      var random = SeededGenerator(seed: UInt64(trial))
      let procfs = try FakeProcfs()
      try procfs.add(1)
      for _ in 0..<20 { try act(procfs, &random) }
      let source = try procfs.open()
      var table = try NaiveTable(of: source)
      for round in 0..<6 {
        for _ in 0..<Int.random(in: 0...5, using: &random) { try act(procfs, &random) }
        let version = try source.version()
        let batch = try source.pull()
        let new = try NaiveTable(of: source)
        #expect(try new == NaiveTable(of: procfs.open()), "trial \(trial), round \(round)")
        #expect(batch.from == version)
        #expect(try batch.to == source.version())
        let changes = try #require(batch.changes)
        #expect(table.applying(changes, content: new) == new, "trial \(trial): \(changes)")
        // Only rows with other cells are named.
        for case .reconfigure(let path) in changes {
          let old = table.sections[0].rows[path.row]
          let now = try #require(new.sections[0].rows.first { $0.id == old.id })
          #expect(old.cells != now.cells, "trial \(trial)")
        }
        table = new
      }
      let rest = try source.pull()
      #expect(rest.changes == [] && rest.from == rest.to)
    }
  }

  @Test func onlyRequestedColumnsCount() throws {
    let procfs = try FakeProcfs()
    try procfs.add(1)
    let source = try procfs.open()
    func names() throws -> [Cell] { try source.cells("command") }
    #expect(try names() == ["name"])
    try procfs.add(1, nice: 5, pages: 7)
    #expect(try source.pull().changes == [])
    #expect(try source.cells("memory").count == 1)
    try procfs.add(1, nice: 6, pages: 8)
    #expect(try source.pull().changes == [.reconfigure(IndexPath(section: 0, row: 0))])
    try procfs.add(1, "other", nice: 7, pages: 8)
    #expect(try source.pull().changes == [.reconfigure(IndexPath(section: 0, row: 0))])
    #expect(try names() == ["other"])
  }

  /// A row that nobody has read has no cells to change, but it has an id.
  @Test func unreadRowsAreFollowedByTheirIds() throws {
    let procfs = try FakeProcfs()
    for pid in 1...4 { try procfs.add(pid) }
    let source = try procfs.open()
    try procfs.add(2, "other")
    try FileManager.default.removeItem(atPath: "\(procfs.root)/3")
    try procfs.add(9)
    #expect(
      try source.pull().changes == [
        .delete(IndexPath(section: 0, row: 2)), .insert(IndexPath(section: 0, row: 3)),
      ])
    #expect(try source.cells("pid") == [1, 2, 4, 9])
  }

  @Test func startedAndEndedChildrenAppearAndVanish() throws {
    let source = try ProcessesSource()
    _ = try source.cells("command")
    var children: [pid_t] = []
    for _ in 0..<5 { children.append(try spawn("/bin/sleep", "100")) }
    let inserted = try #require(try source.pull().changes)
    var pids = try source.cells("pid")
    for child in children {
      let row = try #require(pids.firstIndex(of: .integer(Int64(child))))
      #expect(inserted.contains(.insert(IndexPath(section: 0, row: row))))
    }
    let rows = children.map { child in pids.firstIndex(of: .integer(Int64(child))) }
    for child in children {
      kill(child, SIGKILL)
      reap(child)
    }
    let deleted = try #require(try source.pull().changes)
    for case .some(let row) in rows {
      #expect(deleted.contains(.delete(IndexPath(section: 0, row: row))))
    }
    pids = try source.cells("pid")
    #expect(children.allSatisfy { !pids.contains(.integer(Int64($0))) })
  }

  @Test func theListenerIsCalledOnceASecondAfterEachPull() throws {
    final class Calls: Sendable {
      let times = Mutex<[Double]>([])
    }
    let source = try ProcessesSource()
    let calls = Calls()
    try source.listen { calls.times.withLock { $0.append(now()) } }
    let start = now()
    usleep(1_400_000)
    // No second notice comes before the pull.
    var times = calls.times.withLock { $0 }
    #expect(times.count == 1 && times[0] - start >= 0.9)
    _ = try source.pull()
    while calls.times.withLock({ $0.count }) < 2, now() - start < 10 { usleep(1000) }
    times = calls.times.withLock { $0 }
    #expect(times.count == 2 && times[1] - times[0] >= 0.9)
    try source.listen(nil)
  }
}

import Foundation
import Synchronization
import Tabella
import TabellaRemote
import Testing

@testable import TabellaHost
@testable import TabellaTestSupport

/// Providers in workers: reports of their ends, and the outcome of edits.
@Suite struct WorkerTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder(inMemory: true) }

  /// A host whose providers all run in workers.
  func isolated(_ searchPath: SearchPath = .standard) -> TabellaHost.Host {
    let host = TabellaHost.Host(searchPath: searchPath)
    host.isolation = .always
    return host
  }

  func csv(_ text: String = "name,count\nAda,1\nBob,2\nCy,3\n") throws -> String {
    try folder.write("a.csv", text)
  }

  func error(_ body: () throws -> Void) -> TableError? {
    do { try body() } catch { return error as? TableError }
    return nil
  }

  // Ends

  @Test func anEndIsToldOfEveryCall() throws {
    let worker = Atomic<pid_t>(0)
    let host = isolated()
    host.onPacket = { worker.store($0, ordering: .relaxed) }
    let table = try host.open(Location(try csv()))
    kill(worker.load(ordering: .relaxed), SIGSEGV)
    let first = error { _ = try table.source.exactNumberOfRows(inSection: 0) }
    #expect(first?.code == .misbehaved && first?.provider == "csv")
    #expect(first?.message == "provider csv ended by SIGSEGV in row_count")
    #expect(error { _ = try table.source.version() }?.message == first?.message)
    #expect(table.source.diagnostics?.nextDiagnostic() == nil)
    #expect(table.worker?.ending == first)
    // The host continues to work.
    #expect(try host.open(Location(try csv())).source.exactNumberOfRows(inSection: 0) == 3)
  }

  @Test func aWorkerEndsWithItsSource() throws {
    let worker = Atomic<pid_t>(0)
    let host = isolated()
    host.onPacket = { worker.store($0, ordering: .relaxed) }
    do {
      let table = try host.open(Location(try csv()))
      #expect(try table.source.exactNumberOfRows(inSection: 0) == 3)
      #expect(kill(worker.load(ordering: .relaxed), 0) == 0)
    }
    #expect(kill(worker.load(ordering: .relaxed), 0) != 0)
  }

  /// The host owns the memory of batches.
  @Test func batchesOutliveTheWorker() throws {
    let batch = try isolated().open(Location(try csv())).source.rows(
      RowRequest(first: 0, count: 3, columns: [0, 1]))
    #expect(batch.row(2) == ["Cy", "3"])
  }

  /// The host reads only requested rows, until it is clear that all are wanted. Then it reads ahead, and other calls in
  /// between do not change the rows.
  @Test func rowsAreReadAhead() throws {
    let lines = (0..<5000).map { "row \($0),\($0)" }.joined(separator: "\n")
    let file = try csv("name,count\n\(lines)\n")
    let table = try isolated().open(Location(file)).source
    let direct = try TabellaHost.Host().open(Location(file)).source
    var first = 0
    var random = SystemRandomNumberGenerator()
    while first < 5000 {
      let request = RowRequest(first: first, count: 64, columns: [1, 0])
      let batch = try table.rows(request)
      let expected = try direct.rows(request)
      #expect(batch.rowCount == expected.rowCount)
      for row in 0..<batch.rowCount { #expect(batch.row(row) == expected.row(row)) }
      first += batch.rowCount
      switch Int.random(in: 0..<8, using: &random) {
      case 0: _ = try table.version()
      case 1: _ = try table.rows(RowRequest(first: 7, count: 2, columns: [0]))
      case 2: _ = error { _ = try table.rows(RowRequest(first: 9_000, count: 2, columns: [0])) }
      default: break
      }
    }
  }

  // Edits

  /// The batch to commit, and the resulting file.
  static let edits = EditBatch([
    .set(.path(IndexPath(section: 0, row: 0)), cells: [1: "10"]),
    .delete(.path(IndexPath(section: 0, row: 1))),
    .insert(at: IndexPath(section: 0, row: 2), cells: [0: "Di", 1: "4"]),
  ])

  /// The worker is killed at each message of a session with an edit and its undo. The reported outcome of the edit is
  /// always right, and nothing hangs.
  @Test func killedAtEachMessage() throws {
    let before = "name,count\nAda,1\nBob,2\nCy,3\n"
    let after = "name,count\nAda,10\nCy,3\nDi,4\n"
    var point = 0
    var seen: [String: Int] = [:]
    while true {
      let file = try csv(before)
      let counter = Counter(killsAt: point)
      let host = isolated()
      host.onPacket = { counter.pass($0) }
      let said = session(host, file)
      let text = try String(contentsOfFile: file, encoding: .utf8)
      seen[said.description, default: 0] += 1
      switch said {
      case .nothing: #expect(text == before, "point \(point)")
      case .edited: #expect(text == after, "point \(point)")
      case .unknown: #expect(text == before || text == after, "point \(point)")
      case .takenBack: #expect(text == before, "point \(point)")
      }
      // No half-written file remains.
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path)
      #expect(names.filter { !$0.hasPrefix(".") } == ["a.csv"], "point \(point)")
      for name in names where name != "a.csv" {
        try FileManager.default.removeItem(atPath: "\(folder.path)/\(name)")
      }
      if !counter.wasReached { break }
      point += 1
    }
    #expect(point > 30)
    // The kills had an effect, and the outcome of most edits is known.
    #expect(seen["nothing", default: 0] > 5 && seen["edited", default: 0] > 1, "\(seen)")
    #expect(seen["unknown", default: 0] <= 2, "\(seen)")
  }

  /// The reported outcome of a session with an edit and its undo.
  enum Said: CustomStringConvertible {
    case nothing
    case edited
    case takenBack
    case unknown

    var description: String {
      switch self {
      case .nothing: "nothing"
      case .edited: "edited"
      case .takenBack: "taken back"
      case .unknown: "unknown"
      }
    }
  }

  func session(_ host: TabellaHost.Host, _ file: String) -> Said {
    guard let table = try? host.open(Location(file)), let version = try? table.source.version()
    else { return .nothing }
    var batch = Self.edits
    batch.version = version
    let receipt: [UInt8]
    do {
      guard let result = try table.source.editing?.commit(batch), let given = result.receipt else {
        return .unknown
      }
      receipt = given
    } catch {
      switch error.aftermath {
      case .nothingDone: return .nothing
      case .done: return .edited
      case .unknown: return .unknown
      case nil: return error.code == .misbehaved ? .nothing : .unknown
      }
    }
    do {
      _ = try table.source.undoing?.undo(receipt, isDryRun: false)
      return .takenBack
    } catch {
      return switch error.aftermath {
      case .nothingDone, nil: .edited
      case .done: .takenBack
      case .unknown: .unknown
      }
    }
  }

  /// Kills a worker after a number of messages.
  final class Counter: Sendable {
    private let passed = Atomic(0)
    private let killsAt: Int

    init(killsAt: Int) { self.killsAt = killsAt }

    var wasReached: Bool { passed.load(ordering: .relaxed) > killsAt }

    func pass(_ worker: pid_t) {
      if passed.wrappingAdd(1, ordering: .relaxed).oldValue == killsAt { kill(worker, SIGKILL) }
    }
  }

  // Limits

  /// The limit on addresses was not passed on, and there was no limit on the size of files.
  @Test(arguments: [TabellaHost.Host.Access.reading, .editing])
  func theLimitsReachTheWorker(_ access: TabellaHost.Host.Access) throws {
    let host = isolated()
    host.limits.memory = 1 << 30
    host.limits.addresses = 3 << 30
    host.limits.files = 99
    host.limits.total = 50
    let table = try host.open(Location(try csv()), access: access)
    let seconds = 100 * sysconf(Int32(_SC_NPROCESSORS_ONLN))
    let limits =
      "at most 1073741824 bytes of memory, 3221225472 bytes of addresses, 99 open files, \(seconds) seconds of processor time"
    let expected = access == .reading ? limits + ", 0 bytes in a file" : limits
    let inForce = try #require(table.worker?.confinement?.inForce)
    #expect(inForce.contains(expected), "\(inForce)")
  }
}

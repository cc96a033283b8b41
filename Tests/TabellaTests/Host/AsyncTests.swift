import Glibc
import Synchronization
import TabellaAsync
import TabellaBridge
import TabellaProviders
import TabellaSDK
import Testing

@testable import TabellaTestSupport

/// Tables that several tasks use: every call runs alone, cancelled calls end, and the sequence of changes is complete.
@Suite struct AsyncTests {
  private static func host() throws -> HostActor {
    let manifest = Array(
      """
      {"id": "\(Signals.id)", "version": "1", "contract": "\(contractVersionName)",
       "library": "none.so", "summary": "a test", "schemes": ["\(Signals.id)"]}
      """.utf8)
    return try HostActor(
      TabellaHost.Host(
        searchPath: SearchPath([]),
        linked: .shipped + [LinkedProvider(Signals.self, manifest: manifest)]))
  }

  private struct Line: Decodable, Hashable {
    var n: Int
    var kind: String
  }

  private static func csv(_ lines: [Line]) -> String {
    lines.reduce("n,kind\n") { "\($0)\($1.n),\($1.kind)\n" }
  }

  @Test func manyTasksReadOneHost() async throws {
    let folder = try TemporaryFolder()
    let lines = (0..<500).map { Line(n: $0, kind: "k\($0 % 7)") }
    try folder.write("a.csv", Self.csv(lines))
    let host = try Self.host()
    let location = Location("\(folder.path)/a.csv")
    let shared = try await host.open(location)
    let threads = try await withThrowingTaskGroup(of: String.self) { group in
      for task in 0..<12 {
        group.addTask {
          let table = task % 2 == 0 ? shared : try await host.open(location)
          let view = try await table.shaped(filter: "kind = k\(task % 7)", sort: "n:desc")
          let expected = lines.filter { $0.kind == "k\(task % 7)" }.reversed()
          #expect(try await view.decode(Line.self) == Array(expected))
          let error = await #expect(throws: TableError.self) {
            try await table.run { _ = try $0.rows(columns: ["none"]) }
          }
          #expect(error?.code == .invalidArgument)
          return try await table.run { _ in currentThread() }
        }
      }
      return try await group.reduce(into: Set()) { $0.insert($1) }
    }
    #expect(threads.count == 1 && threads.first != currentThread())
  }

  /// The sequence leads from the table at its start to the newest one, through edits of other programs and of its own.
  @Test(arguments: 0..<4 as Range<UInt64>)
  func theSequenceReplays(_ seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let folder = try TemporaryFolder(inMemory: true)
    var lines = (0..<10).map { Line(n: $0, kind: "a") }
    try folder.write("a.csv", Self.csv(lines))
    let host = try Self.host()
    let store = ReceiptStore(folder: "\(folder.path)/state")
    let opened = try await host.open(Location("\(folder.path)/a.csv"))
    let table = seed % 2 == 0 ? opened : try await opened.shaped(filter: "n >= 0", sort: "n:desc")
    var shown = try await table.run { try NaiveTable(of: $0.source).withoutIDs }
    let changes = try await table.changes()
    var iterator = changes.makeAsyncIterator()
    for step in 0..<8 {
      let isOwn = step % 3 == 2
      let number = 100 + step
      if isOwn {
        try await table.edit(in: store) { edits in
          try edits.set(where: "kind = a", to: ["kind": .integer(Int64(number))])
          try edits.insert(["n": .integer(Int64(number)), "kind": "a"])
        }
        lines = lines.map { Line(n: $0.n, kind: $0.kind == "a" ? "\(number)" : $0.kind) }
        lines.append(Line(n: number, kind: "a"))
      } else {
        if Bool.random(using: &generator), lines.count > 2 {
          lines.remove(at: Int.random(in: 0..<lines.count, using: &generator))
        }
        lines.insert(
          Line(n: number, kind: "b"), at: Int.random(in: 0...lines.count, using: &generator))
        try folder.write("next.csv", Self.csv(lines))
        #expect(rename("\(folder.path)/next.csv", "\(folder.path)/a.csv") == 0)
      }
      let expected = Set(lines)
      var current = Set<Line>()
      while current != expected {
        let change = try #require(try await iterator.next())
        #expect(!change.list.isEmpty)
        let newer = try await table.run { try NaiveTable(of: $0.source).withoutIDs }
        let replayed = shown.applying(change.list, content: newer)
        #expect(replayed == newer, "\(shown) \(change.list) \(newer)")
        shown = newer
        current = Set(try await table.decode(Line.self))
      }
    }
    #expect(shown.sections[0].rows.count == lines.count)
  }

  /// A cancelled task ends the running call of the source, and all later calls of the same closure.
  @Test func cancelledTasksEndTheirCalls() async throws {
    let host = try Self.host()
    let signals = Signals.Shared()
    let table = try await host.open(signals.location)
    let call = Task {
      try await table.run { table in
        let first = #expect(throws: TableError.self) { try table.rows().last() }
        #expect(first?.code == .cancelled)
        return try table.rows().last() != nil
      }
    }
    await signals.calls.wait(for: 1)
    call.cancel()
    let error = await #expect(throws: TableError.self) { try await call.value }
    #expect(error?.code == .cancelled && signals.calls.count == 2)
    // The next call is not cancelled, but a task that is cancelled before its call makes none.
    signals.isFree.store(true, ordering: .relaxed)
    #expect(try await table.run { try $0.rows().last() } == IndexPath(section: 0, row: 0))
    let late = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await table.run { _ in 1 }
    }
    late.cancel()
    let lateError = await #expect(throws: TableError.self) { try await late.value }
    #expect(lateError?.code == .cancelled)
  }

  /// The source has a listener as long as somebody iterates, and only one iteration at a time.
  @Test func endedSequencesRemoveTheirListener() async throws {
    let host = try Self.host()
    let signals = Signals.Shared()
    signals.isFree.store(true, ordering: .relaxed)
    let table = try await host.open(signals.location)
    // By `break`.
    let first = try await table.changes()
    #expect(signals.hasListener)
    let busy = await #expect(throws: TableError.self) { _ = try await table.changes() }
    #expect(busy?.code == .invalidState)
    signals.move()
    for try await change in first {
      #expect(change.list == [.reconfigure(IndexPath(section: 0, row: 0))])
      break
    }
    // The removal runs before the next call.
    _ = try await table.run { _ in 0 }
    #expect(!signals.hasListener)
    var ended = first.makeAsyncIterator()
    #expect(try await ended.next() == nil)
    // By cancellation.
    let second = try await table.changes()
    #expect(signals.hasListener)
    let task = Task {
      var count = 0
      for try await _ in second { count += 1 }
      return count
    }
    signals.move()
    await signals.pulls.wait(for: 2)
    task.cancel()
    #expect(try await task.value <= 1)
    #expect(!signals.hasListener)
    // By an error.
    let third = try await table.changes()
    signals.fails.store(true, ordering: .relaxed)
    signals.move()
    let error = await #expect(throws: TableError.self) { for try await _ in third {} }
    #expect(error?.code == .io && !signals.hasListener)
    signals.fails.store(false, ordering: .relaxed)
    // Without an iteration.
    do { _ = try await table.changes() }
    _ = try await table.run { _ in 0 }
    #expect(!signals.hasListener)
  }

  /// A call of one actor does not wait for a call of another one.
  @Test func twoActorsWorkAtTheSameTime() async throws {
    let (busy, idle) = (try Self.host(), try Self.host())
    let (waiting, free) = (Signals.Shared(), Signals.Shared())
    free.isFree.store(true, ordering: .relaxed)
    let table = try await busy.open(waiting.location)
    let call = Task { try await table.run { try $0.rows().last() } }
    await waiting.calls.wait(for: 1)
    #expect(try await idle.open(free.location).run { try $0.rows().last() } != nil)
    #expect(waiting.calls.count == 1)
    waiting.isFree.store(true, ordering: .relaxed)
    #expect(try await call.value != nil)
  }

  /// The source of a table ends on the thread of the actor.
  @Test func sourcesEndOnTheirThread() async throws {
    let host = try Self.host()
    let signals = Signals.Shared()
    signals.isFree.store(true, ordering: .relaxed)
    do {
      let table = try await host.open(signals.location)
      _ = try await table.shaped(filter: "n > 0").run { try $0.rows().last() }
    }
    let thread = try await host.run { _ in currentThread() }
    #expect(signals.endThread.withLock { $0 } == thread)
  }

  @Test func receiptsAreKeptAndUndone() async throws {
    let folder = try TemporaryFolder()
    let lines = [Line(n: 1, kind: "a"), Line(n: 2, kind: "b")]
    try folder.write("a.csv", Self.csv(lines))
    let host = try Self.host()
    let store = ReceiptStore(folder: "\(folder.path)/state")
    let table = try await host.open(Location("\(folder.path)/a.csv"))
    let dry = try await table.edit(in: store, isDryRun: true) { edits in
      try edits.delete(where: "n = 1")
    }
    #expect(dry.receipt == nil && dry.result.outcomes.count == 1)
    let edit = try await table.edit(in: store) { edits in
      try edits.delete(where: "n = 1")
    }
    #expect(try await table.decode(Line.self) == [lines[1]])
    let receipt = try #require(edit.receipt)
    let undone = try await host.run { try store.undo(receipt, host: $0).receipt }
    #expect(undone?.undoes == receipt.id)
    let again = try await host.open(table.location)
    #expect(try await again.decode(Line.self) == lines)
  }
}

private typealias IndexPath = Tabella.IndexPath

extension RowCursor {
  /// Reads to the end.
  fileprivate func last() throws(TableError) -> IndexPath? {
    var (copy, last) = (self, IndexPath?.none)
    while let row = try copy.next() { last = row.path }
    return last
  }
}

/// The name of the current thread. `pthread_self` is no use, because the compiler keeps its value across an `await`.
private func currentThread() -> String {
  var name = [UInt8](repeating: 0, count: 64)
  let count = name.withUnsafeMutableBytes {
    readlink("/proc/thread-self", $0.baseAddress!.assumingMemoryBound(to: CChar.self), 64)
  }
  return String(decoding: name.prefix(max(0, count)), as: UTF8.self)
}

/// A provider whose sources wait until they are cancelled, and move on when the test says so.
private struct Signals: Provider {
  static let id = "signals"
  static let version = "1"

  /// A number of events that a test waits for.
  final class Counter: Sendable {
    private let value = Atomic(0)
    var count: Int { value.load(ordering: .acquiring) }
    func add() { value.add(1, ordering: .acquiringAndReleasing) }

    func wait(for count: Int) async {
      while self.count < count { try? await Task.sleep(for: .milliseconds(1)) }
    }
  }

  /// The test's end of a source.
  final class Shared: Sendable {
    let calls = Counter()
    let pulls = Counter()
    let isFree = Atomic(false)
    let fails = Atomic(false)
    let revision = Atomic(0)
    let endThread = Mutex("")
    let listener = Mutex<(@Sendable () -> Void)?>(nil)
    var hasListener: Bool { listener.withLock { $0 != nil } }

    /// The location that opens the source of this end.
    var location: Location {
      let number = Signals.all.withLock { all in
        all.append(self)
        return all.count - 1
      }
      return Location("\(Signals.id):\(number)")
    }

    func move() {
      revision.add(1, ordering: .acquiringAndReleasing)
      listener.withLock { $0 }?()
    }
  }

  private static let all = Mutex<[Shared]>([])

  func open(_ request: OpenRequest) throws(TableError) -> any TableDataSource {
    let number = Int(String(decoding: request.location, as: UTF8.self)) ?? 0
    return Source(Self.all.withLock { $0[number] })
  }

  final class Source: TableDataSource, TableChanges {
    let shared: Shared
    let flag = CancelFlag()
    let columns = [Column("n", .integer)]
    private var revision: Int

    init(_ shared: Shared) {
      self.shared = shared
      revision = shared.revision.load(ordering: .acquiring)
    }

    deinit { shared.endThread.withLock { $0 = currentThread() } }

    var changes: (any TableChanges)? { self }
    var cancellation: (@Sendable () -> Void)? { flag.cancellation }
    func version() -> Version? { Version("\(revision)") }

    func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
      .exact(1)
    }

    func rows(_ request: RowRequest) throws(TableError) -> Batch {
      try check(request)
      flag.begin()
      shared.calls.add()
      // A call that nobody cancels ends after half a minute, so that the test fails instead of waiting.
      var turns = 0
      while !shared.isFree.load(ordering: .relaxed), turns < 30_000 {
        try flag.check()
        usleep(1000)
        turns += 1
      }
      let builder = BatchBuilder(request.columns.map { _ in .integer })
      let count = max(0, min(1, 1 - request.first))
      if count > 0 { for column in builder.columns { column.append(.integer(Int64(revision))) } }
      return builder.finish(rowCount: count)
    }

    func listen(_ notify: (@Sendable () -> Void)?) { shared.listener.withLock { $0 = notify } }

    func pull() throws(TableError) -> ChangeBatch {
      defer { shared.pulls.add() }
      if shared.fails.load(ordering: .relaxed) { throw TableError(.io, "the test fails") }
      let (from, now) = (version(), shared.revision.load(ordering: .acquiring))
      let isNew = now != revision
      revision = now
      return ChangeBatch(
        from: from, to: version(),
        changes: isNew ? [.reconfigure(IndexPath(section: 0, row: 0))] : [])
    }
  }
}

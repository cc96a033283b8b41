import Synchronization
import Tabella
import TabellaBridge
import Testing

@testable import TabellaTestSupport

/// Abilities that the in-memory table lacks: changes, notices, cancelling, volatile order.
@Suite struct NoticesTests {
  final class Live: TableDataSource, TableChanges, TableDisplay, TablePrefetching {
    let columns = [Column("a")]
    var log: [String] = []
    var listener: (@Sendable () -> Void)?
    let cancelled = Mutex(0)
    let revision = 1

    var hasVolatileOrder: Bool { true }
    var changes: (any TableChanges)? { self }
    var display: (any TableDisplay)? { self }
    var prefetching: (any TablePrefetching)? { self }
    var cancellation: (@Sendable () -> Void)? {
      let counter = Counter.shared
      return { counter.count.withLock { $0 += 1 } }
    }

    func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
    func rows(_ request: RowRequest) -> Batch { .empty([.text]) }
    func listen(_ notify: (@Sendable () -> Void)?) { listener = notify }

    func pull() -> ChangeBatch {
      ChangeBatch(
        from: Version("1"), to: Version("2"),
        changes: [
          .insert(IndexPath(section: 0, row: 3)), .delete(.section(1)),
          .move(from: IndexPath(section: 0, row: 1), to: IndexPath(section: 2, row: 0)),
          .reload(IndexPath(section: 0, row: 0)), .reconfigure(IndexPath(section: 0, row: 2)),
        ])
    }

    func willDisplay(rows: Range<Int>, inSection section: Int) {
      log.append("will \(section) \(rows)")
    }
    func didEndDisplaying(rows: Range<Int>, inSection section: Int) {
      log.append("did \(section) \(rows)")
    }
    func prefetch(rows: Range<Int>, inSection section: Int) {
      log.append("fetch \(section) \(rows)")
    }
    func cancelPrefetching(rows: Range<Int>, inSection section: Int) {
      log.append("cancel \(section) \(rows)")
    }
  }

  final class Counter: Sendable {
    static let shared = Counter()
    let count = Mutex(0)
  }

  @Test func theyCross() throws {
    let live = Live()
    let imported = try importSource(exportSource(live), provider: "test")
    #expect(imported.hasVolatileOrder)
    #expect(try imported.changes?.pull() == live.pull())
    imported.display?.willDisplay(rows: 2..<5, inSection: 1)
    imported.display?.didEndDisplaying(rows: 2..<5, inSection: 1)
    imported.prefetching?.prefetch(rows: 0..<9, inSection: 0)
    imported.prefetching?.cancelPrefetching(rows: 0..<9, inSection: 0)
    #expect(live.log == ["will 1 2..<5", "did 1 2..<5", "fetch 0 0..<9", "cancel 0 0..<9"])
    let notified = Counter()
    try imported.changes?.listen { notified.count.withLock { $0 += 1 } }
    live.listener?()
    live.listener?()
    #expect(notified.count.withLock { $0 } == 2)
    try imported.changes?.listen(nil)
    #expect(live.listener == nil)
    let before = Counter.shared.count.withLock { $0 }
    imported.cancellation?()
    #expect(Counter.shared.count.withLock { $0 } == before + 1)
    // After the end of the source, it does nothing.
    var other: (any TableDataSource)? = try importSource(exportSource(Live()), provider: "test")
    let cancel = other?.cancellation
    other = nil
    cancel?()
    #expect(Counter.shared.count.withLock { $0 } == before + 1)
  }

  @Test func aChangeOfEverythingIsAReload() throws {
    final class Reloading: TableDataSource, TableChanges {
      var columns = [Column("a")]
      var changes: (any TableChanges)? { self }
      func numberOfRows(inSection section: Int, knowing minimum: Int) -> Count { .exact(0) }
      func rows(_ request: RowRequest) -> Batch { .empty([]) }
      func listen(_ notify: (@Sendable () -> Void)?) {}
      func pull() -> ChangeBatch {
        columns.append(Column("b", .integer))
        return ChangeBatch(from: Version("1"), to: Version("2"), changes: nil)
      }
    }
    let imported = try importSource(exportSource(Reloading()), provider: "test")
    #expect(imported.columns.count == 1)
    #expect(try imported.changes?.pull().changes == nil)
    #expect(imported.columns == [Column("a"), Column("b", .integer)])
  }

  /// Errors keep their code, message, section, row and column across the contract.
  @Test func errorsCross() throws {
    final class Failing: TableDataSource {
      let columns = [Column("a")]
      func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count {
        var error = TableError(.io, "the disk is gone", section: 1, row: 2, column: 3)
        error.isRetryable = true
        throw error
      }
      func rows(_ request: RowRequest) throws(TableError) -> Batch {
        throw TableError(.misbehaved, "from inside")
      }
    }
    let imported = try importSource(exportSource(Failing()), provider: "test")
    do throws(TableError) {
      _ = try imported.numberOfRows(inSection: 0, knowing: 0)
      Issue.record("no error")
    } catch {
      #expect(error.code == .io && error.message == "the disk is gone" && error.isRetryable)
      #expect(error.section == 1 && error.row == 2 && error.column == 3)
      #expect(error.provider == "test")
    }
  }
}

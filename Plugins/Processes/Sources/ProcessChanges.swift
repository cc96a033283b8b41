import Synchronization
import Tabella
import TabellaSystem

/// The ability to follow the processes: a pull makes a new snapshot and compares.
///
/// The kernel reports neither new processes nor changed cells, so the listener is called once a second.
extension ProcessesSource: TableChanges {
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    ticker?.stop()
    ticker = nil
    if let notify { ticker = try ProcessTicker(notify) }
  }

  func pull() throws(TableError) -> ChangeBatch {
    defer { ticker?.rearm() }
    let fresh = try Snapshot(procfs, after: snapshot)
    let changes = changes(from: snapshot, to: fresh)
    let (from, to) = (try version(), try version(of: fresh))
    snapshot = fresh
    return ChangeBatch(from: from, to: to, changes: changes)
  }

  /// The changes from one snapshot to the next. Both are sorted by pid, so no row moves.
  private func changes(from old: Snapshot, to new: Snapshot) -> [ChangeBatch.Change] {
    var changes: [ChangeBatch.Change] = []
    func path(_ row: Int) -> IndexPath { IndexPath(section: 0, row: row) }
    var (before, after) = (0, 0)
    while before < old.pids.count || after < new.pids.count {
      let oldPID = before < old.pids.count ? old.pids[before] : .max
      let newPID = after < new.pids.count ? new.pids[after] : .max
      if oldPID < newPID {
        changes.append(.delete(path(before)))
        before += 1
      } else if newPID < oldPID {
        changes.append(.insert(path(after)))
        after += 1
      } else {
        switch new.succession(of: after, to: old, before, shown) {
        case .same: break
        case .changed: changes.append(.reconfigure(path(before)))
        case .other: changes.append(.reload(path(before)))
        }
        before += 1
        after += 1
      }
    }
    return changes
  }
}

/// A thread that notifies once a second, and then waits for the next pull.
final class ProcessTicker: Sendable {
  private static let interval = 1.0
  /// The shortest time from a pull to a notice, in seconds.
  private static let pause = 0.1

  private struct State {
    /// The time of the next notice; nil after a notice until the next pull.
    var due: Double?
    var last: Double
  }

  private final class Clock: Sendable {
    let state: Mutex<State>

    init() {
      let time = now()
      state = Mutex(State(due: time + ProcessTicker.interval, last: time))
    }

    /// Whether the notice is due, and the time until then in milliseconds.
    func look() -> (isDue: Bool, wait: Int32?) {
      state.withLock { state in
        guard let due = state.due else { return (false, nil) }
        let time = now()
        if time < due { return (false, Int32(clamping: Int(((due - time) * 1000).rounded(.up)))) }
        state = State(due: nil, last: time)
        return (true, nil)
      }
    }
  }

  private let clock: Clock
  private let thread: WatchThread

  /// Starts the thread. Throws ``TableError`` with `.io`.
  init(_ notify: @escaping @Sendable () -> Void) throws(TableError) {
    let clock = Clock()
    self.clock = clock
    thread = try WatchThread(polling: nil) {
      let (isDue, wait) = clock.look()
      if isDue { notify() }
      return wait
    }
  }

  /// Allows the next notice, a second after the last one.
  func rearm() {
    // The pause keeps slow pulls from following each other.
    clock.state.withLock {
      $0.due = max($0.last + ProcessTicker.interval, now() + ProcessTicker.pause)
    }
    thread.wake()
  }

  /// Ends the thread. No notice comes after the call.
  func stop() { thread.stop() }
}

import CTabellaSystem
import Glibc
import Synchronization
import Tabella
import TabellaFiles
import TabellaSystem

/// A thread that notices when another file takes a name, and says so once.
///
/// It looks when the folder of the name reports an event, and once a second: some file systems report none, and a
/// symbolic link can lead elsewhere.
final class NameWatch: Sendable {
  private let watcher: Watcher
  private let thread: WatchThread

  /// Starts the thread. It looks for the first time after ``rearm(_:)``. Throws ``TableError`` with `.io`.
  init(_ path: LastingPath, _ notify: @escaping @Sendable () -> Void) throws(TableError) {
    let watcher = Watcher(path, notify)
    self.watcher = watcher
    thread = try WatchThread(polling: watcher.descriptor) { watcher.look() }
  }

  /// Allows the next notice, when the name leads to another file than this one. After a failure, the notice comes a
  /// second later.
  func rearm(_ file: stat, hasFailed: Bool = false) {
    watcher.rearm(file, hasFailed)
    thread.wake()
  }

  /// Ends the thread. No notice comes after the call.
  func stop() { thread.stop() }
}

private final class Watcher: Sendable {
  /// The time between two looks, and before a look after a failure, in seconds.
  private static let interval = 1.0

  private struct State {
    /// The file that is shown; nil after a notice.
    var file: stat?
    /// The earliest time of a notice.
    var earliest = 0.0
  }

  private let state = Mutex(State())
  private let path: LastingPath
  private let notify: @Sendable () -> Void
  private let inotify: Inotify?

  init(_ path: LastingPath, _ notify: @escaping @Sendable () -> Void) {
    (self.path, self.notify) = (path, notify)
    inotify = try? Inotify()
    let path = path.current
    let slash = path.lastIndex(of: UInt8(ascii: "/"))
    let folder = slash.map { Array(path[...$0]) } ?? [UInt8(ascii: ".")]
    switch inotify {
    case .some(let inotify):
      _ = inotify.add(folder, UInt32(IN_CREATE | IN_MOVED_TO) | UInt32(IN_ONLYDIR))
    case .none: break
    }
  }

  var descriptor: Int32? {
    switch inotify {
    case .some(let inotify): inotify.descriptor
    case .none: nil
    }
  }

  func rearm(_ file: stat, _ hasFailed: Bool) {
    let earliest = hasFailed ? now() + Watcher.interval : 0
    state.withLock { $0 = State(file: file, earliest: earliest) }
  }

  /// Looks at the name, and notifies. Returns the time until the next look in milliseconds; nil if the next pull comes
  /// first.
  func look() -> Int32? {
    switch inotify {
    case .some(let inotify): inotify.skipEvents()
    case .none: break
    }
    let time = now()
    let wait = state.withLock { state -> Double? in
      guard let shown = state.file else { return nil }
      if time < state.earliest { return state.earliest - time }
      guard let named = stat(at: path.current), !named.isSameFile(as: shown) else {
        return Watcher.interval
      }
      state.file = nil
      return 0
    }
    if wait == 0 { notify() }
    guard let wait, wait > 0 else { return nil }
    return Int32(wait * 1000) + 1
  }
}

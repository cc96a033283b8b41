import Synchronization
import Tabella
import TabellaSystem

/// A thread that notices when a file or its path changes, and says so once.
///
/// Events of inotify only tell when to look. The thread also looks once a second: some file systems report no events,
/// and no event reports writes to mapped memory. A look is one `stat` and one `fstat`.
final class FileWatch: Sendable {
  /// The state that the last pull left behind.
  struct Known: Sendable {
    var file: OpenFile
    var look: FileLook
    /// The time at which a pull finds something even if the file does not change.
    var due: Double?
    /// The earliest time for a notice of a change that needs the whole file.
    var notBefore: Double
    /// Whether growth needs only the new bytes.
    var readsGrowth: Bool
  }

  private let watcher: Watcher
  private let thread: WatchThread

  /// Starts the thread. It looks for the first time after ``rearm(_:)``. Throws ``TableError`` with `.io`.
  init(_ path: LastingPath, _ notify: @escaping @Sendable () -> Void) throws(TableError) {
    let watcher = Watcher(path, notify)
    self.watcher = watcher
    thread = try WatchThread(polling: watcher.descriptor) { watcher.look() }
  }

  /// Whether inotify reports events.
  var hasEvents: Bool { watcher.descriptor != nil }

  /// Allows the next notice: a pull has dealt with everything up to this state.
  func rearm(_ known: Known) {
    watcher.rearm(known)
    thread.wake()
  }

  /// Ends the thread. No notice comes after the call.
  func stop() { thread.stop() }
}

private final class Watcher: Sendable {
  /// The shortest time between two notices, in microseconds. It gathers the lines of a busy log.
  private static let pause: UInt32 = 5000
  /// The time between two looks without events, in seconds.
  private static let interval = 1.0

  private struct State {
    var known: FileWatch.Known?
    var hasNotified = false
    /// The watch of the open file, and the file.
    var watch: (number: Int32, file: Fingerprint)?
  }

  private let state = Mutex(State())
  private let path: LastingPath
  private let notify: @Sendable () -> Void
  private let inotify: Inotify?

  init(_ path: LastingPath, _ notify: @escaping @Sendable () -> Void) {
    self.path = path
    self.notify = notify
    inotify = try? Inotify()
  }

  var descriptor: Int32? {
    switch inotify {
    case .some(let inotify): inotify.descriptor
    case .none: nil
    }
  }

  func rearm(_ known: FileWatch.Known) {
    state.withLock { state in
      watch(known, &state)
      (state.known, state.hasNotified) = (known, false)
    }
  }

  /// Watches the file and the folder of its path.
  private func watch(_ known: FileWatch.Known, _ state: inout State) {
    let file = known.file.fingerprint
    let isSame = state.watch?.file.isSameFile(as: file) == true
    if isSame, known.look.path == .same { return }
    switch inotify {
    case .none: return
    case .some(let inotify):
      // The name leads to the folder that has it now. Adding a watch again changes nothing.
      let path = path.current
      let slash = path.lastIndex(of: UInt8(ascii: "/"))
      let folder = slash.map { Array(path[...$0]) } ?? [UInt8(ascii: ".")]
      _ = inotify.add(folder, UInt32(IN_CREATE | IN_MOVED_TO) | UInt32(IN_ONLYDIR))
      if isSame { return }
      if let old = state.watch?.number { inotify.remove(old) }
      let events = UInt32(IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_MOVE_SELF)
      let watch = inotify.add(known.file.descriptor, events) ?? inotify.add(path, events)
      state.watch = watch.map { ($0, file) }
    }
  }

  /// Looks at the file, and notifies if it has changed. Returns the time until the next look in milliseconds; nil if
  /// the next pull comes first.
  func look() -> Int32? {
    switch inotify {
    case .none: break
    case .some(let inotify): inotify.skipEvents()
    }
    let answer = state.withLock { state in examine(&state) }
    if case .change = answer { notify() }
    guard case .nothing(let wait) = answer else {
      // Events before the next pull are of no interest.
      usleep(Watcher.pause)
      return nil
    }
    return Int32(clamping: Int((wait * 1000).rounded(.up)))
  }

  private enum Answer {
    case change
    /// The last notice was not answered by a pull yet.
    case unanswered
    /// Nothing changed; look again after so many seconds.
    case nothing(Double)
  }

  private func examine(_ state: inout State) -> Answer {
    guard let known = state.known, !state.hasNotified else { return .unanswered }
    let time = now()
    var wait = min(known.due.map { $0 - time } ?? Watcher.interval, Watcher.interval)
    if wait > 0 {
      let look = try? FileLook(of: known.file.descriptor, at: path.current)
      if look == known.look { return .nothing(wait) }
      let isGrowth =
        look.map { $0.path == known.look.path && $0.file.continues(known.look.file) } ?? false
      if !known.readsGrowth || !isGrowth {
        wait = min(wait, known.notBefore - time)
        if wait > 0 { return .nothing(wait) }
      }
    }
    state.hasNotified = true
    return .change
  }
}

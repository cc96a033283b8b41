import Glibc
import Synchronization
import Tabella
import TabellaFiles
import TabellaSystem

/// Watches listed folders, and notifies once when a pull may find something.
///
/// Events only say which folders to list again, and which entries may have other cells. So an overflow, or folders that
/// cannot be watched, only cost more work.
final class FolderWatcher: Sendable {
  /// The events since the last pull.
  struct News: Sendable {
    struct Folder: Sendable {
      /// Whether entries were added, removed or renamed, or the watch has ended.
      var isDirty = false
      /// The entries that may have other cells.
      var names: Set<[UInt8]> = []
    }

    /// Whether anything may have happened.
    var isAll = false
    /// The news of a folder, by its watch.
    var folders: [Int32: Folder] = [:]

    var isEmpty: Bool { !isAll && folders.isEmpty }
  }

  /// The time between two comparisons of folders that cannot be watched, in seconds.
  fileprivate static let interval = 1.0
  /// The shortest time between two notices, in seconds, and as a multiple of the time of the last pull. So pulls take
  /// at most a fifth of the time of a busy folder, and a tenth if folders must be compared.
  fileprivate static let pauses = (least: 0.005, watched: 4.0, compared: 9.0)

  private let events: FolderEvents
  private let thread: WatchThread

  /// Starts the thread. It notifies at once, because changes since the listing are unknown. Throws ``TableError`` with
  /// `.io`.
  init(
    path: LastingPath, root: stat, showsHidden: Bool, _ notify: @escaping @Sendable () -> Void
  ) throws(TableError) {
    let events = FolderEvents(path, root, showsHidden: showsHidden, notify)
    self.events = events
    thread = try WatchThread(polling: events.descriptor) { events.look() }
  }

  /// Ends the thread. No notice comes after the call.
  func stop() { thread.stop() }

  /// Watches an open folder. Returns its watch, or -1 if it cannot be watched.
  func watch(_ folder: Int32) -> Int32 { events.watch(folder) }

  /// Watches a folder by its name in an open folder, but only for changes of its status. Returns -1 if that fails.
  func watch(_ name: UnsafePointer<CChar>, in folder: Int32) -> Int32 {
    events.watch(name, in: folder)
  }

  /// The error number of a failed watch that the user can prevent; nil if there was none since the last call.
  func takeLimit() -> Int32? { events.takeLimit() }

  /// Removes and returns the news until now. No notice comes until ``rearm(root:watches:comparing:cost:)``.
  func takeNews() -> News { events.takeNews() }

  /// Allows the next notice after a pull that took `cost` seconds. `watches` are the watches in use; nil leaves them as
  /// they are. With `isComparing`, some folders must be compared from time to time.
  func rearm(root: stat, watches: [Int32]?, isComparing: Bool, cost: Double) {
    events.rearm(root: root, watches: watches, isComparing: isComparing, cost: cost)
    thread.wake()
  }

  /// Allows the next notice after a failed pull, in a second.
  func rearmAfterFailure() {
    events.rearmAfterFailure()
    thread.wake()
  }
}

/// The state that the thread and the source share.
private final class FolderEvents: Sendable {
  private struct State {
    /// At first, anything may have happened.
    var news = FolderWatcher.News(isAll: true)
    /// The number of names in the news.
    var nameCount = 0
    var isArmed = true
    /// The earliest time of the next notice.
    var earliest = 0.0
    /// The time of the next look at the path of the root.
    var lookAt = 0.0
    /// The time of the next comparison; nil if all folders are watched.
    var compareAt: Double?
    var root: stat
    var watches: Set<Int32> = []
    var limit: Int32?
  }

  /// The number of names after which looking at all entries is cheaper.
  private static let mostNames = 20_000
  private static let structure = [IN_CREATE, IN_DELETE, IN_MOVED_FROM, IN_MOVED_TO].mask
  private static let cells = [IN_MODIFY, IN_ATTRIB, IN_CLOSE_WRITE].mask
  private static let ends = [IN_DELETE_SELF, IN_MOVE_SELF, IN_UNMOUNT, IN_IGNORED].mask
  private static let flags = [IN_ONLYDIR, IN_EXCL_UNLINK].mask

  private let state: Mutex<State>
  private let path: LastingPath
  private let showsHidden: Bool
  private let notify: @Sendable () -> Void
  private let inotify: Inotify?

  init(
    _ path: LastingPath, _ root: stat, showsHidden: Bool, _ notify: @escaping @Sendable () -> Void
  ) {
    self.path = path
    self.showsHidden = showsHidden
    self.notify = notify
    var state = State(root: root)
    do throws(TableError) {
      inotify = try Inotify()
    } catch {
      // A confined process is refused, and that is no reason for a warning.
      if errno == EMFILE { state.limit = EMFILE }
      inotify = nil
    }
    self.state = Mutex(state)
  }

  var descriptor: Int32? {
    switch inotify {
    case .some(let inotify): inotify.descriptor
    case .none: nil
    }
  }

  // Watches

  func watch(_ folder: Int32) -> Int32 {
    guard isWatchable(folder) else { return -1 }
    let events = FolderEvents.structure | FolderEvents.cells | FolderEvents.ends
    return add(Array("/proc/self/fd/\(folder)".utf8), events)
  }

  func watch(_ name: UnsafePointer<CChar>, in folder: Int32) -> Int32 {
    let name = UnsafeBufferPointer(start: name, count: strlen(name)).map { UInt8(bitPattern: $0) }
    let flags = FolderEvents.structure | UInt32(IN_DONT_FOLLOW)
    return add(Array("/proc/self/fd/\(folder)/".utf8) + name, flags)
  }

  private func add(_ path: [UInt8], _ events: UInt32) -> Int32 {
    switch inotify {
    case .none: return -1
    case .some(let inotify):
      if let watch = inotify.add(path, events | FolderEvents.flags) { return watch }
      let number = errno
      if number == ENOSPC { state.withLock { $0.limit = number } }
      return -1
    }
  }

  func takeLimit() -> Int32? {
    state.withLock { state in
      defer { state.limit = nil }
      return state.limit
    }
  }

  // News

  func takeNews() -> FolderWatcher.News {
    state.withLock { state in
      drain(&state)
      defer {
        state.news = FolderWatcher.News(isAll: isBlind)
        state.nameCount = 0
        state.isArmed = false
      }
      return state.news
    }
  }

  /// Whether there are no events at all.
  private var isBlind: Bool { descriptor == nil }

  func rearm(root: stat, watches: [Int32]?, isComparing: Bool, cost: Double) {
    state.withLock { state in
      let time = now()
      let pauses = FolderWatcher.pauses
      state.root = root
      state.isArmed = true
      state.earliest = time + max(pauses.least, cost * pauses.watched)
      state.compareAt =
        isComparing ? time + max(FolderWatcher.interval, cost * pauses.compared) : nil
      if let watches { use(Set(watches), &state) }
    }
  }

  func rearmAfterFailure() {
    state.withLock { state in
      state.news.isAll = true
      state.isArmed = true
      state.earliest = now() + FolderWatcher.interval
    }
  }

  /// Removes the watches that are in use no more.
  private func use(_ watches: Set<Int32>, _ state: inout State) {
    for watch in state.watches.subtracting(watches) {
      switch inotify {
      case .some(let inotify): inotify.remove(watch)
      case .none: break
      }
    }
    state.watches = watches
  }

  // Events

  /// Reads the events, and notifies if there are news. Returns the time until the next look in milliseconds; nil if only
  /// an event or a pull can cause one.
  func look() -> Int32? {
    let (count, isNotice, wait) = state.withLock { state in
      let count = drain(&state)
      let (isNotice, wait) = examine(&state)
      return (count, isNotice, wait)
    }
    if isNotice { notify() }
    // Gathers the events of a flood.
    if count > 0 { usleep(UInt32(FolderWatcher.pauses.least * 1e6)) }
    return wait.map { Int32(clamping: Int(($0 * 1000).rounded(.up))) }
  }

  private func examine(_ state: inout State) -> (isNotice: Bool, wait: Double?) {
    guard state.isArmed else { return (false, nil) }
    let time = now()
    if time >= state.lookAt {
      state.lookAt = time + FolderWatcher.interval
      if !leadsToRoot(state) { state.news.isAll = true }
    }
    let isDue = state.compareAt.map { $0 <= time } ?? false
    // Without events, only the time of the next comparison counts.
    let hasNews = !state.news.isEmpty && (!isBlind || state.compareAt == nil)
    guard isDue || hasNews else {
      return (false, min(state.lookAt, state.compareAt ?? .infinity) - time)
    }
    guard time >= state.earliest else { return (false, state.earliest - time) }
    state.isArmed = false
    return (true, nil)
  }

  private func leadsToRoot(_ state: State) -> Bool {
    stat(at: path.current).map { $0.isSameFile(as: state.root) } ?? false
  }

  /// Takes the waiting events. Returns their number.
  @discardableResult private func drain(_ state: inout State) -> Int {
    switch inotify {
    case .some(let inotify): inotify.readEvents { take($0, $1, &state) }
    case .none: 0
    }
  }

  private func take(
    _ event: Inotify.Event, _ name: UnsafeRawBufferPointer, _ state: inout State
  ) {
    if event.isOverflow || state.news.isAll {
      state.news = FolderWatcher.News(isAll: true)
      return
    }
    var folder = state.news.folders[event.watch] ?? FolderWatcher.News.Folder()
    if event.mask & FolderEvents.ends != 0 {
      folder.isDirty = true
    } else if name.isEmpty {
      // The folder itself can have become unreadable.
      folder.isDirty = true
    } else if showsHidden || name.first != UInt8(ascii: ".") {
      // A folder whose permissions change can become readable.
      let isOfFolder = event.mask & UInt32(IN_ISDIR) != 0
      if isOfFolder || event.mask & FolderEvents.structure != 0 { folder.isDirty = true }
      if folder.names.insert(Array(name)).inserted { state.nameCount += 1 }
    }
    // Even a hidden entry changes the times of its folder.
    state.news.folders[event.watch] = folder
    if state.nameCount > FolderEvents.mostNames {
      state.news = FolderWatcher.News(isAll: true)
      state.nameCount = 0
    }
  }
}

extension [Int32] {
  fileprivate var mask: UInt32 { reduce(0) { $0 | UInt32(bitPattern: $1) } }
}

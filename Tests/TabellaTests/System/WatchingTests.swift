import Glibc
import Synchronization
import Tabella
import TabellaSystem
import Testing

@testable import TabellaTestSupport

/// The events of inotify, and the thread that waits for them.
@Suite struct WatchingTests {
  private struct Seen: Equatable {
    var watch: Int32
    var mask: UInt32
    var name: String
  }

  private func events(_ inotify: borrowing Inotify) -> [Seen] {
    var seen: [Seen] = []
    inotify.readEvents { event, name in
      seen.append(
        Seen(watch: event.watch, mask: event.mask, name: String(decoding: name, as: UTF8.self)))
    }
    return seen
  }

  @Test func eventsNameTheChangedFiles() throws {
    let folder = try TemporaryFolder()
    let inotify = try Inotify()
    let descriptor = Descriptor(opening: folder.path, O_RDONLY | O_DIRECTORY)
    let mask = UInt32(IN_CREATE | IN_DELETE)
    let added = inotify.add(descriptor.raw, mask)
    let watch = try #require(added)
    let again = inotify.add(Array(folder.path.utf8), mask)
    #expect(again == watch)
    let long = String(repeating: "n", count: 255)
    for name in ["a", long] { try folder.write(name, "") }
    #expect(unlink(folder.path + "/a") == 0)
    var seen = events(inotify)
    #expect(
      seen == [
        Seen(watch: watch, mask: UInt32(IN_CREATE), name: "a"),
        Seen(watch: watch, mask: UInt32(IN_CREATE), name: long),
        Seen(watch: watch, mask: UInt32(IN_DELETE), name: "a"),
      ])
    seen = events(inotify)
    #expect(seen.isEmpty)
    inotify.remove(watch)
    seen = events(inotify)
    #expect(seen == [Seen(watch: watch, mask: UInt32(IN_IGNORED), name: "")])
  }

  @Test func aMissingPathHasNoWatch() throws {
    let inotify = try Inotify()
    let isMissing = inotify.add(Array("/nothing".utf8), UInt32(IN_CREATE)) == nil
    let number = errno
    #expect(isMissing && number == ENOENT)
  }

  @Test func onlyLocalFileSystemsAreWatchable() throws {
    let folder = try TemporaryFolder()
    for (path, expected) in [(folder.path, true), ("/proc", false), ("/sys", false)] {
      let opened = Descriptor(opening: path, O_RDONLY | O_DIRECTORY)
      #expect(opened.raw >= 0)
      #expect(isWatchable(opened.raw) == expected, "\(path)")
    }
  }

  /// Counts the calls of a thread.
  private final class Calls: Sendable {
    private let calls = Atomic(0)
    let blocked = Mutex<[Int32]>([])

    var count: Int { calls.load(ordering: .acquiring) }
    func add() { calls.add(1, ordering: .acquiringAndReleasing) }

    /// Waits until there were some calls, at most five seconds.
    func reach(_ value: Int) -> Bool {
      let end = now() + 5
      while count < value, now() < end { usleep(500) }
      return count >= value
    }
  }

  private final class Owner: Sendable {
    let inotify: Inotify
    init() throws(TableError) { inotify = try Inotify() }
    func watch(_ path: String) -> Int32? { inotify.add(Array(path.utf8), UInt32(IN_CREATE)) }
    var descriptor: Int32 { inotify.descriptor }
  }

  @Test func theThreadRunsAtTheStartAfterEachWakeUpAndForEvents() throws {
    let folder = try TemporaryFolder()
    let calls = Calls()
    let owner = try Owner()
    #expect(owner.watch(folder.path) != nil)
    let thread = try WatchThread(polling: owner.descriptor) {
      owner.inotify.skipEvents()
      calls.add()
      return nil
    }
    #expect(calls.reach(1))
    thread.wake()
    #expect(calls.reach(2))
    try folder.write("a", "")
    #expect(calls.reach(3))
    // Without a reason, the thread sleeps.
    usleep(20_000)
    let count = calls.count
    usleep(50_000)
    #expect(calls.count == count)
    thread.stop()
    thread.wake()
    usleep(20_000)
    #expect(calls.count == count)
  }

  @Test func theThreadRunsAgainAfterTheReturnedTime() throws {
    let calls = Calls()
    let thread = try WatchThread(polling: nil) {
      calls.add()
      return 10
    }
    let start = now()
    #expect(calls.reach(4))
    // The first calls may come before the clock is read.
    #expect(now() - start >= 0.015)
    thread.stop()
  }

  @Test func theThreadTakesNoSignals() throws {
    let calls = Calls()
    let signals = [SIGINT, SIGTERM, SIGCHLD, SIGWINCH]
    @Sendable func blockedSignals() -> [Int32] {
      var mask = sigset_t()
      pthread_sigmask(SIG_SETMASK, nil, &mask)
      return signals.filter { sigismember(&mask, $0) == 1 }
    }
    // The thread of the test may block signals, too.
    let before = blockedSignals()
    let thread = try WatchThread(polling: nil) {
      let blocked = blockedSignals()
      calls.blocked.withLock { $0 = blocked }
      calls.add()
      return nil
    }
    #expect(calls.reach(1))
    thread.stop()
    #expect(calls.blocked.withLock { $0 } == signals)
    #expect(blockedSignals() == before)
  }
}

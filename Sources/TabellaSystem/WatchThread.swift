import CTabellaSystem
import Synchronization
import Tabella
import TabellaThreads

/// A thread that waits for a descriptor, a wake-up or a time, and calls a closure each time.
///
/// All signals are blocked on the thread, so that they reach the threads of the program.
package final class WatchThread: Sendable {
  private final class Wakeup: Sendable {
    let event: Descriptor
    let isStopped = Atomic(false)

    init(_ event: consuming Descriptor) { self.event = event }
  }

  private let wakeup: Wakeup
  private let thread: Mutex<SystemThread?>

  /// Starts the thread, which calls `body` at once.
  ///
  /// `body` returns the time until its next call in milliseconds; nil means without limit. It runs earlier if
  /// `descriptor` is readable, or after ``wake()``. So it must read the descriptor empty. The descriptor must stay open
  /// until the thread has ended. Throws ``TableError`` with `.io`.
  package init(
    polling descriptor: Int32?, _ body: @escaping @Sendable () -> Int32?
  ) throws(TableError) {
    let result = tabella_system_make_event()
    guard let event = Descriptor(result) else {
      throw .system(-result, "a thread cannot be woken")
    }
    let wakeup = Wakeup(event)
    self.wakeup = wakeup
    let thread = SystemThread(blocksSignals: true) {
      WatchThread.run(wakeup, descriptor ?? -1, body)
    }
    guard let thread else { throw .system(errno, "a thread cannot be started") }
    self.thread = Mutex(thread)
  }

  deinit { stop() }

  private static func run(
    _ wakeup: Wakeup, _ descriptor: Int32, _ body: @Sendable () -> Int32?
  ) {
    while !wakeup.isStopped.load(ordering: .acquiring) {
      let time = body() ?? -1
      var polled = (
        pollfd(fd: wakeup.event.raw, events: Int16(POLLIN), revents: 0),
        pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      )
      withUnsafeMutableBytes(of: &polled) { polled in
        _ = poll(polled.assumingMemoryBound(to: pollfd.self).baseAddress, 2, time)
      }
      var count: UInt64 = 0
      _ = read(wakeup.event.raw, &count, 8)
    }
  }

  /// Lets the closure run soon. Any thread may call it.
  package func wake() {
    var one: UInt64 = 1
    _ = write(wakeup.event.raw, &one, 8)
  }

  /// Ends the thread and waits for its end. The closure does not run afterwards, and must not call this method.
  package func stop() {
    let thread = self.thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    guard let thread else { return }
    wakeup.isStopped.store(true, ordering: .releasing)
    wake()
    thread.join()
  }
}

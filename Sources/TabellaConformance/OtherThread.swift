import Synchronization
import TabellaSystem
import TabellaThreads

/// A thread that runs one closure while the law waits.
///
/// The closure never runs concurrently with the law, so it needs not be sendable.
struct OtherThread {
  private let thread: SystemThread

  /// Starts a thread that runs `body`. The caller must call ``join()``.
  init(_ body: @escaping () -> Void) throws {
    guard let thread = SystemThread(body) else {
      throw Skipped(reason: "no thread could be started: \(errorText(errno))")
    }
    self.thread = thread
  }

  func join() { thread.join() }

  /// Runs `body` on another thread and returns its result.
  static func run<R>(_ body: () throws -> R) throws -> R {
    var result: Result<R, any Error>?
    try withoutActuallyEscaping(body) { body in
      try OtherThread { result = Result { try body() } }.join()
    }
    // The thread has ended, so the result is set.
    return try result!.get()
  }
}

/// Calls a closure repeatedly on its own thread until it is stopped.
final class Repeater: Sendable {
  private let isOver = Atomic(false)

  /// Calls `body` every 50 microseconds while `work` runs.
  static func repeating<R>(
    _ body: @escaping @Sendable () -> Void, during work: () throws -> R
  ) throws -> R {
    let repeater = Repeater()
    let thread = try OtherThread {
      while !repeater.isOver.load(ordering: .relaxed) {
        body()
        usleep(50)
      }
    }
    defer {
      repeater.isOver.store(true, ordering: .relaxed)
      thread.join()
    }
    return try work()
  }
}

import Glibc
import Synchronization

/// A thread that a law does something on, and waits for.
///
/// What is done there is not concurrent with anything, so that nothing need be sendable.
struct OtherThread {
  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }

  private let thread: pthread_t

  /// Starts a thread that does `body`. It must be joined.
  init(_ body: @escaping () -> Void) throws {
    let work = Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    let failure = pthread_create(
      &thread, nil,
      { argument in
        // Never null: it is what was passed.
        Unmanaged<Work>.fromOpaque(argument!).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    guard failure == 0 else {
      work.release()
      throw Skipped(reason: "no thread could be started: \(String(cString: strerror(failure)))")
    }
    self.thread = thread
  }

  func join() { pthread_join(thread, nil) }

  /// Does something on a thread of its own and returns what came of it.
  static func run<R>(_ body: () throws -> R) throws -> R {
    var result: Result<R, any Error>?
    try withoutActuallyEscaping(body) { body in
      try OtherThread { result = Result { try body() } }.join()
    }
    // The thread has ended, and sets it first.
    return try result!.get()
  }
}

/// Calls a closure again and again on a thread of its own, until it is stopped.
final class Repeater: Sendable {
  private let isOver = Atomic(false)

  /// Does `body` beside `work`, every few microseconds.
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

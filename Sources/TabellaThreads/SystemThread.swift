import CTabellaSystem
import Glibc

/// A thread that runs one closure.
///
/// The owner must join or detach the thread once.
package struct SystemThread {
  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }

  private let thread: pthread_t

  /// Starts a thread. Returns nil with `errno` set if that fails; then `body` is never called.
  ///
  /// With `blocksSignals`, all signals are blocked on the thread, so that they reach the other threads of the program.
  ///
  /// The caller makes sure that `body` uses nothing that another thread uses at the same time.
  package init?(blocksSignals: Bool = false, _ body: @escaping () -> Void) {
    let work = Unmanaged.passRetained(Work(body))
    var thread = pthread_t()
    // The new thread inherits the signal mask.
    var (all, old) = (sigset_t(), sigset_t())
    sigfillset(&all)
    if blocksSignals { pthread_sigmask(SIG_SETMASK, &all, &old) }
    let failure = pthread_create(
      &thread, nil,
      { work in
        // Never null, since it is the pointer passed below.
        Unmanaged<Work>.fromOpaque(work!).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    if blocksSignals { pthread_sigmask(SIG_SETMASK, &old, nil) }
    guard failure == 0 else {
      work.release()
      errno = failure
      return nil
    }
    self.thread = thread
  }

  /// Moves the thread to another processor than that of the caller, if there is one. Call it right after the start of a
  /// thread that shares work with the caller.
  ///
  /// `count` threads are started together. Each has another `number` from 0 on, and gets another processor. Afterwards, the
  /// system may move them.
  package func moveAway(number: Int = 0, of count: Int = 1) {
    tabella_system_place_thread(thread, Int32(number), Int32(count))
  }

  /// Waits until the thread has ended.
  package func join() { pthread_join(thread, nil) }

  /// Lets the thread end on its own.
  package func detach() { pthread_detach(thread) }

  /// Whether the caller runs on this thread.
  package var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }
}

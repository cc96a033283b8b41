import CTabella
import Glibc
import TabellaSystem

/// A batch that a thread reads while the caller uses the batch before it.
final class ReadAhead {
  private let thread: SystemThread
  private let outcome: Outcome

  /// The result of the thread, which only the thread uses until it has ended.
  private final class Outcome {
    var result: Result<ArrowArray, RowStream.Failure>?
  }

  /// Starts a thread that reads. Returns nil if that fails.
  ///
  /// All signals are blocked on the thread, so that they reach the threads of the program.
  init?(_ read: @escaping () -> Result<ArrowArray, RowStream.Failure>) {
    let outcome = Outcome()
    self.outcome = outcome
    // The new thread inherits the signal mask.
    var (all, old) = (sigset_t(), sigset_t())
    sigfillset(&all)
    pthread_sigmask(SIG_SETMASK, &all, &old)
    let thread = SystemThread { outcome.result = read() }
    pthread_sigmask(SIG_SETMASK, &old, nil)
    guard let thread else { return nil }
    self.thread = thread
  }

  /// Waits for the batch. Must be called once.
  func take() -> Result<ArrowArray, RowStream.Failure>? {
    thread.join()
    return outcome.result
  }
}

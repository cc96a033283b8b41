/// A value that a thread computes while the caller does other work.
///
/// The owner must call ``take()`` once. Until then, it uses nothing that the thread uses.
package final class Background<Value> {
  private let thread: SystemThread
  private let outcome: Outcome

  /// The result of the thread, which only the thread uses until it has ended.
  private final class Outcome {
    var value: Value?
  }

  /// Starts a thread that calls `body`. Returns nil if that fails.
  ///
  /// All signals are blocked on the thread, so that they reach the threads of the program.
  package init?(_ body: @escaping () -> Value) {
    let outcome = Outcome()
    self.outcome = outcome
    guard let thread = SystemThread(blocksSignals: true, { outcome.value = body() }) else {
      return nil
    }
    thread.moveAway()
    self.thread = thread
  }

  /// Waits for the value.
  package func take() -> Value {
    thread.join()
    guard let value = outcome.value else { preconditionFailure("the value is taken once") }
    return value
  }
}

import Synchronization

/// Cancels the calls of one closure on a table when its task is cancelled.
///
/// A source forgets a cancellation at the start of each call, and a closure can make many calls. So the cancellation is
/// repeated until the closure has ended. It never reaches the call of another task.
final class CallCancellation: Sendable {
  private enum State { case waiting, running, cancelled, ended }

  private let state = Mutex(State.waiting)
  /// The cancellation of the source; nil if its calls cannot be cancelled.
  private let stop: (@Sendable () -> Void)?

  init(_ stop: (@Sendable () -> Void)?) { self.stop = stop }

  /// Announces the start of the closure. Returns false if the task was cancelled before.
  func begin() -> Bool {
    state.withLock { state in
      guard case .waiting = state else { return false }
      state = .running
      return true
    }
  }

  /// Announces the end of the closure.
  func end() { state.withLock { $0 = .ended } }

  /// Cancels the closure. Any thread may call it.
  func cancel() {
    let isRunning = state.withLock { state in
      guard case .running = state else {
        if case .waiting = state { state = .cancelled }
        return false
      }
      return true
    }
    guard isRunning, stop != nil else { return }
    Task.detached { [self] in
      while stopOnce() { try? await Task.sleep(for: .milliseconds(5)) }
    }
  }

  /// Stops the running call. Returns false if the closure has ended.
  private func stopOnce() -> Bool {
    state.withLock { state in
      guard case .running = state else { return false }
      stop?()
      return true
    }
  }
}

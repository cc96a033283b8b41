/// Calls `body` in parallel with each number from 0 to `count` - 1, and returns when all calls have returned.
///
/// The first call runs on the calling thread. If a thread cannot be created, its call also runs on the calling
/// thread. A thread costs 20 to 100 microseconds, so use this for work that takes milliseconds.
package func inParallel(_ count: Int, _ body: (Int) -> Void) {
  withoutActuallyEscaping(body) { body in
    let threads = (1..<max(1, count)).map { number in
      let thread = startThread { body(number) }
      thread?.moveAway(number: number - 1, of: count - 1)
      return thread
    }
    if count > 0 { body(0) }
    for thread in threads { thread?.join() }
  }
}

/// Calls `body` on a new thread. Returns nil if it was called on the calling thread instead.
private func startThread(_ body: @escaping () -> Void) -> SystemThread? {
  if let thread = SystemThread(body) { return thread }
  body()
  return nil
}

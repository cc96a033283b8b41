import Synchronization

/// Values that several threads use, each value by one thread at a time.
///
/// A pool keeps memory for reuse. Fresh memory costs a page fault per 4 KiB, and memory that was just in use is still in the
/// caches of a processor. Several threads may call every method.
package final class Pool<Value>: Sendable {
  private struct Unused: @unchecked Sendable {
    var values: [Value]
  }

  private let unused: Mutex<Unused>
  private let limit: Int
  private let free: @Sendable (Value) -> Void

  /// Creates a pool of these values. It keeps at most `limit` values, and calls `free` with every value that it does not
  /// keep. When the pool ends, it keeps none.
  package init(
    _ values: [Value] = [], limit: Int = .max, free: @escaping @Sendable (Value) -> Void = { _ in }
  ) {
    unused = Mutex(Unused(values: values))
    (self.limit, self.free) = (limit, free)
  }

  deinit {
    unused.withLock { for value in $0.values { free(value) } }
  }

  /// The number of values that no thread uses.
  package var count: Int { unused.withLock { $0.values.count } }

  /// The value that was added last, which then belongs to the caller; nil if there is none.
  package func take() -> Value? { unused.withLock { $0.values.popLast() } }

  /// Takes over a value, which the caller must not use again.
  package func add(_ value: Value) {
    let isKept = unused.withLock { unused in
      guard unused.values.count < limit else { return false }
      unused.values.append(value)
      return true
    }
    if !isKept { free(value) }
  }
}

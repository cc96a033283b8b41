/// Calls `produce` with the numbers from 0 to `count` - 1 on several threads, and `consume` with each result, in order.
///
/// `consume` runs on the calling thread, which also produces while it waits. It returns which results it still needs.
/// `produce` runs on several threads at the same time, at most `threads`. At most `ahead` results that are not consumed
/// exist at any time, so `ahead` limits the memory.
package func produceInOrder<Value>(
  _ count: Int, threads: Int, ahead: Int, _ produce: (Int) -> Value,
  consume: (Int, Value) -> NeededResults
) {
  let work = OrderedWork<Value>(count: count, ahead: max(1, ahead))
  withoutActuallyEscaping(produce) { produce in
    let helpers = max(0, min(threads, count) - 1)
    let others = (0..<helpers).compactMap { number in
      let thread = SystemThread { work.produceAll(produce) }
      thread?.moveAway(number: number, of: helpers)
      return thread
    }
    var (number, end) = (0, count)
    while number < end {
      switch consume(number, work.take(number, produce)) {
      case .all: break
      case .started: end = work.stop()
      case .none: end = number
      }
      number += 1
    }
    work.stop()
    for thread in others { thread.join() }
  }
}

/// The results that the consumer of ordered work still needs.
package enum NeededResults {
  case all
  /// Only those whose production has begun.
  case started
  case none
}

/// The state of the work, which its lock protects.
private final class OrderedWork<Value> {
  private let count: Int
  private let ahead: Int
  private let lock = Lock()
  private var results: [Int: Value] = [:]
  /// The next number to produce, and the number of consumed results.
  private var (next, consumed) = (0, 0)
  private var isStopped = false

  init(count: Int, ahead: Int) {
    self.count = count
    self.ahead = ahead
  }

  /// Whether a number can be produced now. Needs the lock.
  private var canProduce: Bool { !isStopped && next < count && next < consumed + ahead }

  /// Produces the next result. Needs the lock, and releases it meanwhile.
  private func produceNext(_ produce: (Int) -> Value) {
    let number = next
    next += 1
    lock.unlock()
    let value = produce(number)
    lock.lock()
    results[number] = value
    lock.wakeAll()
  }

  /// Produces results until there is no number left, or the work is stopped.
  func produceAll(_ produce: (Int) -> Value) {
    lock.lock()
    while !isStopped, next < count {
      if canProduce { produceNext(produce) } else { lock.wait() }
    }
    lock.unlock()
  }

  /// Removes and returns a result. Produces others while it waits.
  func take(_ number: Int, _ produce: (Int) -> Value) -> Value {
    lock.lock()
    defer { lock.unlock() }
    while true {
      if let value = results.removeValue(forKey: number) {
        consumed = number + 1
        lock.wakeAll()
        return value
      }
      if canProduce { produceNext(produce) } else { lock.wait() }
    }
  }

  /// Lets no thread produce another number. Returns the end of the numbers whose production has begun.
  @discardableResult
  func stop() -> Int {
    lock.lock()
    defer { lock.unlock() }
    isStopped = true
    lock.wakeAll()
    return next
  }
}

import Glibc
import Tabella
import TabellaSystem
import TabellaThreads

/// A serial executor with a thread of its own, on which an actor makes calls that block.
///
/// The thread lives as long as the executor, and ends after the last job. Any thread may enqueue.
final class TableThread: SerialExecutor {
  private let queue = WorkQueue()

  /// Starts the thread. Throws `TableError` with `.io` if the system has no thread left.
  init() throws(TableError) {
    guard let thread = SystemThread({ [queue] in queue.run() }) else {
      throw .system(errno, "a thread cannot be started")
    }
    thread.detach()
  }

  deinit { queue.close() }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let executor = asUnownedSerialExecutor()
    queue.add { job.runSynchronously(on: executor) }
  }

  /// Runs a closure on the thread after all earlier jobs.
  func perform(_ body: @escaping @Sendable () -> Void) { queue.add(body) }
}

/// The work that waits for a thread. The lock protects all properties.
private final class WorkQueue: @unchecked Sendable {
  private let lock = Lock()
  private var work: [@Sendable () -> Void] = []
  private var isClosed = false

  func add(_ body: @escaping @Sendable () -> Void) {
    lock.lock()
    work.append(body)
    lock.wakeAll()
    lock.unlock()
  }

  /// Lets ``run()`` return after the waiting work.
  func close() {
    lock.lock()
    isClosed = true
    lock.wakeAll()
    lock.unlock()
  }

  /// Runs the work until the queue is closed and empty.
  func run() {
    while let work = next() {
      for body in work { body() }
    }
  }

  /// Waits for work; nil if the queue is closed and empty.
  private func next() -> [@Sendable () -> Void]? {
    lock.lock()
    defer { lock.unlock() }
    while work.isEmpty, !isClosed { lock.wait() }
    defer { work = [] }
    return work.isEmpty ? nil : work
  }
}

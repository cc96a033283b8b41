import Foundation
import Synchronization

// The threads on which the tests run. Swift's own pool has one thread per processor. Most tests wait for programs that
// they started, and such a test keeps its thread. Without more threads, the processors are idle for a fifth of the time.

/// Makes ``TestThreads`` run all tasks of the program, except those of the main actor. Runs before `main`.
///
/// The Swift runtime calls the function in `swift_task_enqueueGlobal_hook` with each job. A runtime without this
/// variable uses its own pool.
@section(".init_array") @used
private let runTasksOnTestThreads: @convention(c) () -> Void = {
  guard let hook = dlsym(nil, "swift_task_enqueueGlobal_hook") else { return }
  let enqueue: @convention(c) (Job, UnsafeRawPointer) -> Void = { job, _ in
    TestThreads.shared.add(job)
  }
  hook.storeBytes(of: unsafeBitCast(enqueue, to: UInt.self), as: UInt.self)
  // The number of cases that the testing library runs at the same time. If the variable is set already, its value stays.
  setenv("SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH", "\(3 * TestThreads.processors)", 0)
}

/// A job of the Swift runtime. The runtime owns it.
private typealias Job = UnsafeMutableRawPointer

/// Four threads per processor, which run jobs in the order of their arrival. Three cases per processor run at the same
/// time. So threads stay free for the tasks that a waiting test starts.
private final class TestThreads: Sendable {
  static let shared = TestThreads()
  static let processors = sysconf(Int32(_SC_NPROCESSORS_ONLN))

  private struct Queue {
    var jobs: [Job] = []
    var next = 0
  }

  private let queue = Mutex(Queue())
  private let arrived = DispatchSemaphore(value: 0)

  private init() {
    for _ in 0..<4 * TestThreads.processors {
      let thread = Thread { [unowned self] in work() }
      thread.stackSize = 8 << 20
      thread.start()
    }
  }

  func add(_ job: Job) {
    let job = UInt(bitPattern: job)
    queue.withLock { $0.jobs.append(Job(bitPattern: job)!) }
    arrived.signal()
  }

  private func work() {
    typealias Run = @convention(c) (Job, UInt, UInt) -> Void
    let run = unsafeBitCast(dlsym(nil, "swift_job_run"), to: Run.self)
    while true {
      arrived.wait()
      // Zeros stand for the executor of jobs that belong to no actor.
      run(next(), 0, 0)
    }
  }

  private func next() -> Job {
    let job = queue.withLock { queue in
      defer {
        queue.next += 1
        if queue.next == queue.jobs.count { queue = Queue() }
      }
      return UInt(bitPattern: queue.jobs[queue.next])
    }
    return Job(bitPattern: job)!
  }
}

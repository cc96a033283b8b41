import Glibc

/// The number of processors that are online.
public let coreCount = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

/// Calls `body` in parallel with each number from 0 to `count` - 1, and returns when all calls have returned.
///
/// The first call runs on the calling thread. If a thread cannot be created, its call also runs on the calling
/// thread. A thread costs about 20 microseconds, so use this for work that takes milliseconds.
public func inParallel(_ count: Int, _ body: (Int) -> Void) {
  withoutActuallyEscaping(body) { body in
    let threads = (1..<max(1, count)).map { number in
      startThread(Job(number: number, body: body))
    }
    if count > 0 { body(0) }
    for case let thread? in threads { pthread_join(thread, nil) }
  }
}

private final class Job {
  let number: Int
  let body: (Int) -> Void

  init(number: Int, body: @escaping (Int) -> Void) {
    self.number = number
    self.body = body
  }
}

/// Runs a job on a new thread. Returns nil if the job ran on the calling thread instead.
private func startThread(_ job: Job) -> pthread_t? {
  var thread = pthread_t()
  let context = Unmanaged.passRetained(job)
  let result = pthread_create(
    &thread, nil,
    { context in
      let job = Unmanaged<Job>.fromOpaque(context!).takeRetainedValue()
      job.body(job.number)
      return nil
    }, context.toOpaque())
  if result == 0 { return thread }
  context.release()
  job.body(job.number)
  return nil
}

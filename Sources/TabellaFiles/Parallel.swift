import Glibc

/// How many threads can run at once.
public let coreCount = max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN)))

/// Calls `body` with each number from 0 to `count` - 1, at the same time, and returns when all are
/// done. The first runs on the calling thread; where a thread cannot be had, so do others.
///
/// A thread costs some 20 microseconds: for work that takes milliseconds.
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

/// Runs a job on a thread of its own; nil if it had to run on this one.
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

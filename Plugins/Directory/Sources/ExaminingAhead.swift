import Tabella
import TabellaSystem
import TabellaThreads

/// Examines the entries that a viewer will request next, on threads of its own, while the viewer uses the rows before.
///
/// The listing must not grow while a job runs, so the owner calls ``stop()`` first.
final class ExaminingAhead {
  private final class Job {
    let entries: [Int]
    let cancel = CancelFlag()
    /// The results, once the thread has ended; empty if the job failed.
    var examined: [Examined] = []

    init(_ entries: [Int]) { self.entries = entries }
  }

  /// The number of entries that justifies a thread.
  static let leastEntries = 256

  private var running: (job: Job, thread: SystemThread)?

  deinit { stop() }

  /// Begins to examine entries. Ends the job before.
  func start(_ entries: [Int], of listing: Listing, root: Int32) {
    stop()
    let job = Job(entries)
    let thread = SystemThread {
      let examiner = Examiner(root: root, listing: listing, cancel: job.cancel)
      job.examined = (try? examiner.examine(entries)) ?? []
    }
    running = thread.map { (job, $0) }
  }

  /// The results for the first of some entries, or as many of them as the job has. Waits for the job.
  func take(_ entries: [Int]) -> [Examined] {
    guard let (job, thread) = running else { return [] }
    guard job.entries.first == entries.first, !job.cancel.isSet else {
      stop()
      return []
    }
    thread.join()
    running = nil
    let count = zip(job.entries, entries).prefix { $0 == $1 }.count
    return Array(job.examined.prefix(count))
  }

  /// Asks the job to end soon. Returns at once.
  func cancel() { running?.job.cancel.raise() }

  /// Ends the job and waits for its end.
  func stop() {
    guard let (job, thread) = running else { return }
    job.cancel.raise()
    thread.join()
    running = nil
  }
}

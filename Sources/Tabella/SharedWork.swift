import Synchronization
import TabellaThreads

/// The number of threads that share the sorting of so many rows; at least 1. Few rows are not worth a thread.
func threadsSharing(rows: Int) -> Int { max(1, min(Cores.count, rows >> 15)) }

/// Calls `body` on several threads, which share numbered pieces of work. Returns when all calls have returned.
///
/// `body` calls `next` for the number of its next piece, from 0, until there is no such piece; nil means that the work is
/// cancelled. Each number is given once. `body` may call its own `isCancelled` more often. The closure `isCancelled` of the
/// caller runs on the calling thread only.
func shareWork(
  among threads: Int, isCancelled: () -> Bool,
  _ body: (_ next: () -> Int?, _ isCancelled: @escaping () -> Bool) -> Void
) {
  let work = Work()
  withoutActuallyEscaping(isCancelled) { isCancelled in
    inParallel(threads) { thread in
      let isOver: () -> Bool = {
        if thread == 0, isCancelled() { work.isCancelled.store(true, ordering: .relaxed) }
        return work.isCancelled.load(ordering: .relaxed)
      }
      body({ isOver() ? nil : work.next.wrappingAdd(1, ordering: .relaxed).oldValue }, isOver)
    }
  }
}

/// The state of shared work.
private final class Work: Sendable {
  let next = Atomic(0)
  let isCancelled = Atomic(false)
}

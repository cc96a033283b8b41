import CTabellaSystem
import Foundation
import Synchronization
import TabellaThreads
import Testing

/// Threads that share work with their creator, and the values that they use in turns.
@Suite struct ThreadTests {
  /// A thread that was moved to another processor may afterwards run on all processors of its creator, and so may its
  /// creator. The numbers include threads for which there is no processor.
  @Test(arguments: [1, 2, 200])
  func movedThreadsMayRunEverywhere(_ count: Int) throws {
    nonisolated(unsafe) var processors = 0
    let allowed = tabella_system_processor_count()
    for number in [0, count - 1] {
      let start = DispatchSemaphore(value: 0)
      let thread = try #require(
        SystemThread {
          start.wait()
          processors = Int(tabella_system_processor_count())
        })
      thread.moveAway(number: number, of: count)
      start.signal()
      thread.join()
      #expect(processors == Int(allowed))
    }
    #expect(tabella_system_processor_count() == allowed)
  }

  /// A pool has each value once, keeps a limited number, and frees all others.
  @Test func poolsFreeWhatTheyDoNotKeep() {
    let freed = Mutex<[Int]>([])
    do {
      let pool = Pool([1, 2], limit: 3) { value in freed.withLock { $0.append(value) } }
      #expect(pool.take() == 2)
      #expect(pool.take() == 1)
      #expect(pool.take() == nil)
      for value in 3...6 { pool.add(value) }
      #expect(pool.count == 3)
      #expect(freed.withLock { $0 } == [6])
      #expect(pool.take() == 5)
    }
    #expect(freed.withLock { $0 } == [6, 3, 4])
  }
}

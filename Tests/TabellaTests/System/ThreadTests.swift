import CTabellaSystem
import Foundation
import TabellaThreads
import Testing

/// Threads that share work with their creator.
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
}

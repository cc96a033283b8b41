import Synchronization
import TabellaThreads

/// The buffers of readers that have read their shares, for the readers of other shares.
///
/// Fresh memory costs a page fault per 4 KiB, and a buffer that was just in use is still in the caches of a processor.
/// Several threads may call every method.
final class SpareBuffers: Sendable {
  private struct Buffers: @unchecked Sendable {
    var text: UnsafeMutableRawBufferPointer
    var separatorOffsets: SeparatorOffsets

    func deallocate() {
      text.deallocate()
      separatorOffsets.deallocate()
    }
  }

  private let buffers = Mutex<[Buffers]>([])

  deinit {
    buffers.withLock { for one in $0 { one.deallocate() } }
  }

  /// The number of readers whose buffers are here.
  var count: Int { buffers.withLock { $0.count } }

  /// Takes over the buffers of a reader. Frees them if there are enough for all threads.
  func add(_ text: UnsafeMutableRawBufferPointer, _ separatorOffsets: SeparatorOffsets) {
    let one = Buffers(text: text, separatorOffsets: separatorOffsets)
    let isKept = buffers.withLock { buffers in
      guard buffers.count < Cores.count else { return false }
      buffers.append(one)
      return true
    }
    if !isKept { one.deallocate() }
  }

  /// The buffers that were added last, which then belong to the caller; nil if there are none.
  func take() -> (UnsafeMutableRawBufferPointer, SeparatorOffsets)? {
    let one = buffers.withLock { $0.popLast() }
    return one.map { ($0.text, $0.separatorOffsets) }
  }
}

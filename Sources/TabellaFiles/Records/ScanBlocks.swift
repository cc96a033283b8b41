import Synchronization

/// Blocks of memory for scans of an index, which one scan leaves to the next.
///
/// Fresh memory costs a page fault per 4 KiB. Several threads may call every method.
final class ScanBlocks: Sendable {
  private struct Block: @unchecked Sendable {
    let bytes: UnsafeMutableRawBufferPointer
  }

  private let unused = Mutex<[Block]>([])

  deinit {
    unused.withLock { for block in $0 { block.bytes.deallocate() } }
  }

  /// A block of at least this size, which belongs to the caller until ``add(_:)``.
  func take(_ count: Int) -> UnsafeMutableRawBufferPointer {
    let block = unused.withLock { blocks in
      blocks.lastIndex { $0.bytes.count >= count }.map { blocks.remove(at: $0) }
    }
    return block?.bytes ?? .allocate(byteCount: count, alignment: 64)
  }

  /// Takes a block back.
  func add(_ block: UnsafeMutableRawBufferPointer) {
    unused.withLock { $0.append(Block(bytes: block)) }
  }
}

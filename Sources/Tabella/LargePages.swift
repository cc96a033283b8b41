import Glibc

extension Array where Element: BitwiseCopyable {
  /// Makes room for so many more elements, four times the room if that is more; where it comes to many MiB,
  /// in large pages if the system has them.
  ///
  /// A small page costs a fault when it is first written to, and what is used all over the memory waits for
  /// the addresses of small pages. Room that is not used takes no memory, and each time it grows everything
  /// is copied to pages that are new.
  mutating func makeRoom(for more: Int) {
    guard count + more > capacity else { return }
    var larger: [Element] = []
    larger.reserveCapacity(Swift.max(count + more, 4 * capacity))
    let (page, size) = (2 << 20, larger.capacity * MemoryLayout<Element>.stride)
    if size >= 4 * page {
      larger.withUnsafeMutableBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        // Only pages that are the array's alone.
        let first = start.alignedUp(toMultipleOf: page)
        madvise(first, (start + size).alignedDown(toMultipleOf: page) - first, MADV_HUGEPAGE)
      }
    }
    larger += self
    self = larger
  }
}

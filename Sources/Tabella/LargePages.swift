import Glibc

extension Array {
  /// Ensures room for `more` additional elements. If the array must grow, its capacity grows at least fourfold.
  ///
  /// Arrays of many MiB ask the system for large pages. A small page costs a page fault at the first write, and
  /// random access waits for the address translation of small pages. Unused capacity takes no memory. Each growth
  /// copies everything to new pages.
  mutating func makeRoom(for more: Int) {
    guard count + more > capacity else { return }
    var larger: [Element] = []
    larger.reserveCapacity(Swift.max(count + more, 4 * capacity))
    let (page, size) = (2 << 20, larger.capacity * MemoryLayout<Element>.stride)
    if size >= 4 * page {
      larger.withUnsafeMutableBytes { bytes in
        guard let start = bytes.baseAddress else { return }
        // Only pages that belong to the array entirely.
        let first = start.alignedUp(toMultipleOf: page)
        madvise(first, (start + size).alignedDown(toMultipleOf: page) - first, MADV_HUGEPAGE)
      }
    }
    larger += self
    self = larger
  }
}

import Glibc

/// Memory whose end is the end of what may be touched: who reads or writes a byte too many ends the
/// process instead of finding something.
final class GuardedMemory {
  let start: UnsafeMutableRawPointer
  private let base: UnsafeMutableRawPointer
  private let size: Int

  /// Memory of so many bytes; nil if it cannot be had. It begins at a multiple of 8 if `count` is one.
  init?(_ count: Int) {
    let page = Int(getpagesize())
    size = (count + page - 1) / page * page + page
    guard
      let base = mmap(
        nil, size, PROT_READ | PROT_WRITE, Int32(MAP_PRIVATE) | Int32(MAP_ANONYMOUS), -1, 0),
      base != MAP_FAILED
    else { return nil }
    guard mprotect(base + size - page, page, PROT_NONE) == 0 else {
      munmap(base, size)
      return nil
    }
    self.base = base
    start = base + size - page - count
  }

  convenience init?(_ bytes: [UInt8]) {
    self.init(bytes.count)
    bytes.withUnsafeBytes { bytes in
      if let from = bytes.baseAddress { start.copyMemory(from: from, byteCount: bytes.count) }
    }
  }

  deinit { munmap(base, size) }
}

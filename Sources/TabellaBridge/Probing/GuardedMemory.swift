import Glibc

/// Memory that ends at an inaccessible page. An access beyond its end ends the process.
final class GuardedMemory {
  let start: UnsafeMutableRawPointer
  private let base: UnsafeMutableRawPointer
  private let size: Int

  /// Allocates `count` bytes; nil on failure. If `count` is a multiple of 8, the address is one too.
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

import Tabella

/// A moving window over bytes: what a sequential reader looks at.
///
/// The buffer grows only when one thing that must be seen whole is larger than it.
public final class Window {
  private let source: any ByteSource
  private var buffer: UnsafeMutableRawBufferPointer
  private var base = 0
  private var count = 0
  private var isAtEnd = false

  public init(_ source: any ByteSource, capacity: Int = 1 << 18) {
    self.source = source
    buffer = .allocate(byteCount: capacity, alignment: 64)
  }

  deinit { buffer.deallocate() }

  /// The bytes in the window from `offset` on, and whether they reach the end of the source.
  ///
  /// Valid until the next call. Empty only at the end.
  public func bytes(
    from offset: Int
  ) throws(TableError) -> (bytes: UnsafeRawBufferPointer, isLast: Bool) {
    if offset < base || offset > base + count {
      base = offset
      count = 0
      isAtEnd = false
    }
    if offset == base + count, !isAtEnd {
      base = offset
      count = 0
      try fill()
    }
    return (UnsafeRawBufferPointer(rebasing: buffer[(offset - base)..<count]), isAtEnd)
  }

  /// The same with more bytes than there were, for a thing that did not end in them.
  public func more(
    from offset: Int
  ) throws(TableError) -> (bytes: UnsafeRawBufferPointer, isLast: Bool) {
    let kept = base + count - offset
    if offset > base {
      buffer.baseAddress?.copyMemory(from: buffer.baseAddress! + (offset - base), byteCount: kept)
      base = offset
      count = kept
    }
    if count == buffer.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: buffer.count * 2, alignment: 64)
      larger.copyMemory(from: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      buffer.deallocate()
      buffer = larger
    }
    try fill()
    return try bytes(from: offset)
  }

  private func fill() throws(TableError) {
    while count < buffer.count, !isAtEnd {
      let got = try source.read(
        at: base + count, into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]))
      if got == 0 { isAtEnd = true }
      count += got
    }
  }
}

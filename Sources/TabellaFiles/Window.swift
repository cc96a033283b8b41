import Tabella

/// A moving window over bytes, for a sequential reader.
///
/// The buffer grows only if an item that must be in the window as a whole is larger than the buffer.
public final class Window {
  private let source: any ByteSource
  private var buffer: UnsafeMutableRawBufferPointer
  private var base = 0
  private var count = 0
  private var isAtEnd = false

  /// Creates a window. `capacity` is its initial size in bytes.
  public init(_ source: any ByteSource, capacity: Int = 1 << 18) {
    self.source = source
    buffer = .allocate(byteCount: capacity, alignment: 64)
  }

  deinit { buffer.deallocate() }

  /// The bytes in the window from `offset` on, and whether they reach the end of the source.
  ///
  /// They are valid until the next call. They are empty only at the end.
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

  /// Returns more bytes from `offset` on than before, for an item that did not end in the window.
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

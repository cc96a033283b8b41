import Tabella

/// The bytes of another source, for many small reads that mostly go forwards. It reads ahead while they are close.
///
/// A batch of many edits reads some bytes of each edited row, and a system call for each would take longer than
/// everything else. A read far from the last one reads one page of memory only, so a single edit stays cheap.
///
/// The bytes are as old as the buffer, so a check for changes needs a new object. One thread at a time may use it.
final class BufferedBytes: ByteSource {
  /// The size of the first read after a jump, and of the largest one, in bytes.
  private static let (least, most) = (4 << 10, 256 << 10)
  /// The distance from which on a forward jump is cheaper than reading the bytes in between.
  static let near = 16 << 10

  private let base: any ByteSource
  private var buffer = UnsafeMutableRawBufferPointer(start: nil, count: 0)
  /// The offset and the number of the bytes in the buffer.
  private var (start, filled) = (0, 0)

  init(_ base: any ByteSource) { self.base = base }

  deinit { buffer.deallocate() }

  var version: Version? { base.version }
  var hasVersion: Bool { base.hasVersion }
  /// The size is nil, because only one thread may read.
  var size: Int? { nil }

  func checkUnchanged() throws(TableError) { try base.checkUnchanged() }

  func hasArrived(at offset: Int, within milliseconds: Int32) throws(TableError) -> Bool {
    if (start..<start + filled).contains(offset) { return true }
    return try base.hasArrived(at: offset, within: milliseconds)
  }

  func read(
    at offset: Int, into target: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    if !(start..<start + filled).contains(offset) {
      if target.count >= BufferedBytes.most { return try base.read(at: offset, into: target) }
      try fill(at: offset, for: target.count)
    }
    let count = min(target.count, start + filled - offset)
    target.copyMemory(
      from: UnsafeRawBufferPointer(rebasing: buffer[offset - start..<offset - start + count]))
    return count
  }

  /// Reads the buffer again, from `offset` on.
  private func fill(at offset: Int, for count: Int) throws(TableError) {
    let isNear = (start..<start + filled + BufferedBytes.near).contains(offset)
    var size = BufferedBytes.least
    if isNear { size = min(max(size, 4 * buffer.count), BufferedBytes.most) }
    while size < count { size *= 2 }
    if size != buffer.count {
      buffer.deallocate()
      buffer = .allocate(byteCount: size, alignment: 64)
    }
    (start, filled) = (offset, 0)
    filled = try base.read(at: offset, into: buffer)
  }
}

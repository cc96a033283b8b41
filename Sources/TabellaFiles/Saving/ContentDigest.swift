import Tabella

/// A digest of all bytes of a file, to recognize them later.
enum ContentDigest {
  /// The maximum size in bytes. Reading larger files would take a noticeable time.
  static let limit = 256 << 20
  private static let blockSize = 1 << 20

  /// The digest, or nil if there are too many bytes.
  /// - Complexity: O(bytes), about 5 GB per second.
  static func digest(of bytes: any ByteSource, size: Int) throws(TableError) -> UInt64? {
    guard size <= limit else { return nil }
    let block = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(blockSize, max(1, size)), alignment: 64)
    defer { block.deallocate() }
    var digests = [UInt64(size)]
    var offset = 0
    while offset < size {
      let got = try bytes.fill(block, at: offset)
      guard got > 0 else { break }
      digests.append(digest64(UnsafeRawBufferPointer(rebasing: block[..<got])))
      offset += got
    }
    return digests.withUnsafeBytes { digest64($0) }
  }
}

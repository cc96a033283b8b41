import Tabella

/// A digest of all bytes of a file, to know them again.
enum ContentDigest {
  /// Beyond this many bytes reading them all would be felt.
  static let limit = 256 << 20
  private static let blockSize = 1 << 20

  /// Nil if there are too many bytes.
  /// - Complexity: O(bytes), about 5 GB a second.
  static func of(_ bytes: any ByteSource, size: Int) throws(TableError) -> UInt64? {
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

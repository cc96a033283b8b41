import Tabella

/// The first bytes of another source, up to an offset.
///
/// A reader of records that begins at some record and uses this source reads a range of the text, and no other bytes.
public final class BytesUpTo: ByteSource {
  private let whole: any ByteSource
  private let end: Int

  /// Creates the bytes in front of `end`. Throws ``TableError`` with `.invalidArgument` if the source has fewer bytes.
  public init(_ end: Int, of whole: any ByteSource) throws(TableError) {
    guard let size = whole.size, end <= size else {
      throw TableError(
        .invalidArgument, "offset \(end) is after the end of the file at \(whole.size ?? 0)")
    }
    self.whole = whole
    self.end = end
  }

  public var version: Version? { whole.version }
  public var hasVersion: Bool { whole.hasVersion }
  public var size: Int? { end }

  public func checkUnchanged() throws(TableError) { try whole.checkUnchanged() }

  public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError)
    -> Int
  {
    guard offset < end else { return 0 }
    let count = min(buffer.count, end - offset)
    return try whole.read(
      at: offset, into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<count]))
  }
}

extension ByteSource {
  /// Throws ``TableError`` with `.invalidArgument` if no record can begin at `offset`: the byte in front of it ends no
  /// line. A line end in a quoted cell is not recognized. The end of the source is allowed.
  public func checkRecordStart(_ offset: Int) throws(TableError) {
    if offset == size || offset == 0 { return }
    let near = try bytes(at: offset - 1, count: 2)
    let isInside = near.first == 13 && near.last == 10
    guard let before = near.first, before == 10 || before == 13, !isInside else {
      throw TableError(.invalidArgument, "no row begins at the offset \(offset)")
    }
  }
}

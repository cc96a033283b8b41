import Tabella

/// The bytes of a stream, kept as they are read so that they can be read again at any offset.
///
/// The first ``memoryLimit`` bytes stay in memory, the rest goes to an unlinked temporary file.
/// Reading at an offset reads the stream up to there and no further.
public final class SpooledBytes: ByteSource {
  static let memoryLimit = 1 << 20

  private let fill: (UnsafeMutableRawBufferPointer) throws(TableError) -> Int
  private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  private var head: [UInt8] = []
  private var spill: Int32 = -1
  private var count = 0
  private var isComplete = false
  /// Why the stream could not be kept; what came after it is lost, so reading ends here for good.
  private var failure: TableError?

  /// A spool of what `fill` gives: some bytes at each call, 0 at the end.
  public init(_ fill: @escaping (UnsafeMutableRawBufferPointer) throws(TableError) -> Int) {
    self.fill = fill
  }

  deinit {
    if spill >= 0 { close(spill) }
    chunk.deallocate()
  }

  public var version: Version? { nil }
  public var size: Int? { nil }

  public func checkUnchanged() {}

  public func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    while count <= offset, !isComplete { try readMore() }
    let available = min(count - offset, buffer.count)
    guard available > 0 else { return 0 }
    if offset < head.count {
      let wanted = min(available, head.count - offset)
      head.withUnsafeBytes {
        buffer.copyMemory(from: .init(rebasing: $0[offset..<offset + wanted]))
      }
      return wanted
    }
    return try readRetrying("the temporary file cannot be read") {
      pread(spill, buffer.baseAddress, available, offset - head.count)
    }
  }

  private func readMore() throws(TableError) {
    if let failure { throw failure }
    var got = 0
    do throws(TableError) {
      got = try fill(chunk)
      try keep(UnsafeRawBufferPointer(rebasing: chunk[..<got]))
    } catch {
      failure = error
      throw error
    }
    if got == 0 {
      isComplete = true
      return
    }
    count += got
  }

  private func keep(_ bytes: UnsafeRawBufferPointer) throws(TableError) {
    if spill < 0, head.count + bytes.count <= SpooledBytes.memoryLimit {
      head.append(contentsOf: bytes)
      return
    }
    if spill < 0 { spill = try temporaryFile() }
    var written = 0
    while written < bytes.count {
      written += try readRetrying("the temporary file cannot be written") {
        Glibc.write(spill, bytes.baseAddress! + written, bytes.count - written)
      }
    }
  }

  private func temporaryFile() throws(TableError) -> Int32 {
    let folder = trustedVariable("TMPDIR").map(\.shown) ?? "/tmp"
    var template = Array("\(folder)/tabella-XXXXXX".utf8CString)
    let descriptor = mkstemp(&template)
    guard descriptor >= 0 else {
      throw .system(errno, "a temporary file in \(folder) cannot be made")
    }
    unlink(template)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    return descriptor
  }
}

import Tabella

/// The bytes of a stream, kept as they are read so that they can be read again at any offset.
///
/// The first ``memoryLimit`` bytes stay in memory, the rest goes to an unlinked temporary file.
/// Reading at an offset reads the stream up to there and no further.
public final class SpooledBytes: ByteSource {
  static let memoryLimit = 1 << 20

  private let fill: (UnsafeMutableRawBufferPointer) throws(TableError) -> Int
  private var head: [UInt8] = []
  private var spill: Int32 = -1
  private var count = 0
  private var isComplete = false

  /// A spool of what `fill` gives: some bytes at each call, 0 at the end.
  public init(_ fill: @escaping (UnsafeMutableRawBufferPointer) throws(TableError) -> Int) {
    self.fill = fill
  }

  deinit { if spill >= 0 { close(spill) } }

  public var version: Version? { nil }

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
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    var got = 0
    var failure: TableError?
    chunk.withUnsafeMutableBytes { bytes in
      do throws(TableError) { got = try fill(bytes) } catch { failure = error }
    }
    if let failure { throw failure }
    if got == 0 {
      isComplete = true
      return
    }
    if spill < 0, head.count + got <= SpooledBytes.memoryLimit {
      head.append(contentsOf: chunk[..<got])
    } else {
      try write(chunk[..<got])
    }
    count += got
  }

  private func write(_ bytes: ArraySlice<UInt8>) throws(TableError) {
    if spill < 0 { spill = try temporaryFile() }
    var rest = bytes
    while !rest.isEmpty {
      let written = try readRetrying("the temporary file cannot be written") {
        rest.withUnsafeBytes { Glibc.write(spill, $0.baseAddress, $0.count) }
      }
      rest = rest.dropFirst(written)
    }
  }

  private func temporaryFile() throws(TableError) -> Int32 {
    let folder = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
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

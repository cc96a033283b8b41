import CTabellaSystem
import Tabella

/// Bytes that can be read at any offset.
public protocol ByteSource: AnyObject {
  /// Reads bytes from `offset` on into `buffer` and returns how many; 0 only at the end.
  ///
  /// Throws ``TableError`` with `.io`, or with `.conflict` if the bytes are no longer those that
  /// were opened.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError) -> Int

  /// Throws ``TableError`` with `.conflict` if the bytes are no longer those that were opened.
  func checkUnchanged() throws(TableError)

  /// A token for the bytes; nil if they come from a stream and cannot be had again.
  var version: Version? { get }

  /// How many bytes there are, if that is known. Then they may be read by several threads at once.
  var size: Int? { get }
}

extension ByteSource {
  /// Fills `buffer` from `offset` on as far as there are bytes, and returns how many that was.
  func fill(
    _ buffer: UnsafeMutableRawBufferPointer, at offset: Int
  ) throws(TableError) -> Int {
    var got = 0
    while got < buffer.count {
      let more = try read(
        at: offset + got, into: UnsafeMutableRawBufferPointer(rebasing: buffer[got...]))
      if more == 0 { break }
      got += more
    }
    return got
  }

  /// The bytes from `offset` on, `count` of them unless the end comes first.
  public func bytes(at offset: Int, count: Int) throws(TableError) -> [UInt8] {
    var failure: TableError?
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, got in
      do throws(TableError) {
        got = try fill(
          UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[..<count]),
          at: offset)
      } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    return bytes
  }
}

/// A file at the end of a path, opened for reading.
///
/// Never blocks in opening (a FIFO waits for its writer when it is first read) and never becomes a
/// terminal's owner. The descriptor is closed with the object.
public final class OpenFile {
  public let descriptor: Int32
  public let fingerprint: Fingerprint

  /// Opens a path (bytes, no NUL). Throws ``TableError`` with `.notFound`, `.denied` or `.io`.
  public init(path: [UInt8]) throws(TableError) {
    let descriptor = path.withCString {
      open($0, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
    }
    guard descriptor >= 0 else { throw .system(errno, "cannot be opened") }
    do throws(TableError) {
      fingerprint = try Fingerprint(of: descriptor)
      guard fingerprint.kind != S_IFDIR else {
        throw TableError(.invalidArgument, "is a directory, not a file")
      }
      guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK) == 0 else {
        throw .system(errno, "cannot be opened")
      }
    } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  /// The same file once more. The offset is shared, but reading goes by place.
  ///
  /// `isPassed` says that it no longer is as it is to be known: whatever is read of it is a conflict.
  init(duplicating other: Int32, isPassed: Bool = false) throws(TableError) {
    let descriptor = fcntl(other, F_DUPFD_CLOEXEC, 0)
    guard descriptor >= 0 else { throw .system(errno, "cannot be opened again") }
    do throws(TableError) {
      let now = try Fingerprint(of: descriptor)
      fingerprint = isPassed ? now.passed : now
    } catch {
      close(descriptor)
      throw error
    }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// The same file as it is now; nil if that cannot be had.
  func again() -> OpenFile? { try? OpenFile(duplicating: descriptor) }

  /// The bytes: read in place from a file that has a size, kept as they are read from a stream.
  public func bytes() -> any ByteSource {
    if isStored { return FileBytes(self) }
    // A pipe, a device, or a file of /proc or /sys, whose size says nothing.
    var awaitsWriter = fingerprint.kind == S_IFIFO
    return SpooledBytes { [self] buffer throws(TableError) in
      if awaitsWriter { awaitWriter() }
      awaitsWriter = false
      return try readRetrying("cannot be read") {
        Glibc.read(descriptor, buffer.baseAddress, buffer.count)
      }
    }
  }

  /// Whether it is a regular file that has the size that is said: in /proc files are said to be empty and
  /// are not, in /sys to have a page.
  public var isStored: Bool {
    guard fingerprint.kind == S_IFREG else { return false }
    if fingerprint.size > 0 { return !tabella_system_is_of_kernel(descriptor) }
    var byte: UInt8 = 0
    return pread(descriptor, &byte, 1, 0) == 0
  }

  /// Waits until a FIFO has been opened by a writer; read before that, it would seem to be empty.
  private func awaitWriter() {
    var pipe = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    while poll(&pipe, 1, -1) < 0, errno == EINTR {}
  }
}

/// What tells one state of a file from another, without reading it.
public struct Fingerprint: Hashable, Sendable {
  public let device: UInt64
  public let inode: UInt64
  public let size: Int
  /// `S_IFREG` and so on.
  public let kind: UInt32
  let modified: [Int]
  private(set) var changed: [Int]

  public init(of descriptor: Int32) throws(TableError) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw .system(errno, "cannot be examined") }
    self.init(status)
  }

  public init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    kind = status.st_mode & S_IFMT
    modified = [status.st_mtim.tv_sec, status.st_mtim.tv_nsec]
    changed = [status.st_ctim.tv_sec, status.st_ctim.tv_nsec]
  }

  /// Whether a file is still this one with these bytes, as far as its time of modification tells: that
  /// of change is also set by a rename.
  func isOfSameContent(as other: Fingerprint) -> Bool {
    device == other.device && inode == other.inode && size == other.size
      && modified == other.modified
  }

  /// A state of the same file that it never has: of bytes that another program changed before they could be
  /// examined.
  var passed: Fingerprint {
    var other = self
    other.changed = []
    return other
  }

  /// The fingerprint as a version: device, inode, size and both times in nanoseconds.
  public var version: Version {
    let times = (modified + changed).map { String($0, radix: 16) }
    return Version(
      "\(String(device, radix: 16)).\(String(inode, radix: 16)).\(String(size, radix: 16))."
        + times.joined(separator: "."))
  }
}

/// A regular file's bytes, by `pread`: a file that shrinks is an error, not a dead process.
final class FileBytes: ByteSource {
  private let file: OpenFile

  init(_ file: OpenFile) { self.file = file }

  var version: Version? { file.fingerprint.version }
  var size: Int? { file.fingerprint.size }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError) -> Int {
    // Bytes that arrive later belong to another version.
    let wanted = min(buffer.count, file.fingerprint.size - offset)
    guard wanted > 0 else { return 0 }
    let got = try readRetrying("cannot be read") {
      pread(file.descriptor, buffer.baseAddress, wanted, offset)
    }
    guard got > 0 else { throw TableError(.conflict, "was shortened while it was read") }
    return got
  }

  func checkUnchanged() throws(TableError) {
    guard try Fingerprint(of: file.descriptor) == file.fingerprint else {
      throw TableError(.conflict, "changed while it was read; open it again")
    }
  }
}

/// Bytes in memory, as a source.
public final class MemoryBytes: ByteSource {
  private let bytes: [UInt8]

  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  public var version: Version? { nil }
  public var size: Int? { bytes.count }

  public func checkUnchanged() {}

  public func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, bytes.count - offset)
    guard count > 0 else { return 0 }
    bytes.withUnsafeBytes {
      buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[offset..<offset + count]))
    }
    return count
  }
}

/// Runs a call that returns -1 and sets `errno`, again when it was interrupted.
func readRetrying(_ what: String, _ body: () -> Int) throws(TableError) -> Int {
  while true {
    let result = body()
    if result >= 0 { return result }
    if errno != EINTR { throw .system(errno, what) }
  }
}

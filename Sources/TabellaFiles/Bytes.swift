import CTabellaSystem
@_exported import Glibc
import Tabella
import TabellaSystem

/// A sequence of bytes that can be read at any offset.
public protocol ByteSource: AnyObject {
  /// Reads bytes at `offset` into `buffer` and returns their number. It is 0 only at the end.
  ///
  /// Throws ``TableError`` with `.io`, or with `.conflict` if the bytes have changed since they were opened.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError) -> Int

  /// Throws ``TableError`` with `.conflict` if the bytes have changed since they were opened.
  func checkUnchanged() throws(TableError)

  /// A token for the bytes; nil for a stream, because it cannot be read again.
  var version: Version? { get }

  /// Whether there is a ``version``. The answer takes less time than a version.
  var hasVersion: Bool { get }

  /// The number of bytes, if it is known. In that case, several threads may read at the same time.
  var size: Int? { get }

  /// Whether a read at `offset` returns at once, or at least within some time: the bytes or the end have arrived.
  ///
  /// Only a stream can answer with false. The default is true.
  func hasArrived(at offset: Int, within milliseconds: Int32) throws(TableError) -> Bool
}

extension ByteSource {
  public var hasVersion: Bool { version != nil }

  public func hasArrived(at offset: Int, within milliseconds: Int32) throws(TableError) -> Bool {
    true
  }

  /// Fills `buffer` with the bytes from `offset` on that have arrived, and waits only for the first `least` bytes.
  ///
  /// Returns the number of bytes, and whether the text is known to end with them. There are fewer than `least` bytes
  /// only at the end.
  func fillArrived(
    _ buffer: UnsafeMutableRawBufferPointer, at offset: Int, least: Int = 1
  ) throws(TableError) -> (count: Int, isEnd: Bool) {
    if let size {
      let got = try fill(buffer, at: offset)
      return (got, got < buffer.count || offset + got == size)
    }
    var got = 0
    while got < buffer.count {
      if got >= least, !(try hasArrived(at: offset + got, within: 0)) { return (got, false) }
      let more = try read(
        at: offset + got, into: UnsafeMutableRawBufferPointer(rebasing: buffer[got...]))
      if more == 0 { return (got, true) }
      got += more
    }
    return (got, false)
  }

  /// Waits for the start of a stream: for `limit` bytes from `start` on, for the end, or for a pause.
  ///
  /// A pause is a tenth of a second without new bytes, after at least one byte or, with `includesLine`, one line.
  /// Returns the end of the bytes that arrived, and whether the text ends there. For a stored file the result is
  /// `limit` or the end of the file.
  public func sampleEnd(
    from start: Int, upTo limit: Int, includesLine: Bool = false
  ) throws(TableError) -> (end: Int, isWhole: Bool) {
    if let size { return (max(start, min(limit, size)), size <= limit) }
    let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 64)
    defer { block.deallocate() }
    var (end, isEnough) = (start, false)
    while end < limit {
      if isEnough, !(try hasArrived(at: end, within: 100)) { return (end, false) }
      let got = try read(
        at: end,
        into: UnsafeMutableRawBufferPointer(rebasing: block[..<min(block.count, limit - end)]))
      if got == 0 { return (end, true) }
      isEnough = isEnough || !includesLine || block[..<got].contains { $0 == 10 || $0 == 13 }
      end += got
    }
    guard try hasArrived(at: end, within: 0) else { return (end, false) }
    return (end, try bytes(at: end, count: 1).isEmpty)
  }

  /// The first bytes: `count` of them, or fewer if the text ends or if a stream pauses.
  public func firstBytes(_ count: Int) throws(TableError) -> [UInt8] {
    try bytes(at: 0, count: sampleEnd(from: 0, upTo: count).end)
  }

  /// Fills `buffer` with the bytes from `offset` on, and returns the number of bytes read. It is lower than the
  /// size of the buffer only at the end.
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

  /// The bytes from `offset` on: `count` of them, or fewer at the end.
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

/// A file, opened for reading by its path.
///
/// Opening never blocks; reading a FIFO for the first time waits for its writer. Opening a terminal never makes it
/// the controlling terminal. The object closes the descriptor when it is released.
///
/// `/dev/stdin` is the open standard input, from its offset on. This process need not be allowed to open it again.
public final class OpenFile: Sendable {
  private let file: Descriptor
  /// The fingerprint of the file at the time of opening.
  public let fingerprint: Fingerprint
  /// Whether this is standard input that another program has read in part. Then its own offset counts.
  private let isReadInPart: Bool

  /// Opens a path (bytes without NUL). Throws ``TableError`` with `.notFound`, `.denied` or `.io`.
  public init(path: [UInt8]) throws(TableError) {
    let flags = O_RDONLY | O_NOCTTY | O_NONBLOCK
    guard path == Array("/dev/stdin".utf8) else {
      file = try Descriptor(opening: path, flags, errorPrefix: "cannot be opened")
      isReadInPart = false
      fingerprint = try OpenFile.examine(file.raw)
      return
    }
    guard fcntl(STDIN_FILENO, F_GETFL) & O_ACCMODE != O_WRONLY else {
      throw TableError(.io, "cannot be read: it is open for writing only")
    }
    isReadInPart = lseek(STDIN_FILENO, 0, SEEK_CUR) > 0
    // Its own open file has its own flags. But a socket cannot be opened, nor a file of another user, without rights.
    if !isReadInPart, let again = Descriptor(opening: path, flags) {
      file = again
      fingerprint = try OpenFile.examine(file.raw)
    } else if let same = Descriptor(duplicating: STDIN_FILENO) {
      file = same
      fingerprint = try Fingerprint(of: file.raw)
    } else {
      throw .system(errno, "cannot be opened")
    }
  }

  /// The fingerprint of a newly opened file. Reading it will wait for input.
  private static func examine(_ file: Int32) throws(TableError) -> Fingerprint {
    let fingerprint = try Fingerprint(of: file)
    guard fingerprint.kind != S_IFDIR else {
      throw TableError(.invalidArgument, "is a directory, not a file")
    }
    // Reads of a regular file wait in any case.
    guard
      fingerprint.kind == S_IFREG
        || fcntl(file, F_SETFL, fcntl(file, F_GETFL) & ~O_NONBLOCK) == 0
    else { throw .system(errno, "cannot be opened") }
    return fingerprint
  }

  /// The open file descriptor. The object owns it.
  public var descriptor: Int32 { file.raw }

  /// Opens the same file again. The two descriptors share their file offset, but all reads use explicit offsets.
  ///
  /// If `isOutdated` is true, the file has already changed, and every read reports a conflict.
  init(duplicating other: Int32, isOutdated: Bool = false) throws(TableError) {
    guard let file = Descriptor(duplicating: other) else {
      throw .system(errno, "cannot be opened again")
    }
    let now = try Fingerprint(of: file.raw)
    fingerprint = isOutdated ? now.neverMatching : now
    isReadInPart = false
    self.file = file
  }

  /// The same file with its current fingerprint; nil if that fails.
  func reopened() -> OpenFile? { try? OpenFile(duplicating: descriptor) }

  /// Whether a process has the file open for writing; false if that cannot be known.
  ///
  /// The kernel grants a lease only if nobody can write (fcntl(2)). The lease ends at once. It needs a file of this user,
  /// and a file system with leases.
  var hasWriter: Bool {
    let path = "/proc/self/fd/\(descriptor)"
    guard let file = Descriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY) else {
      // Another process has a lease for writing.
      return errno == EWOULDBLOCK
    }
    return tabella_system_lease(file.raw) == -EAGAIN
  }

  /// The bytes of the file. A regular file is read at its offsets. The bytes of a stream are stored as they are
  /// read.
  public func bytes() -> any ByteSource {
    if isStored { return FileBytes(self) }
    // A pipe, a socket, a device, the rest of an input, or a file of /proc or /sys, whose reported size has no meaning.
    var awaitsWriter = fingerprint.kind == S_IFIFO
    return SpooledBytes { [self] buffer throws(TableError) in
      // Before a writer opens the FIFO, it would seem to be empty.
      if awaitsWriter { _ = hasInput(descriptor) }
      awaitsWriter = false
      return try readWaiting(descriptor, into: buffer, "cannot be read")
    } hasArrived: { [self] milliseconds in
      hasInput(descriptor, within: milliseconds)
    }
  }

  /// The same bytes for a table that shows them for a long time: growth of a regular file is no conflict.
  public func growingBytes() -> any ByteSource {
    isStored ? FileBytes(self, mayGrow: true) : bytes()
  }

  /// Whether it is a regular file that has the reported size.
  ///
  /// Files in /proc report size 0 although they have content. Files in /sys report the size of a page.
  public var isStored: Bool {
    guard fingerprint.kind == S_IFREG, !isReadInPart else { return false }
    if fingerprint.size > 0 { return !tabella_system_is_of_kernel(descriptor) }
    var byte: UInt8 = 0
    if pread(descriptor, &byte, 1, 0) == 0 { return true }
    // Another program may have written the first bytes in the meantime. Then reads report a conflict.
    return (stat(of: descriptor)?.st_size ?? 0) > 0
  }
}

/// The state of a file, as far as it can be determined without reading the file.
public struct Fingerprint: Hashable, Sendable {
  /// The device number.
  public let device: UInt64
  /// The inode number.
  public let inode: UInt64
  /// The size in bytes.
  public let size: Int
  /// The type of the file, such as `S_IFREG`.
  public let kind: UInt32
  let modified: Moment
  /// The time of the last change of the bytes or the attributes; nil in a fingerprint that no file has.
  private(set) var changed: Moment?

  /// A time of a file: seconds since 1970, and nanoseconds.
  struct Moment: Hashable, Sendable {
    let seconds: Int
    let nanoseconds: Int
  }

  /// The current fingerprint of an open file. Throws ``TableError`` with `.io`.
  public init(of descriptor: Int32) throws(TableError) {
    guard let status = stat(of: descriptor) else { throw .system(errno, "cannot be examined") }
    self.init(status)
  }

  /// The fingerprint in a result of `stat`.
  public init(_ status: stat) {
    device = UInt64(status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int(status.st_size)
    kind = status.kind
    modified = Moment(seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    changed = Moment(seconds: status.st_ctim.tv_sec, nanoseconds: status.st_ctim.tv_nsec)
  }

  /// Whether this is the same file with the same bytes, judged by its modification time.
  ///
  /// The change time is ignored, because a rename sets it too.
  func isOfSameContent(as other: Fingerprint) -> Bool {
    device == other.device && inode == other.inode && size == other.size
      && modified == other.modified
  }

  /// Whether this is a later state of the same file that can have the same bytes at its front: the same size and
  /// modification time, or a larger size.
  func continues(_ other: Fingerprint) -> Bool {
    guard device == other.device, inode == other.inode, kind == other.kind, other.changed != nil
    else { return false }
    return size > other.size || isOfSameContent(as: other)
  }

  /// Whether this is the same file with the same size and another modification time.
  func isOfAnotherTime(than other: Fingerprint) -> Bool {
    isSameFile(as: other) && size == other.size && modified != other.modified
  }

  /// Whether both belong to the same file.
  func isSameFile(as other: Fingerprint) -> Bool {
    device == other.device && inode == other.inode
  }

  /// The modification time in seconds since 1970.
  var modificationTime: Double { Double(modified.seconds) + Double(modified.nanoseconds) / 1e9 }

  /// A fingerprint that the file never has. It marks bytes that another program changed before they could be
  /// examined.
  var neverMatching: Fingerprint {
    var other = self
    other.changed = nil
    return other
  }

  /// The fingerprint as a version: device, inode, size and both times in nanoseconds.
  public var version: Version { version(ofFirst: size) }

  /// The version of the first bytes of the file. A smaller file with the same times would have these bytes.
  func version(ofFirst count: Int) -> Version {
    var numbers = [Int(bitPattern: UInt(device)), Int(bitPattern: UInt(inode)), count]
    for moment in [modified, changed] {
      if let moment { numbers += [moment.seconds, moment.nanoseconds] }
    }
    return Version(Hexadecimal.joined(numbers))
  }
}

/// A byte source in memory.
public final class MemoryBytes: ByteSource {
  private let bytes: [UInt8]

  /// Creates a source of these bytes.
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

import Tabella
import TabellaSystem

/// The bytes of a stream. They are stored as they are read, so that they can be read again at any offset.
///
/// The first ``memoryLimit`` bytes stay in memory, and the rest goes to an unlinked temporary file. A worker
/// without permission to write files keeps all bytes in memory. A read at an offset consumes the stream only up to
/// there.
public final class SpooledBytes: ByteSource {
  static let memoryLimit = 1 << 20

  private let fill: (UnsafeMutableRawBufferPointer) throws(TableError) -> Int
  private let isReady: (Int32) throws(TableError) -> Bool
  private let chunk = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
  private var head: [UInt8] = []
  private var spill: Spill?
  private var count = 0
  private var isComplete = false
  /// The reason why the stream could not be stored. The following bytes are lost, so reading ends here for good.
  private var failure: TableError?

  /// Creates a spool of the bytes that `fill` returns: at least one per call, 0 at the end.
  ///
  /// `hasArrived` tells whether `fill` returns within so many milliseconds.
  public init(
    _ fill: @escaping (UnsafeMutableRawBufferPointer) throws(TableError) -> Int,
    hasArrived: @escaping (Int32) throws(TableError) -> Bool = { _ in true }
  ) {
    self.fill = fill
    isReady = hasArrived
  }

  deinit { chunk.deallocate() }

  public var version: Version? { nil }
  public var size: Int? { nil }

  public func checkUnchanged() {}

  public func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    while count <= offset, !isComplete { try readMore() }
    let available = min(count - offset, buffer.count)
    guard available > 0 else { return 0 }
    guard let spill, offset >= head.count else {
      let wanted = min(available, head.count - offset)
      head.withUnsafeBytes {
        buffer.copyMemory(from: .init(rebasing: $0[offset..<offset + wanted]))
      }
      return wanted
    }
    return try spill.read(at: offset - head.count, into: .init(rebasing: buffer[..<available]))
  }

  public func hasArrived(at offset: Int, within milliseconds: Int32) throws(TableError) -> Bool {
    if count > offset || isComplete || failure != nil { return true }
    return try isReady(milliseconds)
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
    if spill == nil, head.count + bytes.count <= SpooledBytes.memoryLimit {
      head.append(contentsOf: bytes)
      return
    }
    if spill == nil { spill = MemorySpill.isNeeded ? MemorySpill() : try FileSpill() }
    try spill?.append(bytes)
  }
}

/// A store for the bytes after the head.
private protocol Spill: AnyObject {
  func append(_ bytes: UnsafeRawBufferPointer) throws(TableError)
  /// Returns the number of bytes that were read, at least one. The store has all bytes that the buffer asks for.
  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError) -> Int
}

private final class FileSpill: Spill {
  private let file: Descriptor

  init() throws(TableError) {
    let folder = trustedVariable("TMPDIR").map(\.shown) ?? "/tmp"
    var template = Array("\(folder)/tabella-XXXXXX".utf8CString)
    guard let file = Descriptor(mkstemp(&template)) else {
      throw .system(errno, "a temporary file in \(folder) cannot be created")
    }
    unlink(template)
    _ = fcntl(file.raw, F_SETFD, FD_CLOEXEC)
    self.file = file
  }

  func append(_ bytes: UnsafeRawBufferPointer) throws(TableError) {
    var written = 0
    while written < bytes.count {
      written += try readRetrying("the temporary file cannot be written") {
        Glibc.write(file.raw, bytes.baseAddress! + written, bytes.count - written)
      }
    }
  }

  func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    try readRetrying("the temporary file cannot be read") {
      pread(file.raw, buffer.baseAddress, buffer.count, offset)
    }
  }
}

/// A store in separate blocks of memory. An array would be copied each time it grows.
private final class MemorySpill: Spill {
  private static let blockSize = 16 << 20

  private var blocks: [UnsafeMutableRawBufferPointer] = []
  private var count = 0

  /// Whether this process may not write any byte to a file, so that a temporary file is useless.
  static var isNeeded: Bool { limit(RLIMIT_FSIZE) == 0 }

  /// Half of the memory limit of the process. The other half is for data that is made from the bytes.
  private static let mostBytes =
    min(limit(RLIMIT_DATA), limit(RLIMIT_AS)) / 2

  deinit { for block in blocks { munmap(block.baseAddress, block.count) } }

  func append(_ bytes: UnsafeRawBufferPointer) throws(TableError) {
    var rest = bytes
    while !rest.isEmpty {
      let place = count % MemorySpill.blockSize
      if place == 0 { try grow() }
      let size = min(rest.count, MemorySpill.blockSize - place)
      UnsafeMutableRawBufferPointer(rebasing: blocks[blocks.count - 1][place...])
        .copyMemory(from: .init(rebasing: rest[..<size]))
      count += size
      rest = .init(rebasing: rest[size...])
    }
  }

  private func grow() throws(TableError) {
    var block: UnsafeMutableRawPointer?
    if count + MemorySpill.blockSize <= MemorySpill.mostBytes {
      block = mmap(
        nil, MemorySpill.blockSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    }
    guard let block, block != MAP_FAILED else {
      throw TableError(
        .io,
        "a stream of more than \(count >> 20) MiB cannot be kept in memory, and a provider in a worker cannot write temporary files; save the stream to a file, and open the file"
      )
    }
    blocks.append(.init(start: block, count: MemorySpill.blockSize))
  }

  func read(
    at offset: Int, into buffer: UnsafeMutableRawBufferPointer
  ) throws(TableError) -> Int {
    let block = blocks[offset / MemorySpill.blockSize]
    let place = offset % MemorySpill.blockSize
    let size = min(buffer.count, MemorySpill.blockSize - place)
    buffer.copyMemory(from: .init(rebasing: block[place..<place + size]))
    return size
  }
}

/// A resource limit of this process; `Int.max` if there is none.
private func limit(_ kind: __rlimit_resource) -> Int {
  var limit = rlimit()
  guard getrlimit(__rlimit_resource_t(kind.rawValue), &limit) == 0 else { return .max }
  return Int(clamping: limit.rlim_cur)
}

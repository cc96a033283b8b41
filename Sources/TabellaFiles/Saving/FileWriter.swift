import CTabellaSystem
import Glibc
import Tabella
import TabellaSystem
import TabellaThreads

/// Writes an open file from its start.
///
/// Errors refer to the file as a whole. The writer writes nothing twice. It continues a write that the system cuts
/// short.
public struct FileWriter {
  private static let bufferSize = 256 << 10
  /// The size from which on a piece is copied or written directly, in bytes. Smaller pieces are gathered, because a
  /// system call for each would take longer than everything else.
  private static let directSize = 32 << 10
  /// The text in front of the system's message, for errors of writing a new file.
  public static let errorPrefix = "cannot be saved; nothing was changed"

  let descriptor: Int32
  let cancel: CancelFlag
  var position = 0
  /// Copied bytes that are not finished: their offset in this file, and their range in the old file if it is
  /// contiguous.
  private var unfinished = (written: 0, read: 0..<0)
  /// Whether the new file replaces the old one.
  private let replacesOld: Bool
  /// The number of bytes that are copied between two checks for cancellation.
  private let step: Int
  /// Whether the kernel can copy between these files.
  private var copies: Bool
  /// The text in front of the system's message in errors.
  private let errorPrefix: String

  /// Creates a writer for a descriptor. The caller still owns the descriptor.
  ///
  /// `errorPrefix` is the text in front of the system's message in errors. `byHand` avoids copies by the kernel, after
  /// such a copy has failed. `replacesOld` means that the new file replaces the copied one, so that the bytes of
  /// the old file need not stay in memory. Freeing all of them at the end would take a tenth of the time of a save.
  /// Only tests use a smaller `step`.
  public init(
    _ descriptor: Int32, cancel: CancelFlag,
    errorPrefix: String = FileWriter.errorPrefix, byHand: Bool = false,
    replacesOld: Bool = false, step: Int = 16 << 20
  ) {
    copies = !byHand
    self.step = step
    self.replacesOld = replacesOld
    self.descriptor = descriptor
    self.cancel = cancel
    self.errorPrefix = errorPrefix
  }

  /// Writes the content of a table. Old bytes come from the file `old`.
  mutating func write(_ table: PieceTable, old: OpenFile) throws(TableError) {
    let oldBytes = BufferedBytes(old.bytes())
    let room = UnsafeMutableRawBufferPointer.allocate(
      byteCount: FileWriter.bufferSize, alignment: 64)
    defer { room.deallocate() }
    var gathered = 0
    for piece in table.pieces {
      let count = piece.count
      let isDirect = count >= FileWriter.directSize
      if isDirect || gathered + count > room.count {
        try writeGathered(room[..<gathered], of: old.descriptor)
        gathered = 0
      }
      switch piece {
      case .old(let range) where isDirect: try copy(range, of: old.descriptor)
      case .new(let bytes) where isDirect: try write(bytes)
      case .old(let range):
        let place = UnsafeMutableRawBufferPointer(rebasing: room[gathered..<gathered + count])
        guard try oldBytes.fill(place, at: range.lowerBound) == count else { throw wasShortened }
        gathered += count
      case .new(let bytes):
        room[gathered..<gathered + count].copyBytes(from: bytes)
        gathered += count
      }
    }
    try writeGathered(room[..<gathered], of: old.descriptor)
  }

  /// Writes the bytes of small pieces.
  private mutating func writeGathered(
    _ bytes: Slice<UnsafeMutableRawBufferPointer>, of file: Int32
  ) throws(TableError) {
    guard !bytes.isEmpty else { return }
    try whileFinishing(file) { writer throws(TableError) in
      try writer.write(UnsafeRawBufferPointer(rebasing: bytes))
    }
  }

  mutating func write(_ bytes: [UInt8]) throws(TableError) {
    var failure: TableError?
    bytes.withUnsafeBytes { bytes in
      do throws(TableError) { try write(bytes) } catch { failure = error }
    }
    if let failure { throw failure }
  }

  private mutating func write(_ bytes: UnsafeRawBufferPointer) throws(TableError) {
    let number = writeAll(bytes, to: descriptor, at: position)
    guard number == 0 else { throw failed(number) }
    position += bytes.count
  }

  private func failed(_ number: Int32) -> TableError { .system(number, errorPrefix) }

  /// Copies bytes of another file. Throws ``TableError`` with `.conflict` if the file has become shorter.
  mutating func copy(_ range: Range<Int>, of file: Int32) throws(TableError) {
    var next = range.lowerBound
    while next < range.upperBound {
      let count = try copySome(range.upperBound - next, at: next, of: file)
      guard count > 0 else { throw wasShortened }
      next += count
    }
  }

  private var wasShortened: TableError {
    TableError(.conflict, "was shortened while it was saved; nothing was changed")
  }

  /// Copies all bytes of another file, until a read reaches its end.
  public mutating func copyAll(of file: Int32) throws(TableError) {
    var next = 0
    while true {
      let count = try copySome(step, at: next, of: file)
      next += count
      if count > 0 { continue }
      guard copies else { return }
      // The kernel uses the size that the file system reports, which can be 0.
      copies = false
    }
  }

  /// Runs `work`, which writes some bytes.
  ///
  /// Meanwhile, another core finishes the bytes that were written before. Finishing takes half as long as copying.
  private mutating func whileFinishing<R>(
    _ file: Int32, _ work: (inout FileWriter) throws(TableError) -> R
  ) throws(TableError) -> R {
    try cancel.check()
    let finish = position - unfinished.written >= step ? finishing(file) : nil
    var result: Result<R, TableError>?
    inParallel(finish == nil ? 1 : 2) { number in
      if number == 0 {
        result = Result { () throws(TableError) in try work(&self) }
      } else {
        finish?()
      }
    }
    return try result!.get()
  }

  /// Copies at most `count` bytes and returns their number. It is 0 only at the end.
  private mutating func copySome(
    _ count: Int, at offset: Int, of file: Int32
  ) throws(TableError) -> Int {
    let copied = try whileFinishing(file) { writer throws(TableError) in
      try writer.copyStep(count, at: offset, of: file)
    }
    if unfinished.read.upperBound != offset { unfinished.read = offset..<offset }
    unfinished.read = unfinished.read.lowerBound..<offset + copied
    return copied
  }

  /// The remaining work for the bytes copied so far. It starts to write them to the disk, and frees the memory of
  /// old bytes that no one will read again.
  private mutating func finishing(_ file: Int32) -> () -> Void {
    let (descriptor, written) = (descriptor, unfinished.written..<position)
    let read = replacesOld ? unfinished.read : 0..<0
    unfinished = (position, unfinished.read.upperBound..<unfinished.read.upperBound)
    return {
      tabella_system_begin_writing(descriptor, Int64(written.lowerBound), Int64(written.count))
      if !read.isEmpty { posix_fadvise(file, read.lowerBound, read.count, POSIX_FADV_DONTNEED) }
    }
  }

  private mutating func copyStep(
    _ count: Int, at offset: Int, of file: Int32
  ) throws(TableError) -> Int {
    let wanted = min(count, step)
    if copies, let copied = try copyInKernel(wanted, at: offset, of: file) {
      position += copied
      return copied
    }
    copies = false
    return try copyByHand(wanted, at: offset, of: file)
  }

  /// Copies bytes by the kernel. Returns nil if the kernel cannot copy them.
  private func copyInKernel(
    _ count: Int, at offset: Int, of file: Int32
  ) throws(TableError) -> Int? {
    while true {
      let copied = tabella_system_copy_range(
        file, Int64(offset), descriptor, Int64(position), count)
      switch -copied {
      case ..<0, 0: return Int(copied)
      case Int64(EINTR): continue
      case Int64(EXDEV), Int64(ENOSYS), Int64(EOPNOTSUPP), Int64(EINVAL): return nil
      default: throw failed(Int32(-copied))
      }
    }
  }

  private mutating func copyByHand(
    _ count: Int, at offset: Int, of file: Int32
  ) throws(TableError) -> Int {
    let buffer = UnsafeMutableRawBufferPointer.allocate(
      byteCount: min(count, FileWriter.bufferSize), alignment: 64)
    defer { buffer.deallocate() }
    let got = try readRetrying("cannot be read") {
      pread(file, buffer.baseAddress, buffer.count, offset)
    }
    try write(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
    return got
  }
}

/// Writes all bytes at an offset of an open file. Returns 0, or the system's error number.
public func writeAll(_ bytes: UnsafeRawBufferPointer, to file: Int32, at place: Int) -> Int32 {
  var done = 0
  while done < bytes.count {
    let count = pwrite(file, bytes.baseAddress! + done, bytes.count - done, place + done)
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { return count == 0 ? EIO : errno }
    done += count
  }
  return 0
}

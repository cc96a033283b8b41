import CTabellaSystem
import Glibc
import Tabella

/// Writes an open file from its start on.
///
/// What fails is said of the file as a whole; nothing is written twice, and a write that the system
/// cuts short goes on.
public struct FileWriter {
  private static let bufferSize = 256 << 10
  /// What an error of writing a new file says before the system's own words.
  public static let failing = "cannot be saved; nothing was changed"

  let descriptor: Int32
  let cancel: CancelFlag
  var position = 0
  /// What was copied and is not finished: from where on of this file, and which part of the old one, if all
  /// of it lies together.
  private var unfinished = (written: 0, read: 0..<0)
  /// Whether the old file is gone when this one is there.
  private let replacesOld: Bool
  /// How much is copied between two looks at whether somebody cancelled.
  private let step: Int
  /// Whether the kernel can copy between these files by itself.
  private var copies: Bool
  /// What an error says before the system's own words.
  private let failing: String

  /// A writer for a descriptor, which stays its owner's.
  ///
  /// `failing` is what an error says before the system's own words. `byHand`: without asking the kernel to
  /// copy, for when that has just failed. `replacesOld`: the file that is copied will be gone, and its bytes
  /// need not stay in memory; to free all of them at the end would take a tenth of a save. `step` is smaller
  /// only in tests.
  public init(
    _ descriptor: Int32, cancel: CancelFlag,
    failing: String = FileWriter.failing, byHand: Bool = false,
    replacesOld: Bool = false, step: Int = 16 << 20
  ) {
    copies = !byHand
    self.step = step
    self.replacesOld = replacesOld
    self.descriptor = descriptor
    self.cancel = cancel
    self.failing = failing
  }

  /// Writes what a table says, with the old bytes from this file.
  mutating func write(_ table: PieceTable, old: Int32) throws(TableError) {
    for piece in table.pieces {
      switch piece {
      case .old(let range): try copy(range, of: old)
      case .new(let bytes): try write(bytes)
      }
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

  private func failed(_ number: Int32) -> TableError { .system(number, failing) }

  /// Copies bytes of another file. Throws `.conflict` if they are no longer there.
  mutating func copy(_ range: Range<Int>, of file: Int32) throws(TableError) {
    var next = range.lowerBound
    while next < range.upperBound {
      let count = try copySome(range.upperBound - next, at: next, of: file)
      guard count > 0 else {
        throw TableError(.conflict, "was shortened while it was saved; nothing was changed")
      }
      next += count
    }
  }

  /// Copies all bytes of another file, up to where reading finds its end.
  ///
  /// Throws ``TableError`` with `.io`, or with `.cancelled`.
  public mutating func copyAll(of file: Int32) throws(TableError) {
    var next = 0
    while true {
      let count = try copySome(step, at: next, of: file)
      next += count
      if count > 0 { continue }
      guard copies else { return }
      // The kernel goes by the size that a file system says, which may be none.
      copies = false
    }
  }

  /// Copies up to so many bytes; returns how many, 0 only at the end.
  ///
  /// What was copied before is finished meanwhile, on another core: it takes half as long as to copy.
  private mutating func copySome(
    _ count: Int, at offset: Int, of file: Int32
  ) throws(TableError) -> Int {
    try cancel.check()
    let finish = position - unfinished.written >= step ? finishing(file) : nil
    var result = Result<Int, TableError>.success(0)
    inParallel(finish == nil ? 1 : 2) { number in
      if number == 0 {
        result = Result { () throws(TableError) in try copyStep(count, at: offset, of: file) }
      } else {
        finish?()
      }
    }
    let copied = try result.get()
    if unfinished.read.upperBound != offset { unfinished.read = offset..<offset }
    unfinished.read = unfinished.read.lowerBound..<offset + copied
    return copied
  }

  /// What is left to be done for what was copied up to here: to have the disk take it, and to give back the
  /// memory of bytes that nobody will read again.
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

  /// Nil if the kernel cannot.
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

/// Writes all of some bytes at a place of an open file; returns 0, or the number of the system's error.
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

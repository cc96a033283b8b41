import CTabellaSystem
import Tabella

/// Writes an open file from some place on.
///
/// What fails is said of the file as a whole; nothing is written twice, and a write that the system
/// cuts short goes on.
struct FileWriter {
  /// How much is copied between two looks at whether somebody cancelled.
  private static let step = 16 << 20
  private static let bufferSize = 256 << 10

  let descriptor: Int32
  let cancel: CancelFlag
  var position = 0
  /// Whether the kernel can copy between these files by itself.
  private var copies: Bool
  /// What an error says before the system's own words.
  private let failing: String

  /// `byHand`: without asking the kernel to copy, for when that has just failed.
  init(
    _ descriptor: Int32, cancel: CancelFlag,
    failing: String = "cannot be saved; nothing was changed", byHand: Bool = false
  ) {
    copies = !byHand
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
    var done = 0
    while done < bytes.count {
      let count = pwrite(
        descriptor, bytes.baseAddress! + done, bytes.count - done, position)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw failed(count == 0 ? EIO : errno) }
      done += count
      position += count
    }
  }

  private func failed(_ number: Int32) -> TableError { .system(number, failing) }

  /// Copies bytes of another file. Throws `.conflict` if they are no longer there.
  mutating func copy(_ range: Range<Int>, of file: Int32) throws(TableError) {
    var next = range.lowerBound
    while next < range.upperBound {
      try cancel.check()
      let wanted = min(range.upperBound - next, FileWriter.step)
      let count =
        copies
        ? try copyInKernel(wanted, at: next, of: file)
        : try copyByHand(wanted, at: next, of: file)
      guard let count else {
        copies = false
        continue
      }
      guard count > 0 else {
        throw TableError(.conflict, "was shortened while it was saved; nothing was changed")
      }
      next += count
      position += count
    }
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
    let start = position
    try write(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
    position = start
    return got
  }
}

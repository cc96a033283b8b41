import Tabella
import TabellaSystem

/// The bytes of a regular file, read by `pread`. If the file shrinks, reading is an error and not a signal.
///
/// Bytes that are appended later belong to another version: ``show(_:count:)`` moves on to them.
final class FileBytes: ByteSource {
  /// The number of bytes by which a file that has grown is recognized as the same.
  private static let endSize = 64
  /// How long a change of time without a change of size can be a write that has not ended, in microseconds.
  private static let waits: [UInt32] = [1000, 2000, 4000, 8000, 16000, 32000]

  /// The file, with the fingerprint of the shown version.
  private(set) var file: OpenFile
  /// The number of shown bytes.
  private(set) var count: Int
  /// The last shown bytes.
  private var end: [UInt8] = []
  private let mayGrow: Bool
  /// The last fingerprint with which the shown bytes could be read.
  private var accepted: Fingerprint

  /// Shows a file, or its first `count` bytes. With `mayGrow`, growth of the file is no conflict.
  init(_ file: OpenFile, count: Int? = nil, mayGrow: Bool = false) {
    self.file = file
    self.count = count ?? file.fingerprint.size
    self.mayGrow = mayGrow
    accepted = file.fingerprint
    if mayGrow { end = (try? lastBytes()) ?? [] }
  }

  var version: Version? { file.fingerprint.version(ofFirst: count) }
  var hasVersion: Bool { true }
  var size: Int? { count }

  /// Shows more bytes, or fewer, of the same file.
  func show(_ file: OpenFile, count: Int) {
    (self.file, self.count) = (file, count)
    accepted = file.fingerprint
    end = (try? lastBytes()) ?? []
  }

  /// Whether the shown bytes still end as before.
  func hasSameEnd() throws(TableError) -> Bool { try lastBytes() == end }

  private func lastBytes() throws(TableError) -> [UInt8] {
    let size = min(count, FileBytes.endSize)
    return try bytes(at: count - size, count: size)
  }

  func read(at offset: Int, into buffer: UnsafeMutableRawBufferPointer) throws(TableError) -> Int {
    let wanted = min(buffer.count, count - offset)
    guard wanted > 0 else { return 0 }
    let got = try readRetrying("cannot be read") {
      pread(file.descriptor, buffer.baseAddress, wanted, offset)
    }
    guard got > 0 else { throw TableError(.conflict, "was shortened while it was read") }
    return got
  }

  func checkUnchanged() throws(TableError) {
    var now = try Fingerprint(of: file.descriptor)
    if now == accepted { return }
    // The kernel sets the time of a write first, and the size when the bytes are there.
    for wait in FileBytes.waits where mayGrow && now.isOfAnotherTime(than: file.fingerprint) {
      usleep(wait)
      now = try Fingerprint(of: file.descriptor)
    }
    guard mayGrow, now.continues(file.fingerprint), try hasSameEnd() else {
      throw TableError(.conflict, "changed while it was read; open it again")
    }
    accepted = now
  }
}

import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// The memory that host and worker share for messages that are too large for a packet.
///
/// The host creates it once, with a sealed size, and reads and writes it as a file. The host never maps memory that
/// another process writes. The worker maps it. It has two halves, so that one message can be copied out while the
/// next one is written; see ``start(ofMessage:)``.
package final class SharedMemory {
  /// 16 MiB. Batches of more than half of it are rare and are sent in pieces.
  package static let standardSize = 16 << 20

  private let file: Descriptor?
  /// The size in bytes.
  package let size: Int
  private let mapping: UnsafeMutableRawPointer?

  /// Creates shared memory. Throws ``TableError`` with `.io` if there is no memory.
  package init(size: Int = SharedMemory.standardSize) throws(TableError) {
    let made = tabella_system_make_shared_memory(size)
    guard let file = Descriptor(made) else {
      throw .system(-made, "the shared memory cannot be created")
    }
    self.file = consume file
    self.size = size
    mapping = nil
  }

  /// Maps shared memory of the host and closes the descriptor. Throws ``TableError`` with `.io` on failure.
  ///
  /// With the descriptor, foreign code could map the memory a second time, as executable code.
  package init(mapping descriptor: Int32) throws(TableError) {
    let size = Int(lseek(descriptor, 0, SEEK_END))
    let mapped = mmap(nil, max(size, 1), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
    guard size > 0, let mapped, mapped != MAP_FAILED else {
      throw .system(errno, "the shared memory cannot be mapped")
    }
    _ = Descriptor(owning: descriptor)
    file = nil
    self.size = size
    mapping = mapped
  }

  /// The descriptor; -1 in a worker.
  package var descriptor: Int32 { file.raw }

  /// The maximum number of bytes of a message that fit into one half.
  var capacity: Int { size / 2 }

  /// The offset of the half for a message. Consecutive messages use different halves.
  func start(ofMessage number: UInt64) -> Int { number & 1 == 1 ? 0 : capacity }

  func write(_ bytes: UnsafeRawBufferPointer, at offset: Int) throws(TableError) {
    if let mapping, let start = bytes.baseAddress {
      memcpy(mapping + offset, start, bytes.count)
      return
    }
    var done = 0
    while done < bytes.count {
      let written = pwrite(
        descriptor, bytes.baseAddress! + done, bytes.count - done, off_t(offset + done))
      if written < 0, errno == EINTR { continue }
      guard written > 0 else { throw .system(errno, "the shared memory cannot be written") }
      done += written
    }
  }

  func read(_ bytes: UnsafeMutableRawBufferPointer, at offset: Int) throws(TableError) {
    if let mapping, let start = bytes.baseAddress {
      memcpy(start, mapping + offset, bytes.count)
      return
    }
    let count = try readFull(
      descriptor, at: offset, into: bytes, "the shared memory cannot be read")
    guard count == bytes.count else { throw TableError(.io, "the shared memory was shortened") }
  }

  deinit { if let mapping { munmap(mapping, size) } }
}

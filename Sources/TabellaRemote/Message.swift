import Tabella

/// A message to send: a head, followed by runs of bytes that are not copied before they are sent.
///
/// Each run begins at a multiple of 8, counted from the start of the message.
struct OutgoingMessage {
  var head: [UInt8]
  /// The runs, and the objects that keep them alive.
  var runs: [UnsafeRawBufferPointer] = []
  var owners: [AnyObject] = []

  init(_ head: [UInt8]) { self.head = head }

  /// The whole length, including padding.
  var count: Int { runs.reduce(head.count) { ($0 + 7) & ~7 + $1.count } }

  /// Calls `body` with each part in order, and with the offset of the part.
  func forEachPart(_ body: (UnsafeRawBufferPointer, Int) throws(TableError) -> Void)
    throws(TableError)
  {
    var failure: TableError?
    head.withUnsafeBytes { bytes in
      do throws(TableError) { try body(bytes, 0) } catch { failure = error }
    }
    if let failure { throw failure }
    var at = head.count
    for run in runs {
      let start = (at + 7) & ~7
      // The padding is sent as a part too, so that no old content of the memory remains there.
      if start > at { try body(UnsafeRawBufferPointer(rebasing: padding[..<(start - at)]), at) }
      if run.count > 0 { try body(run, start) }
      at = start + run.count
    }
  }
}

nonisolated(unsafe) private let padding = UnsafeRawBufferPointer(
  start: UnsafeRawPointer(
    UnsafeMutableRawPointer.allocate(byteCount: 8, alignment: 8).initializeMemory(
      as: UInt64.self, repeating: 0, count: 1)), count: 8)

/// A received message. Only this process can access its memory, so that checked content cannot change.
///
/// Batches that are read from the message keep it alive.
final class IncomingMessage {
  private(set) var storage: UnsafeMutableRawBufferPointer

  /// Creates memory for a message of this length.
  init(count: Int) {
    storage = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 64)
    self.count = count
  }

  private(set) var count: Int

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

  /// Increases the length. Existing bytes are kept.
  func grow(to count: Int) {
    if count > storage.count {
      let larger = UnsafeMutableRawBufferPointer.allocate(
        byteCount: max(count, storage.count * 2), alignment: 64)
      larger.copyMemory(from: bytes)
      storage.deallocate()
      storage = larger
    }
    self.count = count
  }

  deinit { storage.deallocate() }
}

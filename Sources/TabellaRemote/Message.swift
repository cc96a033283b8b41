import Tabella

/// A message to send: a head, and runs of bytes behind it that stay where they are until they are sent.
///
/// Each run begins at a multiple of 8, counted from the message's start.
struct OutgoingMessage {
  var head: [UInt8]
  /// The runs, with what keeps them.
  var runs: [UnsafeRawBufferPointer] = []
  var owners: [AnyObject] = []

  init(_ head: [UInt8]) { self.head = head }

  /// The whole length, padding included.
  var count: Int { runs.reduce(head.count) { ($0 + 7) & ~7 + $1.count } }

  /// Calls `body` with each part in order and where it begins.
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
      // A part each for the padding, too: what is not written would be what lay there before.
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

/// A message that came: memory that only this end has, so that what was checked stays as it was.
///
/// Batches read from it keep it.
final class IncomingMessage {
  private(set) var storage: UnsafeMutableRawBufferPointer

  /// Room for a message of this length.
  init(count: Int) {
    storage = UnsafeMutableRawBufferPointer.allocate(byteCount: max(count, 1), alignment: 64)
    self.count = count
  }

  private(set) var count: Int

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(rebasing: storage[..<count]) }

  /// Makes it longer; what is there stays.
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

import CTabellaSystem
import Tabella

/// The kernel's events about changes in files and folders.
///
/// Events only say where to look again. They can be lost in an overflow, and no event reports a write through a mapping
/// or through another host of a network file system.
package struct Inotify: ~Copyable, Sendable {
  /// One event.
  package struct Event {
    /// The number of the watch; -1 for an overflow.
    package var watch: Int32
    /// The `IN_…` bits.
    package var mask: UInt32
    /// The number that connects the two events of a rename; 0 for other events.
    package var cookie: UInt32

    /// Whether the kernel dropped events, so that anything may have changed.
    package var isOverflow: Bool { mask & UInt32(IN_Q_OVERFLOW) != 0 }
  }

  /// The buffer for one read, in bytes. The largest event needs 272 bytes.
  private static let bufferSize = 1 << 16
  // The layout of `struct inotify_event`.
  private static let headerSize = 16
  private static let maskOffset = 4
  private static let cookieOffset = 8
  private static let lengthOffset = 12

  private let file: Descriptor

  /// Opens the queue of events. Throws ``TableError`` if the system refuses, as in a confined worker.
  package init() throws(TableError) {
    guard let file = Descriptor(inotify_init1(Int32(O_NONBLOCK | O_CLOEXEC))) else {
      throw .system(errno, "changes cannot be watched")
    }
    self.file = file
  }

  /// The descriptor that is readable while events wait, valid during the lifetime of the value.
  package var descriptor: Int32 { file.raw }

  /// Watches a path (bytes without NUL). Returns the watch, or nil with `errno` set: `ENOSPC` is the limit of watches.
  ///
  /// A file has one watch, whatever its path is. Adding the watch again replaces its events.
  package func add(_ path: [UInt8], _ events: UInt32) -> Int32? {
    let watch = path.withCString { inotify_add_watch(file.raw, $0, events) }
    return watch < 0 ? nil : watch
  }

  /// Watches an open file or folder, whatever its path is now. It needs a mounted `/proc`.
  package func add(_ descriptor: Int32, _ events: UInt32) -> Int32? {
    add(Array("/proc/self/fd/\(descriptor)".utf8), events)
  }

  /// Removes a watch. The kernel then sends a last event, `IN_IGNORED`.
  package func remove(_ watch: Int32) { _ = inotify_rm_watch(file.raw, watch) }

  /// Calls `body` with all waiting events, without blocking. The name is valid only inside `body`, and empty if the
  /// event is about the watched file itself. Returns the number of events.
  @discardableResult
  package func readEvents(_ body: (Event, UnsafeRawBufferPointer) -> Void) -> Int {
    withUnsafeTemporaryAllocation(byteCount: Inotify.bufferSize, alignment: 8) { buffer in
      var count = 0
      while true {
        let size = read(file.raw, buffer.baseAddress, buffer.count)
        if size < 0, errno == EINTR { continue }
        guard size > 0 else { return count }
        var offset = 0
        while offset + Inotify.headerSize <= size {
          let at = UnsafeRawBufferPointer(rebasing: buffer[offset..<size])
          let length = Int(at.load(fromByteOffset: Inotify.lengthOffset, as: UInt32.self))
          let event = Event(
            watch: at.load(as: Int32.self),
            mask: at.load(fromByteOffset: Inotify.maskOffset, as: UInt32.self),
            cookie: at.load(fromByteOffset: Inotify.cookieOffset, as: UInt32.self))
          let padded = at[Inotify.headerSize..<min(at.count, Inotify.headerSize + length)]
          // NULs fill the name up.
          body(event, UnsafeRawBufferPointer(rebasing: padded.prefix { $0 != 0 }))
          offset += Inotify.headerSize + length
          count += 1
        }
      }
    }
  }

  /// Drops all waiting events.
  package func skipEvents() { readEvents { _, _ in } }
}

/// Whether inotify reports all changes of an open file or folder.
///
/// It does not on network and FUSE file systems, which others can change, and in `/proc` and `/sys`. There, a source
/// must compare from time to time.
package func isWatchable(_ descriptor: Int32) -> Bool { tabella_system_is_watchable(descriptor) }

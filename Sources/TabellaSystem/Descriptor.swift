import CTabellaSystem
import Tabella

/// An open file descriptor with one owner. The descriptor is closed when the lifetime of the value ends.
///
/// A value cannot be copied, so no descriptor is closed twice. Closing keeps `errno`.
package struct Descriptor: ~Copyable, Sendable {
  /// The number for system calls, valid during the lifetime of the value.
  package let raw: Int32

  /// Takes over an open descriptor.
  package init(owning raw: Int32) { self.raw = raw }

  /// Takes over the descriptor that a call returned. Returns nil, and keeps `errno`, if the result is negative.
  package init?(_ result: Int32) {
    guard result >= 0 else { return nil }
    self.init(owning: result)
  }

  /// Opens a path (bytes without NUL), closed on exec. Returns nil with `errno` set on failure.
  package init?(opening path: [UInt8], _ flags: Int32, mode: mode_t = 0) {
    self.init(path.withCString { open($0, flags | O_CLOEXEC, mode) })
  }

  /// Opens a path, closed on exec. Returns nil with `errno` set on failure.
  package init?(opening path: String, _ flags: Int32, mode: mode_t = 0) {
    self.init(open(path, flags | O_CLOEXEC, mode))
  }

  /// Opens a name (a C string) in an open folder, closed on exec. Returns nil with `errno` set on failure.
  package init?(
    opening name: UnsafePointer<CChar>, in folder: Int32, _ flags: Int32, mode: mode_t = 0
  ) {
    self.init(openat(folder, name, flags | O_CLOEXEC, mode))
  }

  /// Opens a name (bytes without NUL) in an open folder, closed on exec. Returns nil with `errno` set on failure.
  package init?(opening name: [UInt8], in folder: Int32, _ flags: Int32, mode: mode_t = 0) {
    self.init(name.withCString { openat(folder, $0, flags | O_CLOEXEC, mode) })
  }

  /// Opens a path (bytes without NUL), closed on exec.
  ///
  /// Throws the ``TableError`` of the failed call; `errorPrefix` is the text in front of the system's message.
  package init(
    opening path: [UInt8], _ flags: Int32, mode: mode_t = 0,
    errorPrefix: @autoclosure () -> String
  ) throws(TableError) {
    let result = path.withCString { open($0, flags | O_CLOEXEC, mode) }
    guard result >= 0 else { throw .system(errno, errorPrefix()) }
    self.init(owning: result)
  }

  /// Opens a path (bytes without NUL) only to refer to its file (`O_PATH`), following links. Returns nil on failure.
  package init?(locating path: [UInt8]) { self.init(path.withCString { tabella_open_path($0) }) }

  /// Duplicates a descriptor, closed on exec. The two share their file offset. Returns nil with `errno` set on failure.
  package init?(duplicating other: Int32) { self.init(fcntl(other, F_DUPFD_CLOEXEC, 0)) }

  deinit {
    let number = errno
    close(raw)
    errno = number
  }

  /// Gives the descriptor up without closing it. The caller owns the returned number.
  package consuming func release() -> Int32 {
    let number = raw
    discard self
    return number
  }
}

extension Descriptor? {
  /// The number for system calls, valid during the lifetime of the value; -1 if there is none.
  package var raw: Int32 {
    switch self {
    case .some(let descriptor): descriptor.raw
    case .none: -1
    }
  }
}

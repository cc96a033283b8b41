import CTabellaSystem
import Glibc
import Synchronization
import TabellaSystem

/// The waiting of a command that shows a table live: for changes, keys, the terminal, and the end of the reader.
///
/// Waiting takes no processor time. One thread waits; any thread may call ``notify()``.
final class WakeUp: Sendable {
  /// The reasons why a wait ended; empty if the time was over.
  struct Reasons: OptionSet {
    let rawValue: Int

    /// The source may have changes.
    static let changes = Reasons(rawValue: 1)
    /// The terminal has another size, or was given to another program.
    static let redraw = Reasons(rawValue: 2)
    /// Standard input has keys.
    static let keys = Reasons(rawValue: 4)
    /// Nobody reads standard output any more.
    static let readerLeft = Reasons(rawValue: 8)
  }

  private let reading: Descriptor
  private let writing: Descriptor
  /// Whether a byte of ``notify()`` is in the pipe.
  private let isNotified = Atomic(false)
  private static let change = UInt8(ascii: "c")
  /// The byte of the handlers in screen.c.
  private static let redraw = UInt8(ascii: "r")

  init() throws(Failure) {
    var ends: [Int32] = [-1, -1]
    let result = tabella_system_make_pipe(&ends)
    guard result == 0 else {
      throw Failure(
        status: .failed, subject: nil, code: "io",
        message: "a pipe cannot be created: \(errorText(-result))")
    }
    // A handler of a signal must never wait for room in the pipe.
    for end in ends { _ = fcntl(end, F_SETFL, O_NONBLOCK) }
    reading = Descriptor(owning: ends[0])
    writing = Descriptor(owning: ends[1])
  }

  /// The descriptor to which handlers of signals write.
  var handlersEnd: Int32 { writing.raw }

  /// Ends the wait, because the source may have changes. Calls before the next wait have no further effect.
  func notify() {
    if isNotified.exchange(true, ordering: .acquiringAndReleasing) { return }
    var byte = WakeUp.change
    _ = write(writing.raw, &byte, 1)
  }

  /// Waits until something happens, or until a time of ``now()``; nil means as long as necessary.
  ///
  /// `output` is the descriptor whose reader can leave.
  func wait(until deadline: Double?, output: Int32, keys: Bool = false) -> Reasons {
    while true {
      var files = [
        pollfd(fd: reading.raw, events: Int16(POLLIN), revents: 0),
        pollfd(fd: output, events: 0, revents: 0),
        pollfd(fd: keys ? 0 : -1, events: Int16(POLLIN), revents: 0),
      ]
      let ready = poll(&files, UInt(files.count), WakeUp.milliseconds(until: deadline))
      if ready < 0 { continue }
      var reasons = files[0].revents != 0 ? drain() : []
      if files[1].revents & Int16(POLLERR | POLLHUP | POLLNVAL) != 0 {
        reasons.insert(.readerLeft)
      }
      if files[2].revents != 0 { reasons.insert(.keys) }
      if !reasons.isEmpty || deadline.map({ now() >= $0 }) == true { return reasons }
    }
  }

  /// The time until a deadline, rounded up; -1 without a deadline.
  private static func milliseconds(until deadline: Double?) -> Int32 {
    guard let deadline else { return -1 }
    return Int32(min(max(0, ((deadline - now()) * 1000).rounded(.up)), 1e9))
  }

  /// Empties the pipe and returns the reasons of its bytes.
  private func drain() -> Reasons {
    var reasons: Reasons = []
    var bytes = [UInt8](repeating: 0, count: 64)
    while case let count = read(reading.raw, &bytes, bytes.count), count > 0 {
      for byte in bytes[..<count] {
        reasons.insert(byte == WakeUp.redraw ? .redraw : .changes)
      }
    }
    // A call from now on writes a byte again. The caller's next pull finds the changes of earlier calls.
    isNotified.store(false, ordering: .sequentiallyConsistent)
    return reasons
  }
}

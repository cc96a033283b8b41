import CTabellaSystem
import Glibc

/// A thread that starts before the process confines itself, and then tries to read a forbidden file.
final class EarlyThread: Sendable {
  enum Kind: String {
    case plain
    /// The thread blocks all signals.
    case deaf
  }

  private let ends: [Int32]

  init(_ kind: Kind) {
    var ends: [Int32] = [-1, -1]
    precondition(tabella_system_make_sockets(&ends) == 0)
    self.ends = ends
    var thread = pthread_t()
    var (all, before) = (sigset_t(), sigset_t())
    sigfillset(&all)
    // A thread inherits the signal mask of the thread that starts it.
    if kind == .deaf { pthread_sigmask(SIG_SETMASK, &all, &before) }
    defer { if kind == .deaf { pthread_sigmask(SIG_SETMASK, &before, nil) } }
    let other = Int(ends[1])
    pthread_create(
      &thread, nil,
      { context in
        let end = Int32(Int(bitPattern: context))
        var byte: UInt8 = 0
        recv(end, &byte, 1, 0)
        let file = open("/etc/shadow", O_RDONLY)
        byte = file < 0 ? UInt8(clamping: errno) : 0
        send(end, &byte, 1, 0)
        return nil
      }, UnsafeMutableRawPointer(bitPattern: other))
  }

  /// The answer of the thread to a request.
  var result: String {
    var byte: UInt8 = 0
    send(ends[0], &byte, 1, 0)
    recv(ends[0], &byte, 1, 0)
    return byte == UInt8(EACCES) ? "EACCES" : "\(byte)"
  }
}

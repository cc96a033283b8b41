import CTabellaSystem
import Glibc
import TabellaSystem

/// The first bytes of standard input. Reading them leaves them there for the provider.
enum InputStart {
  /// The number of times that a stream is looked at again, and the time between two looks in microseconds.
  private static let patience = (looks: 10, time: 10_000 as UInt32)

  /// Returns at most `count` bytes. Of a stream, these are the bytes that have arrived when `isEnough` returns true, or
  /// after a tenth of a second. Returns no bytes for a terminal, because they cannot stay there.
  static func bytes(_ count: Int, until isEnough: ([UInt8]) -> Bool) -> [UInt8] {
    guard let kind = stat(of: 0)?.kind else { return [] }
    var start = [UInt8](repeating: 0, count: count)
    if kind == S_IFREG {
      let got = pread(0, &start, count, lseek(0, 0, SEEK_CUR))
      return Array(start.prefix(max(0, got)))
    }
    guard kind == S_IFIFO || kind == S_IFSOCK else { return [] }
    // Waits for the first byte.
    _ = hasInput(0)
    for look in 0...patience.looks {
      if look > 0 { usleep(patience.time) }
      let got = tabella_system_peek(0, &start, count)
      if got == count || hasEnded || isEnough(Array(start[..<got])) {
        return Array(start[..<got])
      }
    }
    return Array(start[..<tabella_system_peek(0, &start, count)])
  }

  /// Whether all writers have closed the stream.
  private static var hasEnded: Bool {
    var input = pollfd(fd: 0, events: Int16(POLLIN), revents: 0)
    return poll(&input, 1, 0) > 0 && input.revents & Int16(POLLHUP) != 0
  }
}

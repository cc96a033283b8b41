import Glibc
import Tabella
import TabellaHost
import TabellaSystem

/// Rows that can arrive slowly: those of a pipe, a socket or a terminal.
enum RowStream {
  /// Standard input, whose state can be asked.
  case standardInput
  /// A named pipe, or another file without an end.
  case file

  /// The stream among some locations; nil if none is a stream.
  init?(_ locations: [Location]) {
    for location in locations {
      let isInput = location.isStandardInput
      let path = isInput ? Array("/dev/stdin".utf8) : location.bytes
      guard isInput || location.isPath, let status = stat(at: path) else { continue }
      guard [S_IFIFO, S_IFSOCK, S_IFCHR].contains(status.kind) else { continue }
      self = isInput ? .standardInput : .file
      return
    }
    return nil
  }

  /// Whether more data arrives within some milliseconds, or the stream ends. False if that is unknown.
  func continues(within milliseconds: Int32) -> Bool {
    guard case .standardInput = self else { return false }
    return hasInput(0, within: milliseconds)
  }
}

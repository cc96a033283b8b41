import Glibc
import Tabella
import TabellaSystem

extension Location {
  /// Throws `TableError` with `.readOnly` for standard input and for a pipe, with or without a scheme. Opening a pipe
  /// would wait for its writer.
  package func refuseStream() throws(TableError) {
    func isPipe(_ path: some Collection<UInt8>) -> Bool {
      stat(at: Array(path))?.kind == S_IFIFO
    }
    let isInput = isStandardInput
    // A path after a scheme can be a pipe, too.
    let path = bytes.drop { $0 != UInt8(ascii: ":") }.dropFirst()
    guard isInput || isPipe(bytes) || isPipe(path) else { return }
    let what = isInput ? "standard input" : "is a pipe and"
    throw TableError(.readOnly, "\(what) cannot be edited; nothing was done")
  }
}

import Tabella
import TabellaFiles

/// Splits the output of a provider into lines and enforces a limit.
///
/// One thread at a time may use it.
final class OutputCapture {
  private let provider: String
  private let pass: (@Sendable (WorkerOutput) -> Void)?
  private var room: Int
  private var dropped = 0
  /// The incomplete lines by stream.
  private var partial: [Int: [UInt8]] = [:]
  private static let lineLimit = 4096

  init(provider: String, limit: Int, pass: (@Sendable (WorkerOutput) -> Void)?) {
    self.provider = provider
    self.pass = pass
    room = limit
  }

  /// Takes bytes of a standard stream.
  func take(_ bytes: UnsafeRawBufferPointer, stream: Int) {
    var line = partial[stream] ?? []
    for byte in bytes {
      if byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") {
        tell(.printed, line)
        line = []
      } else if line.count < OutputCapture.lineLimit {
        line.append(byte)
      } else {
        dropped += 1
      }
    }
    partial[stream] = line
  }

  /// Passes a line on. Counts its bytes instead if they exceed the limit.
  func tell(_ kind: WorkerOutput.Kind, _ line: [UInt8]) {
    guard !line.isEmpty else { return }
    guard line.count <= room else {
      dropped += line.count
      return
    }
    room -= line.count
    let flat = line.map { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") ? 0x20 : $0 }
    pass?(WorkerOutput(provider: provider, kind: kind, text: flat))
  }

  /// Ends the output: passes incomplete lines on and reports the number of dropped bytes.
  func finish() {
    for (_, line) in partial.sorted(by: { $0.key < $1.key }) { tell(.printed, line) }
    partial = [:]
    guard dropped > 0 else { return }
    pass?(
      WorkerOutput(
        provider: provider, kind: .printed,
        text: Array("(\(dropped) more bytes of output are not shown)".utf8)))
    dropped = 0
  }
}

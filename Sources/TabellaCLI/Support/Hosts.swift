import Tabella
import TabellaHost

extension Host {
  /// How much of what a provider prints is worth a terminal.
  private static let outputLimit = 4096

  /// The host of a command, set as its options say.
  convenience init(_ invocation: Invocation) {
    self.init()
    isolation = invocation.isolation
    limits.output = Host.outputLimit
    denyList = .standard
    onOutput = { output in Messages.write(output) }
  }
}

extension Messages {
  /// Writes a line that a provider in a worker said, with its name before it.
  static func write(_ output: WorkerOutput) {
    let what =
      switch output.kind {
      case .printed, .logged: "says"
      case .denied: "was denied"
      }
    write(
      "\(what): \(String(decoding: output.text, as: UTF8.self))",
      about: "provider \(output.provider)")
  }
}

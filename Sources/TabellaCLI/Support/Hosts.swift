import Tabella
import TabellaFiles
import TabellaHost

extension Host {
  /// How much of what a provider prints is worth a terminal.
  private static let outputLimit = 4096

  /// The host of a command, set as its options say.
  convenience init(_ invocation: Invocation) {
    self.init()
    isolation = invocation.isolation
    limits.output = Host.outputLimit
    acceptsWeakIsolation = invocation.acceptsWeakIsolation
    trace = Host.traceOfEnvironment
    onOutput = { output in Messages.write(output) }
  }
}

extension Host {
  /// The trace that `TABELLA_TRACE` asks for, one for all that this program does. What cannot be written is
  /// said once, and nothing is traced.
  private static let traceOfEnvironment: Trace? = {
    guard let path = trustedVariable("TABELLA_TRACE"), !path.isEmpty else { return nil }
    do throws(TableError) {
      return try Trace(path: path)
    } catch {
      Messages.write(
        "\(String(decoding: path, as: UTF8.self)) \(error.message); no trace is written",
        about: "TABELLA_TRACE")
      return nil
    }
  }()
}

extension Messages {
  /// Writes a line that a provider in a worker said, with its name before it.
  static func write(_ output: WorkerOutput) {
    let what =
      switch output.kind {
      case .printed, .logged: "says"
      case .denied: "was denied"
      case .unconfined: "is not confined completely; this system lacks"
      }
    write(
      "\(what): \(String(decoding: output.text, as: UTF8.self))",
      about: "provider \(output.provider)")
  }
}

import Tabella
import TabellaFiles
import TabellaHost

extension Host {
  /// The maximum number of bytes of provider output that are printed.
  private static let outputLimit = 4096

  /// A host with the settings that the options of a command request.
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
  /// The trace that `TABELLA_TRACE` requests, one per process. If the file cannot be written, the program
  /// prints one message and writes no trace.
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
  /// Writes a line of output of a provider in a worker, after the name of the provider.
  static func write(_ output: WorkerOutput) {
    let text = String(decoding: output.text, as: UTF8.self)
    let what =
      switch output.kind {
      case .printed, .logged: "says"
      case .denied: "was denied"
      case .unconfined: "is not confined completely; this system lacks"
      case .ended: "warning"
      }
    // The text of an end names the provider.
    write("\(what): \(text)", about: output.kind == .ended ? nil : "provider \(output.provider)")
  }
}

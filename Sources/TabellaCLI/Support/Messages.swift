import Glibc
import Tabella
import TabellaTerminal

/// Standard error, line by line; everything on it is made safe to print.
enum Messages {
  /// How many remarks on one table are worth reading.
  private static let remarkLimit = 1000

  /// How many characters of a line are worth reading; a provider may send any number.
  private static let lineLimit = 4000

  /// Writes a line about a location, a command or the program as such.
  static func write(_ message: String, about subject: String?) {
    let message = shortened(message)
    // `processes:` ends with a colon of its own.
    let subject = subject.map { $0.hasSuffix(":") ? "\($0) " : "\($0): " } ?? ""
    put("tabella: \(subject)\(message)\n")
  }

  /// A message as far as it is worth reading.
  static func shortened(_ message: String) -> String {
    guard message.utf8.count > lineLimit, message.count > lineLimit else { return message }
    return "\(message.prefix(lineLimit))… (\(message.count - lineLimit) more characters)"
  }

  /// Writes text as it is, without a line end of its own.
  static func put(_ text: SafeText) {
    Progress.end()
    send(text)
  }

  /// Sends text out as it is.
  static func send(_ text: SafeText) {
    let bytes = Array(text.string.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
  }

  static func write(_ failure: Failure, asJSON: Bool) {
    guard asJSON else { return write(failure.message, about: failure.subject) }
    // JSON is safe to print, so that nothing is escaped twice.
    put("\(JSONValue.object(["error": failure.json]).text)\n")
  }

  /// Writes the remarks that a source has on its data.
  static func writeDiagnostics(of source: any TableDataSource, location: String) {
    var count = 0
    while let diagnostic = source.diagnostics?.nextDiagnostic() {
      count += 1
      if count > remarkLimit {
        return write("note: only the first \(remarkLimit) remarks are printed", about: location)
      }
      let kind = diagnostic.severity == .note ? "note" : "warning"
      write("\(kind): \(diagnostic.message)", about: location)
    }
  }
}

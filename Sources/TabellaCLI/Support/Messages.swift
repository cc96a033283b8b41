import Glibc
import Synchronization
import Tabella
import TabellaTerminal

/// Writes lines to standard error. All text is made safe to print.
enum Messages {
  /// The maximum number of diagnostics that are printed for one table.
  static let remarkLimit = 1000

  /// The maximum number of characters of a line that are printed. A provider can send any number.
  private static let lineLimit = 4000

  /// Writes a line about a location, a command or the program itself.
  static func write(_ message: String, about subject: String?) {
    let message = shortened(message)
    // `processes:` already ends with a colon, and an empty location is no subject.
    let subject = subject.map { $0.isEmpty ? "" : $0.hasSuffix(":") ? "\($0) " : "\($0): " } ?? ""
    put("tabella: \(subject)\(message)\n")
  }

  /// A message, cut to the limit.
  static func shortened(_ message: String) -> String {
    guard message.utf8.count > lineLimit, message.count > lineLimit else { return message }
    return "\(message.prefix(lineLimit))… (\(message.count - lineLimit) more characters)"
  }

  /// Writes text without adding a line end.
  static func put(_ text: SafeText) {
    Progress.end()
    send(text)
  }

  /// The lines that are kept while the terminal shows something else; nil if lines are written.
  private static let held = Mutex<[SafeText]?>(nil)
  /// The maximum number of kept lines. Older ones are dropped.
  private static let heldLimit = 20

  /// Keeps all lines from now on, if they would appear on a terminal.
  static func hold() {
    Progress.end()
    if isatty(2) == 1 { held.withLock { $0 = [] } }
  }

  /// Writes the kept lines, and from now on all lines.
  static func release() {
    let lines = held.withLock { lines in
      defer { lines = nil }
      return lines ?? []
    }
    for line in lines { send(line) }
  }

  /// Whether lines are kept.
  static var isHeld: Bool { held.withLock { $0 != nil } }

  /// Writes text unchanged.
  static func send(_ text: SafeText) {
    let isKept = held.withLock { lines in
      guard let kept = lines else { return false }
      // An attempt that fails again says the same.
      if !kept.contains(text) { lines = kept.suffix(heldLimit - 1) + [text] }
      return true
    }
    if isKept { return }
    let bytes = Array(text.string.utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
  }

  static func write(_ failure: Failure, asJSON: Bool) {
    guard asJSON else { return write(failure.message, about: failure.subject) }
    // JSON is safe to print. More escapes would change it.
    put("\(JSONValue.object(["error": failure.json]).text)\n")
  }

  /// Writes the diagnostics of a source.
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

import Glibc
import Tabella
import TabellaTerminal

/// Standard output, buffered.
final class Output {
  /// Whether it is a terminal: then every format is made safe to look at.
  let isTerminal = isatty(1) == 1
  /// The terminal's width in columns; nil if it is none.
  let width: Int?
  private var buffer: [UInt8] = []

  init() {
    var size = winsize()
    let columns =
      isTerminal && ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
      ? Int(size.ws_col) : 80
    width = isTerminal ? columns : nil
    buffer.reserveCapacity(1 << 16)
  }

  /// Whether characters beyond ASCII can be shown, by the locale's name.
  let isUnicode: Bool = {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { continue }
      let upper = value.uppercased()
      return upper.contains("UTF-8") || upper.contains("UTF8")
    }
    return false
  }()

  /// Writes bytes of our own making, or in a pipe those of the data.
  func write(_ bytes: [UInt8]) throws(Failure) {
    buffer += bytes
    if buffer.count >= 1 << 16 { try flush() }
  }

  func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

  func write(_ text: SafeText) throws(Failure) { try write(text.string) }

  /// Sends out what is buffered. A reader that went away ends the program quietly, as SIGPIPE does.
  func flush() throws(Failure) {
    var sent = 0
    while sent < buffer.count {
      let result = buffer.withUnsafeBytes {
        Glibc.write(1, $0.baseAddress! + sent, $0.count - sent)
      }
      if result >= 0 {
        sent += result
      } else if errno == EPIPE {
        exit(ExitStatus.brokenPipe.code)
      } else if errno != EINTR {
        let reason = String(cString: strerror(errno))
        buffer = []
        throw Failure(
          status: .failed, subject: "standard output", code: "io",
          message: "cannot be written: \(reason)")
      }
    }
    buffer.removeAll(keepingCapacity: true)
  }
}

/// Standard error, line by line; everything on it is made safe to print.
enum Messages {
  /// How many remarks on one table are worth reading.
  private static let remarkLimit = 1000

  static func write(_ line: String) { put(SafeText(line).string) }

  /// Writes a line about a location, a command or the program as such.
  static func write(_ message: String, about subject: String?) {
    // `processes:` ends with a colon of its own.
    let subject = subject.map { $0.hasSuffix(":") ? "\($0) " : "\($0): " } ?? ""
    write("tabella: \(subject)\(message)")
  }

  private static func put(_ safe: String) {
    let bytes = Array((safe + "\n").utf8)
    _ = bytes.withUnsafeBytes { Glibc.write(2, $0.baseAddress, $0.count) }
  }

  static func write(_ failure: Failure, asJSON: Bool) {
    if asJSON {
      // JSON has escapes of its own for what is unsafe to print.
      put(JSONValue.object(["error": failure.json]).text)
    } else {
      write(failure.message, about: failure.subject)
    }
  }

  /// Writes the remarks that a source has on its data.
  static func writeDiagnostics(of source: any TableDataSource, location: String) {
    var count = 0
    while let diagnostic = source.diagnostics?.nextDiagnostic() {
      count += 1
      if count > remarkLimit {
        return write("note: there are more remarks than \(remarkLimit)", about: location)
      }
      let kind = diagnostic.severity == .note ? "note" : "warning"
      write("\(kind): \(diagnostic.message)", about: location)
    }
  }
}

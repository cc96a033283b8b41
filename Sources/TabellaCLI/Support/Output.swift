import Glibc
import Tabella
import TabellaTerminal

/// Standard output, buffered.
final class Output {
  /// Whether it is a terminal: then every format is made safe to look at.
  let isTerminal = isatty(1) == 1
  /// The terminal's width in columns; nil if it is none.
  let width: Int?
  private static let capacity = 1 << 17
  private let buffer = UnsafeMutableRawBufferPointer.allocate(
    byteCount: Output.capacity, alignment: 64)
  private var filled = 0

  init() {
    var size = winsize()
    let columns =
      isTerminal && ioctl(1, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0
      ? Int(size.ws_col) : 80
    width = isTerminal ? columns : nil
  }

  deinit { buffer.deallocate() }

  /// Whether characters beyond ASCII can be shown, by the locale's name.
  let isUnicode: Bool = {
    for name in ["LC_ALL", "LC_CTYPE", "LANG"] {
      guard let value = getenv(name).map({ String(cString: $0) }), !value.isEmpty else { continue }
      let upper = value.uppercased()
      return upper.contains("UTF-8") || upper.contains("UTF8")
    }
    return false
  }()

  /// What stands for a missing value where people read.
  var missing: String { isUnicode ? "∅" : "null" }

  /// Writes bytes of our own making, or in a pipe those of the data.
  func write(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    if bytes.count > Output.capacity - filled { try flush() }
    if bytes.count > Output.capacity { return try send(bytes) }
    UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]).copyMemory(from: bytes)
    filled += bytes.count
  }

  func write(_ bytes: [UInt8]) throws(Failure) {
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(Failure) in try write(bytes) }
    }
    try result.get()
  }

  func write(_ text: String) throws(Failure) { try write(Array(text.utf8)) }

  func write(_ text: SafeText) throws(Failure) { try write(text.string) }

  /// The most that one call of ``write(room:_:)`` may ask for.
  static let room = capacity

  /// Lets `body` write in place: it is given room for as many bytes and returns how many it wrote.
  func write(
    room: Int, _ body: (UnsafeMutableRawPointer) -> Int
  ) throws(Failure) {
    if room > Output.capacity - filled { try flush() }
    filled += body(buffer.baseAddress! + filled)
  }

  /// Sends out what is buffered.
  func flush() throws(Failure) {
    let count = filled
    filled = 0
    try send(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
  }

  /// A reader that went away ends the program quietly, as SIGPIPE does.
  private func send(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
    var sent = 0
    while sent < bytes.count {
      let result = Glibc.write(1, bytes.baseAddress! + sent, bytes.count - sent)
      if result >= 0 {
        sent += result
      } else if errno == EPIPE {
        exit(ExitStatus.brokenPipe.code)
      } else if errno != EINTR {
        throw Failure(
          status: .failed, subject: "standard output", code: "io",
          message: "cannot be written: \(String(cString: strerror(errno)))")
      }
    }
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

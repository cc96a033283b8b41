import CTabellaSystem
import Synchronization
import Tabella
import TabellaBridge
import TabellaFiles
import TabellaSystem

/// A log of all calls to providers, one line per call, for bug reports and tests.
///
/// A line contains the seconds since the start of the trace, the provider, the call, `->`, the result and the duration.
/// The first half is written before the call, so that a call that never returns is visible.
///
/// The trace contains the number and the length of cells, ids, titles and texts, but not their content. It contains
/// locations, names of columns, options and error messages. docs/debugging.md explains how to read it.
///
/// Any thread may use a trace.
public final class Trace: Sendable {
  private struct State {
    /// The call whose line is begun but not ended.
    var open: Int?
    var lastCall = 0
    var lastTable = 0
  }

  private let state = Mutex(State())
  private let began = now()
  private let put: @Sendable (String) -> Void
  /// The file that the trace owns; nil if there is none.
  private let file: Descriptor?

  /// A trace that passes each piece of text to `put`. A line can arrive in two pieces.
  public init(_ put: @escaping @Sendable (String) -> Void) {
    self.put = put
    file = nil
    begin()
  }

  /// A trace that appends to a file. `-` means standard error. A missing file is created, readable only by its owner.
  ///
  /// Throws `TableError` if the file cannot be written, is a link, or is being written by another program.
  public init(path: [UInt8]) throws(TableError) {
    if path == [UInt8(ascii: "-")] { file = nil } else { file = try Trace.open(path) }
    let number = file == nil ? 2 : file.raw
    put = { text in
      let bytes = Array(text.utf8)
      _ = bytes.withUnsafeBytes { Glibc.write(number, $0.baseAddress, $0.count) }
    }
    begin()
  }

  deinit {
    // A process that was just started can still have a copy of the descriptor, which would keep the lock.
    if file != nil { _ = tabella_system_unlock(file.raw) }
  }

  /// Opens and locks the file of a trace.
  private static func open(_ path: [UInt8]) throws(TableError) -> Descriptor {
    let file = try Descriptor(
      opening: path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK,
      mode: 0o600, errorPrefix: "cannot be written")
    guard stat(of: file.raw)?.kind == S_IFREG else {
      throw TableError(.invalidArgument, "is not a regular file")
    }
    guard tabella_system_lock(file.raw) == 0 else {
      throw TableError(.conflict, "is being written by another program")
    }
    return file
  }

  private func begin() {
    var system = utsname()
    uname(&system)
    func text<T>(_ field: T) -> String {
      withUnsafeBytes(of: field) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }
    note(
      "trace of process \(getpid()), contract \(contractVersionName), \(text(system.sysname)) "
        + "\(text(system.release)) \(text(system.machine))")
  }

  // Lines

  /// Writes a line that is not a call.
  func note(_ what: String) { write(what) { _ in nil } }

  /// Performs a call and writes its line. `what` describes the call, and `words` describes the result.
  func call<R>(
    _ what: String, _ body: () throws(TableError) -> R, words: (R) -> String
  ) throws(TableError) -> R {
    let call = start(what)
    let time = now()
    do throws(TableError) {
      let result = try body()
      end(call, what, words(result), time)
      return result
    } catch {
      end(call, what, "\(error.code.name): \(error.description)", time)
      throw error
    }
  }

  /// The next table number, which distinguishes tables in the trace.
  func numberTable() -> Int {
    state.withLock { state in
      state.lastTable += 1
      return state.lastTable
    }
  }

  private func start(_ what: String) -> Int {
    var call = 0
    write(what) { state in
      state.lastCall += 1
      call = state.lastCall
      return call
    }
    return call
  }

  private func end(_ call: Int, _ what: String, _ result: String, _ began: Double) {
    let took = Trace.milliseconds(now() - began)
    write(" -> \(result)  (\(took))", closing: (call, what)) { _ in nil }
  }

  /// Writes text: either the end of the open line, or a new line. The new line stays open if `opening` returns a call.
  private func write(
    _ text: String, closing: (call: Int, what: String)? = nil, opening: (inout State) -> Int?
  ) {
    let time = Trace.seconds(now() - began)
    state.withLock { state in
      var line = ""
      if let closing, state.open == closing.call {
        line = Trace.oneLine(text)
      } else {
        // Another line came in between, so the line starts again.
        if state.open != nil { line = "\n" }
        line += "\(time)  " + Trace.oneLine((closing.map { $0.what } ?? "") + text)
      }
      state.open = opening(&state)
      put(state.open == nil ? line + "\n" : line)
    }
  }

  // Words

  /// Seconds with microseconds, right-aligned: `    1.234567`.
  private static func seconds(_ time: Double) -> String {
    let microseconds = Int(time * 1e6)
    let rest = "\(microseconds % 1_000_000)"
    let text =
      "\(microseconds / 1_000_000)." + String(repeating: "0", count: 6 - rest.count) + rest
    return String(repeating: " ", count: max(0, 11 - text.count)) + text
  }

  private static func milliseconds(_ time: Double) -> String {
    let hundredths = Int(time * 1e5)
    let rest = "\(hundredths % 100)"
    return "\(hundredths / 100)." + String(repeating: "0", count: 2 - rest.count) + "\(rest) ms"
  }

  /// The text as one line without characters that control a terminal.
  static func oneLine(_ text: String) -> String {
    guard text.unicodeScalars.contains(where: \.isUnsafeToPrint) else { return text }
    var line = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": line += "\\n"
      case "\r": line += "\\r"
      case "\t": line += "\\t"
      case _ where scalar.isUnsafeToPrint:
        line += "\\u{\(String(scalar.value, radix: 16))}"
      default: line.unicodeScalars.append(scalar)
      }
    }
    return line
  }
}

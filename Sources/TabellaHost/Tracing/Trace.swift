import CTabellaSystem
import Synchronization
import Tabella
import TabellaBridge
import TabellaFiles

/// The traffic of providers, a line a call, for bug reports and tests.
///
/// A line has the seconds since the trace began, who is asked for what, `->`, what came, and how long it
/// took; it is begun before the call, so that a call that does not come back is seen. Cells, ids, titles
/// and texts are not in it, only how many and how long they are; locations, the names of columns, options
/// and what errors say are. docs/debugging.md tells how to read it.
///
/// May be used from any thread.
public final class Trace: Sendable {
  private struct State {
    /// The call whose line is begun and not ended.
    var open: Int?
    var lastCall = 0
    var lastTable = 0
  }

  private let state = Mutex(State())
  private let began = now()
  private let put: @Sendable (String) -> Void
  /// The file that is written to; -1 if it is none of ours.
  private let file: Int32

  /// A trace that hands each piece of text on; a line may come in two.
  public init(_ put: @escaping @Sendable (String) -> Void) {
    self.put = put
    file = -1
    begin()
  }

  /// A trace at the end of a file, which is made for its owner only if it is not there; `-` stands for
  /// standard error.
  ///
  /// Throws ``TableError`` if it cannot be written, is a link, or another program is writing it.
  public init(path: [UInt8]) throws(TableError) {
    let isErrors = path == [UInt8(ascii: "-")]
    let flags = O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK
    let file = isErrors ? 2 : path.withCString { Glibc.open($0, flags, 0o600) }
    guard file >= 0 else { throw .system(errno, "cannot be written") }
    if !isErrors {
      var status = stat()
      guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
        close(file)
        throw TableError(.invalidArgument, "is no regular file")
      }
      guard tabella_system_lock(file) == 0 else {
        close(file)
        throw TableError(.conflict, "is being written by another program")
      }
    }
    self.file = isErrors ? -1 : file
    put = { text in
      let bytes = Array(text.utf8)
      _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
    }
    begin()
  }

  deinit { if file >= 0 { close(file) } }

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

  /// Writes a line of its own.
  func note(_ what: String) { write(what) { _ in nil } }

  /// Makes a call with a line of its own: `what` is asked, `words` tell what came.
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

  /// The same for a call that cannot fail.
  func call<R>(_ what: String, _ body: () -> R, words: (R) -> String) -> R {
    let call = start(what)
    let time = now()
    let result = body()
    end(call, what, words(result), time)
    return result
  }

  /// A number for a table, to tell it from others.
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

  /// Writes text: the end of a line that is open, or a new line, which is left open for the call that
  /// `opening` gives.
  private func write(
    _ text: String, closing: (call: Int, what: String)? = nil, opening: (inout State) -> Int?
  ) {
    let time = Trace.seconds(now() - began)
    state.withLock { state in
      var line = ""
      if let closing, state.open == closing.call {
        line = Trace.oneLine(text)
      } else {
        // Something else was told meanwhile: the line is begun again.
        if state.open != nil { line = "\n" }
        line += "\(time)  " + Trace.oneLine((closing.map { $0.what } ?? "") + text)
      }
      state.open = opening(&state)
      put(state.open == nil ? line + "\n" : line)
    }
  }

  // Words

  /// `    1.234567`: seconds, to the microsecond.
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

  /// The text as one line that a terminal takes for nothing else.
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

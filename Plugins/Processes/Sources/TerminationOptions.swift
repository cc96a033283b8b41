import CTabellaSystem
import Glibc
import Tabella

/// The signal that a deletion sends, and the time to wait for the end of the process.
struct TerminationOptions {
  static let longestWait = 3600

  var signal = Signal(number: SIGTERM)
  /// The time in seconds; 0 means no wait.
  var wait = 0

  init() {}

  /// Parses the options. Throws ``TableError`` with `.invalidArgument` and the valid values.
  init(_ options: [String: String]) throws(TableError) {
    for (name, value) in options {
      switch name {
      case "signal": signal = try Signal(value)
      case "wait":
        guard let seconds = Int(value), 0...TerminationOptions.longestWait ~= seconds else {
          throw TableError(
            .invalidArgument,
            "option wait cannot be \"\(value)\": it must be 0 to \(TerminationOptions.longestWait) seconds"
          )
        }
        wait = seconds
      default:
        throw TableError(
          .invalidArgument, "there is no option \(name); the options are signal and wait")
      }
    }
  }
}

/// A signal, identified by its number.
struct Signal: Equatable {
  /// The largest signal number of Linux on all machines that Swift supports.
  private static let largest: Int32 = 64

  var number: Int32

  init(number: Int32) { self.number = number }

  /// Parses a number, or a name with or without SIG, in any case.
  init(_ text: String) throws(TableError) {
    var name = text.uppercased()
    if name.hasPrefix("SIG") { name.removeFirst(3) }
    let numbers = 1...Signal.largest
    guard
      let number = numbers.first(where: { Signal(number: $0).names.contains(name) })
        ?? Int32(text),
      numbers.contains(number)
    else {
      throw TableError(
        .invalidArgument,
        "option signal cannot be \"\(text)\": it must be a name such as TERM, KILL, INT, HUP, STOP, "
          + "CONT, USR1 or RTMIN+1, or a number from 1 to \(Signal.largest) (kill -l lists them)")
    }
    self.number = number
  }

  /// All names that `kill -l` prints for the signal on various systems.
  private var names: [String] {
    let others = [SIGABRT: "IOT", SIGCHLD: "CLD", SIGPOLL: "IO", SIGSYS: "UNUSED"]
    let (first, last) = (__libc_current_sigrtmin(), __libc_current_sigrtmax())
    let fromLast = number == last ? "RTMAX" : "RTMAX-\(last - number)"
    return [name, others[number], number < first ? nil : fromLast].compactMap { $0 }
  }

  /// The name without SIG; the number if there is none.
  var name: String {
    if let name = tabella_system_signal_name(number) { return String(cString: name) }
    let first = __libc_current_sigrtmin()
    return number < first ? "\(number)" : number == first ? "RTMIN" : "RTMIN+\(number - first)"
  }
}

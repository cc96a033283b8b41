import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// The user's editor, which runs on the terminal of this process.
struct Editor {
  /// The shell command that edits the file `"$@"`.
  private let command: String
  /// Its name in messages.
  let name: String

  /// The editor of `VISUAL` or `EDITOR`, or else `editor` or `vi`. Throws if a process with more rights than its user
  /// would start it, and if there is neither a variable nor a terminal.
  init() throws(TableError) {
    if tabella_system_is_privileged() {
      throw TableError(
        .denied, "an editor is not started by a process that has more rights than its user")
    }
    for variable in ["VISUAL", "EDITOR"] {
      if let value = environment(variable), value.contains(where: { $0 != " " }) {
        command = "\(value) \"$@\""
        name = "\(variable)=\(value)"
        return
      }
    }
    guard isatty(0) == 1, isatty(2) == 1 else {
      throw TableError(
        .notSupported,
        "there is no terminal for an editor; set VISUAL or EDITOR to a program that edits the file it is called with"
      )
    }
    command = #"if command -v editor > /dev/null 2>&1; then editor "$@"; else vi "$@"; fi"#
    name = "vi"
  }

  /// Edits a file and waits for the end of the editor. Throws if the editor fails.
  ///
  /// Meanwhile this process ignores the keys that interrupt a program, because the editor uses them.
  func edit(_ path: [UInt8]) throws(TableError) {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // Standard output belongs to the report.
    if isatty(1) == 0 { posix_spawn_file_actions_adddup2(&actions, 2, 1) }
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    let ignored = IgnoredSignals([SIGINT, SIGQUIT])
    defer { ignored.restore() }
    var defaults = sigset_t()
    sigemptyset(&defaults)
    for signal in ignored.handled + [SIGPIPE] { sigaddset(&defaults, signal) }
    posix_spawnattr_setsigdefault(&attributes, &defaults)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let words: [String] = ["/bin/sh", "-c", command, "tabella-edit"]
    let file = path.withCString { strdup($0) }
    let arguments = words.map { strdup($0) } + [file, nil]
    defer { for argument in arguments { free(argument) } }
    // If the parent ignores this signal, the system forgets the status of the editor.
    Glibc.signal(SIGCHLD, SIG_DFL)
    var process: pid_t = 0
    let result = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environ)
    guard result == 0 else { throw .system(result, "the editor cannot be started") }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else {
        throw .system(errno, "the status of the editor is not known; nothing was done")
      }
    }
    guard status != 0 else { return }
    let signal = status & 0x7F
    let end = signal == 0 ? "status \(status >> 8 & 0xFF)" : "signal \(signal)"
    throw TableError(.io, "the editor (\(name)) ended with \(end); nothing was done")
  }
}

/// Signals that this process ignores for a while.
private struct IgnoredSignals {
  private var before: [(signal: Int32, action: sigaction)] = []

  init(_ signals: [Int32]) {
    for signal in signals {
      var ignore = sigaction()
      ignore.__sigaction_handler.sa_handler = SIG_IGN
      var action = sigaction()
      if sigaction(signal, &ignore, &action) == 0 { before.append((signal, action)) }
    }
  }

  /// The signals that were not ignored before.
  var handled: [Int32] {
    before.filter { entry in
      unsafeBitCast(entry.action.__sigaction_handler.sa_handler, to: Int.self)
        != unsafeBitCast(SIG_IGN, to: Int.self)
    }.map(\.signal)
  }

  func restore() {
    for (signal, action) in before {
      var action = action
      sigaction(signal, &action, nil)
    }
  }
}

import CTabellaSystem
import Glibc
import TabellaSystem

/// The program that shows output longer than the screen. It is started as git starts it.
final class Pager {
  /// A pager command and its origin.
  struct Choice {
    let command: String
    /// The environment variable that names the command; nil for the default.
    let variable: String?
  }

  private let choice: Choice
  /// The writing end of the pager's input; nil once it is closed.
  private var feed: Descriptor?
  private let process: pid_t

  /// The command to use: TABELLA_PAGER, PAGER, or less; nil if no pager is wanted. A process that has more
  /// rights than its user gets nil, too, because a user can run any command from a pager.
  static var preferred: Choice? {
    if tabella_system_is_privileged() { return nil }
    for name in ["TABELLA_PAGER", "PAGER"] {
      if let value = getenv(name).map({ String(cString: $0) }) {
        let command = value.drop { $0 == " " }
        return command.isEmpty || command == "cat" ? nil : Choice(command: value, variable: name)
      }
    }
    return Choice(command: "less", variable: nil)
  }

  /// Starts a pager that keeps some lines at its top in view, if it can; nil if that fails.
  init?(_ choice: Choice, keptLines: Int = 0) {
    // Quit if the text fits, show styles but no other escapes, and leave the text on the screen.
    setenv("LESS", "FRX", 0)
    setenv("LV", "-c", 0)
    let command = Pager.command(choice.command, keptLines: keptLines)
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    let output = Descriptor(owning: ends[0])
    let feed = Descriptor(owning: ends[1])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    guard let process = Pager.start(command, output.raw, as: 0) else { return nil }
    self.choice = choice
    self.process = process
    tabella_system_has_pager(process, feed.raw)
    self.feed = consume feed
  }

  /// The command, with the option that keeps the first lines in view if the command is a `less` that has this option.
  private static func command(_ command: String, keptLines: Int) -> String {
    let words = command.split(separator: " ")
    // A command with quotes, pipes or variables stays as it is.
    let isPlain = command.utf8.allSatisfy {
      48...57 ~= $0 || 65...90 ~= $0 || 97...122 ~= $0 || Array(" /._+=,-".utf8).contains($0)
    }
    let hasOption =
      words.dropFirst().contains { $0.hasPrefix("--header") }
      || environment("LESS")?.utf8.position(of: "--header".utf8) != nil
    guard keptLines > 0, isPlain, !hasOption, let program = words.first,
      program.split(separator: "/").last == "less",
      let version = lessVersion(String(program)), version >= 600
    else { return command }
    return [command, "--header=\(keptLines)"].joined(separator: " ")
  }

  /// The version of a `less`: `less 643 (GNU regular expressions)`; nil if it does not print one.
  private static func lessVersion(_ program: String) -> Int? {
    var ends: [Int32] = [0, 0]
    guard pipe(&ends) == 0 else { return nil }
    let output = Descriptor(owning: ends[0])
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let started: pid_t?
    do {
      // Afterwards only the process holds the writing end, so reading ends with it.
      let input = Descriptor(owning: ends[1])
      let question = [program, "--version", "</dev/null", "2>/dev/null"].joined(separator: " ")
      started = start(question, input.raw, as: 1)
    }
    guard let process = started else { return nil }
    var text = [UInt8](repeating: 0, count: 256)
    let count = max(0, read(output.raw, &text, text.count))
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    let words = text.prefix(count).split(separator: 32)
    guard words.count > 1, words[0].elementsEqual("less".utf8) else { return nil }
    return Int(String(decoding: words[1].prefix { 48...57 ~= $0 }, as: UTF8.self))
  }

  /// Starts a command of the shell with a descriptor as its input (0) or output (1); nil if that fails.
  private static func start(_ command: String, _ end: Int32, as number: Int32) -> pid_t? {
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, end, number)
    // This process ignores SIGPIPE and notices a closed pager by a failed write. The pager gets default signals.
    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    posix_spawnattr_setsigdefault(&attributes, &signals)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF))
    let words: [String] = ["/bin/sh", "-c", command]
    let arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var process: pid_t = 0
    let result = posix_spawn(&process, "/bin/sh", &actions, &attributes, arguments, environ)
    return result == 0 ? process : nil
  }

  /// The pager shows the text that is written to this descriptor. It is valid until ``wait()``.
  var input: Int32 { feed.raw }

  /// Closes the pager's input and waits for the pager to end. If the pager failed, returns the reason why rows
  /// may not have been shown.
  func wait() -> String? {
    // Ctrl-C is a key of the pager. If it ended this program, the shell and the pager would read the same terminal.
    tabella_system_has_pager(process, -1)
    feed = nil
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 && errno == EINTR {}
    tabella_system_has_pager(0, -1)
    let number = status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + status & 0x7F
    // Ending the pager by a key, or closing its terminal, is normal. A shell adds 128 to the signal.
    guard number != 0, ![SIGINT, SIGPIPE, SIGHUP, SIGTERM].contains(number - 128) else {
      return nil
    }
    let name = (choice.variable.map { "\($0)=" } ?? "") + choice.command
    let what =
      number == 126 || number == 127
      ? "could not be run" : "ended with status \(number), so rows may not have been shown"
    return "\(name) \(what); use --no-pager to print without a pager"
  }
}

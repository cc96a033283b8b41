import Glibc
import Tabella
import TabellaTerminal

extension Command {
  /// The command that the shells' scripts call. The operands are the words of a command line up to the
  /// cursor, the last one incomplete. For bash the operand is the line itself.
  static let complete = Command(
    name: "complete", operands: "WORD…", summary: "print the completions of the last word",
    options: [.bash], examples: [], isHidden: true
  ) { invocation, output throws(Failure) in
    leaveTheTerminalAlone()
    guard let breaks = invocation.bashBreaks else {
      try write(Completer().candidates(invocation.operands).text, output)
      return .done
    }
    let line = BashLine(invocation.operands.first?.bytes ?? [], breaks: breaks)
    guard !line.isRedirection else {
      try write(": files=0\n", output)
      return .done
    }
    try write(Completer().candidates(line.words).text(for: line), output)
    return .done
  }

  private static func write(_ lines: String, _ output: Output) throws(Failure) {
    // No candidate has a control character; the tabs are ours.
    guard !output.isTerminal else { return try output.write(SafeText(lines: lines)) }
    let bytes = Array(lines.utf8)
    let result = bytes.withUnsafeBytes { bytes in
      Result { () throws(Failure) in try output.write(data: bytes) }
    }
    try result.get()
  }

  /// Protects the terminal that the user types in. The command reads nothing from it and writes only candidates
  /// to it. It gives up on a table that takes long.
  private static func leaveTheTerminalAlone() {
    let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
    for descriptor in [Int32(0), 2] where nothing >= 0 { dup2(nothing, descriptor) }
    signal(SIGALRM) { _ in _exit(0) }
    alarm(1)
  }
}

extension OptionSpec {
  fileprivate static let bash = OptionSpec(
    names: ["--bash"], argument: "BREAKS", summary: "for bash, with its COMP_WORDBREAKS"
  ) { invocation, value throws(Failure) in invocation.bashBreaks = value.bytes }
}

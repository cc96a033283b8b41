import Tabella
import TabellaHost
import TabellaTerminal

/// A command of `tabella`: everything that help, and later the manual, say of it.
struct Command: Sendable {
  let name: String
  /// The operands, as the help writes them.
  let operands: String
  let summary: String
  let options: [OptionSpec]
  /// Command lines that work, each with what it does.
  let examples: [(line: String, meaning: String)]
  /// Does the work. Throws what ends it early.
  let run: @Sendable (Invocation, Output) throws(Failure) -> ExitStatus
}

/// The commands there are. A new one is an entry here and a file beside this one.
enum CommandTable {
  static let commands: [Command] = [.show, .count, .export, .describe, .providers, .help]

  static let version = "0.1.0"

  /// Runs what the arguments ask for and reports what goes wrong.
  static func run(_ arguments: [Argument]) -> ExitStatus {
    // Known before the arguments are read, so that errors in them come out right.
    let options = arguments.prefix { $0.text != "--" }.map(\.text)
    let asJSON =
      options.contains("--json") || options.contains("--format=json")
      || zip(options, options.dropFirst()).contains { $0 == ("--format", "json") }
    let output = Output()
    do throws(Failure) {
      let status = try dispatch(arguments, output)
      Progress.end()
      try output.finish()
      return status
    } catch {
      Progress.end()
      try? output.finish()
      Messages.write(error, asJSON: asJSON)
      return error.status
    }
  }

  private static func dispatch(
    _ arguments: [Argument], _ output: Output
  ) throws(Failure) -> ExitStatus {
    guard let first = arguments.first?.text else {
      throw .usage("no command was given")
    }
    if first == "--version" || first == "-V" {
      try output.write("tabella \(version)\n")
      return .done
    }
    let name = first == "--help" || first == "-h" ? "help" : first
    guard let command = commands.first(where: { $0.name == name }) else {
      throw .usage("there is no command \(first)")
    }
    let rest = Array(arguments.dropFirst())
    if rest.prefix(while: { $0.text != "--" }).contains(where: { $0.text == "--help" }) {
      try output.write(SafeText(lines: helpText(command)))
      return .done
    }
    let invocation = try Invocation(rest, specs: command.options, command: name)
    output.adopt(invocation.display)
    return try command.run(invocation, output)
  }
}

import CTabellaSystem
import Tabella
import TabellaHost

/// A command of `tabella`: everything that help, the manual and the completions say of it.
struct Command: Sendable {
  let name: String
  /// The operands, as the help writes them; the last one may be repeated if they end with `…` or `…]`.
  let operands: String
  /// What each operand is, for the shells' completions.
  var operandValues: [Completion] = []
  let summary: String
  /// What one must know to use it: paragraphs with an empty line between them. Lines that are
  /// indented are kept as they are; what stands in backticks is to be typed.
  var discussion = ""
  let options: [OptionSpec]
  /// Command lines that work, each with what it does.
  let examples: [(line: String, meaning: String)]
  /// Other commands that one might look for.
  var seeAlso: [String] = []
  /// Whether it is for programs only, so that help does not mention it.
  var isHidden = false
  /// Does the work. Throws what ends it early.
  let run: @Sendable (Invocation, Output) throws(Failure) -> ExitStatus
}

/// The commands there are. A new one is an entry here and a file beside this one.
enum CommandTable {
  static let commands: [Command] = [
    .show, .count, .export, .describe, .set, .insert, .delete, .move, .apply, .undo, .log,
    .providers, .check, .help, .completions, .complete,
  ]

  static let version = "0.1.0"

  /// Those for people.
  static var shown: [Command] { commands.filter { !$0.isHidden } }

  /// The command with a name; throws what was probably meant if there is none.
  static func command(_ name: String) throws(Failure) -> Command {
    if let command = commands.first(where: { $0.name == name }) { return command }
    throw .usage("there is no command \(name)\(Suggestion.hint(name, among: shown.map(\.name)))")
  }

  /// Runs what the arguments ask for and reports what goes wrong.
  static func run(_ arguments: [Argument]) -> ExitStatus {
    // By then all is told.
    defer { tabella_system_release_signals() }
    // Known before the arguments are read, so that errors in them come out right.
    let options = arguments.prefix { $0.text != "--" }.map(\.text)
    let asJSON =
      options.contains("--json") || options.contains("--format=json")
      || zip(options, options.dropFirst()).contains { $0 == ("--format", "json") }
    if let shortage = tabella_system_shortage() {
      let failure = Failure(
        status: .failed, subject: nil, code: "io", message: String(cString: shortage))
      Messages.write(failure, asJSON: asJSON)
      return failure.status
    }
    let output = Output()
    do throws(Failure) {
      let status = try dispatch(arguments, output)
      Progress.end()
      try output.finish()
      return status
    } catch {
      Progress.end()
      if error.isSilent { return error.status }
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
    let command = try command(first == "--help" || first == "-h" ? "help" : first)
    let rest = Array(arguments.dropFirst())
    if rest.prefix(while: { $0.text != "--" }).contains(where: { $0.text == "--help" }) {
      output.adopt(DisplayOptions())
      try Manual.write(Manual.page(of: command), output)
      return .done
    }
    let invocation = try Invocation(rest, specs: command.options, command: command.name)
    output.adopt(invocation.display)
    return try command.run(invocation, output)
  }
}

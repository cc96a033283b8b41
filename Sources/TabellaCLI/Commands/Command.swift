import CTabellaSystem
import Tabella
import TabellaHost

/// A command of `tabella`, with its texts for help, the manual and the completions.
struct Command: Sendable {
  let name: String
  /// The operands, as the help writes them. The last one can be repeated if they end with `…` or `…]`.
  let operands: String
  /// The kind of each operand, for the completions.
  var operandValues: [Completion] = []
  let summary: String
  /// The description: paragraphs with an empty line between them. Indented lines are kept
  /// unchanged. Text in backticks is text to type.
  var discussion = ""
  let options: [OptionSpec]
  /// Command lines that work, each with its meaning.
  let examples: [(line: String, meaning: String)]
  /// Related commands and topics.
  var seeAlso: [String] = []
  /// The part of the list of commands that it belongs to.
  var group = CommandGroup.tables
  /// Whether only programs use the command, so that help does not list it.
  var isHidden = false
  /// Runs the command. Throws the failure that ends it early.
  let run: @Sendable (Invocation, Output) throws(Failure) -> ExitStatus
}

/// The parts of the list of commands, with their titles.
enum CommandGroup: String, CaseIterable {
  case tables = "Read tables"
  case edits = "Change data"
  case providers = "Providers"
  case help = "Help"
}

/// All commands. A new command needs an entry here and a file beside this one.
enum CommandTable {
  /// The commands, the common ones first. A command has long texts and tables, so that a lookup makes only the commands
  /// up to the one that it finds.
  private static let makers: [@Sendable () -> Command] = [
    { .show }, { .count }, { .export }, { .summarize }, { .describe }, { .diff }, { .set },
    { .insert }, { .delete }, { .move }, { .apply }, { .edit }, { .undo }, { .log },
    { .providers }, { .check }, { .newProvider }, { .help }, { .completions }, { .complete },
  ]

  static var commands: [Command] { makers.map { $0() } }

  /// The command with this name; nil if there is none.
  static func command(named name: String) -> Command? {
    makers.lazy.map { $0() }.first { $0.name == name }
  }

  static let version = "0.1.0"

  /// The commands that help lists.
  static var shown: [Command] { commands.filter { !$0.isHidden } }

  /// Runs the command that the arguments name, and reports errors.
  static func run(_ arguments: [Argument]) -> ExitStatus {
    // All messages are written by then.
    defer { tabella_system_release_signals() }
    // Found before the arguments are parsed, so that parse errors have the right format.
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
      Messages.write("a command or a location is missing", about: nil)
      Messages.put(Manual.text(of: Manual.firstSteps, output))
      return .usage
    }
    if first == "--version" || first == "-V" {
      try output.write("tabella \(version)\n")
      return .done
    }
    let (command, rest) = try FirstWord.command(of: arguments)
    if rest.prefix(while: { $0.text != "--" }).contains(where: { $0.text == "--help" }) {
      output.adopt(DisplayOptions())
      try Manual.write(Manual.page(named: command.name), output)
      return .done
    }
    let invocation = try Invocation(rest, specs: command.options, command: command.name)
    output.adopt(invocation.display)
    return try command.run(invocation, output)
  }
}

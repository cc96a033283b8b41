import Tabella
import TabellaTerminal

extension Command {
  static let help = Command(
    name: "help", operands: "[COMMAND]", summary: "tells how to use tabella, or one command",
    options: [], examples: [("tabella help show", "all that show can do")]
  ) { invocation, output throws(Failure) in
    guard invocation.operands.count <= 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "help")
    }
    guard let name = invocation.operands.first?.text else {
      try output.write(SafeText(lines: overview))
      return .done
    }
    guard let command = CommandTable.commands.first(where: { $0.name == name }) else {
      throw .usage("there is no command \(name)")
    }
    try output.write(SafeText(lines: helpText(command)))
    return .done
  }
}

private var overview: String {
  let width = CommandTable.commands.map(\.name.count).max() ?? 0
  let commands = CommandTable.commands.map { command in
    "  \(SafeText(command.name).padded(to: width))  \(command.summary)\n"
  }
  return """
    tabella shows tables from any source that a provider opens.

    Usage: tabella COMMAND [OPTION…] [LOCATION…]

    Commands:
    \(commands.joined())
    A LOCATION is a path (data.csv), SCHEME:REST (processes:, csv:odd.name), or - for standard
    input, with --provider. Several locations are one table.
    `tabella help COMMAND` tells more; `tabella providers` lists what can be opened;
    `tabella --version` says which one this is.

    """
}

func helpText(_ command: Command) -> String {
  var text = "Usage: tabella \(command.name)"
  if !command.options.isEmpty { text += " [OPTION…]" }
  if !command.operands.isEmpty { text += " \(command.operands)" }
  text += "\n\nThis \(command.summary).\n"
  if !command.options.isEmpty {
    let names = command.options.map { spec in
      spec.names.joined(separator: ", ") + (spec.argument.map { " \($0)" } ?? "")
    }
    let width = names.map { displayWidth(of: $0) }.max() ?? 0
    text += "\nOptions:\n"
    for (name, spec) in zip(names, command.options) {
      text += "  \(SafeText(name).padded(to: width))  \(spec.summary)\n"
    }
  }
  text += "\nExamples:\n"
  for example in command.examples { text += "  \(example.line)\n      \(example.meaning)\n" }
  return text
}

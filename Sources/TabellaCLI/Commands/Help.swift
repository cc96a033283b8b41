import Tabella
import TabellaTerminal

extension Command {
  static let help = Command(
    name: "help", operands: "[COMMAND]", operandValues: [.command],
    summary: "show help for tabella or for one command",
    discussion: """
      `tabella COMMAND --help` is the same as `tabella help COMMAND`. With `--format` the command prints the whole \
      manual as a man page or as Markdown. Both are generated from the help texts.
      """,
    options: [.helpFormat],
    examples: [
      ("tabella help", "show the commands and their common rules"),
      ("tabella help show", "show the help of one command"),
      ("tabella help --format man | man -l -", "show the man page if it is not installed"),
    ], seeAlso: ["completions"]
  ) { invocation, output throws(Failure) in
    guard invocation.operands.count <= 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "help")
    }
    let command = try invocation.operands.first.map { operand throws(Failure) in
      try CommandTable.command(operand.text)
    }
    guard let format = invocation.format else {
      try Manual.write(command.map { Manual.page(of: $0) } ?? Manual.overview, output)
      return .done
    }
    guard command == nil else {
      throw .usage("--format \(format) is for the whole manual", command: "help")
    }
    try output.write(SafeText(lines: format == "man" ? Manual.roff : Manual.markdown))
    return .done
  }
}

extension OptionSpec {
  fileprivate static let helpFormat = OptionSpec(
    names: ["--format"], argument: "FORMAT", summary: "print the whole manual: markdown, man",
    values: .choices(["markdown", "man"])
  ) { invocation, value throws(Failure) in
    guard ["markdown", "man"].contains(value.text) else {
      throw .usage("must be one of markdown, man")
    }
    invocation.format = value.text
  }
}

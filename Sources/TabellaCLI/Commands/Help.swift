import Tabella
import TabellaTerminal

extension Command {
  static let help = Command(
    name: "help", operands: "[COMMAND|TOPIC]", operandValues: [.helpPage],
    summary: "explain a command or a topic",
    discussion: """
      `tabella COMMAND --help` is the same as `tabella help COMMAND`. If a command and a topic have the same name, both \
      are printed. With `--format` the command prints the whole manual as a man page or as Markdown.
      """,
    options: [.helpFormat],
    examples: [
      ("tabella help", "list the commands and the topics"),
      ("tabella help show", "explain one command"),
      ("tabella help filter", "explain conditions"),
      ("tabella help --format man | man -l -", "show the man page if it is not installed"),
    ], seeAlso: ["completions"], group: .help
  ) { invocation, output throws(Failure) in
    guard invocation.operands.count <= 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "help")
    }
    let page = try invocation.operands.first.map { operand throws(Failure) in
      try Manual.page(named: operand.text)
    }
    guard let format = invocation.format else {
      try Manual.write(page ?? Manual.overview, output)
      return .done
    }
    guard page == nil else {
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

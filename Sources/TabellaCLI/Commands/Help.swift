import Tabella
import TabellaTerminal

extension Command {
  static let help = Command(
    name: "help", operands: "[COMMAND]", operandValues: [.command],
    summary: "tells how to use tabella, or one command",
    discussion: """
      `tabella COMMAND --help` is the same as `tabella help COMMAND`. The whole manual is also a page \
      for `man` and a document in Markdown; they are made from what help prints.
      """,
    options: [.helpFormat],
    examples: [
      ("tabella help", "the commands, and what holds for all of them"),
      ("tabella help show", "all that show can do"),
      ("tabella help --format man | man -l -", "the manual, if it is not installed"),
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
    names: ["--format"], argument: "FORMAT", summary: "the whole manual: markdown, man",
    values: .choices(["markdown", "man"])
  ) { invocation, value throws(Failure) in
    guard ["markdown", "man"].contains(value.text) else {
      throw .usage("must be one of markdown, man")
    }
    invocation.format = value.text
  }
}

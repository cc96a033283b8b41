import Tabella
import TabellaTerminal

extension Command {
  static let completions = Command(
    name: "completions", operands: "bash|zsh|fish",
    operandValues: [.choices(CompletionScript.shells)],
    summary: "prints a script that teaches a shell to complete tabella's command lines",
    discussion: """
      The script asks tabella itself what fits, so it knows the commands, options, providers and their \
      options, and the columns and titles of the table that the command line names. To learn those the \
      location is opened as `show` opens it; never standard input, a pipe, a device or a socket.

      `make install` puts the scripts where the shells look for them. Without it, this teaches the \
      shell that is running, and every new one from its start-up file:

        bash  source <(tabella completions bash)
        zsh   source <(tabella completions zsh)     after compinit
        fish  tabella completions fish | source
      """,
    options: [],
    examples: [("tabella completions bash", "the script for bash")], seeAlso: ["help"]
  ) { invocation, output throws(Failure) in
    guard let shell = invocation.operands.first?.text else {
      throw .usage("the name of a shell is missing", command: "completions")
    }
    guard invocation.operands.count == 1 else {
      throw .usage("\(invocation.operands[1].text) is not expected", command: "completions")
    }
    guard let script = CompletionScript.text(for: shell) else {
      let shells = CompletionScript.shells.joined(separator: ", ")
      throw .usage("there is no script for \(shell), only for \(shells)", command: "completions")
    }
    try output.write(SafeText(lines: script))
    return .done
  }
}

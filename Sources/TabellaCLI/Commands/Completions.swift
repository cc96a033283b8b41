import Tabella
import TabellaTerminal

extension Command {
  static let completions = Command(
    name: "completions", operands: "bash|zsh|fish",
    operandValues: [.choices(CompletionScript.shells)],
    summary: "print a script with which a shell completes command lines",
    discussion: """
      The script asks tabella for the completions. It completes commands, options, providers and their options, and \
      the columns and titles of the table that the command line names. To find those, it opens the location as \
      `show` does. It never opens standard input, a pipe, a device or a socket.

      `make install` installs the scripts in the folders that the shells search. Without it, one of these commands \
      enables completion in the running shell. Add it to the shell's start-up file to enable completion in every new \
      shell:

        bash  source <(tabella completions bash)
        zsh   source <(tabella completions zsh)     after compinit
        fish  tabella completions fish | source
      """,
    options: [],
    examples: [("tabella completions bash", "print the script for bash")], seeAlso: ["help"],
    group: .help
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

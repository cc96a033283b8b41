import Tabella
import TabellaTerminal

/// The manual, as help text, Markdown and man page. All of them come from the descriptions of commands and options, and
/// from the texts here.
enum Manual {
  /// Writes a page with 40 to 100 columns.
  static func write(_ page: Page, _ output: Output) throws(Failure) {
    let width = min(max(output.screen.width ?? 80, 40), 100)
    try output.write(SafeText(lines: page.text(width: width)))
  }

  /// The output of `tabella help`.
  static var overview: Page {
    Page(
      [
        .paragraph(purpose), .usage(usage), .heading("Commands"),
        .terms(CommandTable.shown.map { Term(name: $0.name, meaning: $0.summary) }),
        .paragraph(
          "`tabella help COMMAND` describes one command. `tabella --version` prints the version."),
      ] + common)
  }

  /// The output of `tabella help COMMAND`.
  static func page(of command: Command) -> Page {
    var usage = "tabella \(command.name)"
    if !command.options.isEmpty { usage += " [OPTION…]" }
    if !command.operands.isEmpty { usage += " \(command.operands)" }
    var blocks: [Block] = [
      .usage(usage),
      .paragraph("\(command.summary.prefix(1).uppercased())\(command.summary.dropFirst())."),
    ]
    blocks += Page.blocks(of: command.discussion)
    if !command.options.isEmpty {
      blocks += [.heading("Options"), .terms(command.options.map { term(of: $0) })]
    }
    if !command.examples.isEmpty {
      let examples = command.examples.map { Term(name: $0.line, meaning: $0.meaning) }
      blocks += [.heading("Examples"), .examples(examples)]
    }
    if !command.seeAlso.isEmpty {
      let others = command.seeAlso.map { "`tabella help \($0)`" }.joined(separator: ", ")
      blocks.append(.paragraph("See also: \(others)"))
    }
    return Page(blocks)
  }

  private static func term(of spec: OptionSpec) -> Term {
    Term(
      name: spec.usage,
      meaning: spec.detail.isEmpty ? spec.summary : "\(spec.summary). \(spec.detail)")
  }

  private static let purpose =
    "tabella shows and edits tables from any source that a provider can open."
  private static let usage = "tabella COMMAND [OPTION…] [OPERAND…]"

  /// The chapters about all commands.
  private static let common: [Block] = [
    .heading("Words"), .terms(words), .heading("Exit status"), .terms(statuses),
    .paragraph(
      """
      An error is one line on standard error, `tabella: SUBJECT: MESSAGE`. With `--json` it is one JSON \
      object on standard error.
      """),
    .heading("Environment"), .terms(variables),
  ]

  private static let words: [Term] = [
    Term(
      name: "LOCATION",
      meaning: """
        a path (`data.csv`, `src/`); or `SCHEME:REST`, with a scheme of a provider (`processes:`, \
        `csv:odd.name`); or `-` for standard input, which is text unless its first bytes or `--provider` choose \
        another provider. Several locations form one table. `tabella providers` lists the schemes and file names that providers open
        """),
    Term(
      name: "ROW",
      meaning: """
        `SECTION:ROW`, both counted from 0 in the table that the options show. A number alone is a row of \
        section 0, or of the section that `--section` chooses. `id:ID` is the row with that id. For the position \
        of a new or moved row, `SECTION:end` and `end` mean after the last row
        """),
    Term(
      name: "COLUMN",
      meaning: """
        the name of a column, with any characters. If several names match, the longest one counts; an \
        assignment that matches two columns is refused. If two columns are named `a`, the second one is `a 2`, \
        unless another column has that name
        """),
    Term(
      name: "OPTION",
      meaning: """
        options can be in front of operands or after them. `--name VALUE` is the same as `--name=VALUE`, and \
        `-n 5` the same as `-n5`. After `--` every word is an operand
        """),
  ]

  private static let statuses: [Term] = [
    Term(name: "0", meaning: "done"),
    Term(name: "1", meaning: "failed, or done in part; the message says which part"),
    Term(
      name: "2", meaning: "the command line is wrong, such as an unknown command, option or column"),
    Term(name: "3", meaning: "a provider could not be found or loaded, or it broke the contract"),
    Term(name: "4", meaning: "refused by the provider, by permissions or by trust"),
    Term(name: "5", meaning: "the source changed in the meantime; nothing was done"),
    Term(name: "130", meaning: "interrupted by Ctrl-C; for another signal, 128 plus its number"),
    Term(name: "141", meaning: "the program that read the output ended first, as `head` does"),
  ]

  private static let variables: [Term] = [
    Term(
      name: "TABELLA_PROVIDER_PATH",
      meaning: """
        the directories to search for providers first: absolute paths, separated by colons. The directory of \
        the program and `../lib/tabella/providers` relative to it follow
        """),
    Term(
      name: "XDG_DATA_HOME",
      meaning: """
        the last directory to search for providers is `tabella/providers` in this directory; the default is \
        `~/.local/share`
        """),
    Term(
      name: "XDG_STATE_HOME",
      meaning: """
        `tabella/receipts` in this directory keeps the receipts of edits; the default is `~/.local/state`
        """),
    Term(
      name: "TABELLA_TRACE",
      meaning: """
        a file to which tabella appends all calls of providers, one per line, without the content of cells. \
        `-` is standard error. See docs/debugging.md
        """),
    Term(
      name: "NO_COLOR",
      meaning: "if not empty, there are no colours; `--color` overrides this and the next variables"
    ),
    Term(
      name: "CLICOLOR_FORCE, FORCE_COLOR",
      meaning: """
        if the first of them that is not empty is not 0, pipes and files get colours, too, unless NO_COLOR \
        is set
        """),
    Term(
      name: "CLICOLOR",
      meaning: "if 0, there are no colours unless CLICOLOR_FORCE or FORCE_COLOR is set"),
    Term(
      name: "TABELLA_PAGER, PAGER",
      meaning: """
        the program that shows output longer than the screen. The first variable that is set counts; the \
        default is `less`. Empty or `cat` means no pager. If the pager fails, the exit status is 1
        """),
    Term(name: "LESS", meaning: "the options of `less`; the default is `FRX`"),
    Term(
      name: "COLUMNS, LINES",
      meaning: "the size of the terminal, if the terminal does not report it"),
    Term(
      name: "TERM", meaning: "if not set or `dumb`, there are no colours, links, pager or progress"),
    Term(
      name: "LC_ALL, LC_CTYPE, LANG",
      meaning: "decide whether output can contain characters beyond ASCII"),
  ]

  /// The whole manual as Markdown, for docs/cli.md.
  static var markdown: String {
    var text = """
      # The command line

      <!-- Written by `make manual` from the descriptions in Sources/TabellaCLI; change those. -->


      """
    let names = CommandTable.shown.map { "[`\($0.name)`](#tabella-\($0.name))" }
    text += filled(markdownText(purpose), width: 110)
    text += "`tabella help` and the man page have the same text.\n\n"
    text += "```text\n\(usage)\n```\n\n"
    text += "Commands: \(names.joined(separator: ", ")).\n\n"
    text += Page(common).markdown(level: 2)
    for command in CommandTable.shown {
      text += "\n## tabella \(command.name)\n\n" + page(of: command).markdown(level: 3)
    }
    return text
  }

  /// The whole manual as roff, for docs/tabella.1.
  static var roff: String {
    var text = """
      .\\" Written by `make manual` from the descriptions in Sources/TabellaCLI; change those.
      .TH TABELLA 1 "" "tabella \(CommandTable.version)" "User Commands"
      .nh
      .ad l
      .SH NAME
      tabella \\- show tables from any source
      .SH SYNOPSIS
      .B \(roffText(usage))
      .SH DESCRIPTION
      \(roffText(purpose))

      """
    func sections(_ blocks: [Block]) -> String {
      blocks.map { block in
        if case .heading(let title) = block { return ".SH \(roffText(title.uppercased()))\n" }
        return Page([block]).roff
      }.joined()
    }
    text += ".SH COMMANDS\n"
    for command in CommandTable.shown {
      text += ".SS \(roffText("tabella \(command.name)"))\n" + page(of: command).roff
    }
    return text + sections(common)
  }
}

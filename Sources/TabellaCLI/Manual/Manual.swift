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
          "`tabella help COMMAND` tells all about one; `tabella --version` which one this is."),
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

  private static let purpose = "tabella shows tables from any source that a provider opens."
  private static let usage = "tabella COMMAND [OPTION…] [OPERAND…]"

  /// The chapters about all commands.
  private static let common: [Block] = [
    .heading("Words"), .terms(words), .heading("Exit status"), .terms(statuses),
    .paragraph(
      """
      An error is one line on standard error, `tabella: SUBJECT: what went wrong`; with `--json` it is \
      one JSON object there.
      """),
    .heading("Environment"), .terms(variables),
  ]

  private static let words: [Term] = [
    Term(
      name: "LOCATION",
      meaning: """
        a path (`data.csv`, `src/`), or `SCHEME:REST` where a provider claims the scheme \
        (`processes:`, `csv:odd.name`), or `-` for standard input, with `--provider`. Several \
        locations in one command are one table. `tabella providers` lists what can be opened
        """),
    Term(
      name: "ROW",
      meaning: """
        `SECTION:ROW`, both counted from 0 in the table as the options show it; a number alone is a row of \
        section 0, or of the one that `--section` chose; `id:ID` is the row with that id. Where a row is put, \
        `SECTION:end` and `end` are behind the last one
        """),
    Term(
      name: "COLUMN",
      meaning: """
        a column's name, whatever is in it: the longest name that fits is meant, and an assignment that fits \
        two columns is refused. The second column `a` is `a 2`, unless another column has that name
        """),
    Term(
      name: "OPTION",
      meaning: """
        options may stand before and behind operands. `--name VALUE` is `--name=VALUE`, `-n 5` is \
        `-n5`; after `--` everything is an operand
        """),
  ]

  private static let statuses: [Term] = [
    Term(name: "0", meaning: "done"),
    Term(name: "1", meaning: "failed, or done in part: the message says how far"),
    Term(name: "2", meaning: "the command line was wrong: an unknown command, option or column"),
    Term(name: "3", meaning: "a provider could not be found or loaded, or misbehaved"),
    Term(name: "4", meaning: "refused: by the provider, by permission, by trust"),
    Term(name: "5", meaning: "the source changed meanwhile; nothing was done"),
    Term(name: "130", meaning: "interrupted; by another signal 128 and its number"),
    Term(name: "141", meaning: "the reader of the output went away"),
  ]

  private static let variables: [Term] = [
    Term(
      name: "TABELLA_PROVIDER_PATH",
      meaning: """
        directories in which providers are looked for first: absolute paths with colons between them. \
        Then come the directory of the program and `../lib/tabella/providers` from it
        """),
    Term(
      name: "XDG_DATA_HOME",
      meaning: """
        the directory of which `tabella/providers` is looked through last; `~/.local/share` if it is \
        not set
        """),
    Term(
      name: "XDG_STATE_HOME",
      meaning: """
        the directory of which `tabella/receipts` keeps the receipts of edits; `~/.local/state` if it is \
        not set
        """),
    Term(
      name: "TABELLA_TRACE",
      meaning: """
        a file at whose end all traffic with providers is written, a line a call, without what is in cells; \
        `-` is standard error (docs/debugging.md)
        """),
    Term(
      name: "NO_COLOR",
      meaning: "if it is not empty, nothing is coloured; `--color` is stronger than all of these"),
    Term(
      name: "CLICOLOR_FORCE, FORCE_COLOR",
      meaning: """
        if the first of them that is not empty is not 0, what is no terminal is coloured too, unless \
        NO_COLOR says otherwise
        """),
    Term(name: "CLICOLOR", meaning: "if it is 0, nothing is coloured, unless it is forced"),
    Term(
      name: "TABELLA_PAGER, PAGER",
      meaning: """
        the program that shows what is longer than the terminal's screen, `less` if neither is set; \
        the first that is set counts, and empty or `cat` means none. If it fails, the status is 1
        """),
    Term(name: "LESS", meaning: "options of `less`; `FRX` if it is not set"),
    Term(
      name: "COLUMNS, LINES", meaning: "the size of a terminal that does not know its own"),
    Term(
      name: "TERM", meaning: "if it is not set or `dumb`: no colours, links, pager or progress"),
    Term(name: "LC_ALL, LC_CTYPE, LANG", meaning: "whether characters beyond ASCII can be shown"),
  ]

  /// The whole manual as Markdown, for docs/cli.md.
  static var markdown: String {
    var text = """
      # The command line

      <!-- Written by `make manual` from the descriptions in Sources/TabellaCLI; change those. -->


      """
    let names = CommandTable.shown.map { "[`\($0.name)`](#tabella-\($0.name))" }
    text += filled(markdownText(purpose), width: 110)
    text += "`tabella help` and the man page say the same as this page.\n\n"
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

import Tabella
import TabellaTerminal

/// The manual, as help text, Markdown and man page. All of them come from the descriptions of commands and options, from
/// the topics, and from the texts here.
enum Manual {
  static func write(_ page: Page, _ output: Output) throws(Failure) {
    try output.write(text(of: page, output))
  }

  /// The text of a page with 40 to 100 columns.
  static func text(of page: Page, _ output: Output) -> SafeText {
    let width = min(max(output.screen.width ?? 80, 40), 100)
    return SafeText(lines: page.text(width: width))
  }

  /// The output of `tabella` without arguments.
  static var firstSteps: Page {
    Page([
      .usage(usage), .heading("First steps"),
      .examples(
        steps + [Term(name: "tabella help", meaning: "list the commands and the topics")]),
    ])
  }

  /// The output of `tabella help`.
  static var overview: Page {
    var blocks: [Block] = [.paragraph(purpose), .usage(usage)]
    for group in CommandGroup.allCases {
      let commands = CommandTable.shown.filter { $0.group == group }
      let terms = commands.map { Term(name: $0.name, meaning: $0.summary) }
      blocks += [.heading(group.rawValue), .terms(terms)]
    }
    let topics = Topic.all.map { Term(name: $0.name, meaning: $0.summary) }
    blocks += [.heading("Topics"), .terms(topics), .heading("First steps"), .examples(steps)]
    return Page(blocks + rules)
  }

  /// The page of a command, of a topic, or of both if they have the same name. If there is neither, throws a usage error
  /// with the command that the name means in other programs, or a similar name.
  static func page(named name: String) throws(Failure) -> Page {
    let command = CommandTable.command(named: name)
    let topic = Topic.all.first { $0.name == name }
    var page: [Block] = command.map { blocks(of: $0) } ?? []
    if let topic {
      if command != nil { page.append(.heading(topic.title)) }
      page += blocks(of: topic)
    }
    guard page.isEmpty else { return Page(page) }
    let message = "there is no command and no topic \(name)"
    if let command = Guesses.commands.first(where: { $0.names.contains(name) })?.command {
      throw .usage("\(message); the command here is \(command)", command: command)
    }
    let names = CommandTable.shown.map(\.name) + Topic.all.map(\.name)
    throw .usage("\(message)\(Suggestion.hint(name, among: names))")
  }

  /// The usage of a command, its description, its own options, the names of the options that other pages explain, and
  /// examples.
  private static func blocks(of command: Command) -> [Block] {
    var usage = "tabella \(command.name)"
    if !command.options.isEmpty { usage += " [OPTION…]" }
    if !command.operands.isEmpty { usage += " \(command.operands)" }
    var blocks: [Block] = [
      .usage([usage]),
      .paragraph("\(command.summary.prefix(1).uppercased())\(command.summary.dropFirst())."),
    ]
    blocks += Page.blocks(of: command.discussion)
    let own = command.options.filter { spec in !OptionGroup.all.contains { $0.contains(spec) } }
    if !own.isEmpty { blocks += [.heading("Options"), .terms(own.map(OptionGroup.term))] }
    blocks += groups(on: command.name)
    let shared = OptionGroup.shared(command.options, notOn: command.name)
    if !shared.isEmpty { blocks += [.heading("Options that other pages explain"), .terms(shared)] }
    if !command.examples.isEmpty {
      let examples = command.examples.map { Term(name: $0.line, meaning: $0.meaning) }
      blocks += [.heading("Examples"), .examples(examples)]
    }
    if let first = command.seeAlso.first {
      let others = ["tabella help \(first)"] + command.seeAlso.dropFirst()
      blocks.append(.paragraph("See also: \(others.map { "`\($0)`" }.joined(separator: ", "))"))
    }
    return blocks
  }

  private static func blocks(of topic: Topic) -> [Block] {
    topic.blocks + groups(on: topic.name)
  }

  /// The groups of options that a page explains.
  private static func groups(on page: String) -> [Block] {
    OptionGroup.all.filter { $0.page == page }.flatMap { group in
      [.heading(group.title), .terms(group.terms)]
    }
  }

  private static let purpose =
    "tabella shows and edits tables from any source that a provider can open."
  private static let usage = [
    "tabella LOCATION… [OPTION…]", "tabella COMMAND [OPTION…] [OPERAND…]",
  ]

  private static let steps = [
    Term(name: "tabella data.csv", meaning: "show a file"),
    Term(name: "tabella .", meaning: "show a folder"),
    Term(name: "tabella processes: --sort memory:desc -n 5", meaning: "the largest processes"),
  ]

  /// The rules of all command lines.
  private static let rules: [Block] = [
    .paragraph(
      """
      `tabella help NAME` explains a command or a topic, and `tabella --version` prints the version. Options can be in \
      front of operands or after them. `--name VALUE` is the same as `--name=VALUE`, and `-n 5` the same as `-n5`. \
      After `--` every word is an operand.
      """)
  ]

  /// The whole manual as Markdown, for docs/cli.md.
  static var markdown: String {
    var text = """
      # The command line

      <!-- Written by `make manual` from the descriptions in Sources/TabellaCLI; change those. -->


      """
    let commands = CommandTable.shown.map { "[`\($0.name)`](#tabella-\($0.name))" }
    let topics = Topic.all.map { topic in
      let anchor = topic.title.lowercased().split(separator: " ").joined(separator: "-")
      return "[`\(topic.name)`](#\(anchor))"
    }
    text += filled(markdownText(purpose), width: 110)
    text += "`tabella help` and the man page have the same text.\n\n"
    text += Page([.usage(usage)]).markdown(level: 2) + "\n"
    text += "Commands: \(commands.joined(separator: ", ")).\n\n"
    text += "Topics: \(topics.joined(separator: ", ")).\n\n"
    text += Page(rules).markdown(level: 2)
    for topic in Topic.all {
      text += "\n## \(topic.title)\n\n" + Page(blocks(of: topic)).markdown(level: 3)
    }
    for command in CommandTable.shown {
      text += "\n## tabella \(command.name)\n\n" + Page(blocks(of: command)).markdown(level: 3)
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
      .B \(roffText(usage[0]))
      .br
      .B \(roffText(usage[1]))
      .SH DESCRIPTION
      \(roffText(purpose))

      """
    text += Page(rules).roff
    text += ".SH COMMANDS\n"
    for command in CommandTable.shown {
      text += ".SS \(roffText("tabella \(command.name)"))\n" + Page(blocks(of: command)).roff
    }
    for topic in Topic.all {
      text += ".SH \(roffText(topic.title.uppercased()))\n" + Page(blocks(of: topic)).roff
    }
    return text
  }
}

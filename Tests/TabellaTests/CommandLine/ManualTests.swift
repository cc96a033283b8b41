import Foundation
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// Help, docs/cli.md and the man page, which come from the same descriptions.
@Suite struct ManualTests {
  private func tabella(_ arguments: [String]) throws -> ProgramResult {
    try run("\(buildFolder)/tabella", arguments, environment: ["LC_ALL": "C.UTF-8"])
  }

  private func text(_ arguments: String...) throws -> String {
    let result = try tabella(arguments)
    #expect(result.status == 0 && result.errors.isEmpty, "\(arguments): \(result.errors)")
    return result.text
  }

  /// The candidates of the completion at a position of the command line.
  private func names(_ words: String...) throws -> [String] {
    try tabella(["complete", "--"] + words).lines.dropFirst().map {
      $0.components(separatedBy: "\t")[0]
    }
  }

  private func examples() throws -> [String] {
    try DocumentationTests.blocks("sh", in: DocumentationTests.text("docs/cli.md")).flatMap {
      $0.components(separatedBy: "\n").filter { !$0.hasPrefix("#") }
    }
  }

  /// The page as man shows it, with all white space reduced to single blanks.
  private func shownByMan() throws -> String {
    let result = try run(
      findProgram("groff"), ["-man", "-Tutf8", "-ww", "-P-cbou", "\(packageFolder)/docs/tabella.1"])
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    return words(result.text)
  }

  private func words(_ text: String) -> String {
    text.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
  }

  /// Both files of the manual equal the program's output. `make manual` writes them.
  @Test(arguments: [("markdown", "docs/cli.md"), ("man", "docs/tabella.1")])
  func isWritten(_ format: String, _ path: String) throws {
    #expect(try text("help", "--format", format) == DocumentationTests.text(path))
  }

  @Test(.needs("groff")) func hasEveryCommandAndOption() throws {
    let commands = CommandTable.shown.map(\.name)
    #expect(commands.contains("show") && commands.contains("completions"))
    #expect(!commands.contains("complete"))
    #expect(Set(try names("help", "")) == Set(commands + Topic.all.map(\.name)))
    let (overview, page) = (try text("help"), try shownByMan())
    let markdown = try DocumentationTests.text("docs/cli.md")
    for command in commands {
      let help = try text("help", command)
      #expect(overview.contains("\n  \(command) "))
      #expect(markdown.contains("\n## tabella \(command)\n"))
      #expect(page.contains(" tabella \(command) "))
      #expect(try text(command, "--help") == help)
      for option in try names(command, "-") where option != "--help" {
        #expect(help.contains("\n  \(option)") || help.contains("`\(option)`"), "\(option)")
        #expect(markdown.contains("\n- `\(option)"))
        #expect(page.contains(" \(option) ") || page.contains(" \(option)["))
      }
    }
    for topic in Topic.all {
      #expect(overview.contains("\n  \(topic.name) "))
      #expect(markdown.contains("\n## \(topic.title)\n"))
      #expect(page.contains(" \(topic.title.uppercased()) "))
    }
    let variables = try text("help", "environment")
    for variable in ["TABELLA_PROVIDER_PATH", "TABELLA_TRACE", "XDG_DATA_HOME", "NO_COLOR"] {
      for text in [variables, markdown, page] { #expect(text.contains(variable)) }
    }
  }

  /// roff loses nothing of the examples.
  @Test(.needs("groff")) func manShowsTheExamplesAsTheyAre() throws {
    let page = try shownByMan()
    for example in try examples() { #expect(page.contains(words(example)), "\(example)") }
  }

  /// Help is at most 80 columns wide, except for unbreakable lines.
  @Test func helpIsFilled() throws {
    for page in try names("help", "") + [""] {
      for line in try tabella(page.isEmpty ? ["help"] : ["help", page]).lines
      where !line.hasPrefix("  tabella ") {
        #expect(line.count <= 80, "\(line)")
        #expect(!line.hasSuffix(" "), "\(line)")
      }
    }
  }

  /// The help of `show` filled three screens, and facts about all edits were on six pages. A page fits on two screens of
  /// 24 lines, `show` with a little more; no other page has more than 60 lines.
  @Test func pagesFit() throws {
    let (commands, topics) = (CommandTable.shown.map(\.name), Topic.all.map(\.name))
    #expect(try text("help").split(separator: "\n").count <= 60)
    for name in Set(commands + topics) {
      let pages = [commands, topics].count { $0.contains(name) }
      let lines = try tabella(["help", name]).lines.count
      #expect(lines <= (name == "show" ? 50 : 60 * pages), "\(name): \(lines) lines")
    }
  }

  /// The sentences of a page. Command lines, names of options and headings are none.
  private static func sentences(of page: Page) -> [String] {
    let texts = page.blocks.flatMap { block -> [String] in
      switch block {
      case .paragraph(let text): [text]
      case .terms(let terms): terms.map(\.meaning)
      case .heading, .usage, .verbatim, .examples: []
      }
    }
    var sentences: [String] = []
    for text in texts {
      for part in text.replacing(#/[.;:] /#, with: "\n").split(separator: "\n") {
        let words = part.replacing(/`[^`]*`/, with: "").split(separator: " ").filter { $0 != "," }
        guard words.count >= 4 else { continue }
        sentences.append(part.hasSuffix(".") ? String(part.dropLast()) : String(part))
      }
    }
    return sentences
  }

  /// Each fact is on one page. Details of `--filter`, of row names and of receipts were repeated on many pages.
  @Test func noSentenceIsOnTwoPages() throws {
    var pages: [String: Set<String>] = [:]
    for name in Set(CommandTable.shown.map(\.name) + Topic.all.map(\.name)) {
      for sentence in Self.sentences(of: try Manual.page(named: name)) {
        pages[sentence, default: []].insert(name)
      }
    }
    #expect(pages.count > 200)
    for (sentence, names) in pages where names.count > 1 {
      Issue.record("\(names.sorted()): \(sentence)")
    }
  }

  /// The help referred to docs/json.md, docs/check.md and docs/debugging.md, which `make install` does not install.
  @Test func namesNoFileOfTheSources() throws {
    for page in try names("help", "") + [""] {
      let help = try tabella(page.isEmpty ? ["help"] : ["help", page]).text
      for folder in ["docs/", "Examples/", "Sources/", "Tests/"] {
        #expect(!help.contains(folder), "\(page) names \(folder)")
      }
    }
  }

  /// Each page that another page refers to exists.
  @Test func referencesLead() throws {
    let manual = try text("help", "--format", "markdown")
    var references = Set(manual.matches(of: /`tabella help ([a-z-]+)`/).map { String($0.1) })
    for command in CommandTable.shown { references.formUnion(command.seeAlso) }
    #expect(references.count > 10)
    for name in references { _ = try Manual.page(named: name) }
  }

  /// Every command line in the manual works with files of these names. The slow ones of `check` run only with
  /// `TABELLA_ALL_ROADS`; CheckTests has others.
  @Test func theExamplesWork() throws {
    let folder = try TemporaryFolder()
    for name in ["data.csv", "a.csv", "b.csv"] {
      let rows = String(repeating: "Ada,1815,London\nGrace,1906,Bonn\n", count: 600)
      try folder.write(name, "name,born,city\n" + rows)
    }
    try folder.write("sales.csv", "region,date,amount\nnorth,2026-02-01,1.50\nsouth,2026-03-01,2\n")
    try folder.write("edits.jsonl", #"{"op":"set","row":"0:5","cells":{"born":"1816"}}"#)
    try folder.write("README.md", "# About\na\n# Install\nb\n# Use\nc\n")
    try folder.write("old.csv", "id,name\n1,Ada\n2,Bob\n")
    try folder.write("new.csv", "id,name\n1,Ann\n3,Cy\n")
    for name in ["src", "backup"] {
      try FileManager.default.createDirectory(
        atPath: "\(folder.path)/\(name)", withIntermediateDirectories: true)
    }
    try folder.write("src/main.swift", "")
    try folder.write("app.log", "1 INFO begin\n2 ERROR end\n")
    try FileManager.default.copyItem(
      atPath: "\(buildFolder)/libtabella-csv.so", toPath: "\(folder.path)/libmine.so")
    let examples = try examples()
    #expect(examples.count > 15)
    // WatchTests has examples that need a terminal.
    for example in examples.filter({ !$0.contains("--watch") })
    where takesAllRoads || !example.contains("tabella check") {
      // The rest of a pipe and output files belong to other programs.
      var line = example.components(separatedBy: " | ")[0].replacingOccurrences(
        of: " > [a-z.]+$", with: "", options: .regularExpression)
      #expect(line.hasPrefix("tabella "))
      if line.contains("--follow") { line += " | head -n 1" }
      // There is no terminal for the confirmation.
      if line.hasPrefix("tabella edit ") { line += " --yes" }
      let result = try run(
        "/bin/sh", ["-c", line],
        environment: [
          "PATH": "\(buildFolder):\(searchPath)", "LC_ALL": "C.UTF-8",
          "XDG_STATE_HOME": "\(folder.path)/state", "XDG_CONFIG_HOME": "\(folder.path)/config",
          "VISUAL": "true",
        ], directory: folder.path)
      // An example that writes a file prints nothing; a `>` in quotes belongs to a filter. An edit reports on standard
      // error.
      let saysSomething =
        !result.output.isEmpty || line.contains(" > data") || result.errors.contains(": done: ")
        || result.errors.contains(": undo: ") || result.errors.contains(": nothing changed")
      #expect(result.status == 0 && saysSomething, "\(line): \(result.errors)")
    }
  }

  @Test(arguments: [
    (["shwo"], "did you mean show?"), (["help", "provider"], "did you mean providers?"),
    (["show", "x", "--filtr=a"], "did you mean --filter?"),
    (["show", "x", "--colums", "a"], "did you mean --columns?"),
    (["show", "FILE", "--columns", "nmae"], "did you mean name?"),
    (["show", "FILE", "--sort", "Borm:desc"], "did you mean born?"),
    (["show", "FILE", "--section-by", "bron:size"], "did you mean born?"),
    (["show", "FILE", "--filter", "nam = Ada"], "did you mean name?"),
  ])
  func slips(_ arguments: [String], _ says: String) throws {
    let folder = try TemporaryFolder()
    let file = try folder.write("a.csv", "name,born\n")
    let result = try tabella(arguments.map { $0 == "FILE" ? file : $0 })
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.contains(says), "\(result.errors)")
    #expect(result.errors.split(separator: "\n").count == 1)
  }

  /// A word far from every name leads to no suggestion.
  @Test(arguments: [["frobnicate"], ["show", "x", "--zzz"], ["x"]])
  func noSlips(_ arguments: [String]) throws {
    let result = try tabella(arguments)
    #expect(result.status == 2 && !result.errors.contains("did you mean"), "\(result.errors)")
  }

  @Test(arguments: [["help", "show", "--format", "man"], ["help", "--format", "html"]])
  func refusals(_ arguments: [String]) throws {
    let result = try tabella(arguments)
    #expect(result.status == 2 && result.output.isEmpty)
  }
}

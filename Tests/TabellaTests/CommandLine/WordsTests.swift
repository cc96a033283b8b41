import Foundation
import Testing

@testable import TabellaCLI
@testable import TabellaTestSupport

/// The first word of a command line, and words that people guess from other programs.
@Suite struct WordsTests {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try writeData()
    try folder.write("edits.jsonl", #"{"op":"set","row":"0:0","cells":{"born":"1816"}}"#)
    try FileManager.default.createDirectory(
      atPath: folder.path + "/src", withIntermediateDirectories: true)
    try folder.write("src/main.swift", "")
  }

  private func writeData() throws {
    try folder.write("data.csv", "name,born,city,salary\nAda,1815,London,3\nBob,1906,Bonn,9\n")
  }

  /// Runs a command line of a shell in the folder.
  private func shell(_ line: String) throws -> ProgramResult {
    try run(
      "/bin/sh", ["-c", line],
      environment: [
        "PATH": "\(buildFolder):\(searchPath)", "LC_ALL": "C.UTF-8",
        "XDG_STATE_HOME": "\(folder.path)/state", "XDG_CONFIG_HOME": "\(folder.path)/config",
        "XDG_DATA_HOME": folder.path,
      ], directory: folder.path)
  }

  /// The command line that a message recommends.
  private func recommended(_ line: String) throws -> String? {
    let result = try shell(line)
    #expect(result.status == 2 && result.output.isEmpty, "\(line): \(result.text)")
    #expect(result.errors.split(separator: "\n").count == 1, "\(line): \(result.errors)")
    var message = result.errors.trimmingCharacters(in: .newlines)
    // The guessed option --json chooses the form of messages, too.
    if let json = try? JSONSerialization.jsonObject(with: Data(message.utf8)) as? [String: Any] {
      message = (json["error"] as? [String: Any])?["message"] as? String ?? ""
    }
    let parts = message.components(separatedBy: "; run: ")
    return parts.count == 2 ? parts[1] : nil
  }

  // Locations

  /// `tabella data.csv` was an unknown command.
  @Test(arguments: [
    "data.csv", "src", "./src/", "csv:data.csv", "data.csv -n 1", "data.csv data.csv --json",
    "data.csv --sort salary:desc --columns name", "- --provider csv < data.csv",
    "src --style collection", "data.csv --help",
  ])
  func aLocationIsShown(_ words: String) throws {
    let (short, long) = (try shell("tabella \(words)"), try shell("tabella show \(words)"))
    #expect(short.status == 0 && !short.output.isEmpty && short.errors.isEmpty, "\(short.errors)")
    #expect(short.text == long.text)
  }

  @Test func aSchemeIsShown() throws {
    let result = try shell("tabella processes: --columns pid -n 1")
    #expect(result.status == 0 && result.text.contains("pid"))
  }

  /// A command comes first, so that a file cannot change the meaning of a script.
  @Test func aCommandComesBeforeAFile() throws {
    try folder.write("count", "one\ntwo\n")
    try folder.write("ls", "three\n")
    #expect(try shell("tabella count data.csv").text == "2\n")
    #expect(try shell("tabella ./count").text.contains("two"))
    #expect(try shell("tabella ls").text.contains("three"))
  }

  /// A link without a target exists, so the error is about the file, as with `show`.
  @Test func errorsAreThoseOfShow() throws {
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/broken.csv", withDestinationPath: "nowhere")
    for words in ["broken.csv", "data.csv nowhere.csv", "data.csv --columns x", "data.csv --zzz"] {
      let (short, long) = (try shell("tabella \(words)"), try shell("tabella show \(words)"))
      #expect(short.status == long.status && short.errors == long.errors && short.status != 0)
    }
  }

  @Test(arguments: [
    ("nowhere.csv", "there is no command and no file nowhere.csv"),
    ("''", "there is no command and no file with an empty name"),
    ("planets:", "there is no command and no file planets:"),
    ("proceses:", "did you mean processes:?"), ("cuont data.csv", "did you mean count?"),
    ("daat.csv", "; did you mean data.csv?"), ("src/mian.swift", "; did you mean src/main.swift?"),
    ("--vrsion", "did you mean --version?"), ("--json", "there is no option --json without a"),
  ])
  func otherWordsAreRefused(_ words: String, _ says: String) throws {
    let result = try shell("tabella \(words)")
    #expect(result.status == 2 && result.output.isEmpty)
    #expect(result.errors.contains(says), "\(result.errors)")
  }

  /// The message of a command did not name the file that was meant.
  @Test(arguments: [
    ("count daat.csv", "; did you mean data.csv?"), ("data.csv csv:daat.csv", "directory"),
    ("export ./src/mian.swift", "; did you mean ./src/main.swift?"),
    ("show nowhere.csv", "No such file or directory\n"), ("show src/none/data.csv", "directory\n"),
  ])
  func aFileWithNearlyTheNameIsSuggested(_ words: String, _ says: String) throws {
    let result = try shell("tabella \(words)")
    #expect(result.status != 0 && result.errors.contains(says), "\(result.errors)")
    #expect(says.contains("mean") || !result.errors.contains("did you mean"))
  }

  /// `-o delimiter=:` for a text file or standard input named only the options of the text provider.
  @Test func optionsOfAnotherProviderNameIt() throws {
    try folder.write("users", "root:0\n")
    for words in ["users -o delimiter=:", "- -o delimiter=: -o header=false < users"] {
      let result = try shell("tabella \(words)")
      #expect(result.status != 0)
      #expect(
        result.errors.hasSuffix("; choose a provider with --provider (csv)\n"), "\(result.errors)")
    }
    for words in [
      "users -o delimiter=: -o sections=headings", "users -o colour=red", "users -o signal=KILL",
      "--provider text -o delimiter=: users", "src -o delimiter=:",
    ] {
      let result = try shell("tabella show \(words)")
      #expect(result.status != 0 && result.errors.contains("has no option"), "\(result.errors)")
      #expect(!result.errors.contains("--provider"), "\(result.errors)")
    }
  }

  /// A shell puts a thousand names in place of `*.csv`, and the corrected option was behind them.
  @Test func manyFilesDoNotHideTheRemedy() throws {
    for number in 1...9 { try folder.write("many\(number).csv", "a\n1\n") }
    let errors = try shell("tabella export many*.csv --grep 1").errors
    #expect(
      errors.hasSuffix(
        "; run: tabella export many1.csv many2.csv … many9.csv --search 1\n"), "\(errors)")
    #expect(
      try shell("tabella export many[1-8].csv --grep 1").errors.contains("many7.csv many8.csv --s"))
  }

  /// Without arguments, the message named only `tabella help`.
  @Test func withoutWordsTheFirstStepsAreNamed() throws {
    let result = try shell("tabella")
    #expect(result.status == 2 && result.output.isEmpty)
    for step in ["tabella data.csv", "tabella .", "tabella processes:", "tabella help"] {
      #expect(result.errors.contains("\n  \(step)"), "\(result.errors)")
    }
  }

  // Guesses

  /// These words led to "there is no option", without the right one.
  @Test(arguments: [
    ("ls", "tabella show ."), ("ls src", "tabella show src"),
    ("ls -la src", "tabella show src -o hidden=true"),
    ("head data.csv", "tabella show data.csv -n 10"),
    ("head -n 1 data.csv", "tabella show data.csv -n 1"),
    ("head -1 data.csv", "tabella show data.csv -n 1"),
    ("grep Ada data.csv", "tabella show data.csv --search Ada"),
    ("wc data.csv", "tabella count data.csv"),
    ("rm data.csv 0 --force", "tabella delete data.csv 0 --yes"),
    ("add data.csv name=Eve", "tabella insert data.csv end name=Eve"),
    ("-n 1 data.csv", "tabella show data.csv -n 1"),
    ("--where 'born > 1900' data.csv", "tabella show data.csv --filter 'born > 1900'"),
    ("data.csv --where 'born > 1900'", "tabella show data.csv --filter 'born > 1900'"),
    ("show data.csv --limit 5", "tabella show data.csv -n 5"),
    ("show data.csv --limit=5 --no-header", "tabella show data.csv -n 5 --no-header"),
    ("show data.csv --group-by city", "tabella show data.csv --section-by city"),
    ("count src --recursive", "tabella count src -o recursive=true"),
    ("show src -R", "tabella show src -o recursive=true"),
    ("show data.csv --sort -salary", "tabella show data.csv --sort salary:desc"),
    (
      "show data.csv --sort 'city desc,-salary' -n 1",
      "tabella show data.csv -n 1 --sort city:desc,salary:desc"
    ),
    ("show data.csv --order-by 'salary DESC'", "tabella show data.csv --sort salary:desc"),
    ("show data.csv -d ';'", "tabella show data.csv -o 'delimiter=;'"),
    ("show data.csv --select name --limit 1", "tabella show data.csv --columns name -n 1"),
    ("show --limit 1 -- data.csv", "tabella show data.csv -n 1"),
    ("show data.csv -h", "tabella show data.csv --help"),
    ("summarize data.csv --sum born", "tabella summarize data.csv --compute 'sum born'"),
    ("show data.csv --tail 1", "tabella show data.csv --rows -1.."),
    ("export data.csv --json", "tabella export data.csv --format jsonl"),
    // The recommended command made sections instead of sorting.
    ("sort data.csv --by salary", "tabella show data.csv --sort salary"),
    ("sort data.csv -k -salary", "tabella show data.csv --sort salary:desc"),
    ("cut data.csv --key name", "tabella show data.csv --columns name"),
    ("describe src main.swift", "tabella describe src 0 --filter 'name = main.swift'"),
  ])
  func guessesAreAnswered(_ words: String, _ expected: String) throws {
    let remedy = try recommended("tabella \(words)")
    #expect(remedy == expected)
    if let remedy { #expect(try shell(remedy).status == 0, "\(remedy)") }
  }

  @Test(arguments: [
    ("tail data.csv", "--rows -10.."),
    ("show data.csv --exclude city", "--columns '!A,!B'"),
    ("show data.csv --sum born", "tabella summarize"), ("pivot data.csv", "tabella summarize"),
    ("show data.csv --reverse", "--sort COLUMN:desc"), ("mv a b", "tabella set FOLDER"),
    ("export data.csv --footer rows", "tabella summarize"),
    ("summarize data.csv --footer rows", "--compute chooses the aggregates here"),
    // The remedy was -n 1, which deletes the first row.
    (
      "delete data.csv -1",
      "counted from 0, its id, or --rows -1.. for the last row"
    ),
    ("set data.csv -1 born=1", "--rows -1.. for the last row"),
    ("move data.csv -1 0", "there is no row -1"),
    ("rm", "the command here is delete (see: tabella help delete)"),
    ("help ls", "the command here is show (see: tabella help show)"),
  ])
  func guessesWithoutTheSameMeaningGetAdvice(_ words: String, _ says: String) throws {
    let result = try shell("tabella \(words)")
    #expect(result.status == 2 && result.errors.contains(says), "\(result.errors)")
  }

  /// A column can have a name that looks like an order of another program.
  @Test func columnsComeBeforeGuesses() throws {
    try folder.write("odd.csv", "-a,a desc\n2,x\n1,y\n")
    #expect(try shell("tabella odd.csv --sort -a").status == 0)
    #expect(try shell("tabella odd.csv --sort 'a desc'").status == 0)
    #expect(try shell("tabella odd.csv --sort -b").errors.contains("there is no column -b"))
  }

  /// An argument for the option of a remedy.
  private static let samples = [
    "--filter": "'born > 1900'", "--search": "Ada", "-n": "1", "--rows": "1",
    "--section-by": "city", "--by": "city", "--sort": "born", "--columns": "name",
    "delimiter={}": ",",
    "encoding={}": "UTF-8", "--color": "never", "--compute": "born", "--compute {}": "rows",
  ]

  /// Each guessed option has a remedy that runs, or advice that names existing words.
  @Test func theRemediesOfOptionsWork() throws {
    for guess in Guesses.options {
      let command = try #require(
        ["show", "export", "delete", "summarize"].compactMap { name in
          CommandTable.commands.first { $0.name == name }
        }.first { guess.fits($0.options) }, "\(guess.names): no command has the words")
      for name in guess.names {
        #expect(!command.options.contains { $0.names.contains(name) }, "\(name) is an option")
        var line = "tabella \(command.name) "
        line += guess.words.contains { $0.hasSuffix("=true") } ? "src" : "data.csv"
        if command.name == "delete" { line += " 0" }
        line += " \(name)"
        if let advice = guess.advice {
          #expect(try shell(line).errors.contains(advice), "\(line)")
          try expectExists(advice)
          continue
        }
        if guess.takesArgument {
          let key = guess.words.first { $0 != "-o" && $0 != "{}" } ?? ""
          let words = guess.words.joined(separator: " ")
          line += " \(try #require(Self.samples[words] ?? Self.samples[key]))"
        }
        let remedy = try #require(try recommended(line), "\(line) has no remedy")
        let result = try shell(remedy)
        #expect(result.status == 0, "\(line): \(remedy): \(result.errors)")
        try writeData()
      }
    }
  }

  /// The operands with which each command runs.
  private static let operands = [
    "show": "data.csv", "count": "data.csv", "describe": "data.csv", "export": "data.csv",
    "delete": "data.csv 0 --yes", "set": "data.csv 0 born=1", "insert": "data.csv name=Eve",
    "apply": "data.csv edits.jsonl", "undo": "data.csv", "log": "data.csv", "providers": "",
    "check": "csv --list", "help": "show", "completions": "bash", "diff": "data.csv data.csv",
  ]

  @Test func theRemediesOfCommandsWork() throws {
    var seen: Set<String> = []
    for guess in Guesses.commands {
      for name in guess.names {
        #expect(seen.insert(name).inserted, "\(name) occurs twice")
        #expect(!CommandTable.commands.contains { $0.name == name }, "\(name) is a command")
        var line = "tabella \(name)"
        if let advice = guess.advice {
          #expect(try shell(line).errors.contains(advice), "\(line)")
          try expectExists(advice)
          continue
        }
        // A file to change, with an edit to undo.
        try writeData()
        #expect(try shell("tabella set data.csv 1 born=1907").status == 0)
        if guess.options.contains("recursive=true") {
          line += " src"
        } else if guess.operands.isEmpty {
          line += " \(try #require(Self.operands[guess.command]))"
        }
        if let option = guess.option { line += " \(try #require(Self.samples[option]))" }
        let remedy = try #require(try recommended(line), "\(line) has no remedy")
        let result = try shell(remedy)
        #expect(result.status == 0, "\(line): \(remedy): \(result.errors)")
      }
    }
  }

  /// The commands and options in an advice exist.
  private func expectExists(_ advice: String) throws {
    let options = Set(CommandTable.commands.flatMap(\.options).flatMap(\.names))
    for match in advice.matches(of: /--[a-z-]+/) {
      #expect(options.contains(String(match.0)), "\(advice)")
    }
    for match in advice.matches(of: /tabella ([a-z-]+)/) {
      #expect(CommandTable.shown.contains { $0.name == match.1 }, "\(advice)")
    }
  }

  // Completion

  private func complete(_ words: String...) throws -> [String] {
    let words = words.map { "'\($0)'" }.joined(separator: " ")
    return try shell("tabella complete -- \(words)").lines.map {
      $0.components(separatedBy: "\t")[0]
    }
  }

  /// The first word completes to commands and locations. A space follows a command only.
  @Test func theFirstWordCompletes() throws {
    #expect(try complete("sho") == [": files=0", "show"])
    #expect(try complete("proc") == [": files=0 nospace", "processes:"])
    #expect(try complete("data") == [": files=0 nospace"])
    #expect(try complete("csv:da") == [": files=4 nospace"])
    #expect(try complete("--ver") == [":", "--version"])
    #expect(try complete("data.csv", "--fil").last == "--filter")
    #expect(try complete("data.csv", "--sort", "sal").contains("salary:desc"))
    #expect(try complete("help", "fil") == [":", "filter"])
  }
}

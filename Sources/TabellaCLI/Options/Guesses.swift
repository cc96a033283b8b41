import Tabella
import TabellaHost

// The words that people know from other programs. A guessed word never works: the error names the right words. A new
// guess needs an entry in one of the two tables.

/// Names of options in other programs, and the words that mean the same here.
struct OptionGuess: Sendable {
  let names: [String]
  /// The words here. `{}` is the argument of the guessed option. Empty if the words have no effect here.
  var words: [String] = []
  /// The advice if no words mean the same.
  var advice: String?
  /// An option that the command must have, if `words` contain none.
  var needs: String?
  /// Converts the argument of the guessed option.
  var converted: @Sendable (String) -> String? = { _ in nil }

  var takesArgument: Bool { words.contains { $0.utf8.contains(UInt8(ascii: "{")) } }

  /// Whether a command with these options accepts the words, and has no option with a guessed name.
  func fits(_ specs: [OptionSpec]) -> Bool {
    guard !specs.contains(where: { $0.names.contains(where: names.contains) }) else { return false }
    let words = needs.map { [$0] } ?? words
    return words.indices.allSatisfy { number in
      guard words[number].hasPrefix("-"), words[number] != "--help",
        !words[number].utf8.contains(UInt8(ascii: "{"))
      else { return true }
      guard let spec = specs.first(where: { $0.names.contains(words[number]) }) else {
        return false
      }
      guard case .choices(let choices) = spec.values, number + 1 < words.count,
        words[number + 1] != "{}"
      else { return true }
      return choices.contains(words[number + 1])
    }
  }

  /// The words with an argument.
  func words(for argument: Argument) -> [Argument] {
    let value = converted(argument.text).map { Array($0.utf8) } ?? argument.bytes
    return words.map { word in
      let bytes = Array(word.utf8)
      guard let gap = bytes.firstIndex(of: UInt8(ascii: "{")) else { return Argument(bytes) }
      return Argument(bytes[..<gap] + value + bytes[(gap + 2)...])
    }
  }
}

/// Names of commands in other programs, and the command that does the same here.
struct CommandGuess: Sendable {
  let names: [String]
  /// The command here.
  let command: String
  /// The words in front of the operands.
  var operands: [String] = []
  /// The option whose arguments are the operands that are no locations.
  var option: String?
  /// The words behind the first operand.
  var behindFirst: [String] = []
  /// Options to add, unless the command line has the first of them.
  var options: [String] = []
  /// The advice if no command does the same.
  var advice: String?
}

enum Guesses {
  private static let aggregates =
    "`tabella summarize LOCATION --by COLUMN --compute 'sum COLUMN'` computes aggregates"

  static let options: [OptionGuess] = [
    OptionGuess(names: ["--where", "--query", "--cond", "--if"], words: ["--filter", "{}"]),
    OptionGuess(
      names: ["--grep", "--match", "--find", "--contains", "-g", "-S"], words: ["--search", "{}"]),
    OptionGuess(
      names: ["--limit", "--head", "--top", "--max", "--take", "--first", "--lines"],
      words: ["-n", "{}"]),
    OptionGuess(
      names: ["--count"], advice: "`tabella count LOCATION` prints the number of rows",
      needs: "--filter"),
    OptionGuess(names: ["--skip", "--offset", "--from"], words: ["--rows", "{}.."]),
    OptionGuess(names: ["--tail", "--last"], words: ["--rows", "-{}.."]),
    OptionGuess(
      names: ["-F", "--live", "--stream", "--monitor"],
      advice: "--follow prints rows as they arrive, and --watch redraws the table",
      needs: "--follow"),
    OptionGuess(
      names: ["-f"],
      advice: "--follow prints rows as they arrive, and --columns A,B chooses columns",
      needs: "--follow"),
    OptionGuess(
      names: ["--interval", "--refresh", "--every"],
      advice: "--watch=SECONDS redraws the table at an interval", needs: "--watch"),
    OptionGuess(
      names: ["--group-by", "--group", "--groupby", "--by"], words: ["--section-by", "{}"]),
    OptionGuess(
      names: ["--group-by", "--group", "--groupby", "--section-by"], words: ["--by", "{}"]),
    OptionGuess(names: ["--sum"], words: ["--compute", "sum {}"]),
    OptionGuess(names: ["--mean", "--avg", "--average"], words: ["--compute", "mean {}"]),
    OptionGuess(
      names: ["--agg", "--aggregate", "--aggregates", "--stats"], words: ["--compute", "{}"]),
    OptionGuess(
      names: [
        "--sum", "--mean", "--avg", "--average", "--agg", "--aggregate", "--aggregates", "--stats",
        "--compute", "--having",
      ],
      advice: aggregates, needs: "--section-by"),
    OptionGuess(names: ["--footer"], advice: aggregates, needs: "--section-by"),
    OptionGuess(
      names: ["--footer"], advice: "--compute chooses the aggregates here", needs: "--compute"),
    OptionGuess(names: ["--json", "--jsonl"], words: ["--format", "jsonl"]),
    OptionGuess(
      names: ["--unique", "--distinct", "--uniq"],
      advice:
        "`tabella count LOCATION --section-by COLUMN` prints each value with its number of rows",
      needs: "--section-by"),
    OptionGuess(
      names: ["--order-by", "--order", "--orderby", "--sort-by", "--sortby"],
      words: ["--sort", "{}"], converted: { Guesses.order($0) }),
    OptionGuess(
      names: ["--reverse", "--desc", "--descending"],
      advice: "write :desc after the name of the column: --sort COLUMN:desc", needs: "--sort"),
    OptionGuess(
      names: ["--select", "--fields", "--field", "--column", "--cols", "-c"],
      words: ["--columns", "{}"]),
    OptionGuess(names: ["--recursive", "-r", "-R"], words: ["-o", "recursive=true"]),
    OptionGuess(names: ["--all", "-a", "-A", "--hidden"], words: ["-o", "hidden=true"]),
    OptionGuess(
      names: ["--delimiter", "--delim", "--separator", "--sep", "-d", "-t"],
      words: ["-o", "delimiter={}"]),
    OptionGuess(names: ["--encoding"], words: ["-o", "encoding={}"]),
    OptionGuess(names: ["--infer", "--infer-types"], words: ["-o", "types=infer"]),
    OptionGuess(
      names: ["--ignore-case", "-i"],
      advice: "begin a regular expression with (?i), as in --filter 'name ~ (?i)ada'",
      needs: "--filter"),
    OptionGuess(
      names: ["--output", "--out", "--outfile"],
      advice: "redirect standard output to the file: > FILE", needs: "--format"),
    OptionGuess(names: ["--csv"], words: ["--format", "csv"]),
    OptionGuess(names: ["--tsv"], words: ["--format", "tsv"]),
    OptionGuess(names: ["--jsonl", "--ndjson", "--json-lines"], words: ["--format", "jsonl"]),
    OptionGuess(names: ["--markdown", "--md"], words: ["--format", "markdown"]),
    OptionGuess(names: ["--arrow"], words: ["--format", "arrow-stream"]),
    OptionGuess(names: ["--no-color", "--no-colour", "--nocolor"], words: ["--color", "never"]),
    OptionGuess(names: ["--colour"], words: ["--color", "{}"]),
    OptionGuess(names: ["--transpose", "--expanded", "-x"], words: ["--vertical", "always"]),
    OptionGuess(names: ["--long", "-l"], needs: "--columns"),
    OptionGuess(
      names: ["--exclude", "--drop", "--reject", "--hide", "--without"],
      advice: "write ! in front of the names: --columns '!A,!B'", needs: "--columns"),
    OptionGuess(names: ["--dry", "--simulate", "--what-if"], words: ["--dry-run"]),
    OptionGuess(names: ["--force", "-f", "-y", "--assume-yes"], words: ["--yes"]),
    OptionGuess(names: ["-h", "-help", "-?"], words: ["--help"]),
  ]

  static let commands: [CommandGuess] = [
    CommandGuess(
      names: ["ls", "ll", "dir", "list", "cat", "bat", "view", "open", "print", "less", "more"],
      command: "show"),
    CommandGuess(names: ["table", "display", "concat"], command: "show"),
    CommandGuess(
      names: ["join"], command: "show",
      advice: """
        `tabella show A B` shows several locations as one table; no command matches rows of two tables by a key
        """),
    CommandGuess(
      names: ["tree"], command: "show", options: ["-o", "recursive=true"]),
    CommandGuess(names: ["head", "limit"], command: "show", options: ["-n", "10"]),
    CommandGuess(
      names: ["tail", "last"], command: "show",
      advice: """
        `tabella show LOCATION --rows -10..` shows the last ten rows, and `tabella show LOCATION --follow -n 10` shows \
        them and then new ones
        """),
    CommandGuess(
      names: ["follow", "watch", "monitor"], command: "show",
      advice: """
        `tabella show LOCATION --follow` prints rows as they arrive, and `tabella show LOCATION --watch` redraws the \
        table
        """),
    CommandGuess(names: ["ps", "top", "processes"], command: "show", operands: ["processes:"]),
    CommandGuess(names: ["query", "where", "filter"], command: "show", option: "--filter"),
    CommandGuess(names: ["grep", "search"], command: "show", option: "--search"),
    CommandGuess(names: ["sort", "order"], command: "show", option: "--sort"),
    CommandGuess(names: ["group", "group-by"], command: "show", option: "--section-by"),
    CommandGuess(names: ["select", "cut"], command: "show", option: "--columns"),
    CommandGuess(
      names: ["uniq", "unique", "distinct", "frequency"], command: "count", option: "--section-by"),
    CommandGuess(names: ["wc", "len", "length", "size"], command: "count"),
    CommandGuess(
      names: ["schema", "info", "inspect", "stats", "stat", "headers", "columns"],
      command: "describe"),
    CommandGuess(
      names: ["aggregate", "agg", "sum", "mean", "average", "pivot"], command: "summarize",
      advice: aggregates),
    CommandGuess(
      names: ["du"], command: "show",
      advice: "`tabella FOLDER --columns name,total --sort total:desc` shows the sizes of folders"),
    CommandGuess(names: ["compare", "cmp", "comm"], command: "diff"),
    CommandGuess(
      names: ["vi", "vim", "vidir", "nano"], command: "edit",
      advice: "`tabella edit LOCATION` opens the rows in $VISUAL or $EDITOR"),
    CommandGuess(names: ["convert", "dump", "save"], command: "export"),
    CommandGuess(names: ["rm", "del", "remove", "drop"], command: "delete"),
    CommandGuess(
      names: ["kill"], command: "delete",
      advice: "`tabella delete processes: --filter 'pid = 4711'` ends a process"),
    CommandGuess(
      names: ["mv", "rename"], command: "set",
      advice: """
        `tabella set FOLDER --filter 'name = "OLD"' name=NEW` renames a file, and `tabella move LOCATION ROW ROW` moves \
        a row
        """),
    CommandGuess(
      names: ["add", "append", "new"], command: "insert", behindFirst: ["end"]),
    CommandGuess(names: ["update", "change", "modify", "replace"], command: "set"),
    CommandGuess(names: ["patch", "batch"], command: "apply"),
    CommandGuess(names: ["revert", "rollback"], command: "undo"),
    CommandGuess(names: ["history", "receipts"], command: "log"),
    CommandGuess(names: ["plugins", "drivers"], command: "providers"),
    CommandGuess(names: ["verify", "validate", "lint", "test"], command: "check"),
    CommandGuess(names: ["man", "usage", "commands"], command: "help"),
    CommandGuess(names: ["completion"], command: "completions"),
  ]

  /// The failure for a word that is no option of a command, if it is a guess. `name` is the word without its argument.
  static func failure(
    option name: String, in word: Argument, _ arguments: [Argument], command: String,
    _ specs: [OptionSpec]
  ) -> Failure? {
    let line = CorrectedLine(command, specs, arguments)
    // In an editing command, such a word stands where the name of a row stands.
    if ["set", "delete", "move", "insert"].contains(command), Int(word.text) != nil {
      let last =
        specs.contains { $0.names.contains("--rows") } ? ", or --rows -1.. for the last row" : ""
      return Failure(
        status: .usage, subject: command, code: "usage",
        message:
          "there is no row \(word.text); use the number of a row, counted from 0, its id\(last)")
    }
    if short(word.text, specs) != nil {
      return .usage("there is no option \(word.text)", subject: command, run: line)
    }
    guard let guess = guess(name, specs) else { return nil }
    if let advice = guess.advice {
      return Failure(
        status: .usage, subject: command, code: "usage",
        message: "there is no option \(name); \(advice)")
    }
    return .usage("there is no option \(name)", subject: command, run: line)
  }

  /// The failure for a first word that is no command, if it is a guess.
  static func failure(firstWord word: Argument, _ rest: [Argument]) -> Failure? {
    let message = "there is no command \(word.text)"
    if word.text == "-v" || word.text == "version" {
      return .usage(message, run: CorrectedLine(text: "tabella --version"))
    }
    guard let guess = commands.first(where: { $0.names.contains(word.text) }),
      let command = CommandTable.shown.first(where: { $0.name == guess.command })
    else { return nil }
    if let advice = guess.advice { return .usage("\(message); \(advice)") }
    var line = CorrectedLine(command.name, command.options, rest, keys: guess.option)
    line.apply(guess)
    guard !line.operands.isEmpty || command.operands.hasPrefix("[") else {
      return .usage("\(message); the command here is \(command.name)", command: command.name)
    }
    return .usage(message, run: line)
  }

  /// The guess that an option is, if a command with these options has its words.
  fileprivate static func guess(_ name: String, _ specs: [OptionSpec]) -> OptionGuess? {
    options.first { $0.names.contains(name) && $0.fits(specs) }
  }

  /// The words for several short options in one word, as in `-la`, or for a number of rows, as in `-20`. Nil if the
  /// word is neither.
  fileprivate static func short(_ word: String, _ specs: [OptionSpec]) -> [Argument]? {
    let letters = word.dropFirst()
    guard word.hasPrefix("-"), !letters.isEmpty, !letters.hasPrefix("-") else { return nil }
    if letters.utf8.allSatisfy({ 48...57 ~= $0 }),
      specs.contains(where: { $0.names.contains("-n") })
    {
      return ["-n", String(letters)].map { Argument(Array($0.utf8)) }
    }
    guard letters.utf8.count > 1 else { return nil }
    var words: [Argument] = []
    for letter in letters {
      guard let guess = guess("-\(letter)", specs), !guess.takesArgument, guess.advice == nil else {
        return nil
      }
      // In `ls -lh`, the letter asks for readable sizes.
      if letter != "h" { words += guess.words(for: Argument([])) }
    }
    return words
  }

  /// An order in the syntax of `--sort`, if a text has the syntax of another program: `-salary`, `+name`,
  /// `salary desc`. Nil if it has neither.
  static func order(_ text: String) -> String? {
    let items = text.split(separator: ",", omittingEmptySubsequences: false).map { item in
      let item = item.drop { $0 == " " }
      let lower = item.lowercased()
      for ending in [" desc", " descending", ":descending", ":d", ":r"]
      where lower.hasSuffix(ending) {
        return "\(item.dropLast(ending.count)):desc"
      }
      for ending in [" asc", " ascending", ":ascending"] where lower.hasSuffix(ending) {
        return String(item.dropLast(ending.count))
      }
      if item.hasPrefix("-") { return "\(item.dropFirst()):desc" }
      return String(item.hasPrefix("+") ? item.dropFirst() : item)
    }
    let order = items.joined(separator: ",")
    return order == text ? nil : order
  }

  /// Throws a usage error with the right words if `--sort` has the syntax of another program. A column can have such a
  /// name, so this is for orders that no columns have.
  static func checkOrder(
    _ invocation: Invocation, _ names: ColumnNames, command: String
  ) throws(Failure) {
    guard let text = invocation.sort, (try? SortDescriptor.list(text, names)) == nil,
      let order = order(text), (try? SortDescriptor.list(order, names)) != nil
    else { return }
    throw .usage(
      "there is no column \(text)", subject: command,
      run: CorrectedLine(
        text: invocation.line(command, without: ["--sort"], adding: ["--sort", order])))
  }
}

/// A command line with the right words instead of guessed ones.
struct CorrectedLine {
  private var command = ""
  private(set) var operands: [Argument] = []
  private var options: [Argument] = []

  private var isPastOptions = false
  private let whole: String?

  /// The line as text for a shell.
  var text: String {
    whole ?? ShellWords.line(command, operands, options, needsMark: isPastOptions)
  }

  /// A line that is known.
  init(text: String) { whole = text }

  /// Options of other programs that name the columns of a command such as `sort`.
  private static let keyNames = ["--by", "-b", "--key", "-k", "--on"]

  /// Corrects the arguments of a command. Unknown options that are no guesses stay as they are. `option` is the one that
  /// takes the columns of a guessed command: `sort FILE --by name`.
  init(
    _ command: String, _ specs: [OptionSpec], _ arguments: [Argument], keys option: String? = nil
  ) {
    whole = nil
    self.command = command
    var rest = arguments[...]
    while let word = rest.popFirst() {
      if word.text == "--" {
        operands += rest
        isPastOptions = rest.contains { $0.text.hasPrefix("-") && $0.text != "-" }
        break
      }
      guard word.text.hasPrefix("-"), word.text != "-" else {
        operands.append(word)
        continue
      }
      let (name, attached) = Invocation.split(word)
      if let option, CorrectedLine.keyNames.contains(name) {
        let value = attached ?? rest.popFirst() ?? Argument(Array("COLUMN".utf8))
        let order = option == "--sort" ? Guesses.order(value.text) : nil
        options += [Argument(Array(option.utf8)), order.map { Argument(Array($0.utf8)) } ?? value]
      } else if let spec = specs.first(where: { $0.names.contains(name) }) {
        options.append(word)
        if spec.takesNextWord, attached == nil, let value = rest.popFirst() {
          options.append(value)
        }
      } else if let words = Guesses.short(word.text, specs) {
        options += words
      } else if let guess = Guesses.guess(name, specs), guess.advice == nil {
        let value = guess.takesArgument ? attached ?? rest.popFirst() : nil
        options += guess.words(for: value ?? Argument(Array("VALUE".utf8)))
      } else {
        options.append(word)
      }
    }
  }

  /// Adds the words of a guessed command.
  mutating func apply(_ guess: CommandGuess) {
    let host = Host()
    if let option = guess.option {
      let words = operands
      operands = []
      for word in words {
        if FirstWord.isLocation(word, host) {
          operands.append(word)
        } else {
          options += [Argument(Array(option.utf8)), word]
        }
      }
    }
    operands = guess.operands.map { Argument(Array($0.utf8)) } + operands
    if operands.isEmpty, ["show", "count", "describe"].contains(guess.command) {
      operands = [Argument(Array(".".utf8))]
    }
    if !operands.isEmpty {
      operands.insert(contentsOf: guess.behindFirst.map { Argument(Array($0.utf8)) }, at: 1)
    }
    if let first = guess.options.first, !options.contains(where: { $0.text == first }) {
      options += guess.options.map { Argument(Array($0.utf8)) }
    }
  }
}

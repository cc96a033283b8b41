import ProviderTemplates
import Tabella
import TabellaHost

/// An option of the command line, with its names, its argument and its effect.
struct OptionSpec: Sendable {
  /// `--rows`, and a short form if there is one.
  let names: [String]
  /// The argument, as the help writes it; nil if there is none.
  let argument: String?
  /// The value of an argument that is left out; nil if the argument is required. An optional argument
  /// is attached to the name: `--backup=.old`.
  var fallback: String?
  let summary: String
  /// Further sentences of the help.
  var detail = ""
  /// The kind of its argument, for the completions.
  var values = Completion.none
  /// Whether it can be given several times.
  var repeats = false
  /// Applies the option with its argument, which is empty if it takes none. Throws if the argument is wrong.
  let apply: @Sendable (inout Invocation, Argument) throws(Failure) -> Void

  /// Whether the next word is the argument if none is attached.
  var takesNextWord: Bool { argument != nil && fallback == nil }

  /// The option with its argument as words of a command line.
  fileprivate func words(_ name: String, _ value: Argument) -> [Argument] {
    let name = Array(name.utf8)
    if fallback != nil { return [Argument(name + [UInt8(ascii: "=")] + value.bytes)] }
    return argument == nil ? [Argument(name)] : [Argument(name), value]
  }

  /// Its names and its argument, as the help writes them.
  var usage: String {
    let names = names.joined(separator: ", ")
    guard let argument else { return names }
    return fallback == nil ? "\(names) \(argument)" : "\(names)[=\(argument)]"
  }
}

extension String? {
  /// Adds a list of an option that is given again.
  mutating func add(list: Argument) { self = map { "\($0),\(list.text)" } ?? list.text }
}

/// A change of the pins of added providers.
enum Pinning { case pin, unpin }

/// A parsed command line: the options and operands of one command.
struct Invocation {
  var operands: [Argument] = []
  /// The given options in order, each with its words.
  private(set) var given: [(name: String, words: [Argument])] = []
  var provider: String?
  var options: [String: String] = [:]
  /// `A,B,…`
  var columns: String?
  /// Each `COLUMN OP VALUE`.
  var filters: [Argument] = []
  /// Each text that a row must contain.
  var searches: [[UInt8]] = []
  var sectionBy: String?
  var sort: String?
  /// `rows` or `sum C`, with `:desc` or not.
  var sectionsBy: String?
  var section: String?
  var atIndex: String?
  /// The maximum number of rows to show of each section.
  var perSection: Int?
  /// The rows to show, numbered across all sections; nil means all.
  var rows: ClosedRange<Int>?
  /// The number of rows to show from the end; ``resolved(in:)`` turns it into ``rows``.
  var lastRows: Int?
  var limit: Int?
  /// `sum C, …`: the aggregates of footers.
  var footer: String?
  /// The groups, aggregates and conditions of `summarize`.
  var summary = SummaryArguments()
  var format: String?
  var hasHeader = true
  var hasSectionColumn = false
  var hasRowColumn = false
  /// The way to show a table that changes; nil to show it once.
  var live: Liveness?
  /// Whether to print the titles of the index above the table.
  var hasIndex = false
  var hasNumberColumn = false
  var display = DisplayOptions()
  /// The present moment, which is the same for all parts of a command.
  let now = Timestamp.now
  var loads = false
  /// Whether to edit even if the system cannot confine the worker completely.
  var acceptsWeakIsolation = false
  /// The process that runs providers: this one or workers.
  var isolation = Host.Isolation.automatic
  /// Whether the locations are opened to read or to edit.
  var access = Host.Access.reading
  /// The requested change of pins, if any.
  var pinning: Pinning?
  /// The options of `check`.
  var checks = CheckArguments()
  /// The language of a new provider.
  var language = ProviderLanguage.swift
  /// `A,B,…`: the columns that identify a row in a comparison.
  var keys: String?
  /// Whether a difference is reported by the exit status.
  var exitsByDifference = false
  /// Edit without asking.
  var isConfirmed = false
  var isDryRun = false
  /// The version that the table must still have.
  var ifVersion: String?
  /// The provider's options for saving that command line options have set, each with the name of that
  /// command line option.
  var savingOptions: [String: String] = [:]
  /// The characters that separate words in bash, for its completions.
  var bashBreaks: [UInt8]?

  /// The zone and the present moment of dates in filters.
  var dates: DateContext { DateContext(zone: display.usesUTC ? .utc : .local, now: now) }

  var isJSON: Bool { format == "json" }

  /// Whether an option changes the positions of rows. `-n` and `--per-section` do not, because the first rows keep
  /// theirs.
  var givesOtherPositions: Bool {
    !filters.isEmpty || !searches.isEmpty || section != nil || atIndex != nil || sectionBy != nil
      || sort != nil || sectionsBy != nil || rows?.lowerBound ?? 0 > 0 || lastRows != nil
  }

  /// Whether an option chooses rows by their position or by the position of their section.
  var choosesByPosition: Bool {
    let isNumber = section.map { TableNumber.read($0) != nil } ?? false
    return rows != nil || lastRows != nil || limit != nil || perSection != nil || atIndex != nil
      || isNumber
  }

  /// Whether an option chooses some of the rows.
  var choosesRows: Bool {
    !filters.isEmpty || !searches.isEmpty || section != nil || atIndex != nil || rows != nil
      || lastRows != nil
      || limit != nil || perSection != nil
  }

  /// The rows to show as a half-open range, after `--rows` and `-n`.
  var range: Range<Int> {
    // Rows are within the limits of a table, so these sums do not overflow.
    let lower = rows?.lowerBound ?? 0
    let upper = rows.map { $0.upperBound + 1 } ?? .max
    return lower..<min(upper, limit.map { lower + $0 } ?? .max)
  }

  init() {}

  /// Parses arguments with the options of a command.
  init(_ arguments: [Argument], specs: [OptionSpec], command: String) throws(Failure) {
    var rest = arguments[...]
    while let argument = rest.popFirst() {
      let text = argument.text
      if text == "--" {
        operands += rest
        return
      }
      guard text.hasPrefix("-"), text != "-" else {
        operands.append(argument)
        continue
      }
      let (name, attached) = Invocation.split(argument)
      guard let spec = specs.first(where: { $0.names.contains(name) }) else {
        if let failure = Guesses.failure(
          option: name, in: argument, arguments, command: command, specs)
        {
          throw failure
        }
        let hint = Suggestion.hint(name, among: specs.flatMap(\.names) + ["--help"])
        throw .usage("there is no option \(name)\(hint)", command: command)
      }
      var value = Argument([])
      if let fallback = spec.fallback {
        value = attached ?? Argument(Array(fallback.utf8))
      } else if spec.argument != nil {
        guard let given = attached ?? rest.popFirst() else {
          throw .usage("\(name) requires \(spec.argument ?? "a value")", command: command)
        }
        value = given
      } else if attached != nil {
        throw .usage("\(name) takes no value", command: command)
      }
      given.append((name, spec.words(name, value)))
      do throws(Failure) {
        try spec.apply(&self, value)
      } catch {
        throw Failure(
          status: error.status, subject: command, code: error.code,
          message:
            "\(name)\(value.text.isEmpty ? "" : " ")\(value.text): \(error.about(command: command).message)"
        )
      }
    }
  }

  /// Splits `--rows=1..2` or `-n5` into its name and value.
  static func split(_ argument: Argument) -> (String, Argument?) {
    let bytes = argument.bytes
    if bytes.starts(with: Array("--".utf8)) {
      guard let equals = bytes.firstIndex(of: UInt8(ascii: "=")) else {
        return (argument.text, nil)
      }
      return (
        String(decoding: bytes[..<equals], as: UTF8.self), Argument(Array(bytes[(equals + 1)...]))
      )
    }
    guard bytes.count > 2 else { return (argument.text, nil) }
    return (String(decoding: bytes[..<2], as: UTF8.self), Argument(Array(bytes[2...])))
  }
}

import Tabella
import TabellaHost

/// An option of the command line: its names, what it takes, what it does.
struct OptionSpec: Sendable {
  /// `--rows`, and a short form if there is one.
  let names: [String]
  /// What it takes, for the help; nil if it takes nothing.
  let argument: String?
  /// What stands for an argument that is left out; nil if it must be given. One that may be left out is
  /// attached: `--backup=.old`.
  var fallback: String?
  let summary: String
  /// More than the summary says, if one must know it.
  var detail = ""
  /// What its argument may be, for the shells' completions.
  var values = Completion.none
  /// Whether it may be given several times.
  var repeats = false
  /// Applies the option with its argument (empty if it takes none). Throws what is wrong with it.
  let apply: @Sendable (inout Invocation, Argument) throws(Failure) -> Void

  /// Whether the next word is its argument, if none is attached.
  var takesNextWord: Bool { argument != nil && fallback == nil }

  /// The option with its argument as words of a command line.
  fileprivate func words(_ name: String, _ value: Argument) -> [Argument] {
    let name = Array(name.utf8)
    if fallback != nil { return [Argument(name + [UInt8(ascii: "=")] + value.bytes)] }
    return argument == nil ? [Argument(name)] : [Argument(name), value]
  }

  /// Its names and what it takes, as the help writes them.
  var usage: String {
    let names = names.joined(separator: ", ")
    guard let argument else { return names }
    return fallback == nil ? "\(names) \(argument)" : "\(names)[=\(argument)]"
  }
}

/// What is done to the pins of added providers.
enum Pinning { case pin, unpin }

/// What a command is to do, as its options and operands say.
struct Invocation {
  var operands: [Argument] = []
  /// The options as they were given, in order, each with its words.
  private(set) var given: [(name: String, words: [Argument])] = []
  var provider: String?
  var options: [String: String] = [:]
  /// `A,B,…`
  var columns: String?
  /// Each `COLUMN OP VALUE`.
  var filters: [Argument] = []
  var search: [UInt8]?
  var sectionBy: String?
  var sort: String?
  var section: String?
  var atIndex: String?
  /// The rows shown, counted through the sections; nil means all.
  var rows: ClosedRange<Int>?
  var limit: Int?
  var format: String?
  var hasHeader = true
  var hasSectionColumn = false
  var hasRowColumn = false
  var display = DisplayOptions()
  var loads = false
  /// Whether to edit though the system cannot confine the provider's process as it must be.
  var acceptsWeakIsolation = false
  /// Where providers run.
  var isolation = Host.Isolation.automatic
  /// What the locations are opened for.
  var access = Host.Access.reading
  /// What is to become of the pins.
  var pinning: Pinning?
  /// What `check` is told.
  var checks = CheckArguments()
  /// Edit without asking.
  var isConfirmed = false
  var isDryRun = false
  /// The version that rows were seen at.
  var ifVersion: String?
  /// The provider's options that say how an edit is saved, with the options of the command line that
  /// stand for them.
  var savingOptions: [String: String] = [:]
  /// The characters at which bash ends a word, for its completions.
  var bashBreaks: [UInt8]?

  var isJSON: Bool { format == "json" }

  /// Whether an option gives rows other positions than the table has. The first rows keep theirs.
  var givesOtherPositions: Bool {
    !filters.isEmpty || search != nil || section != nil || atIndex != nil || sectionBy != nil
      || sort != nil || rows?.lowerBound ?? 0 > 0
  }

  /// Whether an option chooses rows by their positions, or by that of their section.
  var choosesByPosition: Bool {
    let isNumber = section.map { TableNumber.read($0) != nil } ?? false
    return rows != nil || limit != nil || atIndex != nil || isNumber
  }

  /// Whether an option chooses some of the rows.
  var choosesRows: Bool {
    !filters.isEmpty || search != nil || section != nil || atIndex != nil || rows != nil
      || limit != nil
  }

  /// The rows to show as a half-open range, after `--rows` and `-n`.
  var range: Range<Int> {
    // No row is beyond the limits of a table, so that none of these sums overflows.
    let lower = rows?.lowerBound ?? 0
    let upper = rows.map { $0.upperBound + 1 } ?? .max
    return lower..<min(upper, limit.map { lower + $0 } ?? .max)
  }

  init() {}

  /// Reads arguments by the options of a command.
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
        let hint = Suggestion.hint(name, among: specs.flatMap(\.names) + ["--help"])
        throw .usage("there is no option \(name)\(hint)", command: command)
      }
      var value = Argument([])
      if let fallback = spec.fallback {
        value = attached ?? Argument(Array(fallback.utf8))
      } else if spec.argument != nil {
        guard let given = attached ?? rest.popFirst() else {
          throw .usage("\(name) wants \(spec.argument ?? "a value")", command: command)
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
          message: "\(name) \(value.text): \(error.about(command: command).message)")
      }
    }
  }

  /// `--rows=1..2` into its name and value, `-n5` likewise.
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

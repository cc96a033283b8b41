import Tabella
import TabellaHost
import TabellaSystem

/// The meaning of the first word of a command line: a command, or a location to show.
enum FirstWord {
  /// The command of a command line that is not empty, and the arguments of the command. A command comes before a
  /// location with the same name. Throws a usage error with the right words if the first word is neither.
  static func command(of arguments: [Argument]) throws(Failure) -> (Command, [Argument]) {
    let first = arguments[0]
    let rest = Array(arguments.dropFirst())
    let name = first.text == "--help" || first.text == "-h" ? "help" : first.text
    if let command = CommandTable.command(named: name) { return (command, rest) }
    if isLocation(first, Host()) { return (.show, arguments) }
    if let failure = Guesses.failure(firstWord: first, rest) { throw failure }
    throw unknown(first, rest)
  }

  /// Whether a word is an existing path, `SCHEME:REST` with a scheme that a provider claims, or `-`. Loads no library.
  static func isLocation(_ word: Argument, _ host: Host) -> Bool {
    let location = Location(word.bytes)
    if word.bytes == [UInt8(ascii: "-")] { return true }
    if stat(at: word.bytes, followsLink: false) != nil { return true }
    return host.catalogue.claimsScheme(of: location)
  }

  /// The failure for a word that is neither a command, nor a location, nor a guess.
  private static func unknown(_ word: Argument, _ rest: [Argument]) -> Failure {
    if word.text.hasPrefix("-") {
      let hint = Suggestion.hint(word.text, among: ["--help", "--version"])
      let line = CorrectedLine("show", Command.show.options, [word] + rest)
      guard line.operands.isEmpty || !hint.isEmpty else {
        return .usage("the first word must be a command or a location", run: line)
      }
      return .usage("there is no option \(word.text) without a command\(hint)")
    }
    let schemes = Host().catalogue.entries.flatMap(\.manifest.schemes).map { "\($0):" }
    let words = Suggestion.hint(word.text, among: CommandTable.shown.map(\.name) + schemes)
    let hint = words.isEmpty ? NearbyFile.hint(word.bytes) : words
    let name = word.bytes.isEmpty ? "with an empty name" : word.text
    return .usage("there is no command and no file \(name)\(hint)")
  }
}

extension Failure {
  /// An error of the command line whose remedy is another command line.
  static func usage(
    _ message: String, subject: String? = nil, run line: CorrectedLine
  ) -> Failure {
    Failure(
      status: .usage, subject: subject, code: "usage", message: "\(message); run: \(line.text)")
  }
}

import Tabella
import TabellaHost

/// The arguments of a table: a location, and options of its provider.
struct TableArguments: Hashable {
  var location: Location
  var options: [String: String] = [:]

  /// Reads the arguments of `USING tabella(…)`: the location, then `NAME=VALUE` for each option. SQLite passes them as they
  /// are written. Each may have quotes, also around the value alone.
  init(declaration: [String]) throws(TableError) {
    guard let first = declaration.first.map(TableArguments.unquoted), !first.isEmpty else {
      throw .noLocation
    }
    location = Location(first)
    for text in declaration.dropFirst() { try add(option: TableArguments.unquoted(text)) }
  }

  init(_ location: [UInt8]) { self.location = Location(location) }

  /// Adds an option that is written `NAME=VALUE`.
  mutating func add(option text: String) throws(TableError) {
    guard let equals = text.firstIndex(of: "=") else {
      throw TableError(
        .invalidArgument,
        "\(location): \"\(text)\" is not an option; write NAME=VALUE, as in types=infer")
    }
    let name = TableArguments.trimmed(text[..<equals])
    let value = TableArguments.unquoted(String(text[text.index(after: equals)...]))
    guard options.updateValue(value, forKey: name) == nil else {
      throw TableError(.invalidArgument, "\(location): the option \(name) is given twice")
    }
  }

  /// The text without spaces around it, and without the quotes of SQL.
  private static func unquoted(_ text: String) -> String {
    let text = trimmed(text[...])
    guard let quote = text.first, text.count >= 2 else { return text }
    let end: Character
    switch quote {
    case "'", "\"", "`": end = quote
    case "[": end = "]"
    default: return text
    }
    guard text.last == end else { return text }
    var result = ""
    var isSecond = false
    for character in text.dropFirst().dropLast() {
      isSecond = character == quote && !isSecond
      if !isSecond || quote == "[" { result.append(character) }
    }
    return result
  }

  private static func trimmed(_ text: Substring) -> String {
    var text = text
    while text.first?.isWhitespace == true { text.removeFirst() }
    while text.last?.isWhitespace == true { text.removeLast() }
    return String(text)
  }
}

extension TableError {
  /// The error for a table without a location.
  static let noLocation = TableError(
    .invalidArgument, "name a location, as in tabella('data.csv')")
}

import Tabella
import TabellaFiles

/// The options of the provider, read from their texts.
struct Options {
  var hasHeader = true
  /// Nil means to find it out.
  var delimiter: UInt8?
  var quote: UInt8? = UInt8(ascii: "\"")
  /// Whether the quote was given, and so is no matter of what the text looks like.
  var hasQuote = false
  var escape: UInt8?
  /// Nil means by byte order mark, else as it is.
  var encoding: String?
  var skip = 0
  var columns = 0
  var infersTypes = false
  var save = SaveOptions()

  static let declarations: [OptionDeclaration] =
    [
      OptionDeclaration(
        "header", .boolean, default: "true", summary: "whether the first record names the columns"),
      OptionDeclaration(
        "delimiter", default: "auto",
        summary: "what separates cells: a character, tab, comma, semicolon, pipe, space or auto"),
      OptionDeclaration(
        "quote", default: "\"", summary: "what encloses cells that hold separators, or none"),
      OptionDeclaration(
        "escape", default: "none", summary: "a character that makes the next one plain, or none"),
      OptionDeclaration(
        "encoding", default: "auto", summary: "how the bytes are text: auto or an iconv name"),
      OptionDeclaration(
        "skip", .integer, default: "0", summary: "lines to leave out at the start"),
      OptionDeclaration(
        "columns", .integer, default: "0", summary: "at least this many columns"),
      OptionDeclaration(
        "types", default: "text", choices: ["text", "infer"],
        summary: "infer types whole columns and reads the whole file first"),
    ] + SaveOptions.declarations

  init(_ values: [String: String]) throws(TableError) {
    for (name, value) in values {
      guard let declaration = Options.declarations.first(where: { $0.name == name }) else {
        throw TableError(.invalidArgument, "there is no option \(name)")
      }
      try declaration.check(value)
      switch name {
      case "header": hasHeader = OptionDeclaration.boolean(value) ?? true
      case "delimiter": delimiter = value == "auto" ? nil : try Options.character(name, value)
      case "quote":
        quote = value == "none" ? nil : try Options.character(name, value)
        hasQuote = true
      case "escape": escape = value == "none" ? nil : try Options.character(name, value)
      case "encoding":
        guard !value.isEmpty else {
          throw TableError(.invalidArgument, "option encoding cannot be empty: it must be a name")
        }
        encoding = value == "auto" ? nil : value
      case "skip": skip = try Options.number(name, value)
      case "columns": columns = try Options.number(name, value)
      case "types": infersTypes = value == "infer"
      default: _ = try save.take(name, value)
      }
    }
    // A line end or the same character twice would leave no way to read the text.
    let special = [delimiter, quote, escape].compactMap { $0 }
    guard Set(special).count == special.count else {
      throw TableError(
        .invalidArgument, "options delimiter, quote and escape must be different characters")
    }
  }

  /// What of this decides which rows there are.
  var reading: Reading {
    return Reading(
      "csv",
      [
        hasHeader ? nil : "header",
        delimiter.map { "delimiter \($0)" },
        hasQuote ? "quote \(quote ?? 0)" : nil,
        escape.map { "escape \($0)" },
        encoding.map { "encoding \($0)" },
        skip == 0 ? nil : "skip \(skip)",
      ])
  }

  private static let names: [String: UInt8] = [
    "tab": 9, "\\t": 9, "comma": UInt8(ascii: ","), "semicolon": UInt8(ascii: ";"),
    "pipe": UInt8(ascii: "|"), "space": UInt8(ascii: " "),
  ]

  private static func character(_ name: String, _ value: String) throws(TableError) -> UInt8 {
    if let named = names[value] { return named }
    guard value.utf8.count == 1, let byte = value.utf8.first, byte < 0x80, byte != 10, byte != 13
    else {
      throw TableError(
        .invalidArgument,
        "option \(name) cannot be \"\(value)\": it must be one ASCII character, no line end")
    }
    return byte
  }

  private static func number(_ name: String, _ value: String) throws(TableError) -> Int {
    guard let number = Int(value), 0...1_000_000 ~= number else {
      throw TableError(
        .invalidArgument, "option \(name) cannot be \"\(value)\": it must be 0 to 1000000")
    }
    return number
  }
}

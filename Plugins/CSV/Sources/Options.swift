import Tabella
import TabellaFiles

/// The parsed options of the provider.
struct Options {
  /// How the types of columns are determined.
  enum Types: String, CaseIterable {
    /// All cells are text.
    case text
    /// From all cells.
    case infer
    /// From the first cells. A later cell of another type is an error.
    case sample
  }

  var hasHeader = true
  /// Nil means automatic detection.
  var delimiter: UInt8?
  /// Whether runs of blanks separate the cells; see ``BlankFields``.
  var splitsAtBlanks = false
  var quote: UInt8? = UInt8(ascii: "\"")
  /// Whether the user chose the quote. Then the text is not examined for stray quotes.
  var hasQuote = false
  var escape: UInt8?
  /// Nil means detection by byte order mark; without one, the bytes stay as they are.
  var encoding: String?
  var skip = 0
  /// The minimum number of columns, or names of columns. Names that the header lacks follow its own.
  var columns = 0
  var names: [String] = []
  var types = Types.text
  /// The types of the first columns, if the user names them; nil for text.
  var columnTypes: [ColumnType?] = []
  /// The offsets of the file between which the shown rows lie; nil for all rows.
  var bytes: Range<Int>?
  /// The byte at the start of a comment line.
  var comment: UInt8?
  /// Whether numbers have a decimal comma.
  var hasDecimalComma = false
  /// Whether cells contain C's escapes, as the outputs `tsv` and `plain` do. Then nothing is quoted.
  var hasEscapes = false
  /// The delimiter to use if detection finds none.
  var usualDelimiter = UInt8(ascii: ",")
  var save = SaveOptions()

  static let declarations: [OptionDeclaration] =
    [
      OptionDeclaration(
        "header", .boolean, default: "true",
        summary: "whether the first record contains the names of the columns"),
      OptionDeclaration(
        "delimiter", default: "auto",
        summary:
          "the separator of cells: a character, tab, comma, semicolon, pipe, space, auto, or whitespace for runs of blanks"
      ),
      OptionDeclaration(
        "quote", default: "\"",
        summary: "the quote around cells that contain separators: a character, or none"),
      OptionDeclaration(
        "escape", default: "none", summary: "the character that escapes the next one, or none"),
      OptionDeclaration(
        "encoding", default: "auto",
        summary: "the encoding of the file: auto, or a name that iconv knows"),
      OptionDeclaration(
        "skip", .integer, default: "0", summary: "the number of lines to skip at the start"),
      OptionDeclaration(
        "columns", default: "0",
        summary: "the minimum columns: a number, or names; an edit adds missing names to the header"
      ),
      OptionDeclaration(
        "types", default: Types.text.rawValue, choices: Types.allCases.map(\.rawValue),
        summary:
          "infer chooses a type per column, and reads the whole file first; sample reads 1 MiB, and a later cell that does not fit is an error"
      ),
      OptionDeclaration(
        "column-types", default: "",
        summary:
          "the types of the columns, such as integer,text,date; a cell that does not fit is an error"
      ),
      OptionDeclaration(
        "bytes", default: "",
        summary: "FROM-TO: only the rows between two offsets, each the start of a row or the end"),
      OptionDeclaration(
        "comment", default: "none",
        summary: "the first character of comment lines, or none"),
      OptionDeclaration(
        "decimal", default: ".", choices: [".", ","], summary: "the decimal separator of numbers"
      ),
      OptionDeclaration(
        "escapes", .boolean, default: "false",
        summary:
          "read the escapes \\t \\n \\r \\\\ \\xFF and \\N, as the formats tsv and plain write them; without quotes"
      ),
    ] + SaveOptions.declarations

  init(_ values: [String: String]) throws(TableError) {
    for (name, value) in values {
      guard let declaration = Options.declarations.first(where: { $0.name == name }) else {
        throw TableError(.invalidArgument, "there is no option \(name)")
      }
      try declaration.check(value)
      switch name {
      case "header": hasHeader = OptionDeclaration.boolean(value) ?? true
      case "delimiter":
        splitsAtBlanks = value == "whitespace"
        if value != "auto", !splitsAtBlanks { delimiter = try Options.character(name, value) }
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
      case "columns": try takeColumns(value)
      case "comment": comment = value == "none" ? nil : try Options.character(name, value)
      case "decimal": hasDecimalComma = value == ","
      case "escapes": hasEscapes = OptionDeclaration.boolean(value) ?? false
      case "types": types = Types(rawValue: value) ?? .text
      case "column-types": columnTypes = try Options.columnTypes(value)
      case "bytes": bytes = try Options.bytes(value)
      default: _ = try save.take(name, value)
      }
    }
    guard columnTypes.isEmpty || types == .text else {
      throw TableError(
        .invalidArgument, "options types and column-types cannot be combined: leave one of them out"
      )
    }
    // A repeated special character would make the text ambiguous.
    if splitsAtBlanks { try takeBlanks() }
    if hasEscapes { try takeEscapes() }
    let special = [delimiter, quote, escape, comment].compactMap { $0 }
    guard Set(special).count == special.count else {
      throw TableError(
        .invalidArgument,
        "options delimiter, quote, escape and comment must be different characters")
    }
  }

  /// Parses a number or a list of names separated by commas. A final comma turns a number into a name.
  private mutating func takeColumns(_ value: String) throws(TableError) {
    if !value.isEmpty, value.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || 48...57 ~= $0 }) {
      columns = try Options.number("columns", value)
      return
    }
    var names = value.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
    if names.last == "" { names.removeLast() }
    guard !names.isEmpty, !names.contains(""), Set(names).count == names.count,
      !value.utf8.contains(0)
    else {
      throw TableError(
        .invalidArgument,
        "option columns cannot be \"\(value)\": it must be a number, or different names separated by commas"
      )
    }
    self.names = names
  }

  /// Sets the rules of cells between blanks: no character is special.
  private mutating func takeBlanks() throws(TableError) {
    guard !hasQuote || quote == nil, escape == nil, !hasEscapes else {
      throw TableError(
        .invalidArgument,
        "option delimiter=whitespace cannot be combined with quotes or escapes: leave -o quote, -o escape and -o escapes out"
      )
    }
    (quote, hasQuote) = (nil, true)
  }

  /// Sets the rules of `tsv` output: tabs and no quotes.
  private mutating func takeEscapes() throws(TableError) {
    let backslash = UInt8(ascii: "\\")
    guard !hasQuote || quote == nil, escape == nil, delimiter != backslash, comment != backslash
    else {
      throw TableError(
        .invalidArgument,
        "option escapes cannot be combined with quotes or another escape: leave -o quote and -o escape out"
      )
    }
    (quote, hasQuote) = (nil, true)
    delimiter = delimiter ?? 9
  }

  /// The options that determine the rows, as part of the version.
  var reading: Reading {
    return Reading(
      "csv",
      [
        hasHeader ? nil : "header",
        splitsAtBlanks ? "delimiter whitespace" : delimiter.map { "delimiter \($0)" },
        hasQuote && !splitsAtBlanks ? "quote \(quote ?? 0)" : nil,
        escape.map { "escape \($0)" },
        encoding.map { "encoding \($0)" },
        skip == 0 ? nil : "skip \(skip)",
        comment.map { "comment \($0)" },
        hasEscapes ? "escapes" : nil,
        bytes.map { "bytes \($0.lowerBound)-\($0.upperBound)" },
      ])
  }

  /// Whether cells must be checked, because not all of them determined the types.
  var checksTypes: Bool { types == .sample || !columnTypes.isEmpty }

  /// Parses types separated by commas.
  private static func columnTypes(_ value: String) throws(TableError) -> [ColumnType?] {
    guard !value.isEmpty else { return [] }
    var types: [ColumnType?] = []
    for name in value.split(separator: ",", omittingEmptySubsequences: false) {
      let known: [ColumnType] = [.text, .integer, .real, .boolean, .date]
      guard let type = known.first(where: { $0.name == name }) else {
        throw TableError(
          .invalidArgument,
          "option column-types cannot have \"\(name)\": use text, integer, real, boolean or date")
      }
      types.append(type == .text ? nil : type)
    }
    return types
  }

  /// Parses two offsets.
  private static func bytes(_ value: String) throws(TableError) -> Range<Int>? {
    guard !value.isEmpty else { return nil }
    let ends = value.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
    guard ends.count == 2, let start = ends[0], let end = ends[1], start <= end else {
      throw TableError(
        .invalidArgument,
        "option bytes cannot be \"\(value)\": it must be FROM-TO, two offsets such as 0-4096")
    }
    return start..<end
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
        "option \(name) cannot be \"\(value)\": it must be one ASCII character, not a line end")
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

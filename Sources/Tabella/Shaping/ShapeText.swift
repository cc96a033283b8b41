// The texts of conditions, groupings and orders, as people write them: `amount > 300`, `city:letter`, `born:desc,name`.

extension Condition {
  /// Reads `COLUMN OP VALUE`.
  ///
  /// The value is the bytes after the operator, without spaces and one pair of quotes around it; they need not be UTF-8.
  /// `{NAME}` without quotes is the cell of the column NAME if there is such a column, except after `~` and `!~`. Throws
  /// ``TableError`` with `.invalidArgument` for a text without a column of `names` or an operator, and for several
  /// conditions in one text.
  public init(_ text: [UInt8], _ names: ColumnNames) throws(TableError) {
    let string = String(decoding: text, as: UTF8.self)
    var rest = string[...]
    guard let column = names.take(from: &rest, where: { Comparison(frontOf: $0) != nil }),
      let comparison = Comparison(frontOf: rest)
    else {
      let name = string.prefix { !"=!<>~".contains($0) }
      if names.names.isEmpty, name.utf8.count < string.utf8.count, !name.trimmed.isEmpty {
        throw names.unknown(name.trimmed)
      }
      if name.utf8.count < string.utf8.count,
        let meant = Suggestion.nearest(to: name.trimmed, among: names.names),
        meant != name.trimmed
      {
        throw names.unknown(name.trimmed)
      }
      throw .noCondition(string, "with a column of \(names.list) and ")
    }
    var value = text[...]
    if string.utf8.elementsEqual(text) {
      value = Array(rest.utf8)[...].drop { $0 == 32 }.dropFirst(comparison.rawValue.utf8.count)
    } else if let sign = value.firstIndex(of: comparison.rawValue.utf8.first ?? 0) {
      value = value[(sign + comparison.rawValue.utf8.count)...]
    }
    // `==` and `<>` are no operators here. A value that begins so would be found nowhere.
    if let sign = value.first, "=<>~!".utf8.contains(sign) {
      let signs = String(decoding: value.prefix { "=<>~!".utf8.contains($0) }, as: UTF8.self)
      let sign = comparison.rawValue + signs
      let meant = Condition.Comparison.meant[sign].map { "use \($0.rawValue), or " } ?? ""
      throw TableError(
        .invalidArgument,
        "\(string): there is no operator \(sign); \(meant)put a space before a value that begins with \(signs)"
      )
    }
    value = value.drop { $0 == 32 }
    while value.last == 32 { value.removeLast() }
    if comparison != .matches, comparison != .doesNotMatch,
      let other = try names.reference(value)
    {
      self.init(column: column, comparison: comparison, otherColumn: other)
      return
    }
    let isQuoted =
      value.count >= 2 && value.first == value.last && "\"'".utf8.contains(value.first ?? 0)
    if !isQuoted || value.dropFirst().dropLast().contains(value.first ?? 0) {
      try comparison.checkIsAlone(value, string, names)
    }
    if isQuoted { value = value.dropFirst().dropLast() }
    self.init(column: column, comparison: comparison, value: Array(value))
    isExact = isQuoted && (comparison == .equal || comparison == .notEqual)
  }

  /// Throws ``TableError`` with `.invalidArgument` for a text that is a condition on no table, because it has no operator.
  /// It needs no columns, so that a program can check the text before it opens a table.
  public static func check(_ text: [UInt8]) throws(TableError) {
    guard !text.contains(where: { "=<>~".utf8.contains($0) }) else { return }
    throw .noCondition(String(decoding: text, as: UTF8.self), "with ")
  }
}

extension Condition.Comparison {
  /// The words of other languages between two conditions.
  private static let connectives = [" and ", " or ", "&&", "||", ","]

  /// Throws if a value that is not all in quotes continues with another condition: `1 and name = x`.
  ///
  /// Otherwise this text would be one long value, and almost all rows satisfy `!=` with such a value.
  fileprivate func checkIsAlone(
    _ value: ArraySlice<UInt8>, _ text: String, _ names: ColumnNames
  ) throws(TableError) {
    let value = String(decoding: value, as: UTF8.self)
    guard let lastSign = value.utf8.lastIndex(where: { "=<>~".utf8.contains($0) }) else { return }
    for start in value.utf8.indices
    where start < lastSign && " &|,".utf8.contains(value.utf8[start]) {
      guard
        let word = Self.connectives.first(where: { word in
          value.utf8[start...].prefix(word.utf8.count).elementsEqual(word.utf8) {
            $0 == $1 || $0 | 0x20 == $1 && 0x61...0x7A ~= $1
          }
        })
      else { continue }
      var rest = value[value.utf8.index(start, offsetBy: word.utf8.count)...].drop { $0 == " " }
      let next = rest.utf8.first
      let hasColumn = names.take(from: &rest, where: { Self(frontOf: $0) != nil }) != nil
      // The name can be misspelt. A comma, and any text in a regular expression, are more often part of a value.
      let canBeMisspelt =
        word != "," && self != .matches && self != .doesNotMatch && rest.startIndex < lastSign
        && !"=<>~!".utf8.contains(next ?? 0)
      guard !hasColumn, !canBeMisspelt else {
        throw TableError(
          .invalidArgument,
          "\(text): a filter is one condition, without \(word.filter { $0 != " " }); give each condition as a filter of its own, which must all match, or put the value into quotes if it is a text"
        )
      }
    }
  }

  /// The operators, the longest first: `<=` is not `<` with a value that begins with `=`.
  private static let byLength = allCases.sorted { $0.rawValue.count > $1.rawValue.count }

  /// The operators of other languages, and the operators that mean the same here.
  fileprivate static let meant: [String: Self] = [
    "==": .equal, "<>": .notEqual, "!==": .notEqual, "===": .equal, "=~": .matches,
  ]

  /// The operator at the front of a text, after spaces; nil if there is none.
  fileprivate init?(frontOf text: Substring) {
    let text = text.drop { $0 == " " }
    guard let found = Self.byLength.first(where: { text.hasPrefix($0.rawValue) }) else {
      return nil
    }
    self = found
  }
}

extension Grouping {
  /// Reads `COLUMN[:CLASS][,…]`. A class is a name of ``Class/named`` or the width of bins: `amount:100`.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a text that is none.
  public static func list(
    _ text: String, _ names: ColumnNames
  ) throws(TableError) -> [Grouping] {
    let suffixes = Class.named.map { ":\($0.name)" }
    // A column's name may contain anything, so each number after a colon may be a width.
    let widths = text.split(separator: ":", omittingEmptySubsequences: false).dropFirst().map {
      ":\($0.prefix { "0123456789.".contains($0) })"
    }.filter { $0.utf8.count > 1 }
    let items = try names.list(
      text, suffixes: suffixes + widths.sorted { $0.utf8.count > $1.utf8.count },
      usage: suffixes + [":WIDTH (a number, for bins)"])
    let groupings = try items.map { item throws(TableError) in
      guard let suffix = item.suffix?.dropFirst() else { return Grouping(column: item.column) }
      if let kind = Class.named.first(where: { $0.name == suffix }) {
        return Grouping(column: item.column, by: kind)
      }
      guard let width = BinWidth(suffix) else {
        throw TableError(
          .invalidArgument,
          "\(suffix) is not the width of bins: it must be a number above 0, such as 100 or 0.5",
          column: item.column)
      }
      return Grouping(column: item.column, by: .bins(width))
    }
    for (number, grouping) in groupings.enumerated() where groupings[..<number].contains(grouping) {
      throw TableError(
        .invalidArgument, "\(text): \(grouping.text(names)) is named twice",
        column: grouping.column)
    }
    return groupings
  }

  /// The text that ``list(_:_:)`` reads as the grouping: `city`, `date:month`, `amount:100`.
  public func text(_ names: ColumnNames) -> String {
    by == .value ? names.names[column] : "\(names.names[column]):\(by.name)"
  }
}

extension SortDescriptor {
  /// The most columns of an order. A sort uses the stack for each.
  private static let most = 1000

  /// Reads `COLUMN[:desc][,…]`. Throws ``TableError`` with `.invalidArgument` for a text that is none.
  public static func list(
    _ text: String, _ names: ColumnNames
  ) throws(TableError) -> [SortDescriptor] {
    let items = try names.list(text, suffixes: [":desc", ":asc"])
    guard items.count <= most else {
      throw TableError(.invalidArgument, "an order has at most \(most) columns, not \(items.count)")
    }
    return items.map {
      SortDescriptor(column: $0.column, isDescending: $0.suffix == ":desc")
    }
  }
}

extension TableError {
  fileprivate static func noCondition(_ text: String, _ with: String) -> TableError {
    let signs = Condition.Comparison.allCases.map(\.rawValue).joined(separator: " ")
    return TableError(
      .invalidArgument,
      "\(text.isEmpty ? "a condition" : "\(text):") must be COLUMN OP VALUE, \(with)one of the operators \(signs)"
    )
  }
}

extension Substring {
  /// The text without spaces around it.
  fileprivate var trimmed: String {
    var text = drop { $0 == " " }
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}

// The texts of aggregates and of orders of sections, as people write them: `rows, sum amount`, `sum amount:desc`.

extension Aggregate {
  /// Reads `rows, sum COLUMN, p95 COLUMN, …`. `distinct *` is an aggregate for each column; for functions that need numbers,
  /// for each column whose type is a number.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a text that is none.
  public static func list(
    _ text: String, _ names: ColumnNames
  ) throws(TableError) -> [Aggregate] {
    var aggregates: [Aggregate] = []
    var rest = text[...]
    func ends(_ rest: Substring) -> Bool { rest.isEmpty || rest.hasPrefix(",") }
    while true {
      if let all = try takeAll(from: &rest, names, where: ends) {
        aggregates += all
      } else {
        aggregates.append(try take(from: &rest, names, where: ends))
      }
      guard rest.popFirst() != nil else { return aggregates }
    }
  }

  /// Throws ``TableError`` with `.invalidArgument` for a text that begins with no aggregate. It needs no columns, so that
  /// a program can check the text before it opens a table.
  public static func check(_ text: String) throws(TableError) {
    var rest = text[...]
    _ = try takeFunction(from: &rest)
  }

  /// Removes `FUNCTION *` and the blanks around it from the front of a text; nil if the text begins otherwise. A column
  /// can have the name `*`.
  private static func takeAll(
    from text: inout Substring, _ names: ColumnNames, where follows: (Substring) -> Bool
  ) throws(TableError) -> [Aggregate]? {
    var rest = text
    let function = try takeFunction(from: &rest)
    guard function.needsColumn, rest.first == " " else { return nil }
    rest = rest.drop { $0 == " " }
    guard rest.popFirst() == "*", !names.names.contains("*") else { return nil }
    rest = rest.drop { $0 == " " }
    guard follows(rest) else { return nil }
    text = rest
    let columns = names.columns.usualNumbers.filter { column in
      !function.needsNumbers || [.integer, .real].contains(names.columns[column].valueType)
    }
    guard !columns.isEmpty else {
      throw TableError(
        .invalidArgument,
        "\(function.rawValue) *: no column has a type of numbers; name the columns, or infer the types"
      )
    }
    return columns.map { Aggregate(function, ofColumn: $0) }
  }

  /// Removes an aggregate and the blanks around it from the front of a text. `follows` accepts the rest of the text.
  fileprivate static func take(
    from text: inout Substring, _ names: ColumnNames, where follows: (Substring) -> Bool
  ) throws(TableError) -> Aggregate {
    let item = text
    let function = try takeFunction(from: &text)
    func followsBlanks(_ rest: Substring) -> Bool { follows(rest.drop { $0 == " " }) }
    guard function.needsColumn else {
      guard followsBlanks(text) else {
        throw TableError(
          .invalidArgument, "\(item.prefix { $0 != "," }): \(function.rawValue) has no column")
      }
      text = text.drop { $0 == " " }
      return Aggregate(function)
    }
    guard text.first == " " else {
      throw TableError(
        .invalidArgument,
        "\(function.rawValue) needs a column, as in \(function.rawValue) \(names.names.first ?? "COLUMN")"
      )
    }
    text = text.dropFirst()
    // A name may itself begin with a blank.
    var column = names.take(from: &text, where: followsBlanks)
    while column == nil, text.first == " " {
      text = text.dropFirst()
      column = names.take(from: &text, where: followsBlanks)
    }
    guard let column else {
      throw names.unknown(String(text.prefix { $0 != "," && $0 != ":" }))
    }
    text = text.drop { $0 == " " }
    return Aggregate(function, ofColumn: column)
  }

  /// Removes the name of an aggregate from the front of a text.
  private static func takeFunction(
    from text: inout Substring
  ) throws(TableError) -> Function {
    text = text.drop { $0 == " " }
    let word = text.prefix { $0 != " " && $0 != "," && $0 != ":" }
    guard let function = Function(rawValue: String(word)) else { throw unknown(String(word)) }
    text = text.dropFirst(word.count)
    return function
  }

  /// Words that other programs use.
  private static let otherWords: [String: Function] = [
    "avg": .mean, "average": .mean, "count": .rows, "total": .sum, "minimum": .min,
    "maximum": .max, "least": .min, "greatest": .max, "unique": .distinct, "middle": .median,
    "nulls": .empty, "missing": .empty, "blank": .empty, "p0": .min, "p100": .max,
  ]

  private static func unknown(_ word: String) -> TableError {
    let names = Function.named.map(\.rawValue)
    let hint =
      otherWords[word.lowercased()].map { "; did you mean \($0.rawValue)?" }
      ?? Suggestion.hint(word, among: names)
    let problem = word.isEmpty ? "an aggregate is missing" : "there is no aggregate \(word)"
    return TableError(
      .invalidArgument,
      "\(problem); the aggregates are \(names.joined(separator: ", ")) and p1 to p99\(hint)")
  }
}

extension SectionOrder {
  /// Reads `rows` or `sum COLUMN`, with `:desc` or `:asc` after it or none.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a text that is none.
  public init(_ text: String, _ names: ColumnNames) throws(TableError) {
    var rest = text[...]
    let ends = ["", ":desc", ":asc"]
    let aggregate = try Aggregate.take(from: &rest, names) { rest in
      ends.contains { rest == $0 }
    }
    self.init(aggregate, isDescending: rest == ":desc")
  }
}

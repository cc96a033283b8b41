import Tabella

/// The candidates for option values that name columns.
struct ColumnCandidates {
  private let columns: [Column]
  private let names: ColumnNames

  private let summary: SummaryArguments

  init(_ columns: [Column], summary: SummaryArguments = SummaryArguments()) {
    self.columns = columns
    self.summary = summary
    names = ColumnNames(columns)
  }

  /// The candidates for columns of the result of `summarize`. Their types are not known.
  private var ofResult: ColumnCandidates {
    let groupings = summary.by.flatMap { try? Grouping.list($0, names) } ?? []
    let aggregates = summary.compute.flatMap { try? Aggregate.list($0, names) } ?? [.rows]
    return ColumnCandidates(
      (groupings.map { $0.text(names) } + aggregates.map { $0.name(names) }).map { Column($0) })
  }

  /// Values of a kind that begin with the typed text, with their meaning.
  func values(_ kind: Completion, _ typed: String) -> [(value: String, meaning: String)] {
    switch kind {
    case .columns: list(typed, parse: { try? names.list($0).map(\.column) }, suffixes: { _ in [] })
    case .sortColumns:
      list(
        typed, parse: { try? SortDescriptor.list($0, names).map(\.column) },
        suffixes: { _ in [":desc", ":asc"] })
    case .groupings:
      list(
        typed, parse: { try? Grouping.list($0, names).map(\.column) },
        suffixes: { classes(of: $0) })
    case .filter: conditions(typed)
    case .aggregates: aggregates(typed)
    case .sectionOrder:
      aggregates(typed, isList: false).flatMap { item in
        ["", ":desc"].map { (item.value + $0, $0.isEmpty ? item.meaning : "") }
      }
    case .resultColumns: ofResult.values(.columns, typed)
    case .resultSort: ofResult.values(.sortColumns, typed)
    case .resultFilter: ofResult.values(.filter, typed)
    case .assignment: names.names.indices.map { ("\(names.names[$0])=", meaning(of: $0)) }
    default: alone(typed) { _ in [] }
    }
  }

  /// Candidates for one column, with or without a suffix.
  private func alone(
    _ typed: String, _ suffixes: (Int) -> [String]
  ) -> [(value: String, meaning: String)] {
    items(typed[...], behind: "", without: [], suffixes).filter {
      (try? names.list($0.value, suffixes: suffixes($0.column)))?.map(\.column) == [$0.column]
    }.map { ($0.value, $0.meaning) }
  }

  /// Candidates for the last item of a list of columns, without the columns already in the list.
  private func list(
    _ typed: String, parse: (String) -> [Int]?, suffixes: (Int) -> [String]
  ) -> [(value: String, meaning: String)] {
    // A name may contain commas, so the last item may begin after any of them.
    var rest = typed[...]
    var used: Set<Int> = []
    var found = items(after: typed[..<rest.startIndex], rest, without: used, parse, suffixes)
    while let column = takeItem(from: &rest) {
      used.insert(column)
      found += items(after: typed[..<rest.startIndex], rest, without: used, parse, suffixes)
    }
    return found
  }

  /// Removes a column, its suffix and a comma from the front of a list. Returns the column.
  private func takeItem(from list: inout Substring) -> Int? {
    var rest = list
    let column = names.take(from: &rest) { rest in
      rest.hasPrefix(",") || rest.hasPrefix(":") && rest.contains(",")
    }
    guard let column else { return nil }
    list = rest.drop { $0 != "," }.dropFirst()
    return column
  }

  /// Candidates for the next item of a list. Only those remain that parse as the intended column.
  private func items(
    after start: Substring, _ typed: Substring, without used: Set<Int>,
    _ parse: (String) -> [Int]?, _ suffixes: (Int) -> [String]
  ) -> [(value: String, meaning: String)] {
    items(typed, behind: String(start), without: used, suffixes).filter { item in
      let list = parse(item.value)
      return list?.last == item.column && Set(list ?? []) == used.union([item.column])
    }.map { ($0.value, $0.meaning) }
  }

  /// The columns whose names begin with `typed`. If only one remains, also its suffixes.
  private func items(
    _ typed: Substring, behind start: String, without used: Set<Int>, _ suffixes: (Int) -> [String]
  ) -> [(value: String, column: Int, meaning: String)] {
    var items: [(value: String, column: Int, meaning: String)] = []
    for (column, name) in names.names.enumerated() where !used.contains(column) {
      guard items.count < Candidates.limit else { break }
      if name.hasPrefix(typed) { items.append((start + name, column, meaning(of: column))) }
    }
    var rest = typed
    let whole = names.take(from: &rest) { $0.isEmpty || $0.hasPrefix(":") }
    if let column = items.count == 1 ? items[0].column : whole, !used.contains(column) {
      items += suffixes(column).map { (start + names.names[column] + $0, column, "") }
    }
    return items
  }

  /// Candidates for `COLUMN OP`: columns, and operators if only one column remains or the column is complete.
  private func conditions(_ typed: String) -> [(value: String, meaning: String)] {
    var matching: [Int] = []
    for (column, name) in names.names.enumerated() where name.hasPrefix(typed) {
      matching.append(column)
      if matching.count == Candidates.limit { break }
    }
    var values = matching.map { (value: names.names[$0], meaning: meaning(of: $0)) }
    if matching.count == 1 { values = conditions(matching[0], gap: " ") }
    var rest = typed[...]
    let typedColumn = names.take(from: &rest) { rest in
      rest.drop { $0 == " " }.allSatisfy { "=!<>~".contains($0) }
    }
    if let typedColumn, matching != [typedColumn] {
      let blanks = rest.prefix { $0 == " " }
      values += conditions(typedColumn, gap: rest.isEmpty ? " " : String(blanks))
    }
    return values
  }

  private func conditions(_ column: Int, gap: String) -> [(value: String, meaning: String)] {
    Condition.Comparison.allCases.map { comparison in
      (names.names[column] + gap + comparison.rawValue, comparison.meaning)
    }
  }

  private func meaning(of column: Int) -> String {
    let column = columns[column]
    return column.valueType.name + (column.unit.map { ", \($0.rawValue)" } ?? "")
  }

  /// The classes for grouping by a column.
  private func classes(of column: Int) -> [String] {
    let column = columns[column]
    return Grouping.Class.named.filter { $0.fits(column.type) && $0.fits(column.valueType) }
      .map { ":\($0.name)" }
  }

  /// Candidates for an aggregate, in a list the last one.
  private func aggregates(
    _ typed: String, isList: Bool = true
  ) -> [(value: String, meaning: String)] {
    let end = isList ? typed.lastIndex(of: ",").map { typed.index(after: $0) } : nil
    let item = typed[(end ?? typed.startIndex)...]
    let start = typed[..<(item.firstIndex { $0 != " " } ?? typed.endIndex)]
    let begun = typed[start.endIndex...]
    var found: [(value: String, meaning: String)] = []
    for function in Aggregate.Function.usual {
      let all: [Int?] = function.needsColumn ? names.names.indices.map { $0 } : [nil]
      for column in all where found.count < Candidates.limit {
        let type = column.map { columns[$0].valueType }
        if function.needsNumbers, ![.integer, .real, .text].contains(type) { continue }
        let name = Aggregate(function, ofColumn: column).name(names)
        if name.hasPrefix(begun) {
          found.append((String(start) + name, column.map { meaning(of: $0) } ?? ""))
        }
      }
    }
    return found
  }
}

extension Condition.Comparison {
  fileprivate var meaning: String {
    switch self {
    case .equal: "is"
    case .notEqual: "is not"
    case .less: "is less than"
    case .lessOrEqual: "is at most"
    case .greater: "is more than"
    case .greaterOrEqual: "is at least"
    case .matches: "has the regular expression"
    case .doesNotMatch: "has not the regular expression"
    }
  }
}

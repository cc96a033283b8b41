/// The names of a table's columns, as texts of filters, groupings and orders name them.
///
/// A column's name may contain any character, also those that separate names in such a text. The longest name that
/// fits is meant. Names are compared by bytes, because Swift takes two spellings of one accent as equal.
public struct ColumnNames: Sendable {
  /// The name of each column. Of several columns with one name, the later ones have ` 2`, ` 3` and so on after it.
  public let names: [String]
  /// The columns, in order.
  let columns: [Column]
  /// The columns, the longest names first, and names of one length in the order of their bytes.
  private let byLength: [Int]
  /// The lengths of names, in descending order, and the places in `byLength` of the names with each.
  private let lengths: [(length: Int, places: Range<Int>)]

  /// Names these columns.
  public init(_ columns: [Column]) {
    let names = uniqueNames(columns.map(\.name))
    self.names = names
    self.columns = columns
    let byLength = names.indices.sorted {
      let (a, b) = (names[$0].utf8, names[$1].utf8)
      return a.count == b.count ? a.lexicographicallyPrecedes(b) : a.count > b.count
    }
    self.byLength = byLength
    var lengths: [(length: Int, places: Range<Int>)] = []
    for (place, number) in byLength.enumerated() {
      let length = names[number].utf8.count
      let start = lengths.last.map { $0.length == length ? $0.places.lowerBound : place } ?? place
      if start < place { lengths.removeLast() }
      lengths.append((length, start..<place + 1))
    }
    self.lengths = lengths
  }

  /// Returns the number of the column with this name. Throws ``TableError`` with `.invalidArgument` if there is none.
  public func number(_ name: String) throws(TableError) -> Int {
    guard let number = find(name) else { throw unknown(name) }
    return number
  }

  /// The number of the column that `{NAME}` refers to; nil for any other text. Throws ``TableError`` with
  /// `.invalidArgument` for a name that is almost the one of a column.
  func reference(_ text: ArraySlice<UInt8>) throws(TableError) -> Int? {
    guard text.count > 2, text.first == UInt8(ascii: "{"), text.last == UInt8(ascii: "}") else {
      return nil
    }
    let name = String(decoding: text.dropFirst().dropLast(), as: UTF8.self)
    if let number = try? number(name) { return number }
    guard Suggestion.nearest(to: name, among: names) != nil else { return nil }
    throw unknown(name, remedy: " Put the value into quotes if it is a text")
  }

  /// Reads the columns to show: `A,B,…` in this order, or `!A,!B,…` for all columns but these. Columns on request
  /// (``Column/isOnRequest``) are shown only if the list names them.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for an item that names no column, and if no column remains.
  public func shown(_ text: String) throws(TableError) -> [Int] {
    if let items = try? list(text) { return items.map(\.column) }
    guard text.hasPrefix("!") else {
      if text.utf8.contains(UInt8(ascii: "!")) {
        throw TableError(
          .invalidArgument, "\(text): write ! in front of all names, or of none")
      }
      return try list(text).map(\.column)
    }
    var isHidden = columns.map { _ in false }
    var rest = text[...]
    while true {
      guard rest.popFirst() == "!" else {
        throw TableError(
          .invalidArgument, "\(text): write ! in front of all names, or of none")
      }
      guard let column = take(from: &rest, where: { $0.isEmpty || $0.hasPrefix(",") }) else {
        throw unknown(item: rest.prefix { $0 != "," }, [], [])
      }
      isHidden[column] = true
      guard rest.popFirst() != nil else { break }
    }
    let left = columns.usualNumbers.filter { !isHidden[$0] }
    guard !left.isEmpty else {
      throw TableError(.invalidArgument, "\(text): no column remains")
    }
    return left
  }

  /// The number of the column with this name; nil if there is none.
  ///
  /// - Complexity: O(log n) in the number of columns.
  package func find(_ name: String) -> Int? { find(name.utf8[...]) }

  /// The number of the column whose name has these bytes; nil if there is none.
  package func find(_ name: Substring.UTF8View) -> Int? {
    guard let places = lengths.first(where: { $0.length == name.count })?.places else {
      return nil
    }
    let ordered = byLength[places]
    let place = ordered.partitioningIndex { !names[$0].utf8.lexicographicallyPrecedes(name) }
    return place < places.upperBound && names[ordered[place]].utf8.elementsEqual(name)
      ? ordered[place] : nil
  }

  /// Whether the column has this name.
  func isName(_ name: String, of number: Int) -> Bool {
    var (own, name) = (names[number], name)
    guard own.utf8.count == name.utf8.count else { return false }
    return own.withUTF8 { own in name.withUTF8 { own.elementsEqual($0) } }
  }

  /// Returns the error for a name that no column has. `remedy` is appended to its message.
  public func unknown(_ name: String, remedy: String = "") -> TableError {
    let known =
      names.isEmpty
      ? "the table has no columns yet"
      : "the columns are \(list)\(Suggestion.hint(name, among: names))"
    return TableError(.invalidArgument, "there is no column \(name); \(known)\(remedy)")
  }

  /// The names for a message: 50 of them at most.
  public var list: String {
    let most = 50
    return names.prefix(most).joined(separator: ", ")
      + (names.count > most ? " and \(names.count - most) others" : "")
  }

  /// Returns the error for an item of a list that names no column.
  private func unknown(
    item: Substring, _ suffixes: [String], _ usage: [String]
  ) -> TableError {
    if item.isEmpty { return TableError(.invalidArgument, "the name of a column is missing") }
    var rest = item
    if !suffixes.isEmpty, take(from: &rest, where: { $0.hasPrefix(":") }) != nil {
      return TableError(
        .invalidArgument,
        "\(item): unknown suffix \(rest); use one of \(usage.joined(separator: ", "))")
    }
    let suffix = suffixes.first { item.hasSuffix($0) }
    return unknown(String(item.dropLast(suffix?.count ?? 0)))
  }

  /// Removes the longest column name from the front of a text for which `follows` accepts the rest of the text. Returns
  /// the column's number; nil if no name fits.
  public func take(
    from text: inout Substring, where follows: (Substring) -> Bool
  ) -> Int? {
    let count = text.utf8.count
    for (length, _) in lengths where length <= count {
      let end = text.utf8.index(text.startIndex, offsetBy: length)
      guard let number = find(text.utf8[..<end]) else { continue }
      let rest = text[end...]
      if follows(rest) {
        text = rest
        return number
      }
    }
    return nil
  }

  /// Reads a list `A,B,…`. Each item is a column's name, with one of `suffixes` after it or none. `usage` names the
  /// suffixes in messages.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for an item that names no column.
  public func list(
    _ text: String, suffixes: [String] = [], usage: [String]? = nil
  ) throws(TableError) -> [(column: Int, suffix: String?)] {
    var items: [(column: Int, suffix: String?)] = []
    var rest = text[...]
    while true {
      let column = take(from: &rest) { rest in
        let ends = [""] + suffixes
        return ends.contains { rest == $0 || rest.hasPrefix($0 + ",") }
      }
      guard let column else {
        throw unknown(item: rest.prefix { $0 != "," }, suffixes, usage ?? suffixes)
      }
      let suffix = suffixes.first { rest == $0 || rest.hasPrefix($0 + ",") }
      rest = rest.dropFirst(suffix?.count ?? 0)
      items.append((column, suffix))
      guard rest.popFirst() != nil else { return items }
    }
  }
}

/// Returns the names with a number after each repeated one: the first keeps its name, the others get ` 2`, ` 3` and so on.
///
/// A name that a column has of its own is never given to another column: of `a`, `a`, `a 2` the second becomes `a 3`.
///
/// Two spellings of one accent count as one name, because a dictionary of Swift takes them as one.
public func uniqueNames(_ names: [String]) -> [String] { uniqueNames(names) { $0 } }

/// A text that equals that of another name only if both names have the same bytes.
///
/// Swift takes two spellings of one accent as equal, but no two texts of characters up to U+00FF.
package func bytewise(_ name: String) -> String {
  if name.utf8.allSatisfy({ $0 < 0x80 }) { return name }
  var text = ""
  for byte in name.utf8 { text.unicodeScalars.append(Unicode.Scalar(byte)) }
  return text
}

extension [Column] {
  /// The columns with the names of ``ColumnNames``, for messages that must tell them apart.
  package var withUniqueNames: [Column] {
    zip(self, uniqueNames(map(\.name))).map { column, name in
      var column = column
      column.name = name
      return column
    }
  }
}

/// Returns the names with a number after each one whose folded form is repeated; see ``uniqueNames(_:)``.
package func uniqueNames<Folded: Hashable>(
  _ names: [String], folded: (String) -> Folded
) -> [String] {
  var taken = Set(names.map(folded))
  guard taken.count < names.count else { return names }
  var seen: Set<Folded> = []
  var next: [Folded: Int] = [:]
  return names.map { name in
    let key = folded(name)
    if seen.insert(key).inserted { return name }
    var number = next[key, default: 2]
    while !taken.insert(folded("\(name) \(number)")).inserted { number += 1 }
    next[key] = number + 1
    return "\(name) \(number)"
  }
}

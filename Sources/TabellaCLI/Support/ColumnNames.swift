import Tabella

/// The names by which the command line knows the columns of a table.
///
/// A name may hold anything, also what separates names on the command line: the longest one that fits
/// is meant.
struct ColumnNames {
  /// A repeated name has ` 2`, ` 3` behind it.
  let names: [String]
  private let byLength: [Int]

  init(_ columns: [Column]) {
    let names = uniqueNames(columns.map(\.name))
    self.names = names
    byLength = names.indices.sorted { names[$0].utf8.count > names[$1].utf8.count }
  }

  /// The number of the column with this name.
  func number(_ name: String) throws(Failure) -> Int {
    // By bytes: to Swift two spellings of one accent are equal.
    guard let number = names.firstIndex(where: { $0.utf8.elementsEqual(name.utf8) }) else {
      throw unknown(name)
    }
    return number
  }

  /// The failure for a name that no column has; `remedy` says what to do.
  func unknown(_ name: String, remedy: String = "") -> Failure {
    let known =
      names.isEmpty
      ? "the table has none" : "there are \(list)\(Suggestion.hint(name, among: names))"
    return .usage("there is no column \(name); \(known)\(remedy)")
  }

  /// The names, or as many as one wants to read.
  var list: String {
    let most = 50
    return names.prefix(most).joined(separator: ", ")
      + (names.count > most ? " and \(names.count - most) others" : "")
  }

  /// What is wrong with an item of a list.
  private func unknown(item: Substring, _ suffixes: [String]) -> Failure {
    if item.isEmpty { return .usage("the name of a column is missing") }
    var rest = item
    if !suffixes.isEmpty, take(from: &rest, where: { $0.hasPrefix(":") }) != nil {
      return .usage(
        "\(item): there is no \(rest); there are \(suffixes.joined(separator: ", "))")
    }
    let suffix = suffixes.first { item.hasSuffix($0) }
    return unknown(String(item.dropLast(suffix?.count ?? 0)))
  }

  /// Takes a column's name off the front of a text, if `follows` accepts what is left of it.
  func take(
    from text: inout Substring, where follows: (Substring) -> Bool
  ) -> Int? {
    for number in byLength where text.utf8.starts(with: names[number].utf8) {
      let end = text.utf8.index(text.startIndex, offsetBy: names[number].utf8.count)
      let rest = text[end...]
      if follows(rest) {
        text = rest
        return number
      }
    }
    return nil
  }

  /// The items of a list `A,B,…`, each a column's name and one of `suffixes` or nothing.
  func list(
    _ text: String, suffixes: [String] = []
  ) throws(Failure) -> [(column: Int, suffix: String?)] {
    var items: [(column: Int, suffix: String?)] = []
    var rest = text[...]
    while true {
      let column = take(from: &rest) { rest in
        let ends = [""] + suffixes
        return ends.contains { rest == $0 || rest.hasPrefix($0 + ",") }
      }
      guard let column else { throw unknown(item: rest.prefix { $0 != "," }, suffixes) }
      let suffix = suffixes.first { rest.hasPrefix($0) }
      rest = rest.dropFirst(suffix?.count ?? 0)
      items.append((column, suffix))
      guard rest.popFirst() != nil else { return items }
    }
  }
}

/// Names made unique: the first of several alike keeps its name, the others get ` 2`, ` 3` and so on behind
/// it. A name that a column has of its own is never given to another one: of `a`, `a`, `a 2` the second is
/// `a 3`.
func uniqueNames(_ names: [String]) -> [String] {
  var taken = Set(names)
  guard taken.count < names.count else { return names }
  var seen: Set<String> = []
  var next: [String: Int] = [:]
  return names.map { name in
    if seen.insert(name).inserted { return name }
    var number = next[name, default: 2]
    while !taken.insert("\(name) \(number)").inserted { number += 1 }
    next[name] = number + 1
    return "\(name) \(number)"
  }
}

import Tabella

/// The name of a section on a command line: `3`, `Berlin`, or `title:3` if the title is a number.
enum SectionArgument: Hashable {
  /// Its number, from 0.
  case number(Int)
  case title(String)

  init(_ text: String) {
    if let number = TableNumber.read(text, upTo: TableLimits.sections) {
      self = .number(number)
    } else {
      self = .title(text.hasPrefix(Self.mark) ? String(text.dropFirst(Self.mark.count)) : text)
    }
  }

  private static let mark = "title:"

  /// The name of the section, as all commands read it.
  var text: String {
    switch self {
    case .number(let number): "\(number)"
    case .title(let title): SectionArgument.text(ofTitle: title)
    }
  }

  /// The name of the section with this title, as all commands read it.
  static func text(ofTitle title: String) -> String {
    // Text that begins with `id:` names a row by its id.
    let isPlain =
      TableNumber.read(title) == nil && !title.hasPrefix(mark) && !["id", "title"].contains(title)
      && !title.hasPrefix("id:")
    return isPlain ? title : mark + title
  }
}

extension TableDataSource {
  /// The number of the section that an argument names.
  ///
  /// Throws `.notFound` if there is no such section, and `.invalidArgument` if several sections have the title.
  /// - Complexity: O(n) in the number of sections for a title.
  func number(of section: SectionArgument) throws(TableError) -> Int {
    switch section {
    case .number(let number):
      let count = try numberOfSections(knowing: number + 1).value
      guard count > number else {
        throw TableError(
          .notFound,
          "there is no section \(number), counted from 0; the table has \(count) section\(count == 1 ? "" : "s"). Use title:\(number) for a title"
        )
      }
      return number
    case .title(let title): return try number(ofTitle: title)
    }
  }

  /// The sections with each title, as ``bytewise(_:)`` gives it.
  func sectionsByTitle() throws(TableError) -> [String: [Int]] {
    var found: [String: [Int]] = [:]
    var section = 0
    while try numberOfSections(knowing: section + 1).value > section {
      if let title = try sections?.title(.header, ofSection: section) {
        found[bytewise(title), default: []].append(section)
      }
      section += 1
    }
    return found
  }

  private func number(ofTitle title: String) throws(TableError) -> Int {
    var (found, others): ([Int], [String]) = ([], [])
    var untitled: Int?
    var section = 0
    while try numberOfSections(knowing: section + 1).value > section {
      let other = try sections?.title(.header, ofSection: section)
      // Compares bytes, because in Swift two encodings of one accent are equal.
      if other?.utf8.elementsEqual(title.utf8) == true { found.append(section) }
      if let other, others.count < 50 { others.append(other) }
      if other == nil, untitled == nil { untitled = section }
      section += 1
    }
    if found.count == 1 { return found[0] }
    if found.count > 1 {
      let numbers = found.prefix(50).map { "\($0)" }.joined(separator: ", ")
      throw TableError(
        .invalidArgument,
        "\(found.count) sections have the title \(title); name one by its number: \(numbers)\(found.count > 50 ? ", …" : "")"
      )
    }
    throw TableError(
      .notFound,
      others.isEmpty
        ? "there is no section with the title \(title); the sections have no titles"
        : "there is no section with the title \(title); the titles are \(others.joined(separator: ", "))"
          + (section > others.count + (untitled == nil ? 0 : 1) ? ", and others" : "")
          + (untitled.map { "; section \($0) has no title" } ?? "")
    )
  }
}

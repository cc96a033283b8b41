import Tabella

/// The name of a row, of several rows, of a section or of a position, on a command line or in a batch.
///
/// The last colon separates section and row. Positions count from 0 in the table that the options of the command
/// show.
enum RowArgument: Hashable {
  /// `SECTION:ROW`, or `ROW` alone: in the first section.
  case place(section: SectionArgument?, row: Int)
  /// `SECTION:A..B`, or `A..B` alone; both ends are included.
  case rows(section: SectionArgument?, ClosedRange<Int>)
  /// `SECTION:end`, or `end` alone: the position after the last row.
  case end(section: SectionArgument?)
  /// `SECTION:`, the section itself.
  case section(SectionArgument)
  /// `id:ID`.
  case id(String)

  /// Nil if the text has none of these forms.
  init?(_ text: String) {
    if text.hasPrefix("id:") {
      self = .id(String(text.dropFirst(3)))
      return
    }
    // Compares bytes, because a colon with a combining mark after it is another character in Swift.
    let colon = text.utf8.lastIndex(of: UInt8(ascii: ":"))
    let section = colon.map { SectionArgument(String(text[..<$0])) }
    let row = colon.map { text[text.utf8.index(after: $0)...] } ?? text[...]
    // `title:3` names a section. A row of a section with this title is `title:title:3`.
    if colon == text.utf8.startIndex || text[..<(colon ?? text.startIndex)] == "title" {
      return nil
    }
    if let section, row.isEmpty {
      self = .section(section)
    } else if row == "end" {
      self = .end(section: section)
    } else if let number = TableNumber.read(row) {
      self = .place(section: section, row: number)
    } else if let rows = RowArgument.range(row) {
      self = .rows(section: section, rows)
    } else {
      return nil
    }
  }

  /// `A..B`.
  private static func range(_ text: Substring) -> ClosedRange<Int>? {
    let ends = text.split(separator: ".", omittingEmptySubsequences: false)
    guard ends.count == 3, ends[1].isEmpty, let first = TableNumber.read(ends[0]),
      let last = TableNumber.read(ends[2]), first <= last
    else { return nil }
    return first...last
  }

  /// The kinds of name that an operand of a command can be.
  enum Use {
    /// Existing rows, or sections.
    case existing
    /// One existing row, or one section.
    case one
    /// A target for a row or a section.
    case place

    fileprivate var notation: String {
      switch self {
      case .existing:
        "ROW, SECTION:ROW, title:T:ROW, A..B, id:ID, or SECTION: for a section"
      case .one: "ROW, SECTION:ROW, title:T:ROW, id:ID, or SECTION: for a section"
      case .place: "ROW, SECTION:ROW, end, SECTION:end, id:ID, or SECTION: for a section"
      }
    }
  }

  /// Parses a word of a command or a batch. The error describes the forms of names, without a reference to the
  /// help.
  init(reading text: String, as use: Use) throws(Failure) {
    guard let row = RowArgument(text) else {
      if text.hasPrefix(":") {
        throw .usage(
          "\"\(text)\" has no section in front of the colon. For the section with an empty title use title:\(text)"
        )
      }
      throw .usage("\"\(text)\" is not a row name. Use \(use.notation)")
    }
    switch (row, use) {
    case (.end, .existing), (.end, .one), (.rows, .one), (.rows, .place):
      throw .usage("\"\(text)\" does not name one row. Use \(use.notation)")
    default: self = row
    }
  }

  /// Parses the argument of a command.
  init(_ argument: Argument, command: String, as use: Use) throws(Failure) {
    // Ids and titles are UTF-8. Replaced bytes could result in another id or title.
    guard argument.text.utf8.elementsEqual(argument.bytes) else {
      throw .usage("\(argument.text) is not UTF-8, so it cannot name a row", command: command)
    }
    do throws(Failure) {
      try self.init(reading: argument.text, as: use)
    } catch {
      throw error.about(command: command)
    }
  }

  /// The section in the name, if there is one.
  var section: SectionArgument? {
    switch self {
    case .place(let section, _), .rows(let section, _), .end(let section): section
    case .section(let section): section
    case .id: nil
    }
  }

  var isSection: Bool {
    if case .section = self { true } else { false }
  }
}

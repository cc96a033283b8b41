import Tabella

/// A row, some rows, a section or a place for one, as a command line or a batch names it.
///
/// The last colon separates section and row. Positions count from 0 in the table that the command's options
/// show.
enum RowArgument: Hashable {
  /// `SECTION:ROW`, or `ROW` alone: in the first section.
  case place(section: SectionArgument?, row: Int)
  /// `SECTION:A..B`, or `A..B` alone; both ends are included.
  case rows(section: SectionArgument?, ClosedRange<Int>)
  /// `SECTION:end`, or `end` alone: behind the last row.
  case end(section: SectionArgument?)
  /// `SECTION:`, the section itself.
  case section(SectionArgument)
  /// `id:ID`.
  case id(String)

  /// Nil if the text names none of these.
  init?(_ text: String) {
    if text.hasPrefix("id:") {
      self = .id(String(text.dropFirst(3)))
      return
    }
    // By bytes: a colon with a combining mark behind it is another character.
    let colon = text.utf8.lastIndex(of: UInt8(ascii: ":"))
    let section = colon.map { SectionArgument(String(text[..<$0])) }
    let row = colon.map { text[text.utf8.index(after: $0)...] } ?? text[...]
    // `title:3` is a section's name; a row of a section titled so is `title:title:3`.
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

  /// The kinds of argument that a command takes at one place.
  enum Use {
    /// Rows that are there, or sections.
    case existing
    /// One row that is there, or one section.
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

  /// Reads a word of a command or a batch. Throws how rows are written, without a place for a hint to the
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

  /// Reads the argument of a command.
  init(_ argument: Argument, command: String, as use: Use) throws(Failure) {
    // No id or title has other bytes, and a repaired one might be another's.
    guard argument.text.utf8.elementsEqual(argument.bytes) else {
      throw .usage("\(argument.text) is not UTF-8, so it cannot name a row", command: command)
    }
    do throws(Failure) {
      try self.init(reading: argument.text, as: use)
    } catch {
      throw error.about(command: command)
    }
  }

  /// The section that it names, if it names one.
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

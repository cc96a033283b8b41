import Tabella

/// The lines of a buffer after the user has edited it.
struct EditedLines {
  /// A row: the index of an existing row, or nil for a new one.
  struct Row {
    let row: Int?
    let cells: ArraySlice<UInt8>
    /// Whether cells follow the number of a row.
    let hasCells: Bool
    let line: Int
  }

  /// A section: the index of an existing section, or nil for a new one.
  struct Section {
    let section: Int?
    let title: ArraySlice<UInt8>
    let line: Int
    var rows: [Row] = []
  }

  private(set) var sections: [Section] = []

  /// Reads lines. Throws an error with the number of the wrong line.
  init(_ text: [UInt8], of buffer: RowBuffer) throws(TableError) {
    var seenRows: [Int: Int] = [:]
    var seenSections: [Int: Int] = [:]
    if !buffer.hasSectionLines { sections.append(Section(section: 0, title: [], line: 0)) }
    var number = 0
    let text = text.starts(with: [0xEF, 0xBB, 0xBF]) ? text[3...] : text[...]
    for line in text.split(separator: 10, omittingEmptySubsequences: false) {
      number += 1
      // Some editors end lines with CR LF. A CR of a cell is escaped.
      let line = line.last == 13 ? line.dropLast() : line
      if line.first == UInt8(ascii: "#") || line.allSatisfy({ $0 == 32 }) { continue }
      let name = line.prefix { $0 != 9 }
      let hasCells = name.endIndex < line.endIndex
      let cells = hasCells ? line[(name.endIndex + 1)...] : line[line.endIndex...]
      if let section = try Self.section(name, number, buffer) {
        if let section, let other = seenSections.updateValue(number, forKey: section) {
          throw .line(number, "section [\(section)] is in line \(other), too")
        }
        sections.append(Section(section: section, title: cells, line: number))
        continue
      }
      let row = try Self.row(name, number, buffer)
      if let row, let other = seenRows.updateValue(number, forKey: row) {
        throw .line(
          number, "row \(row + 1) is in line \(other), too; a new row begins with + and a tab")
      }
      guard !sections.isEmpty else {
        throw .line(number, "the row is in front of the line of the first section")
      }
      sections[sections.count - 1].rows.append(
        Row(row: row, cells: cells, hasCells: hasCells, line: number))
    }
  }

  /// The section that a line names; nil if it does not name a section, and `.some(nil)` for a new section.
  private static func section(
    _ name: ArraySlice<UInt8>, _ line: Int, _ buffer: RowBuffer
  ) throws(TableError) -> Int?? {
    guard buffer.hasSectionLines, name.first == UInt8(ascii: "["), name.last == UInt8(ascii: "]")
    else { return nil }
    let text = String(decoding: name.dropFirst().dropLast(), as: UTF8.self)
    if text == "+" || text.isEmpty { return .some(nil) }
    guard let number = TableNumber.read(text), buffer.sections.indices.contains(number) else {
      throw .line(line, "there was no section [\(text)]; a new section begins with [+] and a tab")
    }
    return number
  }

  private static func row(
    _ name: ArraySlice<UInt8>, _ line: Int, _ buffer: RowBuffer
  ) throws(TableError) -> Int? {
    let text = String(decoding: name.drop { $0 == 32 }, as: UTF8.self)
    if text.isEmpty || text == "+" { return nil }
    guard let number = TableNumber.read(text) else {
      throw .line(
        line,
        "\"\(text.prefix(40))\" is not the number of a row; a line is NUMBER, a tab and cells, or + for a new row"
      )
    }
    guard 1...max(1, buffer.rows.count) ~= number, !buffer.rows.isEmpty else {
      throw .line(
        line, "there was no row \(number); a new row begins with + and a tab")
    }
    return number - 1
  }
}

extension TableError {
  /// An error in a line of a buffer.
  static func line(_ number: Int, _ message: String) -> TableError {
    TableError(.invalidArgument, "line \(number): \(message)")
  }
}

/// The bytes of a cell with the escapes of the format `plain`; nil if an escape is unknown. `\N` is not read here.
func unescapedCell(_ text: ArraySlice<UInt8>) -> [UInt8]? {
  guard text.contains(UInt8(ascii: "\\")) else { return Array(text) }
  var bytes: [UInt8] = []
  var rest = text
  while let byte = rest.popFirst() {
    guard byte == UInt8(ascii: "\\") else {
      bytes.append(byte)
      continue
    }
    switch rest.popFirst() {
    case UInt8(ascii: "t"): bytes.append(9)
    case UInt8(ascii: "n"): bytes.append(10)
    case UInt8(ascii: "r"): bytes.append(13)
    case UInt8(ascii: "\\"): bytes.append(UInt8(ascii: "\\"))
    case UInt8(ascii: "x"):
      let digits = String(decoding: rest.prefix(2), as: UTF8.self)
      guard digits.utf8.count == 2, digits.utf8.allSatisfy({ $0 != UInt8(ascii: "+") }),
        let value = UInt8(digits, radix: 16)
      else { return nil }
      bytes.append(value)
      rest = rest.dropFirst(2)
    default: return nil
    }
  }
  return bytes
}

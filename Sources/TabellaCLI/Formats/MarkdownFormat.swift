import Tabella
import TabellaTerminal

/// Tables in GitHub Flavored Markdown (section 4.10), one per section, written as the rows arrive. Markup characters of
/// Markdown and HTML are escaped, so that cells render as they are.
struct MarkdownFormat: Format {
  private let output: Output
  private let cells: ReadableCells
  private var table: ShownTable?
  private var hasSection = false

  init(_ output: Output) {
    self.output = output
    cells = ReadableCells(output.screen, limit: nil, expandsTabs: false)
  }

  mutating func begin(_ table: ShownTable) { self.table = table }

  mutating func beginSection(_ section: ShownSection) throws(Failure) {
    guard let table else { return }
    if hasSection { try output.write("\n") }
    hasSection = true
    if let title = section.header { try output.write("## \(Self.escaped(SafeText(title)))\n\n") }
    guard !table.columns.isEmpty else { return }
    // A Markdown table needs a header; without one, its cells are empty.
    try write(table.columns.map { table.hasHeader ? SafeText($0.name) : SafeText() })
    let rules = table.columns.map { column -> SafeText in
      ReadableCells.isRight(column) ? "---:" : "---"
    }
    try output.write("| \(SafeText.joined(rules, separator: " | ")) |\n")
  }

  mutating func write(_ rows: ShownRows) throws(Failure) {
    guard let table else { return }
    for row in 0..<rows.batch.rowCount {
      try write(
        zip(rows.batch.columns, table.columns).map { batch, column in
          batch.isMissing(row) ? SafeText() : cells.text(batch, column, row)
        })
    }
  }

  private func write(_ texts: [SafeText]) throws(Failure) {
    let line = SafeText.joined(texts.map { Self.escaped($0) }, separator: " | ")
    try output.write("| \(line) |\n")
  }

  mutating func endSection(_ section: ShownSection) throws(Failure) {
    for footer in [section.footer, section.aggregates] {
      if let footer { try write(paragraph: footer) }
    }
  }

  mutating func end(failure: Failure?) throws(Failure) {
    if failure == nil, let total = table?.footers?.total { try write(paragraph: total) }
  }

  private func write(paragraph text: String) throws(Failure) {
    try output.write("\n\(Self.escaped(SafeText(text), isParagraph: true))\n")
  }

  /// The text with a backslash in front of markup. CommonMark 2.4 allows that for all ASCII punctuation.
  private static func escaped(_ text: SafeText, isParagraph: Bool = false) -> SafeText {
    let markup = isParagraph ? self.markup.union(paragraphMarkup) : self.markup
    guard text.string.utf8.contains(where: { markup.contains($0) }) else { return text }
    var escaped: [UInt8] = []
    for byte in text.string.utf8 {
      if markup.contains(byte) { escaped.append(UInt8(ascii: "\\")) }
      escaped.append(byte)
    }
    return SafeText(String(decoding: escaped, as: UTF8.self))
  }

  private static let markup = Set("\\`*_{}[]<>#|~&!".utf8)
  /// Characters that could begin a list or underline a heading.
  private static let paragraphMarkup = Set("+-=.)".utf8)
}

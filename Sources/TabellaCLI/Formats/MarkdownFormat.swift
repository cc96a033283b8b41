import Tabella
import TabellaTerminal

/// Tables in GitHub Flavored Markdown (section 4.10), one per section, written as the rows arrive. Markup characters of
/// Markdown and HTML are escaped, so that cells render as they are.
struct MarkdownFormat: Format {
  private var output: Output
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
    if let title = section.header { try output.write("## \(escaped(SafeText(title)))\n\n") }
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
    var text: [UInt8] = []
    for row in 0..<rows.batch.rowCount {
      text.append(UInt8(ascii: "|"))
      if table.columns.isEmpty { text += [32, 32] }
      for (batch, column) in zip(rows.batch.columns, table.columns) {
        text.append(32)
        append(batch, column, row, to: &text)
        text += [32, UInt8(ascii: "|")]
      }
      if table.columns.isEmpty { text.append(UInt8(ascii: "|")) }
      text.append(10)
      // A large batch is written in several parts.
      if text.count >= 1 << 16 {
        try output.write(safe: text)
        text.removeAll(keepingCapacity: true)
      }
    }
    try output.write(safe: text)
  }

  private func append(_ batch: ColumnBatch, _ column: Column, _ row: Int, to text: inout [UInt8]) {
    if batch.isMissing(row) { return }
    let isPlain =
      batch.type == .text && column.unit == nil
      && batch.withBytes(at: row) { bytes in
        guard SafeText.isPlain(bytes) else { return false }
        append(bytes, escaping: markup, to: &text)
        return true
      }
    if !isPlain { text += escaped(cells.text(batch, column, row)).string.utf8 }
  }

  /// Appends text with a backslash in front of markup. CommonMark 2.4 allows that for all ASCII punctuation.
  private func append(
    _ bytes: UnsafeRawBufferPointer, escaping markup: ASCIISet, to text: inout [UInt8]
  ) {
    var start = 0
    func escape(_ index: Int) {
      text.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start..<index]))
      text.append(UInt8(ascii: "\\"))
      start = index
    }
    if bytes.contains(where: { markup.contains($0) }) {
      for (index, byte) in bytes.enumerated()
      where markup.contains(byte) || isInLink(index, of: bytes) {
        escape(index)
      }
    }
    text.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[start...]))
  }

  /// Whether a backslash in front of a byte prevents that a reader takes the text around it as a link. Within a link
  /// without brackets (GFM 6.9), backslashes are no markup and would be shown.
  private func isInLink(_ index: Int, of bytes: UnsafeRawBufferPointer) -> Bool {
    func follows(_ text: StaticString, at start: Int) -> Bool {
      start >= 0 && start + text.utf8CodeUnitCount <= bytes.count
        && (0..<text.utf8CodeUnitCount).allSatisfy {
          bytes[start + $0] | 0x20 == text.utf8Start[$0] | 0x20
        }
    }
    return switch bytes[index] {
    case UInt8(ascii: ":"): follows("://", at: index)
    case UInt8(ascii: "."): follows("www.", at: index - 3)
    default: false
    }
  }

  func writer(to output: Output) -> (any Format)? {
    var copy = self
    copy.output = output
    return copy
  }

  private func write(_ texts: [SafeText]) throws(Failure) {
    let line = SafeText.joined(texts.map { escaped($0) }, separator: " | ")
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
    try output.write("\n\(escaped(SafeText(text), isParagraph: true))\n")
  }

  /// The text with a backslash in front of markup.
  private func escaped(_ text: SafeText, isParagraph: Bool = false) -> SafeText {
    var escaped: [UInt8] = []
    var string = text.string
    string.withUTF8 {
      append(
        UnsafeRawBufferPointer($0), escaping: isParagraph ? paragraphMarkup : markup, to: &escaped)
    }
    return SafeText(String(decoding: escaped, as: UTF8.self))
  }

  private let markup = ASCIISet("\\`*_{}[]<>#|~&!")
  /// The markup, and the characters that could begin a list or underline a heading.
  private let paragraphMarkup = ASCIISet("\\`*_{}[]<>#|~&!+-=.)")
}

/// A set of characters of ASCII.
private struct ASCIISet {
  /// A bit for each character.
  private var (low, high): (UInt64, UInt64) = (0, 0)

  init(_ characters: String) {
    for byte in characters.utf8 {
      if byte < 64 { low |= 1 << byte } else { high |= 1 << (byte - 64) }
    }
  }

  @inline(__always)
  func contains(_ byte: UInt8) -> Bool {
    byte < 128 && (byte < 64 ? low : high) >> (byte & 63) & 1 != 0
  }
}

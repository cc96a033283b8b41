import TabellaTerminal

extension Page {
  /// The page as text for a terminal.
  func text(width: Int) -> String {
    let names = blocks.flatMap { block -> [Int] in
      guard case .terms(let terms) = block else { return [] }
      return terms.map { displayWidth(of: $0.name) }
    }
    // All lists of a page have their meanings in one column.
    let column = names.filter { $0 <= Page.longestName }.max() ?? Page.longestName
    var text = ""
    for (number, block) in blocks.enumerated() {
      if number > 0, !isAdjacent(number) { text += "\n" }
      text += Page.text(of: block, width: width, column: column)
    }
    return text
  }

  /// The maximum width of a name in the column of names.
  private static let longestName = 24

  /// Whether no blank line separates a block from the one in front of it: below a heading, and between two lists with
  /// headings.
  private func isAdjacent(_ number: Int) -> Bool {
    switch (blocks[number - 1], blocks[number]) {
    case (.heading, _): true
    case (.terms, .heading):
      switch number + 1 < blocks.count ? blocks[number + 1] : nil {
      case .terms, .examples: true
      default: false
      }
    default: false
    }
  }

  private static func text(of block: Block, width: Int, column: Int) -> String {
    switch block {
    case .heading(let title): "\(title):\n"
    case .usage(let lines):
      lines.enumerated().map { number, line in
        filled("\(number == 0 ? "Usage:" : "      ") \(line)", width: width, indent: 7 + 8)
      }.joined()
    case .paragraph(let text): filled(text, width: width)
    case .verbatim(let lines): lines.map { "  \($0)\n" }.joined()
    case .terms(let terms): Page.text(of: terms, width: width, column: column)
    case .examples(let terms):
      examples(terms, width: width)
    }
  }

  /// Command lines with their meanings behind them, as comments of a shell. A meaning that does not fit there has its
  /// own line.
  private static func examples(_ terms: [Term], width: Int) -> String {
    func fits(_ term: Term, _ column: Int) -> Bool {
      max(column, displayWidth(of: term.name)) + displayWidth(of: term.meaning) + 6 <= width
    }
    let column =
      terms.filter { fits($0, 0) }.map { displayWidth(of: $0.name) }.max() ?? 0
    return terms.map { term in
      guard fits(term, 0) else {
        return "  \(term.name)\n" + filled("      \(term.meaning)", width: width, indent: 6)
      }
      let gap = fits(term, column) ? column - displayWidth(of: term.name) : 0
      return "  \(term.name)\(blanks(gap))  # \(term.meaning)\n"
    }.joined()
  }

  /// Names in one column and meanings in another. A name that is too long has its own line, unless its meaning fits
  /// behind it.
  private static func text(of terms: [Term], width: Int, column: Int) -> String {
    terms.map { term in
      let indent = column + 4
      let gap = max(0, column - displayWidth(of: term.name)) + 2
      let line = "  \(term.name)\(blanks(gap))\(term.meaning)"
      if displayWidth(of: term.name) > column, displayWidth(of: line) > width {
        return "  \(term.name)\n"
          + filled(blanks(indent) + term.meaning, width: width, indent: indent)
      }
      return filled(line, width: width, indent: indent)
    }.joined()
  }
}

/// Fills lines up to `width` columns if the words allow it. Lines after the first are indented. Blanks at the start and
/// between words stay, except at line ends.
func filled(_ text: String, width: Int, indent: Int = 0) -> String {
  var lines = ""
  var line = text.prefix { $0 == " " }
  var used = line.count
  var gap = 0
  for word in text.dropFirst(used).split(separator: " ", omittingEmptySubsequences: false) {
    let size = displayWidth(of: String(word))
    if gap > 0, size > 0, used + gap + size > width, used > indent {
      lines += line + "\n"
      line = blanks(indent) + word
      used = indent + size
      gap = 1
    } else if size == 0, gap > 0 {
      gap += 1
    } else {
      line += blanks(gap) + word
      used += gap + size
      gap = 1
    }
  }
  return lines + line + "\n"
}

private func blanks(_ count: Int) -> Substring { Substring(String(repeating: " ", count: count)) }

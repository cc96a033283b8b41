import TabellaTerminal

extension Page {
  /// The page as text for a terminal.
  func text(width: Int) -> String {
    var text = ""
    for block in blocks {
      let next = Page.text(of: block, width: width)
      // No blank line between a heading and its block.
      let isBelow = text.hasSuffix(":\n") && next.hasPrefix("  ")
      if !text.isEmpty, !isBelow { text += "\n" }
      text += next
    }
    return text
  }

  private static func text(of block: Block, width: Int) -> String {
    switch block {
    case .heading(let title): "\(title):\n"
    case .usage(let line): filled("Usage: \(line)", width: width, indent: 7 + 8)
    case .paragraph(let text): filled(text, width: width)
    case .verbatim(let lines): lines.map { "  \($0)\n" }.joined()
    case .terms(let terms): Page.text(of: terms, width: width)
    case .examples(let terms):
      terms.map { "  \($0.name)\n" + filled("      \($0.meaning)", width: width, indent: 6) }
        .joined()
    }
  }

  /// Names in one column and meanings in another. A name that is too long has its own line.
  private static func text(of terms: [Term], width: Int) -> String {
    let most = 24
    let widths = terms.map { displayWidth(of: $0.name) }
    let column = widths.filter { $0 <= most }.max() ?? most
    return zip(terms, widths).map { term, width0 in
      let indent = column + 4
      if width0 > column {
        return "  \(term.name)\n"
          + filled(blanks(indent) + term.meaning, width: width, indent: indent)
      }
      return filled(
        "  \(term.name)\(blanks(column - width0 + 2))\(term.meaning)", width: width,
        indent: indent)
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

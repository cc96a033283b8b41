extension Page {
  /// The page as Markdown, with headings of the given level.
  func markdown(level: Int) -> String {
    blocks.map { Page.markdown(of: $0, level) }.joined(separator: "\n")
  }

  private static let width = 110

  private static func markdown(of block: Block, _ level: Int) -> String {
    switch block {
    case .heading(let title):
      return "\(String(repeating: "#", count: level)) \(markdownText(title))\n"
    case .usage(let lines): return "```text\n\(lines.joined(separator: "\n"))\n```\n"
    case .paragraph(let text): return filled(markdownText(text), width: width)
    case .verbatim(let lines): return "```text\n\(lines.joined(separator: "\n"))\n```\n"
    case .terms(let terms):
      return terms.map {
        filled("- `\($0.name)`: \(markdownText($0.meaning))", width: width, indent: 2)
      }.joined()
    case .examples(let terms):
      let lines = terms.map { "# \($0.meaning)\n\($0.name)" }
      return "```sh\n\(lines.joined(separator: "\n"))\n```\n"
    }
  }
}

/// Escapes the markup characters of Markdown, except for backticks and the text between them.
func markdownText(_ text: String) -> String {
  var result = ""
  var isCode = false
  for character in text {
    if character == "`" { isCode.toggle() }
    if !isCode, "\\*_<>[]~#".contains(character) { result += "\\" }
    result.append(character)
  }
  return result
}

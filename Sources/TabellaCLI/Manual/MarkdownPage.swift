extension Page {
  /// The page as Markdown, its headings at a level.
  func markdown(level: Int) -> String {
    blocks.map { Page.markdown(of: $0, level) }.joined(separator: "\n")
  }

  private static let width = 110

  private static func markdown(of block: Block, _ level: Int) -> String {
    switch block {
    case .heading(let title):
      return "\(String(repeating: "#", count: level)) \(markdownText(title))\n"
    case .usage(let line): return "```text\n\(line)\n```\n"
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

/// Text with what Markdown would take for marks escaped, but for backticks and what they enclose.
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

extension Page {
  /// The page in roff with the macros of man(7). Headings are bold lines.
  var roff: String { blocks.map { Page.roff(of: $0) }.joined() }

  private static func roff(of block: Block) -> String {
    switch block {
    case .heading(let title): ".PP\n\(roffLine("\\fB\(roffText(title))\\fR"))"
    case .usage(let lines):
      lines.map { ".PP\n\(roffLine("\\fB\(roffText($0))\\fR"))" }.joined()
    case .paragraph(let text): ".PP\n\(roffLine(roffMarked(text)))"
    case .verbatim(let lines):
      ".PP\n.RS 4\n.nf\n\(lines.map { roffLine(roffText($0)) }.joined()).fi\n.RE\n"
    case .terms(let terms), .examples(let terms):
      terms.map {
        ".TP\n\(roffLine("\\fB\(roffText($0.name))\\fR"))\(roffLine(roffMarked($0.meaning)))"
      }.joined()
    }
  }
}

/// A roff line that cannot be mistaken for a macro.
func roffLine(_ text: String) -> String {
  (text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" : "") + text + "\n"
}

/// Escapes a text for roff, so that nothing is a request and a hyphen is an ASCII hyphen.
func roffText(_ text: String) -> String {
  var result = ""
  for scalar in text.unicodeScalars {
    switch scalar {
    case "\\": result += "\\e"
    case "-": result += "\\-"
    case "'": result += "\\(aq"
    case "`": result += "\\(ga"
    case "^": result += "\\(ha"
    case "~": result += "\\(ti"
    case "\"": result += "\\(dq"
    case "…": result += "..."
    default:
      if scalar.isASCII {
        result.unicodeScalars.append(scalar)
      } else {
        let hex = String(scalar.value, radix: 16, uppercase: true)
        result += "\\[u\(String(repeating: "0", count: max(0, 4 - hex.count)))\(hex)]"
      }
    }
  }
  return result
}

/// Escapes a text for roff, with bold type instead of backticks.
private func roffMarked(_ text: String) -> String {
  let parts = text.split(separator: "`", omittingEmptySubsequences: false)
  return parts.enumerated().map { number, part in
    number % 2 == 1 ? "\\fB\(roffText(String(part)))\\fR" : roffText(String(part))
  }.joined()
}

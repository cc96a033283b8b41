/// A block of the manual, independent of the output format.
enum Block: Hashable, Sendable {
  case heading(String)
  /// The syntax of a command, one line per form.
  case usage([String])
  /// Text to be filled. Text in backticks is input.
  case paragraph(String)
  /// Lines that stay as they are.
  case verbatim([String])
  /// Names with their meanings.
  case terms([Term])
  /// Command lines with their effects.
  case examples([Term])
}

/// A name with its meaning.
struct Term: Hashable, Sendable {
  let name: String
  let meaning: String
}

/// A sequence of blocks.
struct Page: Hashable, Sendable {
  var blocks: [Block] = []

  init(_ blocks: [Block]) { self.blocks = blocks }

  /// Parses paragraphs, which empty lines separate, and indented lines.
  static func blocks(of text: String) -> [Block] {
    var blocks: [Block] = []
    var lines: [String] = []
    func end() {
      guard let first = lines.first else { return }
      blocks.append(
        first.hasPrefix(" ")
          ? .verbatim(lines.map { String($0.drop { $0 == " " }) })
          : .paragraph(lines.joined(separator: " ")))
      lines = []
    }
    for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.isEmpty { end() } else { lines.append(String(line)) }
    }
    end()
    return blocks
  }
}

/// A piece of the manual, in no format yet.
enum Block: Hashable, Sendable {
  case heading(String)
  /// How a command is called.
  case usage(String)
  /// Text to be filled; what stands in backticks is to be typed.
  case paragraph(String)
  /// Lines that are kept as they are.
  case verbatim([String])
  /// Names, each with what it means.
  case terms([Term])
  /// Command lines, each with what it does.
  case examples([Term])
}

/// Something with what it means.
struct Term: Hashable, Sendable {
  let name: String
  let meaning: String
}

/// Pieces of the manual that are read together.
struct Page: Hashable, Sendable {
  var blocks: [Block] = []

  init(_ blocks: [Block]) { self.blocks = blocks }

  /// Paragraphs with an empty line between them, and indented lines.
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

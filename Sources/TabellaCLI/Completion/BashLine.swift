/// A command line in bash syntax, up to the cursor, with quotes and escapes.
struct BashLine {
  private enum Quote { case none, single, double }

  /// The words without quotes, program name and redirections. The last word is being typed.
  private(set) var words: [Argument] = []
  /// The beginning of the last word, without quotes, that bash leaves unchanged.
  private(set) var stem: [UInt8] = []
  /// Whether the last word is the file of a redirection.
  private(set) var isRedirection = false
  private var quote = Quote.none
  private let breaks: Set<UInt8>

  /// Parses a line. bash starts a new word after each of the characters in `breaks` (`COMP_WORDBREAKS`).
  init(_ line: [UInt8], breaks: [UInt8]) {
    self.breaks = Set(breaks)
    var rest = line[...]
    var isRedirection = false
    while true {
      rest = rest.drop { BashLine.blanks.contains($0) }
      if let sign = rest.first, BashLine.redirections.contains(sign) {
        rest = rest.drop { BashLine.redirections.contains($0) || $0 == UInt8(ascii: "&") }
        isRedirection = true
        continue
      }
      let word = readWord(&rest)
      if rest.isEmpty {
        words.append(Argument(word))
        self.isRedirection = isRedirection
        break
      }
      // A number in front of `>` belongs to the redirection, as in `2>`.
      let isNumber = BashLine.redirections.contains(rest[rest.startIndex])
      if !isRedirection, !(isNumber && word.allSatisfy { 48...57 ~= $0 }) {
        words.append(Argument(word))
      }
      isRedirection = false
    }
    if words.count > 1 || !self.isRedirection { words.removeFirst() }
  }

  private static let blanks = Array(" \t\n".utf8)
  private static let redirections = Array("<>".utf8)

  private mutating func readWord(_ rest: inout ArraySlice<UInt8>) -> [UInt8] {
    var word: [UInt8] = []
    (quote, stem) = (.none, [])
    /// The stem outside of quotes.
    var outer: [UInt8] = []
    while let byte = rest.first {
      if quote == .none, BashLine.blanks.contains(byte) || BashLine.redirections.contains(byte) {
        break
      }
      rest = rest.dropFirst()
      switch (byte, quote) {
      case (UInt8(ascii: "'"), .none), (UInt8(ascii: "\""), .none):
        quote = byte == UInt8(ascii: "'") ? .single : .double
        stem = word
      case (UInt8(ascii: "'"), .single), (UInt8(ascii: "\""), .double):
        (quote, stem) = (.none, outer)
      case (UInt8(ascii: "\\"), .none):
        if let next = rest.popFirst() { word.append(next) }
      case (UInt8(ascii: "\\"), .double):
        if let next = rest.first, "\\\"$`".utf8.contains(next) {
          rest = rest.dropFirst()
          word.append(next)
        } else {
          word.append(byte)
        }
      default:
        word.append(byte)
        if quote == .none, breaks.contains(byte) { (stem, outer) = (word, word) }
      }
    }
    return word
  }

  /// The text that bash must insert for a candidate: the part after the stem, quoted like the word so far. Returns nil
  /// if the candidate does not begin with the stem.
  func insertion(_ candidate: String) -> String? {
    let bytes = Array(candidate.utf8)
    guard bytes.starts(with: stem) else { return nil }
    let rest = bytes.dropFirst(stem.count)
    var text: [UInt8] = []
    for (at, byte) in zip(rest.indices, rest) {
      // bash closes the quote after the insertion. If the last character is a quote itself, the insertion must close it
      // first.
      let isLast = at == rest.endIndex - 1
      switch quote {
      case .single where isLast && byte == UInt8(ascii: "'"): text += Array("'\\'".utf8)
      case .double where isLast && byte == UInt8(ascii: "\""): text += Array("\"\\\"".utf8)
      case .single where byte == UInt8(ascii: "'"): text += Array("'\\''".utf8)
      case .double where "\\\"$`".utf8.contains(byte),
        .none where " \\'\"`$&|;<>()*?[]{}!#~^".utf8.contains(byte):
        text += [UInt8(ascii: "\\"), byte]
      default: text.append(byte)
      }
    }
    return String(decoding: text, as: UTF8.self)
  }
}

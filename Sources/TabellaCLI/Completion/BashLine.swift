/// A command line as bash has it: with quotes and escapes, up to the cursor.
struct BashLine {
  private enum Quote { case none, single, double }

  /// The words without quotes, the last one being typed; without the program's name and redirections.
  private(set) var words: [Argument] = []
  /// The part of the last word, without quotes, that bash leaves as it is.
  private(set) var stem: [UInt8] = []
  /// Whether the last word is a file that output goes to or input comes from.
  private(set) var isRedirection = false
  private var quote = Quote.none
  private let breaks: Set<UInt8>

  /// Reads a line; `breaks` are the characters behind which bash sees a new word (COMP_WORDBREAKS).
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
      // `2>` has a number before it.
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
    /// What the stem is once no quote is open any more.
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

  /// What bash is to insert for a candidate: the part behind the stem, quoted as the word is so far; nil
  /// if the candidate does not go on from it.
  func insertion(_ candidate: String) -> String? {
    let bytes = Array(candidate.utf8)
    guard bytes.starts(with: stem) else { return nil }
    let rest = bytes.dropFirst(stem.count)
    var text: [UInt8] = []
    for (at, byte) in zip(rest.indices, rest) {
      // bash closes the quote, unless the last character is one: then it must be closed before that.
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

/// Words as a shell reads them, for command lines that messages propose.
enum ShellWords {
  /// The words with blanks between them, each quoted where it must be.
  static func line(_ words: [Argument]) -> String {
    words.map(quoted).joined(separator: " ")
  }

  static func quoted(_ word: String) -> String { quoted(Argument(Array(word.utf8))) }

  /// The word as it is if no shell changes it, else in quotes; bytes that are not UTF-8 and control
  /// characters are escaped as bash, zsh and fish read them.
  static func quoted(_ word: Argument) -> String {
    let text = word.text
    let isText =
      text.utf8.elementsEqual(word.bytes) && !word.bytes.contains { $0 < 32 || $0 == 127 }
    guard isText else { return "$'\(word.bytes.map(escaped).joined())'" }
    if !word.bytes.isEmpty, word.bytes.allSatisfy(isPlain) { return text }
    let parts = text.split(separator: "'", omittingEmptySubsequences: false)
    return "'\(parts.joined(separator: "'\\''"))'"
  }

  private static func isPlain(_ byte: UInt8) -> Bool {
    (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
      || "/._-+=:,@%".utf8.contains(byte)
  }

  private static func escaped(_ byte: UInt8) -> String {
    if (32..<127).contains(byte), byte != UInt8(ascii: "'"), byte != UInt8(ascii: "\\") {
      return String(Unicode.Scalar(byte))
    }
    let digits = String(byte, radix: 16)
    return digits.count == 1 ? "\\x0\(digits)" : "\\x\(digits)"
  }
}

extension Invocation {
  /// A command line like this one: of `command`, with other operands, without some options, without one option of the
  /// provider, with words added.
  func line(
    _ command: String, operands: [Argument]? = nil, without: Set<String> = [],
    withoutProviderOption dropped: String? = nil, adding: [String] = []
  ) -> String {
    let operands = operands ?? self.operands
    var words = ["tabella", command].map { Argument(Array($0.utf8)) }
    let needsMark = operands.contains { $0.bytes.first == UInt8(ascii: "-") && $0.bytes.count > 1 }
    if !needsMark { words += operands }
    for option in given where !without.contains(option.name) {
      if option.name == "-o", let dropped,
        option.words.last?.text.hasPrefix("\(dropped)=") == true
      {
        continue
      }
      words += option.words
    }
    words += adding.map { Argument(Array($0.utf8)) }
    if needsMark { words += [Argument(Array("--".utf8))] + operands }
    return ShellWords.line(words)
  }
}

extension Invocation {
  /// The names of the options of edits alone.
  static let editNames = Set(OptionSpec.committing.flatMap(\.names))

  /// The names of the options that choose and arrange rows.
  static let shapingNames = Set(OptionSpec.shaping.flatMap(\.names))
}

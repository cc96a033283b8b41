/// Quotes words for a shell, for command lines in messages.
enum ShellWords {
  /// The words of a command, separated by blanks and quoted if necessary. If `needsMark` is true, `--` is in front of the
  /// operands, because one of them looks like an option.
  ///
  /// A shell replaces a pattern by the names of thousands of files. Of more than eight operands, the line therefore has
  /// only the first two and the last one, with `…` between them.
  static func line(
    _ command: String, _ operands: [Argument], _ options: [Argument], needsMark: Bool = false
  ) -> String {
    var names = operands.map(quoted)
    if names.count > 8 { names.replaceSubrange(2..<names.count - 1, with: ["…"]) }
    let options = options.map(quoted)
    let words = needsMark ? options + ["--"] + names : names + options
    return (["tabella", command] + words).joined(separator: " ")
  }

  static func quoted(_ word: String) -> String { quoted(Argument(Array(word.utf8))) }

  /// The word, quoted if a shell would change it. Characters that messages escape, and bytes that are not UTF-8, are
  /// escaped in a form that bash, zsh and fish understand.
  static func quoted(_ word: Argument) -> String {
    let text = word.text
    let isText =
      text.utf8.elementsEqual(word.bytes) && !text.unicodeScalars.contains(where: \.isUnsafeToPrint)
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
  /// A variant of this command line: of `command`, with other operands, without some options, without one option
  /// of the provider, and with added words.
  func line(
    _ command: String, operands: [Argument]? = nil, without: Set<String> = [],
    withoutProviderOption dropped: String? = nil, adding: [String] = []
  ) -> String {
    let operands = operands ?? self.operands
    let needsMark = operands.contains { $0.bytes.first == UInt8(ascii: "-") && $0.bytes.count > 1 }
    var words: [Argument] = []
    for option in given where !without.contains(option.name) {
      if option.name == "-o", let dropped,
        option.words.last?.text.hasPrefix("\(dropped)=") == true
      {
        continue
      }
      words += option.words
    }
    words += adding.map { Argument(Array($0.utf8)) }
    return ShellWords.line(command, operands, words, needsMark: needsMark)
  }
}

extension Invocation {
  /// The names of the options that only commands that edit have.
  static let editNames = Set(OptionSpec.committing.flatMap(\.names))

  /// The names of the options that choose and arrange rows.
  static let shapingNames = Set(OptionSpec.shaping.flatMap(\.names))
}

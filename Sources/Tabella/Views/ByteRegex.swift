/// A regular expression over bytes. Its time is proportional to the length of the text, for every pattern.
///
/// The syntax is the common one, without back references and lookaround, which cannot be matched in linear time:
///
/// - literals, `.` (any character except LF), `[a-z]`, `[^…]`, groups, `|`;
/// - `\d \w \s` (ASCII), `\D \W \S`, `\b \B`, and `^ $` (start and end of the text);
/// - `* + ? {n} {n,} {n,m}` (n and m up to 1000);
/// - `\t \n \r \f \v \0`, `\xHH` (that byte), `\u{…}` (that character);
/// - `(?i)` at the front, which ignores the case of ASCII letters.
///
/// A character is valid UTF-8. Only `\xHH` matches a byte that is not part of a character.
///
/// Matching changes the regex, because it caches up to some thousand states of its automaton.
public struct ByteRegex {
  /// Finds a pattern without special characters.
  private var literal: TextFinder?
  private var machine: RegexMachine?
  /// Finds a pattern that overwhelms the machine.
  private var trials: RegexTrials?
  /// Terms that every matching text contains, as far as they are known.
  let requiredTexts: [SearchTerm]

  /// Throws ``TableError`` with `.invalidArgument` that names the fault in the pattern and its position.
  public init(_ pattern: [UInt8]) throws(TableError) {
    var parser = RegexParser(pattern)
    let tree = try parser.parse()
    requiredTexts = tree.requiredTexts(ignoringCase: parser.ignoresCase)
    if let literal = tree.literal(ignoringCase: parser.ignoresCase) {
      self.literal = TextFinder(literal, isFolding: parser.ignoresCase)
    } else {
      machine = RegexMachine(try RegexProgram(tree))
    }
  }

  /// A regex with a smaller cache of states, for tests of a full cache.
  init(_ pattern: [UInt8], stateLimit: Int) throws(TableError) {
    var parser = RegexParser(pattern)
    machine = RegexMachine(try RegexProgram(try parser.parse()), stateLimit: stateLimit)
    requiredTexts = []
  }

  /// Whether the pattern matches anywhere in a text.
  /// - Complexity: O(bytes)
  public mutating func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    if let literal { return literal.isFound(in: text) }
    if trials == nil {
      if let found = machine?.isFound(in: text, stopsIfOverwhelmed: true) { return found }
      trials = machine.map { RegexTrials($0.program) }
    }
    return trials?.isFound(in: text) ?? machine?.isFound(in: text) ?? false
  }
}

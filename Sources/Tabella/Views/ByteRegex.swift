/// A regular expression over bytes that takes time in proportion to what it reads, whatever the pattern.
///
/// The syntax is the common one, without what cannot be done so (references back, looking around):
/// literals, `.` (any character but LF), `[a-z]`, `[^…]`, `\d \w \s` (ASCII) and `\D \W \S`, `\b \B`, `^ $`
/// (start and end of the text), groups, `|`, `* + ? {n} {n,} {n,m}` (n and m up to 1000), `\t \n \r \f \v
/// \0`, `\xHH` (that byte), `\u{…}` (that character); `(?i)` in front ignores the case of ASCII. A
/// character is one of valid UTF-8: a byte that is none is matched by `\xHH` alone.
///
/// It keeps what it learnt of the texts it saw, at most some thousand states; so it is a variable.
public struct ByteRegex {
  /// What finds a pattern without anything special in it.
  private var literal: TextFinder?
  private var machine: RegexMachine?

  /// Throws ``TableError`` with `.invalidArgument` that says what is wrong with the pattern, and where.
  public init(_ pattern: [UInt8]) throws(TableError) {
    var parser = RegexParser(pattern)
    let tree = try parser.parse()
    if let literal = tree.literal(ignoringCase: parser.ignoresCase) {
      self.literal = TextFinder(literal, isFolding: parser.ignoresCase)
    } else {
      machine = RegexMachine(try RegexProgram(tree))
    }
  }

  /// A regex that keeps fewer states, for tests of what happens when there are too many.
  init(_ pattern: [UInt8], stateLimit: Int) throws(TableError) {
    var parser = RegexParser(pattern)
    machine = RegexMachine(try RegexProgram(try parser.parse()), stateLimit: stateLimit)
  }

  /// Whether the pattern matches anywhere in a text.
  /// - Complexity: O(bytes)
  public mutating func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    if let literal { return literal.isFound(in: text) }
    return machine?.isFound(in: text) ?? false
  }
}

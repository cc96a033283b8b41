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
  private var search: Search

  private enum Search {
    /// A pattern without anything special in it.
    case literal(TextFinder)
    case machine(RegexMachine)
  }

  /// Throws ``TableError`` with `.invalidArgument` that says what is wrong with the pattern, and where.
  public init(_ pattern: [UInt8]) throws(TableError) {
    var parser = RegexParser(pattern)
    let tree = try parser.parse()
    if let literal = tree.literal(ignoringCase: parser.ignoresCase) {
      search = .literal(TextFinder(literal, isFolding: parser.ignoresCase))
    } else {
      search = .machine(RegexMachine(try RegexProgram(tree)))
    }
  }

  /// A regex that keeps fewer states, for tests of what happens when there are too many.
  init(_ pattern: [UInt8], stateLimit: Int) throws(TableError) {
    var parser = RegexParser(pattern)
    search = .machine(RegexMachine(try RegexProgram(try parser.parse()), stateLimit: stateLimit))
  }

  /// Whether the pattern matches anywhere in a text.
  /// - Complexity: O(bytes)
  public mutating func isFound(in text: UnsafeRawBufferPointer) -> Bool {
    switch search {
    case .literal(let finder): return finder.isFound(in: text)
    case .machine(var machine):
      // The machine must not be copied when it learns.
      search = .literal(TextFinder([]))
      let isFound = machine.isFound(in: text)
      search = .machine(machine)
      return isFound
    }
  }
}

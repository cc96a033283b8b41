/// A regular expression whose named groups are parts of a text: `took (?<took>\d+)ms`.
///
/// The syntax is that of ``ByteRegex``, with `(?<NAME>…)`. Groups without a name only group. Of several matches the first
/// one counts, with the usual preferences: the first alternative, and long repetitions unless they are lazy (`.*?`). The
/// time is proportional to the length of the text, for every pattern.
///
/// Matching changes the pattern, because it caches states.
public struct TextPattern {
  /// The names of the groups, in order.
  public let names: [String]
  private var machine: PartMachine

  /// Throws ``TableError`` with `.invalidArgument` that names the fault in the pattern and its position.
  public init(_ pattern: [UInt8]) throws(TableError) { try self.init(pattern, stateLimit: 2000) }

  /// A pattern with another size of its cache of states, for tests of a full cache.
  init(_ pattern: [UInt8], stateLimit: Int) throws(TableError) {
    var parser = RegexParser(pattern, hasNames: true)
    let tree = try parser.parse()
    let program = try RegexProgram(tree)
    names = parser.names ?? []
    machine = PartMachine(
      program, opening: tree.opening.text, parts: names.count, stateLimit: stateLimit)
  }

  /// Finds the first match in a text. Returns whether there is one; ``part(_:)`` then returns its parts.
  /// - Complexity: O(bytes)
  public mutating func match(_ text: UnsafeRawBufferPointer) -> Bool { machine.match(text) }

  /// The part of the last match that a group covers; nil if the match does not use the group.
  public func part(_ group: Int) -> Range<Int>? {
    let (start, end) = (machine.slots[group * 2], machine.slots[group * 2 + 1])
    return start >= 0 && end >= start ? start..<end : nil
  }
}

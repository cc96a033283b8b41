/// Finds the parts of a text that a search or a regular expression matches, for programs that highlight them.
///
/// A filter decides which rows match; see ``RowFilter``. This finder is for text that is on a screen: it examines only
/// the beginning of a text, and gives up on patterns that need too many steps.
package struct MatchFinder {
  /// The maximum number of bytes of a text that are examined.
  private static let longest = 4096
  /// The maximum number of steps per text.
  private static let mostSteps = 200_000

  private enum Wanted {
    case text([UInt8], isFolding: Bool)
    case pattern(RegexProgram)
  }

  private let wanted: Wanted

  /// Finds a text as a search does: the case of ASCII letters matters only if the text has an upper-case letter.
  package init(search: [UInt8]) {
    let isFolding = !search.contains { $0 &- 65 < 26 }
    wanted = .text(search, isFolding: isFolding)
  }

  /// Finds a regular expression; see ``ByteRegex``. Throws ``TableError`` with `.invalidArgument` if it is invalid.
  package init(pattern: [UInt8]) throws(TableError) {
    var parser = RegexParser(pattern)
    wanted = .pattern(try RegexProgram(try parser.parse()))
  }

  /// The matches that contain at least one byte, from left to right, without overlaps. Each is the longest one that
  /// begins at its offset.
  package func matches(in text: UnsafeRawBufferPointer) -> [Range<Int>] {
    var found: [Range<Int>] = []
    var steps = 0
    var start = 0
    let end = min(text.count, MatchFinder.longest)
    while start < end, steps < MatchFinder.mostSteps {
      if let match = self.end(from: start, in: text, upTo: end, &steps), match > start {
        found.append(start..<match)
        start = match
      } else {
        start += 1
      }
    }
    return found
  }

  /// The end of the longest match that begins at an offset; nil if there is none.
  private func end(
    from start: Int, in text: UnsafeRawBufferPointer, upTo end: Int, _ steps: inout Int
  ) -> Int? {
    switch wanted {
    case .text(let wanted, let isFolding):
      guard wanted.count <= end - start else { return nil }
      for (index, byte) in wanted.enumerated() {
        let other = text[start + index]
        guard byte == (isFolding ? NaturalOrder.folded(other) : other) else { return nil }
      }
      return start + wanted.count
    case .pattern(let program):
      var run = Run(program: program, text: text, steps: steps)
      defer { steps = run.steps }
      return run.longestMatch(from: start, upTo: end, mostSteps: MatchFinder.mostSteps)
    }
  }

  /// Follows a program over a text from one offset on.
  private struct Run {
    let program: RegexProgram
    let text: UnsafeRawBufferPointer
    var steps: Int

    mutating func longestMatch(from start: Int, upTo end: Int, mostSteps: Int) -> Int? {
      var open = [0]
      var longest: Int?
      var at = start
      while !open.isEmpty, steps < mostSteps {
        var seen: Set<Int> = []
        var followers: [Int] = []
        while let place = open.popLast() {
          guard seen.insert(place).inserted else { continue }
          steps += 1
          switch program.steps[place] {
          case .byte(let range, let target):
            if at < end, range.contains(text[at]) { followers.append(target) }
          case .found: longest = at
          case .jump(let target), .note(_, let target): open.append(target)
          case .split(let first, let second): open += [first, second]
          case .check(let check, let target): if check.holds(at, in: text) { open.append(target) }
          }
        }
        open = followers
        at += 1
      }
      return longest
    }
  }
}

import Tabella
import Testing

@testable import TabellaTestSupport

/// The parts of texts that programs highlight.
@Suite struct MatchFinderTests {
  private func matches(_ finder: MatchFinder, _ text: [UInt8]) -> [Range<Int>] {
    text.withUnsafeBytes { finder.matches(in: $0) }
  }

  private func isFound(_ pattern: String, _ text: ArraySlice<UInt8>) throws -> Bool {
    var regex = try ByteRegex(Array(pattern.utf8))
    return Array(text).withUnsafeBytes { regex.isFound(in: $0) }
  }

  /// Matches are the leftmost ones, each as long as possible: the same as by trying all ranges.
  @Test func matchesAreThoseOfAllRanges() throws {
    var generator = SeededGenerator(seed: 31)
    let parts = ["a", "b", "ab", "é", "[ab]", "[^a]", ".", "(a|b)", "a*", "b+", "(ab)?", "a{2}"]
    for _ in 0..<400 {
      let pattern = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
        parts.randomElement(using: &generator)!
      }.joined()
      let text = (0..<Int.random(in: 0...8, using: &generator)).map { _ in
        ["a", "b", "é", "\n"].randomElement(using: &generator)!
      }.joined()
      let bytes = Array(text.utf8)
      var expected: [Range<Int>] = []
      var start = 0
      while start < bytes.count {
        let end = try (start + 1..<bytes.count + 1).last { end in
          try isFound("^(\(pattern))$", bytes[start..<end])
        }
        if let end { expected.append(start..<end) }
        start = end ?? start + 1
      }
      let found = matches(try MatchFinder(pattern: Array(pattern.utf8)), bytes)
      #expect(found == expected, "\(pattern) in \(text)")
    }
  }

  @Test(
    arguments: [
      ("^a", "aa", [0..<1]), ("a$", "aa", [1..<2]), ("\\bat\\b", "at bat at", [0..<2, 7..<9]),
      ("(?i)CAT", "a cAt", [2..<5]), ("x*", "ab", []), ("", "ab", []),
    ] as [(String, String, [Range<Int>])])
  func anchors(_ pattern: String, _ text: String, _ wanted: [Range<Int>]) throws {
    #expect(matches(try MatchFinder(pattern: Array(pattern.utf8)), Array(text.utf8)) == wanted)
  }

  /// The case matters only if the wanted text has an upper-case letter, as in a search.
  @Test(
    arguments: [
      ("ab", "xAbab", [1..<3, 3..<5]), ("Ab", "abAb", [2..<4]), ("é", "aé", [1..<3]),
      ("aa", "aaa", [0..<2]),
    ] as [(String, String, [Range<Int>])])
  func searches(_ wanted: String, _ text: String, _ ranges: [Range<Int>]) {
    #expect(matches(MatchFinder(search: Array(wanted.utf8)), Array(text.utf8)) == ranges)
  }

  /// The cost is limited for any pattern and any text.
  @Test func hugeTextsAndPatterns() throws {
    let text = [UInt8](repeating: UInt8(ascii: "a"), count: 1_000_000)
    let clock = ContinuousClock()
    let time = clock.measure {
      for pattern in ["(a|aa)*b", "(a{0,100}){0,100}b", "[^b]*c"] {
        let finder = try? MatchFinder(pattern: Array(pattern.utf8))
        #expect(finder.map { matches($0, text) } == [])
      }
    }
    #expect(time < .seconds(5))
  }
}

import Foundation
import Testing

@testable import Tabella
@testable import TabellaTestSupport

@Suite struct ByteRegexTests {
  private func isFound(_ pattern: String, _ text: [UInt8]) throws -> Bool {
    var regex = try ByteRegex(Array(pattern.utf8))
    return text.withUnsafeBytes { regex.isFound(in: $0) }
  }

  private func isFound(_ pattern: String, _ text: String) throws -> Bool {
    try isFound(pattern, Array(text.utf8))
  }

  @Test(arguments: [
    ("a", "cat", true), ("^a", "cat", false), ("t$", "cat", true), ("^$", "", true),
    ("^$", "a", false), ("c.t", "cät", true), ("^.$", "é", true), ("^..$", "é", false),
    ("[^a]", "aé", true), ("[é-ü]", "ö", true), ("a{2,3}b", "aab", true), ("^a{2}$", "aaa", false),
    ("(?i)CAT", "cAt", true), ("CAT", "cat", false), ("[Aa]b", "Ab", true), ("[Aa]b", "ab", true),
    ("[Aa]b", "AB", false), ("\\bat\\b", "cat at", true), ("\\bat\\b", "cats", false),
    ("\\Bat", "cat", true), ("\\B", "1é2", false), ("\\B", "éé", true), ("é\\B", "1éé", true),
    ("a|b|", "x", true), ("(a|b)+c", "xabac", true),
    ("(?:ab)?c$", "abc", true),
    ("\\.swift$", "a.swift", true), ("\\.swift$", "aswift", false), ("a.b", "a\nb", false),
    ("a\\sb", "a\nb", true), ("\\u{e9}", "é", true), ("[]a]", "]", true), ("[a-]", "-", true),
    ("x*", "", true), ("(a*)*b", "aaab", true), ("(?i)é", "É", false), ("(?i)[k-m]", "L", true),
    ("\\d{4}-\\d\\d", "on 2024-05", true), ("a??b", "b", true), ("\\/", "/", true),
    ("}", "}", true),
    ("z1?$", "---------z", true), ("z1?$", "---------zz", true), ("z12$", "---------zz12", true),
    ("z12$", "---------z-", false), ("$a", "a", false), ("(^a|b)c", "xbc", true),
    ("(^a|b)c", "xac", false), ("^[[:digit:]]+$", "42", true), ("[[:digit:]]", "ab:]", false),
    ("^[^[:space:]_]+$", "a-b", true), ("[[:upper:]]", "a", false), ("(?i)[[:upper:]]", "a", true),
    ("^[[:]+$", "[:", true), ("[[:alpha:]0]", "0", true),
  ])
  func finds(_ pattern: String, _ text: String, _ wanted: Bool) throws {
    #expect(try isFound(pattern, text) == wanted)
  }

  /// An invalid byte does not match `.`, but matches itself.
  @Test func bytesThatAreNoCharacters() throws {
    #expect(try !isFound("^.$", [0xFF]))
    #expect(try isFound("\\xff", [0x61, 0xFF]))
    #expect(try !isFound("\\xe9", "é"))
    #expect(try isFound("^a", [0x61, 0xC3]))
  }

  @Test(arguments: [
    "(", ")", "[", "a**b(", "*", "+a", "{2}", "a{2", "a{3,2}", "a{1001}", "\\", "\\1", "\\q",
    "(?=a)", "(?<n>a)", "[z-a]", "[a-\\d]", "[[:letter:]]", "[[:digit:]-z]",
    "\\xg1", "\\u{110000}", "\\u41", "a++", "((a{1000}){1000}){1000}",
  ])
  func badPatternsAreRefused(_ pattern: String) {
    #expect(throws: TableError.self) { try ByteRegex(Array(pattern.utf8)) }
  }

  /// Backtracking would take practically forever for these patterns.
  @Test func timeIsLinear() throws {
    let text = [UInt8](repeating: 97, count: 200_000)
    for pattern in ["(a*)*b", "(a|aa)*$b", "(a+)+\\d", "(.*)(.*)(.*)(.*)x", "a{500}a{500}b"] {
      #expect(try !isFound(pattern, text))
    }
  }

  static func randomPattern(_ generator: inout SeededGenerator, depth: Int = 0) -> String {
    let atoms = ["a", "b", "c", ".", "[ab]", "[^a]", "\\w", "\\d", "é", "\\b", "^", "$", "1", "-"]
    var pattern = ""
    for _ in 0..<Int.random(in: 1...4, using: &generator) {
      var atom = atoms.randomElement(using: &generator)!
      if depth < 2, Int.random(in: 0..<4, using: &generator) == 0 {
        let parts = (0..<Int.random(in: 1...3, using: &generator)).map { _ in
          randomPattern(&generator, depth: depth + 1)
        }
        atom = "(\(parts.joined(separator: "|")))"
      }
      let isBorder = ["\\b", "^", "$"].contains(atom)
      let suffixes = ["", "", "", "*", "+", "?", "{2}", "{1,3}", "{0,1}", "*?"]
      pattern += atom + (isBorder ? "" : suffixes.randomElement(using: &generator)!)
    }
    return pattern
  }

  /// Generated patterns on generated texts match as with Python's `re`, also with few states, which are discarded
  /// often. 200 patterns; with `TABELLA_ALL_ROADS`, 600.
  @Test(.needs("python3")) func agreesWithPython() throws {
    var generator = SeededGenerator(seed: 11)
    let letters = ["a", "b", "c", "1", "-", "é", " ", "_"]
    var cases: [(pattern: String, texts: [String])] = []
    for _ in 0..<(takesAllRoads ? 600 : 200) {
      let texts = (0..<12).map { _ in
        (0..<Int.random(in: 0...10, using: &generator)).map { _ in
          letters.randomElement(using: &generator)!
        }.joined()
      }
      cases.append((Self.randomPattern(&generator), texts))
    }
    let script = """
      import json, re, sys
      out = []
      for pattern, texts in json.load(open(sys.argv[1], encoding="utf-8")):
          # Python's $ also matches before a last line feed; these texts have none.
          compiled = re.compile(pattern, re.ASCII)
          out.append([compiled.search(text) is not None for text in texts])
      print(json.dumps(out))
      """
    let folder = try TemporaryFolder()
    let input = try JSONSerialization.data(
      withJSONObject: cases.map { [$0.pattern, $0.texts] as [Any] })
    let file = try folder.write("cases.json", [UInt8](input))
    let result = try run(findProgram("python3"), ["-c", script, file])
    #expect(result.status == 0, "\(result.errors)")
    let wanted = try #require(
      try JSONSerialization.jsonObject(with: result.output) as? [[Bool]])
    #expect(wanted.count == cases.count)
    for (one, answers) in zip(cases, wanted) {
      var regex = try ByteRegex(Array(one.pattern.utf8))
      var forgetful = try ByteRegex(Array(one.pattern.utf8), stateLimit: 1)
      for (text, answer) in zip(one.texts, answers) {
        let found = Array(text.utf8).withUnsafeBytes {
          (regex.isFound(in: $0), forgetful.isFound(in: $0))
        }
        if found != (answer, answer) {
          Issue.record("\(one.pattern) in \(text): \(found), not \(answer)")
        }
      }
    }
  }

  /// A pattern with more states than the cache holds took microseconds per byte. The matches that begin at each place are
  /// then followed alone, until that takes too long, too.
  @Test func patternsWithManyStates() throws {
    var generator = SeededGenerator(seed: 3)
    let letters = Array("abcdefghijklmnop".utf8)
    func text(_ count: Int, of letters: [UInt8]) -> [UInt8] {
      (0..<count).map { _ in letters.randomElement(using: &generator)! }
    }
    // Long matches begin at almost every offset of the second text.
    for (pattern, letters, givesUp) in [
      ("a.{40}b.{40}c$", letters, false), ("a.{0,40}b.{0,40}c.{9}z", letters, true),
      ("[ab].{60}[^x]*d.{9}z", Array("abc".utf8), true),
    ] {
      var parser = RegexParser(Array(pattern.utf8))
      let program = try RegexProgram(try parser.parse())
      var regex = try ByteRegex(Array(pattern.utf8))
      var machine = RegexMachine(program)
      var trials = RegexTrials(program)
      for count in [3000, 30_000, 100, 30_000] {
        let text = text(count, of: letters)
        text.withUnsafeBytes { bytes in
          let wanted = machine.isFound(in: bytes)
          #expect(regex.isFound(in: bytes) == wanted)
          #expect(trials.isFound(in: bytes) ?? wanted == wanted)
        }
      }
      #expect(machine.isOverwhelmed && trials.hasGivenUp == givesUp, "\(pattern)")
    }
  }

  /// The automaton answers as the program does if all its steps are followed. Runs of equal bytes let states last, so that
  /// it looks for their exits. 400 patterns; with `TABELLA_ALL_ROADS`, 4,000.
  @Test func agreesWithTheProgram() throws {
    var generator = SeededGenerator(seed: 12)
    let letters: [UInt8] = Array("abc1-_ z".utf8) + [0xC3, 0xA9]
    for _ in 0..<(takesAllRoads ? 4000 : 400) {
      // Fixed texts lead to one byte or to a pair.
      let start = ["", "", "z", "ab", "aa", "zz1", "b.*-", "(a|b|c)", "^", "z?"]
        .randomElement(using: &generator)!
      let pattern = Array((start + Self.randomPattern(&generator)).utf8)
      var parser = RegexParser(pattern)
      let program = try RegexProgram(try parser.parse())
      var machine = RegexMachine(program)
      var forgetful = RegexMachine(program, stateLimit: 3)
      // From each offset alone, with and without a limit.
      var trials = RegexTrials(program, limits: (1000, 1_000_000))
      var brief = RegexTrials(program, limits: (1, 10))
      for _ in 0..<8 {
        let text = (0..<Int.random(in: 1...8, using: &generator)).flatMap { _ in
          let most = Int.random(in: 1...20, using: &generator)
          return [UInt8](repeating: letters.randomElement(using: &generator)!, count: most)
        }
        let wanted = program.isFound(in: text)
        let found = text.withUnsafeBytes { (machine.isFound(in: $0), forgetful.isFound(in: $0)) }
        if found != (wanted, wanted) {
          Issue.record(
            "\(String(decoding: pattern, as: UTF8.self)) in \(text): \(found), not \(wanted)")
        }
        let tried = text.withUnsafeBytes { (trials.isFound(in: $0), brief.isFound(in: $0)) }
        if tried.0 != wanted || tried.1 ?? wanted != wanted {
          Issue.record(
            "\(String(decoding: pattern, as: UTF8.self)) in \(text), alone: \(tried), not \(wanted)"
          )
        }
      }
    }
  }
}

extension RegexProgram {
  /// Follows all steps from every offset of a text. Returns whether one of them reaches the end of the program.
  fileprivate func isFound(in text: [UInt8]) -> Bool {
    var now: Set<Int> = []
    for at in 0...text.count {
      var open = now.sorted() + [0]
      var seen: Set<Int> = []
      now = []
      while let place = open.popLast() {
        guard seen.insert(place).inserted else { continue }
        switch steps[place] {
        case .found: return true
        case .byte(let range, let target):
          if at < text.count, range.contains(text[at]) { now.insert(target) }
        case .jump(let target), .note(_, let target): open.append(target)
        case .split(let first, let second): open += [first, second]
        case .check(let check, let target):
          if text.withUnsafeBytes({ check.holds(at, in: $0) }) { open.append(target) }
        }
      }
    }
    return false
  }
}

import Foundation
import Testing

@testable import Tabella
@testable import TabellaTestSupport

/// The parts of a text that named groups cover.
@Suite struct TextPatternTests {
  private func parts(_ pattern: String, _ text: String) throws -> [String?]? {
    var pattern = try TextPattern(Array(pattern.utf8))
    let bytes = Array(text.utf8)
    return bytes.withUnsafeBytes { text in
      guard pattern.match(text) else { return nil }
      return pattern.names.indices.map { group in
        pattern.part(group).map { String(decoding: text[$0], as: UTF8.self) }
      }
    }
  }

  @Test(
    arguments: [
      ("took (?<took>\\d+)ms", "GET / took 1316ms", ["1316"]), ("(?<x>a+)", "baab aaa", ["aa"]),
      ("(?<x>a+?)", "baab", ["a"]), ("(?<x>.*)=(?<y>.*)", "a=b=c", ["a=b", "c"]),
      ("(?P<x>.*?)=(?<y>.*)", "a=b=c", ["a", "b=c"]), ("(?<x>a|ab)(?<y>.*)", "abc", ["a", "bc"]),
      ("(?<x>a)|(?<y>b)", "b", [nil, "b"]), ("(?:(?<x>\\w),?)+", "a,b,c", ["c"]),
      ("(?i)user=(?<who>\\w+)", "USER=Ada", ["Ada"]), ("^(?<all>.*)$", "", [""]),
      ("(?<x>é+)", "caféé", ["éé"]), ("(?<a>x)(?<b>y)?", "x", ["x", nil]),
    ] as [(String, String, [String?])])
  func groupsCoverParts(_ pattern: String, _ text: String, _ wanted: [String?]) throws {
    #expect(try parts(pattern, text) == wanted)
  }

  @Test func otherTextHasNoParts() throws {
    #expect(try parts("took (?<took>\\d+)ms", "started") == nil)
    #expect(try parts("^(?<x>b)", "ab") == nil)
  }

  @Test(arguments: [
    ("(?<x>a)(?<x>b)", "two groups are named x"), ("(?<>a)", "only (?<NAME>…)"),
    ("(?<x", "only (?<NAME>…)"), ("(?=a)", "only (?<NAME>…)"), ("(?<=a)", "only (?<NAME>…)"),
    ("(?<x>a", "no closing )"),
  ])
  func wrongPatternsAreRefused(_ pattern: String, _ message: String) {
    let error = #expect(throws: TableError.self) { try TextPattern(Array(pattern.utf8)) }
    #expect(error?.message.contains(message) == true, "\(error?.message ?? "")")
  }

  /// A pattern that takes exponential time elsewhere.
  @Test func everyPatternEnds() throws {
    let text = String(repeating: "a", count: 3000) + "b"
    #expect(try parts("(?<x>(?:a|aa)*)b", text) == [String(text.dropLast())])
  }

  /// Generated patterns have the parts that following the steps one after the other finds, also with few states, which are
  /// discarded often.
  @Test(arguments: 0..<20)
  func agreesWithBacktracking(_ seed: Int) throws {
    var generator = SeededGenerator(seed: UInt64(seed))
    func pick(_ texts: [String]) -> String { texts.randomElement(using: &generator)! }
    var found = 0
    for _ in 0..<60 {
      let names = (0..<Int.random(in: 0...3, using: &generator)).map { "g\($0)" }
      let pattern = Array(
        (names.map { name in
          pick(["", "", "a", "ab", "a*", "^"]) + "(?<\(name)>"
            + ByteRegexTests.randomPattern(&generator, depth: 2) + ")" + pick(["", "?", "*", "*?"])
        }.joined() + pick(["", "$", "b", "\\b"])).utf8)
      var parser = RegexParser(pattern, hasNames: true)
      let program = try RegexProgram(try parser.parse())
      var all = try TextPattern(pattern)
      var forgetful = try TextPattern(pattern, stateLimit: 1)
      for _ in 0..<10 {
        let text = Array(
          (0..<Int.random(in: 0...12, using: &generator)).map { _ in
            pick(["a", "a", "b", "c", "1", "-", "é"])
          }.joined().utf8)
        let slots = program.slots(in: text, count: names.count * 2)
        let wanted = slots.map { slots in
          names.indices.map { group -> Range<Int>? in
            let (start, end) = (slots[group * 2], slots[group * 2 + 1])
            return start >= 0 && end >= start ? start..<end : nil
          }
        }
        found += wanted == nil ? 0 : 1
        for number in 0..<2 {
          let parts = text.withUnsafeBytes { bytes -> [Range<Int>?]? in
            if number == 0 {
              return all.match(bytes) ? names.indices.map { all.part($0) } : nil
            }
            return forgetful.match(bytes) ? names.indices.map { forgetful.part($0) } : nil
          }
          if parts != wanted {
            let words = String(decoding: pattern, as: UTF8.self)
            Issue.record("\(words) in \(text): \(parts as Any), not \(wanted as Any)")
          }
        }
      }
    }
    #expect(found > 100)
  }

  /// A state of the automaton did not change from byte to byte of a part, but its slots did, so a million lines took 20
  /// seconds.
  @Test func partsOfOneKindNeedFewStates() throws {
    var parser = RegexParser(Array("(?<x>\\S+) (?<y>\\w+)".utf8), hasNames: true)
    let program = try RegexProgram(try parser.parse())
    var machine = PartMachine(program, parts: 2)
    let text = Array(String(repeating: "word", count: 100).utf8) + Array(" next".utf8)
    #expect(text.withUnsafeBytes { machine.match($0) })
    #expect(machine.slots == [0, 400, 401, 405])
    #expect(machine.stateCount < 10)
  }

  /// Generated patterns have the parts that Python's `re` finds.
  @Test(.needs("python3")) func agreesWithPython() throws {
    var generator = SeededGenerator(seed: 5)
    func pick(_ texts: [String]) -> String { texts.randomElement(using: &generator)! }
    func piece() -> String {
      pick(["a", "b", "[ab]", "\\d", ".", "(?:a|ab)", "(?:ba|b|1)", "\\w", "é", "-", "[^b]"])
        + pick(["", "", "*", "+", "?", "*?", "+?", "??", "{1,2}", "{2}"])
    }
    let cases = (0..<300).map { _ in
      let names = (0..<Int.random(in: 1...3, using: &generator)).map { "g\($0)" }
      let pattern =
        names.map { name in
          let group = "(?P<\(name)>\(piece())\(pick(["", piece(), "|" + piece()])))"
          return pick(["", "", "^", piece()]) + group + pick(["", "", "?"])
        }.joined() + pick(["", "", "$", piece()])
      let texts = (0..<8).map { _ in
        (0..<Int.random(in: 0...9, using: &generator)).map { _ in pick(["a", "b", "1", "-", "é"]) }
          .joined()
      }
      return (pattern: pattern, texts: texts)
    }
    let script = """
      import json, re, sys
      out = []
      for pattern, texts in json.load(open(sys.argv[1], encoding="utf-8")):
          found = [re.compile(pattern, re.ASCII).search(text) for text in texts]
          out.append([list(each.groups()) if each else None for each in found])
      print(json.dumps(out))
      """
    let folder = try TemporaryFolder()
    let input = try JSONSerialization.data(
      withJSONObject: cases.map { [$0.pattern, $0.texts] as [Any] })
    let file = try folder.write("cases.json", [UInt8](input))
    let result = try run(findProgram("python3"), ["-c", script, file])
    #expect(result.status == 0, "\(result.errors)")
    let wanted = try #require(try JSONSerialization.jsonObject(with: result.output) as? [[Any]])
    var found = 0
    for (one, answers) in zip(cases, wanted) {
      for (text, answer) in zip(one.texts, answers) {
        let groups = (answer as? [Any]).map { $0.map { $0 as? String } }
        found += groups == nil ? 0 : 1
        #expect(try parts(one.pattern, text) == groups, "\(one.pattern) in \(text)")
      }
    }
    #expect(found > 500)
  }
}

extension RegexProgram {
  /// The slots of the first match, found by following one path after the other; nil if there is no match. A step that was
  /// reached at an offset before leads nowhere again.
  fileprivate func slots(in text: [UInt8], count: Int) -> [Int]? {
    var seen: Set<[Int]> = []
    func follow(_ place: Int, _ at: Int, _ slots: [Int]) -> [Int]? {
      guard seen.insert([place, at]).inserted else { return nil }
      switch steps[place] {
      case .found: return slots
      case .byte(let range, let target):
        return at < text.count && range.contains(text[at]) ? follow(target, at + 1, slots) : nil
      case .jump(let target): return follow(target, at, slots)
      case .split(let first, let second):
        return follow(first, at, slots) ?? follow(second, at, slots)
      case .note(let slot, let target):
        var slots = slots
        slots[slot] = at
        return follow(target, at, slots)
      case .check(let check, let target):
        let holds = text.withUnsafeBytes { check.holds(at, in: $0) }
        return holds ? follow(target, at, slots) : nil
      }
    }
    for start in 0...text.count {
      if let slots = follow(0, start, Array(repeating: -1, count: count)) { return slots }
    }
    return nil
  }
}

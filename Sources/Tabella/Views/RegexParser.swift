/// A regular expression as a tree.
indirect enum RegexTree {
  /// A character in one of these ranges of scalar values.
  case characters([ClosedRange<UInt32>])
  /// One byte, even if it is part of a character.
  case byte(UInt8)
  case start, end, wordBorder, noWordBorder
  case sequence([RegexTree])
  case choice([RegexTree])
  /// `most` is nil if there is no limit. A lazy repetition prefers few copies.
  case repetition(RegexTree, least: Int, most: Int?, isLazy: Bool)
  /// A group whose part of the text is wanted, with its number.
  case part(RegexTree, Int)

  /// The text with which every match begins, as far as it is known, and whether a match is nothing else.
  var opening: (text: [UInt8], isWhole: Bool) {
    if let text = literal(ignoringCase: false) { return (text, true) }
    switch self {
    case .sequence(let parts):
      var text: [UInt8] = []
      for part in parts {
        let next = part.opening
        text += next.text
        if !next.isWhole { return (text, false) }
      }
      return (text, true)
    case .part(let part, _): return part.opening
    case .repetition(let part, let least, _, _) where least > 0: return (part.opening.text, false)
    default: return ([], false)
    }
  }

  /// The only bytes that match, if the tree is a plain text; otherwise nil. If case is ignored, letters are in
  /// lower case.
  func literal(ignoringCase: Bool) -> [UInt8]? {
    switch self {
    case .byte(let byte): return [byte]
    case .characters(let ranges):
      let values = ranges.flatMap { $0.count == 1 ? [$0.lowerBound] : [] }
      let areCases =
        ignoringCase && values.count == 2 && values[0] < 0x80 && values[0] | 0x20 == values[1]
      guard values.count == ranges.count, values.count == 1 || areCases, let last = values.last,
        let scalar = Unicode.Scalar(last)
      else { return nil }
      return Array(String(Character(scalar)).utf8)
    case .sequence(let parts):
      let literals = parts.compactMap { $0.literal(ignoringCase: ignoringCase) }
      return literals.count == parts.count ? literals.flatMap { $0 } : nil
    default: return nil
    }
  }
}

/// Parses a pattern.
struct RegexParser {
  private(set) var ignoresCase = false
  /// The names of groups, in order; nil if groups cannot have names.
  private(set) var names: [String]?
  private let pattern: [UInt8]
  private var at = 0
  private var depth = 0

  private static let largest: UInt32 = 0x10FFFF
  private static let deepest = 200

  init(_ pattern: [UInt8], hasNames: Bool = false) {
    self.pattern = pattern
    if hasNames { names = [] }
  }

  mutating func parse() throws(TableError) -> RegexTree {
    if pattern.starts(with: Array("(?i)".utf8)) {
      ignoresCase = true
      at = 4
    }
    let tree = try choice()
    guard at == pattern.count else { throw wrong("there is no group for )") }
    return tree
  }

  private func wrong(_ what: String) -> TableError {
    let text = String(decoding: pattern, as: UTF8.self)
    return TableError(.invalidArgument, "the pattern \(text) is wrong at byte \(at): \(what)")
  }

  private var next: UInt8? { at < pattern.count ? pattern[at] : nil }

  private mutating func take(_ byte: Unicode.Scalar) -> Bool {
    guard next == UInt8(ascii: byte) else { return false }
    at += 1
    return true
  }

  private mutating func choice() throws(TableError) -> RegexTree {
    depth += 1
    defer { depth -= 1 }
    guard depth <= RegexParser.deepest else { throw wrong("groups are nested too deeply") }
    var parts = [try sequence()]
    while take("|") { parts.append(try sequence()) }
    return parts.count == 1 ? parts[0] : .choice(parts)
  }

  private mutating func sequence() throws(TableError) -> RegexTree {
    var parts: [RegexTree] = []
    while let byte = next, byte != UInt8(ascii: "|"), byte != UInt8(ascii: ")") {
      parts.append(try repeated(try atom()))
    }
    return parts.count == 1 ? parts[0] : .sequence(parts)
  }

  private mutating func repeated(_ atom: RegexTree) throws(TableError) -> RegexTree {
    var tree = atom
    while let byte = next {
      let bounds: (Int, Int?)
      switch Unicode.Scalar(byte) {
      case "*": bounds = (0, nil)
      case "+": bounds = (1, nil)
      case "?": bounds = (0, 1)
      case "{": bounds = try counts()
      default: return tree
      }
      if byte != UInt8(ascii: "{") { at += 1 }
      if next == UInt8(ascii: "+") {
        throw wrong("possessive repetition cannot be matched in linear time")
      }
      tree = .repetition(tree, least: bounds.0, most: bounds.1, isLazy: take("?"))
    }
    return tree
  }

  /// `{n}`, `{n,}` or `{n,m}`.
  private mutating func counts() throws(TableError) -> (Int, Int?) {
    at += 1
    guard let least = number() else {
      throw wrong("{ must be followed by a number; for a brace use \\{")
    }
    var most: Int? = least
    if take(",") { most = number() }
    guard take("}") else { throw wrong("} is missing") }
    guard least <= 1000, (most ?? 0) <= 1000 else { throw wrong("a count is above 1000") }
    guard most.map({ $0 >= least }) ?? true else {
      throw wrong("the first count is larger than the second")
    }
    return (least, most)
  }

  private mutating func number() -> Int? {
    let start = at
    var value = 0
    while let byte = next, 48...57 ~= byte {
      value = min(value * 10 + Int(byte - 48), 100_000)
      at += 1
    }
    return at > start ? value : nil
  }

  private mutating func atom() throws(TableError) -> RegexTree {
    guard let byte = next else { return .sequence([]) }
    switch Unicode.Scalar(byte) {
    case "(": return try group()
    case "[": return try bracket()
    case ".":
      at += 1
      return .characters([0...9, 11...RegexParser.largest])
    case "^":
      at += 1
      return .start
    case "$":
      at += 1
      return .end
    case "*", "+", "?": throw wrong("there is nothing to repeat")
    case "{": throw wrong("there is nothing to repeat; for a brace use \\{")
    case "\\": return try escape(inBracket: false)
    default: return try character()
    }
  }

  private mutating func group() throws(TableError) -> RegexTree {
    at += 1
    var number: Int?
    if take("?"), !take(":") {
      guard names != nil else {
        throw wrong(
          "only (?:…), and (?i) at the start, are supported; lookaround and named groups are not")
      }
      number = try name()
    }
    let tree = try choice()
    guard take(")") else { throw wrong("a group has no closing )") }
    return number.map { .part(tree, $0) } ?? tree
  }

  /// Parses `<NAME>` or `P<NAME>`. Returns the number of the group.
  private mutating func name() throws(TableError) -> Int {
    let start = at
    _ = take("P")
    guard take("<"), let end = pattern[at...].firstIndex(of: UInt8(ascii: ">")), end > at,
      pattern[at..<end].allSatisfy({ $0 >= 32 }),
      let name = String(validating: pattern[at..<end], as: UTF8.self)
    else {
      at = start
      throw wrong("only (?<NAME>…) and (?:…), and (?i) at the start, are supported")
    }
    guard names?.contains(name) == false else { throw wrong("two groups are named \(name)") }
    at = end + 1
    names?.append(name)
    return (names?.count ?? 1) - 1
  }

  /// Parses the next character of the pattern as a literal.
  private mutating func character() throws(TableError) -> RegexTree {
    guard let scalar = scalar() else {
      defer { at += 1 }
      return .byte(pattern[at])
    }
    return .characters(folded([scalar...scalar]))
  }

  /// Reads a character of the pattern; nil if the next bytes are not UTF-8.
  private mutating func scalar() -> UInt32? {
    var decoder = UTF8()
    var bytes = pattern[at..<min(at + 4, pattern.count)].makeIterator()
    guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return nil }
    at += UTF8.width(scalar)
    return scalar.value
  }

  private func folded(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
    guard ignoresCase else { return ranges }
    var all = ranges
    for range in ranges {
      for (letters, offset) in [(65...90, 32), (97...122, -32)] as [(ClosedRange<UInt32>, Int)] {
        let both = range.clamped(to: letters)
        guard letters.overlaps(range) else { continue }
        all.append(
          UInt32(Int(both.lowerBound) + offset)...UInt32(Int(both.upperBound) + offset))
      }
    }
    return RegexParser.united(all)
  }

  /// The same characters as ascending ranges without overlaps.
  private static func united(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
    var result: [ClosedRange<UInt32>] = []
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = result.last, range.lowerBound <= last.upperBound &+ 1 {
        result[result.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        result.append(range)
      }
    }
    return result
  }

  private static func inverted(_ ranges: [ClosedRange<UInt32>]) -> [ClosedRange<UInt32>] {
    var result: [ClosedRange<UInt32>] = []
    var next: UInt32 = 0
    for range in united(ranges) {
      if range.lowerBound > next { result.append(next...range.lowerBound - 1) }
      next = range.upperBound + 1
    }
    if next <= largest { result.append(next...largest) }
    return result
  }

  private static let digits: [ClosedRange<UInt32>] = [48...57]
  private static let words: [ClosedRange<UInt32>] = [48...57, 65...90, 95...95, 97...122]
  private static let spaces: [ClosedRange<UInt32>] = [9...13, 32...32]

  /// The classes of POSIX (IEEE Std 1003.1, section 9.3.5), for ASCII.
  private static let classes: [(name: String, ranges: [ClosedRange<UInt32>])] = [
    ("alnum", [48...57, 65...90, 97...122]), ("alpha", [65...90, 97...122]),
    ("blank", [9...9, 32...32]), ("cntrl", [0...31, 127...127]), ("digit", digits),
    ("graph", [33...126]), ("lower", [97...122]), ("print", [32...126]),
    ("punct", [33...47, 58...64, 91...96, 123...126]), ("space", spaces), ("upper", [65...90]),
    ("xdigit", [48...57, 65...70, 97...102]),
  ]

  private mutating func escape(inBracket: Bool) throws(TableError) -> RegexTree {
    at += 1
    guard let byte = next else { throw wrong("a \\ ends the pattern") }
    at += 1
    func one(_ value: UInt32) -> RegexTree { .characters([value...value]) }
    switch Unicode.Scalar(byte) {
    case "d": return .characters(RegexParser.digits)
    case "w": return .characters(RegexParser.words)
    case "s": return .characters(RegexParser.spaces)
    case "D": return .characters(RegexParser.inverted(RegexParser.digits))
    case "W": return .characters(RegexParser.inverted(RegexParser.words))
    case "S": return .characters(RegexParser.inverted(RegexParser.spaces))
    case "t": return one(9)
    case "n": return one(10)
    case "v": return one(11)
    case "f": return one(12)
    case "r": return one(13)
    case "0": return one(0)
    case "b" where !inBracket: return .wordBorder
    case "B" where !inBracket: return .noWordBorder
    case "x":
      guard at + 2 <= pattern.count,
        let value = UInt8(String(decoding: pattern[at..<at + 2], as: UTF8.self), radix: 16)
      else { throw wrong("\\x must be followed by two hexadecimal digits") }
      at += 2
      return value < 0x80 ? .characters(folded([UInt32(value)...UInt32(value)])) : .byte(value)
    case "u":
      guard take("{"), let end = pattern[at...].firstIndex(of: UInt8(ascii: "}")),
        let value = UInt32(String(decoding: pattern[at..<end], as: UTF8.self), radix: 16),
        Unicode.Scalar(value) != nil
      else { throw wrong("\\u must be followed by the code of a character, as in \\u{e9}") }
      at = end + 1
      return .characters(folded([value...value]))
    case "1"..."9": throw wrong("backreferences cannot be matched in linear time")
    default:
      guard byte >= 0x80 || !RegexParser.words.contains(where: { $0.contains(UInt32(byte)) }) else {
        at -= 1
        throw wrong("\\\(Character(Unicode.Scalar(byte))) is not supported here")
      }
      at -= 1
      return try character()
    }
  }

  private mutating func bracket() throws(TableError) -> RegexTree {
    let start = at
    at += 1
    let isInverted = take("^")
    var ranges: [ClosedRange<UInt32>] = []
    var isFirst = true
    while true {
      guard let byte = next else {
        at = start
        throw wrong("[ has no closing ]")
      }
      if byte == UInt8(ascii: "]"), !isFirst { break }
      isFirst = false
      let item = try bracketItem()
      // A dash directly in front of the closing bracket is a literal.
      guard next == UInt8(ascii: "-"), at + 1 < pattern.count,
        pattern[at + 1] != UInt8(ascii: "]")
      else {
        ranges += item
        continue
      }
      at += 1
      let last = try bracketItem()
      guard item.count == 1, last.count == 1, item[0].count == 1, last[0].count == 1 else {
        throw wrong("a range must begin and end with one character")
      }
      guard item[0].lowerBound <= last[0].lowerBound else {
        throw wrong("the start of the range is after its end")
      }
      ranges.append(item[0].lowerBound...last[0].lowerBound)
    }
    at += 1
    ranges = RegexParser.united(folded(ranges))
    return .characters(isInverted ? RegexParser.inverted(ranges) : ranges)
  }

  private mutating func bracketItem() throws(TableError) -> [ClosedRange<UInt32>] {
    if next == UInt8(ascii: "\\") {
      guard case .characters(let ranges) = try escape(inBracket: true) else {
        throw wrong("a byte that is not a character is not allowed in brackets")
      }
      return ranges
    }
    if let ranges = try namedClass() { return ranges }
    guard let value = scalar() else { throw wrong("this is not UTF-8") }
    return [value...value]
  }

  /// The characters of a class of POSIX within brackets, such as `[:alpha:]`, for ASCII; nil if there is none here.
  private mutating func namedClass() throws(TableError) -> [ClosedRange<UInt32>]? {
    guard pattern[at...].starts(with: Array("[:".utf8)) else { return nil }
    let name = pattern[(at + 2)...].prefix { 97...122 ~= $0 }
    guard !name.isEmpty, pattern[name.endIndex...].starts(with: Array(":]".utf8)) else {
      return nil
    }
    let found = RegexParser.classes.first { name.elementsEqual($0.name.utf8) }
    guard let found else {
      let names = RegexParser.classes.map(\.name).joined(separator: ", ")
      throw wrong(
        "there is no class \(String(decoding: name, as: UTF8.self)); the classes are \(names)")
    }
    at = name.endIndex + 2
    return found.ranges
  }
}

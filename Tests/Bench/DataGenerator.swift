/// The content of the generated files. The same kind, size and seed make the same bytes everywhere.
enum DataKind: String, CaseIterable {
  /// Ten columns without quotes, about 100 bytes per row.
  case plain
  /// Six columns with embedded line ends, commas and doubled quotes, about 125 bytes per row.
  case quoted
  /// Lines without commas or quotes, about as long as the rows of `plain`.
  case text
}

/// Generates the bytes of one kind of data, row by row.
struct DataGenerator {
  private let kind: DataKind
  private var random: SplitMix
  private var row = 0

  init(_ kind: DataKind, seed: UInt64) {
    self.kind = kind
    random = SplitMix(state: seed)
  }

  /// Appends the bytes in front of the first row.
  func appendHeader(to bytes: inout [UInt8]) {
    switch kind {
    case .plain: bytes.append(text: "id,ts,city,user,amount,qty,code,active,score,note\n")
    case .quoted: bytes.append(text: "\"id\",\"title\",\"body\",\"tags\",\"price\",\"remark\"\n")
    case .text: break
    }
  }

  /// Appends the next row.
  mutating func appendRow(to bytes: inout [UInt8]) {
    row += 1
    switch kind {
    case .plain: appendPlain(to: &bytes)
    case .quoted: appendQuoted(to: &bytes)
    case .text: appendText(to: &bytes)
    }
  }

  private mutating func appendPlain(to bytes: inout [UInt8]) {
    bytes.append(decimal: UInt64(row), end: comma)
    appendTime(to: &bytes)
    bytes.append(word: random.below(cities.count), of: cities, end: comma)
    bytes.append(word: random.below(words.count), of: words)
    bytes.append(decimal: random.next(below: 1000), end: comma)
    appendMoney(below: 100_000, to: &bytes)
    bytes.append(decimal: random.next(below: 1000), end: comma)
    bytes.append(hexadecimal: random.next(below: 1 << 32), digits: 8, end: comma)
    bytes.append(text: random.next(below: 2) == 0 ? "true,0." : "false,0.")
    bytes.append(decimal: random.next(below: 1_000_000), digits: 6, end: comma)
    bytes.append(word: random.below(words.count), of: words, end: space)
    bytes.append(word: random.below(words.count), of: words, end: space)
    bytes.append(word: random.below(words.count), of: words, end: lineEnd)
  }

  private mutating func appendTime(to bytes: inout [UInt8]) {
    bytes.append(text: "2025-")
    bytes.append(decimal: random.next(below: 12) + 1, digits: 2, end: UInt8(ascii: "-"))
    bytes.append(decimal: random.next(below: 28) + 1, digits: 2, end: UInt8(ascii: "T"))
    bytes.append(decimal: random.next(below: 24), digits: 2, end: UInt8(ascii: ":"))
    bytes.append(decimal: random.next(below: 60), digits: 2, end: UInt8(ascii: ":"))
    bytes.append(decimal: random.next(below: 60), digits: 2, end: comma)
  }

  private mutating func appendMoney(below limit: UInt64, to bytes: inout [UInt8]) {
    bytes.append(decimal: random.next(below: limit), end: UInt8(ascii: "."))
    bytes.append(decimal: random.next(below: 100), digits: 2, end: comma)
  }

  private mutating func appendQuoted(to bytes: inout [UInt8]) {
    bytes.append(quote)
    bytes.append(decimal: UInt64(row), end: quote)
    bytes.append(text: ",\"")
    bytes.append(word: random.below(words.count), of: words, end: space)
    appendDoublyQuotedWord(to: &bytes)
    bytes.append(space)
    bytes.append(word: random.below(words.count), of: words)
    bytes.append(text: "\",\"")
    for _ in 0..<(3 + random.below(6)) { appendBodyWord(to: &bytes) }
    bytes.append(text: "\",\"")
    bytes.append(word: random.below(cities.count), of: cities, end: comma)
    bytes.append(word: random.below(cities.count), of: cities, end: quote)
    bytes.append(comma)
    appendMoney(below: 10_000, to: &bytes)
    appendRemark(to: &bytes)
  }

  private mutating func appendBodyWord(to bytes: inout [UInt8]) {
    bytes.append(word: random.below(words.count), of: words)
    switch random.below(8) {
    case 0: bytes.append(text: ", ")
    case 1: bytes.append(lineEnd)
    case 2:
      bytes.append(space)
      appendDoublyQuotedWord(to: &bytes)
      bytes.append(space)
    case 3: bytes.append(text: "\r\n")
    default: bytes.append(space)
    }
  }

  private mutating func appendRemark(to bytes: inout [UInt8]) {
    guard random.below(2) == 0 else {
      return bytes.append(word: random.below(words.count), of: words, end: lineEnd)
    }
    bytes.append(text: "\"They wrote ")
    appendDoublyQuotedWord(to: &bytes)
    bytes.append(text: ", and went on.\"\n")
  }

  private mutating func appendDoublyQuotedWord(to bytes: inout [UInt8]) {
    bytes.append(text: "\"\"")
    bytes.append(word: random.below(words.count), of: words)
    bytes.append(text: "\"\"")
  }

  private mutating func appendText(to bytes: inout [UInt8]) {
    bytes.append(decimal: UInt64(row), end: space)
    let count = 10 + random.below(11)
    for index in 1...count {
      let end = index == count ? lineEnd : space
      bytes.append(word: random.below(words.count), of: words, end: end)
    }
  }
}

/// The SplitMix64 generator. Its state is one word, and any seed is valid.
struct SplitMix {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var bits = state
    bits = (bits ^ bits >> 30) &* 0xBF58_476D_1CE4_E5B9
    bits = (bits ^ bits >> 27) &* 0x94D0_49BB_1331_11EB
    return bits ^ bits >> 31
  }

  /// Returns a number in 0..<limit.
  mutating func next(below limit: UInt64) -> UInt64 {
    next().multipliedFullWidth(by: limit).high
  }

  mutating func below(_ limit: Int) -> Int { Int(next(below: UInt64(limit))) }
}

private let comma = UInt8(ascii: ",")
private let space = UInt8(ascii: " ")
private let quote = UInt8(ascii: "\"")
private let lineEnd = UInt8(ascii: "\n")

private let cities = [
  "Aarhus", "Bergen", "Cork", "Delft", "Essen", "Freiburg", "Ghent", "Hamburg", "Innsbruck", "Jena",
  "Krakow", "Leipzig", "Montpellier", "Nantes", "Odense", "Porto", "Rotterdam", "Salamanca",
  "Tartu", "Uppsala", "Valencia", "Wroclaw", "York", "Zagreb",
].map { Array($0.utf8) }

private let words = [
  "apple", "birch", "cedar", "daisy", "elder", "fern", "ginger", "hazel", "iris", "juniper", "kelp",
  "laurel", "maple", "nettle", "oak", "poppy", "quince", "rowan", "sage", "thyme", "umbel",
  "violet", "willow", "yarrow",
].map { Array($0.utf8) }

extension [UInt8] {
  fileprivate mutating func append(text: StaticString) {
    append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
  }

  fileprivate mutating func append(word index: Int, of list: [[UInt8]], end: UInt8? = nil) {
    append(contentsOf: list[index])
    if let end { append(end) }
  }

  /// Appends a number with at least `digits` digits, and the byte `end`.
  fileprivate mutating func append(decimal number: UInt64, digits: Int = 1, end: UInt8) {
    append(number, radix: 10, digits: digits)
    append(end)
  }

  fileprivate mutating func append(hexadecimal number: UInt64, digits: Int, end: UInt8) {
    append(number, radix: 16, digits: digits)
    append(end)
  }

  private mutating func append(_ number: UInt64, radix: UInt64, digits: Int) {
    var power: UInt64 = 1
    var count = 1
    while count < digits || number / power >= radix {
      power *= radix
      count += 1
    }
    var rest = number
    for _ in 0..<count {
      let digit = UInt8(rest / power)
      append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
      rest %= power
      power /= radix
    }
  }
}

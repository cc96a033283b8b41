/// The texts that lead from a state of an automaton to another state, if they are so few that a search finds them
/// faster: up to three bytes, or one pair of bytes. The search examines eight bytes at a time.
struct RegexExits {
  /// The kind of the texts and up to three bytes, as a number that is not negative.
  let code: Int32

  /// The largest number of bytes.
  static let most = 3
  /// The kind of a pair. The kind of other bytes is their number.
  private static let pair: Int32 = 4

  init(code: Int32) { self.code = code }

  /// At most ``most`` bytes.
  init(bytes: [UInt8]) {
    // The last one is repeated.
    let last = bytes.last ?? 0
    let three = (0..<3).map { $0 < bytes.count ? bytes[$0] : last }
    self.init(kind: Int32(bytes.count), three[0], three[1], three[2])
  }

  /// Two bytes, one after the other.
  init(pair first: UInt8, _ second: UInt8) {
    self.init(kind: RegexExits.pair, first, second, second)
  }

  private init(kind: Int32, _ first: UInt8, _ second: UInt8, _ third: UInt8) {
    code = kind << 24 | Int32(third) << 16 | Int32(second) << 8 | Int32(first)
  }

  /// The offset of the first exit from an offset on; the length of the text if there is none. The last byte of a text
  /// is an exit if it is the first one of the pair.
  /// - Complexity: O(bytes)
  @inline(__always) func first(in text: UnsafeRawBufferPointer, from start: Int) -> Int {
    let (a, b, c) = (EightBytes(code), EightBytes(code >> 8), EightBytes(code >> 16))
    var at = start
    switch code >> 24 {
    case 0: return text.count
    case RegexExits.pair:
      while text.count &- at > 8 {
        let found = a.found(in: word(text, at)) & b.found(in: word(text, at &+ 1))
        if found != 0 { return at &+ found.trailingZeroBitCount / 8 }
        at &+= 8
      }
      while at < text.count {
        if text[at] == a.byte, at &+ 1 == text.count || text[at &+ 1] == b.byte { break }
        at &+= 1
      }
    default:
      while text.count &- at >= 8 {
        let word = word(text, at)
        let found = a.found(in: word) | b.found(in: word) | c.found(in: word)
        if found != 0 { return at &+ found.trailingZeroBitCount / 8 }
        at &+= 8
      }
      while at < text.count {
        if text[at] == a.byte || text[at] == b.byte || text[at] == c.byte { break }
        at &+= 1
      }
    }
    return at
  }

  private func word(_ text: UnsafeRawBufferPointer, _ at: Int) -> UInt64 {
    UInt64(littleEndian: text.loadUnaligned(fromByteOffset: at, as: UInt64.self))
  }
}

/// Eight copies of a byte, to compare eight bytes at once.
private struct EightBytes {
  private static let lows: UInt64 = 0x7F7F_7F7F_7F7F_7F7F
  private let copies: UInt64

  /// The lowest eight bits of a number.
  init(_ number: Int32) { copies = UInt64(number & 0xFF) &* 0x0101_0101_0101_0101 }

  var byte: UInt8 { UInt8(truncatingIfNeeded: copies) }

  /// A number with the highest bit of each byte that is equal.
  func found(in word: UInt64) -> UInt64 {
    let rest = word ^ copies
    // The sum of seven bits does not affect the next byte.
    return ~(((rest & EightBytes.lows) &+ EightBytes.lows) | rest | EightBytes.lows)
  }
}

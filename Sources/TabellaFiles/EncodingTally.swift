/// What the characters of a text beyond ASCII are, of those that were looked at.
struct EncodingTally {
  /// How much of a text is looked at.
  static let sampleSize = 1 << 20

  private var hasUTF8 = false
  private var hasOther = false

  /// Whether the text is in another encoding than UTF-8. One with some of both is taken for UTF-8 that was
  /// damaged: Latin-1 has next to nothing that reads as UTF-8.
  var isOther: Bool { hasOther && !hasUTF8 }

  /// Looks at a part of the text; one of ``sampleSize`` bytes may end within a character.
  mutating func add(_ bytes: [UInt8]) {
    var rest = bytes[...]
    // What is cut off says nothing.
    if rest.count == EncodingTally.sampleSize {
      for _ in 0..<3 where rest.last! >= 0x80 { rest.removeLast() }
    }
    while !hasUTF8, let next = rest.firstIndex(where: { $0 >= 0x80 }) {
      rest = rest[next...]
      var (decoder, iterator) = (UTF8(), rest.prefix(4).makeIterator())
      switch decoder.decode(&iterator) {
      case .scalarValue: hasUTF8 = true
      default: hasOther = true
      }
      rest.removeFirst()
    }
  }
}

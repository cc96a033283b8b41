/// Statistics about the encoding of a text, from the examined characters outside ASCII.
struct EncodingTally {
  /// The number of bytes at the start of a text that are examined.
  static let sampleSize = 1 << 20

  private var hasUTF8 = false
  private var hasOther = false

  /// Whether the text has another encoding than UTF-8.
  ///
  /// A text with both valid and invalid UTF-8 counts as damaged UTF-8, because Latin-1 text hardly ever contains
  /// valid UTF-8 sequences.
  var isOther: Bool { hasOther && !hasUTF8 }

  /// Examines bytes of the text. A run of ``sampleSize`` bytes can end inside a character.
  mutating func add(_ bytes: [UInt8]) {
    var rest = bytes[...]
    // A cut character says nothing about the encoding.
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

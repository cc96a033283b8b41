import Tabella
import TabellaFiles

/// The previews of files and folders: styled text with their first lines or entries.
enum Preview {
  /// The maximum number of lines and bytes of a text preview.
  static let longestText = (lines: 64, bytes: 16 << 10)
  /// The maximum number of bytes of a hexadecimal preview.
  static let longestDump = 256
  /// The maximum number of entries of a folder preview.
  static let mostEntries = 32

  // Files

  /// The preview of a file. `start` contains the first bytes: more than a preview shows, or all. `size` is the size of
  /// the file, if known.
  static func ofFile(_ start: [UInt8], size: Int?) throws(TableError) -> StyledText {
    if start.isEmpty { return .styled("empty", .dim) }
    let bytes = MemoryBytes(start)
    guard try bytes.looksLikeText() else { return dump(start, size: size) }
    let decoded = try DecodedText(bytes, encoding: nil)
    guard decoded.bytes !== bytes else {
      let (text, end) = lines(start[decoded.start...], isCut: size != start.count)
      return marked(text, more: size.map { $0 - end }, "byte")
    }
    // A decoded text does not tell how many bytes of the file it covers.
    let isCut = size != start.count
    let all = try decode(decoded, isCut: isCut)
    let (text, end) = lines(all[...], isCut: isCut)
    return marked(text, more: isCut || end < all.count ? nil : 0, "byte")
  }

  private static func decode(_ decoded: DecodedText, isCut: Bool) throws(TableError) -> [UInt8] {
    // A byte decodes to at most one replacement character, which has 3 bytes. So this many bytes suffice.
    var text = try decoded.bytes.bytes(at: decoded.start, count: 4 * longestText.bytes)
    // An incomplete character at the cut is not an error. In UTF-16, the two halves of a pair decode to two
    // replacements.
    for _ in 0..<2 where isCut && text.suffix(3).elementsEqual("\u{FFFD}".utf8) {
      text.removeLast(3)
    }
    return text
  }

  /// The first lines of a text, joined with LF, and the offset after them.
  private static func lines(
    _ bytes: ArraySlice<UInt8>, isCut: Bool
  ) -> (text: [UInt8], end: Int) {
    let isLonger = isCut || bytes.endIndex > longestText.bytes
    let bytes = bytes[..<min(bytes.endIndex, max(bytes.startIndex, longestText.bytes))]
    var text: [UInt8] = []
    var start = bytes.startIndex
    for number in 0..<longestText.lines where start < bytes.endIndex {
      let feed = bytes[start...].firstIndex(of: 10)
      let end = feed ?? (isLonger ? wholeEnd(of: bytes[start...]) : bytes.endIndex)
      // The rest may be shorter than one character.
      if feed == nil, end == start { break }
      if number > 0 { text.append(10) }
      guard let feed else { return (text + bytes[start..<end], end) }
      let line = bytes[start..<feed]
      text += line.last == 13 ? line.dropLast() : line
      start = feed + 1
    }
    return (text, start)
  }

  /// The end of bytes that were cut, without an incomplete character or line end.
  private static func wholeEnd(of bytes: ArraySlice<UInt8>) -> Int {
    if bytes.last == 13 { return bytes.endIndex - 1 }
    for (back, byte) in zip(1...3, bytes.reversed()) {
      let length =
        switch byte {
        case 0x80...0xBF: 0
        case 0xC2...0xDF: 2
        case 0xE0...0xEF: 3
        case 0xF0...0xF4: 4
        default: 1
        }
      if length > 0 { return bytes.endIndex - (length > back ? back : 0) }
    }
    return bytes.endIndex
  }

  /// The first bytes in the form of the text provider: offset, hexadecimal digits, ASCII.
  private static func dump(_ start: [UInt8], size: Int?) -> StyledText {
    let bytes = start.prefix(longestDump)
    var text = StyledText([])
    for at in stride(from: 0, to: bytes.count, by: Hexadecimal.width) {
      let line = bytes[at..<min(at + Hexadecimal.width, bytes.count)]
      if at > 0 { text.bytes.append(10) }
      let offset = String(at)
      text.append(String(repeating: " ", count: 3 - offset.utf8.count) + offset, .dim)
      let digits = Hexadecimal.digits(of: line)
      // The width of a full line: three columns per byte, without the last blank, and one blank in the middle.
      let gap = [UInt8](
        repeating: UInt8(ascii: " "), count: 2 + 3 * Hexadecimal.width - digits.count)
      text.bytes += Array("  ".utf8) + digits + gap + Hexadecimal.text(of: line)
    }
    return marked(text, more: size.map { $0 - bytes.count }, "byte")
  }

  // Folders

  /// The first entries of a listed folder. Folders end with a slash.
  static func ofFolder(_ listing: Listing) -> StyledText {
    if listing.count == 0, listing.isWhole { return .styled("no entries", .dim) }
    var text: [UInt8] = []
    for entry in 0..<min(listing.count, mostEntries) {
      if entry > 0 { text.append(10) }
      listing.withName(entry) { text += line($0) }
      if listing.kind(entry) == .directory { text.append(UInt8(ascii: "/")) }
    }
    let more = max(0, listing.count - mostEntries)
    guard listing.isWhole else {
      return marked(text, more == 0 ? "more" : "at least \(more.grouped) more entries")
    }
    return marked(text, more: more, "entry", "entries")
  }

  /// A name or a path as one line: line feeds become `\n`.
  static func line(_ name: some Sequence<UInt8>) -> [UInt8] {
    name.flatMap { $0 == 10 ? Array("\\n".utf8) : [$0] }
  }

  // The last line

  private static func marked(
    _ text: [UInt8], more: Int?, _ unit: String, _ units: String? = nil
  ) -> StyledText {
    marked(StyledText(text), more: more, unit, units)
  }

  /// The text and a last line with the number of omitted units; nil means unknown.
  private static func marked(
    _ text: StyledText, more: Int?, _ unit: String, _ units: String? = nil
  ) -> StyledText {
    guard let more else { return marked(text, "more") }
    if more <= 0 { return text }
    return marked(text, "\(more.grouped) more \(more == 1 ? unit : units ?? unit + "s")")
  }

  private static func marked(_ text: [UInt8], _ mark: String) -> StyledText {
    marked(StyledText(text), mark)
  }

  private static func marked(_ text: StyledText, _ mark: String) -> StyledText {
    var text = text
    if !text.bytes.isEmpty { text.bytes.append(10) }
    text.append("… \(mark)", .dim)
    return text
  }
}

extension StyledText {
  static func styled(_ text: String, _ style: Style) -> StyledText {
    StyledText(text, spans: [.init(0..<text.utf8.count, style)])
  }

  mutating func append(_ text: String, _ style: Style) {
    let start = bytes.count
    bytes += text.utf8
    spans.append(.init(start..<bytes.count, style))
  }
}

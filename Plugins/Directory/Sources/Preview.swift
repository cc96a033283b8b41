import Tabella
import TabellaFiles

/// How files and folders begin, as text to show beside their rows.
enum Preview {
  /// How many lines and bytes of a text are shown at most.
  static let longestText = (lines: 64, bytes: 16 << 10)
  /// How many bytes are shown of what is no text.
  static let longestDump = 256
  /// How many entries of a folder are shown at most.
  static let mostEntries = 32

  // Files

  /// How a file begins. `start` are more of its first bytes than are shown, or all of them; `size` is how
  /// many it has, if that is known.
  static func ofFile(_ start: [UInt8], size: Int?) throws(TableError) -> StyledText {
    if start.isEmpty { return .styled("empty", .dim) }
    let bytes = MemoryBytes(start)
    guard try bytes.looksLikeText() else { return dump(start, size: size) }
    let decoded = try DecodedText(bytes, encoding: nil)
    guard decoded.bytes !== bytes else {
      let (text, end) = lines(start[decoded.start...], isCut: size != start.count)
      return marked(text, more: size.map { $0 - end }, "byte")
    }
    // How many of the file's bytes that was cannot be told from the text.
    let isCut = size != start.count
    let all = try decode(decoded, isCut: isCut)
    let (text, end) = lines(all[...], isCut: isCut)
    return marked(text, more: isCut || end < all.count ? nil : 0, "byte")
  }

  private static func decode(_ decoded: DecodedText, isCut: Bool) throws(TableError) -> [UInt8] {
    // Each byte makes one character at most, if it is wrong.
    var text = try decoded.bytes.bytes(at: decoded.start, count: 4 * longestText.bytes)
    // A character that is not all there, half a pair and half of its other half, is no broken one.
    for _ in 0..<2 where isCut && text.suffix(3).elementsEqual("\u{FFFD}".utf8) {
      text.removeLast(3)
    }
    return text
  }

  /// The first lines of a text without their ends, with LF between, and where what follows begins.
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
      // What is left of a last line may be less than a character.
      if feed == nil, end == start { break }
      if number > 0 { text.append(10) }
      guard let feed else { return (text + bytes[start..<end], end) }
      let line = bytes[start..<feed]
      text += line.last == 13 ? line.dropLast() : line
      start = feed + 1
    }
    return (text, start)
  }

  /// The end of bytes that are cut; before the last character or line end if that is not all there.
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

  /// The first bytes as the text provider shows them: where they are, in hexadecimal, and as ASCII.
  private static func dump(_ start: [UInt8], size: Int?) -> StyledText {
    let bytes = start.prefix(longestDump)
    var text = StyledText([])
    for at in stride(from: 0, to: bytes.count, by: Hexadecimal.width) {
      let line = bytes[at..<min(at + Hexadecimal.width, bytes.count)]
      if at > 0 { text.bytes.append(10) }
      let offset = String(at)
      text.append(String(repeating: " ", count: 3 - offset.utf8.count) + offset, .dim)
      let digits = Hexadecimal.digits(of: line)
      // As wide as a whole line: three a byte, but for one blank at the end and one in the middle.
      let gap = [UInt8](
        repeating: UInt8(ascii: " "), count: 2 + 3 * Hexadecimal.width - digits.count)
      text.bytes += Array("  ".utf8) + digits + gap + Hexadecimal.text(of: line)
    }
    return marked(text, more: size.map { $0 - bytes.count }, "byte")
  }

  // Folders

  /// The first entries of a folder that is listed, with a slash behind folders.
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

  /// A name or a path as one line.
  static func line(_ name: some Sequence<UInt8>) -> [UInt8] {
    name.flatMap { $0 == 10 ? Array("\\n".utf8) : [$0] }
  }

  // What is not shown

  private static func marked(
    _ text: [UInt8], more: Int?, _ unit: String, _ units: String? = nil
  ) -> StyledText {
    marked(StyledText(text), more: more, unit, units)
  }

  /// The text with a last line that says how much more there is; nil is not known.
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

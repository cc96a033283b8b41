import Tabella

/// The syntax of headings.
enum HeadingStyle {
  /// `# Title`, outside fenced code (CommonMark 4.2 and 4.5).
  case markdown
  /// `[section]`.
  case ini

  private static let extensions: [String: HeadingStyle] = [
    "md": .markdown, "markdown": .markdown, "mdown": .markdown, "mkd": .markdown,
    "ini": .ini, "cfg": .ini, "conf": .ini, "toml": .ini, "desktop": .ini, "service": .ini,
    "socket": .ini, "timer": .ini, "target": .ini, "mount": .ini,
  ]

  /// The style for a file name extension; nil if the extension is unknown.
  init?(fileName: [UInt8]) {
    guard let dot = fileName.lastIndex(of: UInt8(ascii: ".")) else { return nil }
    let name = String(decoding: fileName[(dot + 1)...], as: UTF8.self).lowercased()
    guard let style = HeadingStyle.extensions[name] else { return nil }
    self = style
  }
}

/// Recognizes headings. It must receive all lines in order.
struct HeadingReader {
  /// The style; nil until the first heading decides.
  private(set) var style: HeadingStyle?
  /// The open code fence: its character and its length.
  private var fence: (character: UInt8, length: Int)?

  init(_ style: HeadingStyle?) { self.style = style }

  /// Whether the next line is a heading.
  mutating func isHeading(_ line: UnsafeRawBufferPointer) -> Bool {
    // The fast path: most lines begin with other characters.
    guard let first = line.first,
      first <= UInt8(ascii: "[") || first == UInt8(ascii: "`")
        || first == UInt8(ascii: "~")
    else { return false }
    if style != .ini {
      if isInFence(line) { return false }
      if HeadingReader.markdownTitle(line) != nil {
        style = .markdown
        return true
      }
    }
    guard style != .markdown, HeadingReader.iniTitle(line) != nil else { return false }
    style = .ini
    return true
  }

  /// The title of a heading line, without its marks.
  func title(_ line: UnsafeRawBufferPointer) -> String {
    String(decoding: line[titleRange(line) ?? 0..<line.count], as: UTF8.self)
  }

  /// A heading line with a new title. It copies marks, level and indentation from `model`, another heading line.
  ///
  /// Throws ``TableError`` with `.constraint` if the line would not read back as this title.
  func heading(titled title: String?, like model: [UInt8]?) throws(TableError) -> [UInt8] {
    guard let title else {
      throw TableError(.constraint, "a section of a text has a title: its heading")
    }
    let text = Array(title.utf8)
    guard !text.contains(10), !text.contains(13) else {
      throw TableError(.constraint, "a title cannot contain a line end")
    }
    var line = model ?? Array((style == .ini ? "[]" : "# ").utf8)
    let range = line.withUnsafeBytes { titleRange($0) } ?? line.count..<line.count
    var new = text
    // A line of marks alone is a heading, but a title after the marks needs a blank.
    if style != .ini, range.lowerBound > 0, !line[range.lowerBound - 1].isBlank, !text.isEmpty {
      new = [UInt8(ascii: " ")] + text
    }
    line.replaceSubrange(range, with: new)
    let read = line.withUnsafeBytes { bytes in
      titleRange(bytes).map { String(decoding: bytes[$0], as: UTF8.self) }
    }
    guard let read, read.utf8.elementsEqual(text) else {
      guard let read else {
        throw TableError(.constraint, "a line with this title would not be a heading")
      }
      throw TableError(
        .constraint,
        "the title would be read back as \"\(read)\", because a title has no blanks and marks at its ends"
      )
    }
    return line
  }

  private func titleRange(_ line: UnsafeRawBufferPointer) -> Range<Int>? {
    style == .ini ? HeadingReader.iniTitle(line) : HeadingReader.markdownTitle(line)
  }

  /// Updates the fence state. The lines of a fence itself count as inside.
  private mutating func isInFence(_ line: UnsafeRawBufferPointer) -> Bool {
    let indent = line.prefix { $0 == UInt8(ascii: " ") }.count
    guard indent <= 3, indent < line.count else { return fence != nil }
    let character = line[indent]
    let length = line[indent...].prefix { $0 == character }.count
    let isMark =
      (character == UInt8(ascii: "`") || character == UInt8(ascii: "~")) && length >= 3
    let rest = line[(indent + length)...]
    guard let open = fence else {
      // ```code``` in a line of text is no fence (CommonMark 4.5).
      let opens = isMark && (character == UInt8(ascii: "~") || !rest.contains(character))
      if opens { fence = (character, length) }
      return opens
    }
    let isBare = rest.allSatisfy { $0.isBlank }
    if isMark, character == open.character, length >= open.length, isBare { fence = nil }
    return true
  }

  private static func markdownTitle(_ line: UnsafeRawBufferPointer) -> Range<Int>? {
    let indent = line.prefix { $0 == UInt8(ascii: " ") }.count
    let marks = line[indent...].prefix { $0 == UInt8(ascii: "#") }.count
    let start = indent + marks
    guard indent <= 3, 1...6 ~= marks, start == line.count || line[start].isBlank else {
      return nil
    }
    var title = trimmed(line, start..<line.count)
    // A closing sequence of marks needs a blank in front of it.
    let closing = line[title].reversed().prefix { $0 == UInt8(ascii: "#") }.count
    let end = title.upperBound - closing
    if closing > 0, end == title.lowerBound || line[end - 1].isBlank {
      title = trimmed(line, title.lowerBound..<end)
    }
    return title
  }

  private static func iniTitle(_ line: UnsafeRawBufferPointer) -> Range<Int>? {
    var title = trimmed(line, 0..<line.count)
    guard title.count >= 2, line[title.lowerBound] == UInt8(ascii: "["),
      line[title.upperBound - 1] == UInt8(ascii: "]")
    else { return nil }
    title = title.lowerBound + 1..<title.upperBound - 1
    // TOML doubles the brackets for arrays of tables.
    if title.count >= 2, line[title.lowerBound] == UInt8(ascii: "["),
      line[title.upperBound - 1] == UInt8(ascii: "]")
    {
      title = title.lowerBound + 1..<title.upperBound - 1
    }
    return trimmed(line, title)
  }

  private static func trimmed(_ line: UnsafeRawBufferPointer, _ range: Range<Int>) -> Range<Int> {
    var (start, end) = (range.lowerBound, range.upperBound)
    while start < end, line[start].isBlank { start += 1 }
    while start < end, line[end - 1].isBlank { end -= 1 }
    return start..<end
  }
}

extension UInt8 {
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

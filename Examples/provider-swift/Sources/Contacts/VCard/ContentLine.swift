/// One line of a vCard, such as `item1.TEL;TYPE=home,voice:+1 555`. It can cover several lines of the file.
///
/// A long line is *folded*: it continues on the next line of the file, behind a space or a tab. In vCard 2.1, a line in
/// quoted-printable continues if it ends with `=`.
struct ContentLine {
  /// The bytes of the line in the file, with its line end.
  let range: Range<Int>
  /// The name of the property in upper case, without its group: `TEL`.
  let name: String
  /// The bytes in front of the value, unfolded: `item1.TEL;TYPE=home,voice`.
  let head: [UInt8]
  /// The bytes after the colon, unfolded, still with escapes.
  let value: [UInt8]
  /// The parameters in the order of the line.
  let parameters: [(name: String, values: [String])]

  /// The values of a parameter.
  func values(of parameter: String) -> [String] {
    parameters.filter { $0.name == parameter }.flatMap(\.values)
  }

  /// Whether a parameter has a value, in any case.
  func has(_ parameter: String, _ value: String) -> Bool {
    values(of: parameter).contains { $0.uppercased() == value }
  }

  /// Reads the line that begins at an offset. The offset must be less than the number of bytes.
  init(at start: Int, in bytes: [UInt8]) {
    var (content, next) = ContentLine.physicalLine(at: start, in: bytes)
    var unfolded = Array(bytes[content])
    let isQuotedPrintable = ContentLine.isQuotedPrintable(unfolded)
    while next < bytes.count {
      let isSoft = isQuotedPrintable && unfolded.last == Byte.equals
      guard isSoft || bytes[next] == Byte.space || bytes[next] == Byte.tab else { break }
      if isSoft { unfolded.removeLast() }
      (content, next) = ContentLine.physicalLine(at: next, in: bytes)
      unfolded += isSoft ? bytes[content] : bytes[content].dropFirst()
    }
    range = start..<next
    let colon = ContentLine.firstUnquoted(Byte.colon, in: unfolded[...]) ?? unfolded.endIndex
    head = Array(unfolded[..<colon])
    value = Array(unfolded[colon...].dropFirst())
    let parts = ContentLine.splitUnquoted(head[...], at: Byte.semicolon)
    let full = parts[0].lastIndex(of: Byte.dot).map { parts[0][($0 + 1)...] } ?? parts[0]
    name = string(full).uppercased()
    parameters = parts.dropFirst().map { part in
      // vCard 2.1 writes `TEL;HOME:` for `TEL;TYPE=HOME:`.
      guard let equals = part.firstIndex(of: Byte.equals) else {
        let value = string(part)
        let isEncoding = value.uppercased() == "QUOTED-PRINTABLE" || value.uppercased() == "BASE64"
        return (isEncoding ? "ENCODING" : "TYPE", [value])
      }
      let values = ContentLine.splitUnquoted(part[(equals + 1)...], at: Byte.comma)
      return (
        string(part[..<equals]).uppercased(), values.map { string($0.filter { $0 != Byte.quote }) }
      )
    }
  }

  /// The name of the line at an offset in upper case, without reading its value.
  static func name(at start: Int, in bytes: [UInt8]) -> String {
    let line = bytes[physicalLine(at: start, in: bytes).content]
    let end = line.firstIndex { $0 == Byte.colon || $0 == Byte.semicolon } ?? line.endIndex
    let full = line[..<end]
    return string(full.lastIndex(of: Byte.dot).map { full[($0 + 1)...] } ?? full).uppercased()
  }

  /// The offset after the line at an offset.
  static func end(at start: Int, in bytes: [UInt8]) -> Int {
    var (content, next) = physicalLine(at: start, in: bytes)
    let canBeSoft = bytes[content].last == Byte.equals && isQuotedPrintable(bytes[content])
    while next < bytes.count {
      let isSoft = canBeSoft && bytes[content].last == Byte.equals
      guard isSoft || bytes[next] == Byte.space || bytes[next] == Byte.tab else { break }
      (content, next) = physicalLine(at: next, in: bytes)
    }
    return next
  }

  /// The content of the line of the file at an offset, without its line end, and the offset after it.
  private static func physicalLine(
    at start: Int, in bytes: [UInt8]
  ) -> (content: Range<Int>, next: Int) {
    var end = start
    while end < bytes.count, bytes[end] != Byte.lineFeed { end += 1 }
    let next = min(end + 1, bytes.count)
    if end > start, end < bytes.count, bytes[end - 1] == Byte.carriageReturn { end -= 1 }
    return (start..<end, next)
  }

  private static func isQuotedPrintable(_ line: some Collection<UInt8>) -> Bool {
    let head = line.prefix { $0 != Byte.colon }
    return string(head).uppercased().contains("QUOTED-PRINTABLE")
  }

  private static func firstUnquoted(_ byte: UInt8, in bytes: ArraySlice<UInt8>) -> Int? {
    var isQuoted = false
    return bytes.firstIndex {
      if $0 == Byte.quote { isQuoted.toggle() }
      return $0 == byte && !isQuoted
    }
  }

  static func splitUnquoted(
    _ bytes: ArraySlice<UInt8>, at byte: UInt8
  ) -> [ArraySlice<UInt8>] {
    var parts: [ArraySlice<UInt8>] = []
    var rest = bytes
    while let index = firstUnquoted(byte, in: rest) {
      parts.append(rest[..<index])
      rest = rest[(index + 1)...]
    }
    return parts + [rest]
  }
}

/// The bytes that have a meaning in a vCard.
enum Byte {
  static let tab = UInt8(ascii: "\t")
  static let lineFeed = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let space = UInt8(ascii: " ")
  static let quote = UInt8(ascii: "\"")
  static let comma = UInt8(ascii: ",")
  static let dot = UInt8(ascii: ".")
  static let colon = UInt8(ascii: ":")
  static let semicolon = UInt8(ascii: ";")
  static let equals = UInt8(ascii: "=")
  static let backslash = UInt8(ascii: "\\")
}

/// Bytes as text. Invalid UTF-8 is replaced.
func string(_ bytes: some Collection<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

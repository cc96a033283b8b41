// The escapes and encodings of values, in both directions.

extension ContentLine {
  /// The parts of the value between separators, still with escapes.
  ///
  /// `;` separates the components of a name, and `,` the values of a list. Text without separators is one part.
  func rawParts(at separator: UInt8?) -> [[UInt8]] {
    let decoded = decoded
    var parts: [[UInt8]] = [[]]
    var isEscaped = false
    for byte in decoded {
      if byte == separator, !isEscaped {
        parts.append([])
      } else {
        parts[parts.count - 1].append(byte)
      }
      isEscaped = byte == Byte.backslash && !isEscaped
    }
    return parts
  }

  /// The parts of the value between separators, without escapes.
  func parts(at separator: UInt8?) -> [[UInt8]] {
    // A URI has no escapes.
    if has("VALUE", "URI") { return [decoded] }
    return rawParts(at: separator).map(unescaped)
  }

  /// The value as one text, without escapes.
  var text: [UInt8] { parts(at: nil)[0] }

  /// The value without quoted-printable, and in UTF-8 if the line says that it is Latin-1 (both in vCard 2.1).
  private var decoded: [UInt8] {
    let bytes = has("ENCODING", "QUOTED-PRINTABLE") ? fromQuotedPrintable(value) : value
    let isLatin = ["ISO-8859-1", "LATIN1", "WINDOWS-1252"].contains { has("CHARSET", $0) }
    guard isLatin else { return bytes }
    return bytes.flatMap { Array(String(Character(Unicode.Scalar($0))).utf8) }
  }

  /// Whether the value is a picture, a sound or a key, which is no text.
  var isBinary: Bool {
    has("ENCODING", "B") || has("ENCODING", "BASE64") || value.starts(with: Array("data:".utf8))
  }
}

/// Text without the escapes of vCard. An unknown escape stays as it is.
private func unescaped(_ bytes: [UInt8]) -> [UInt8] {
  var result: [UInt8] = []
  var isEscaped = false
  for byte in bytes {
    guard isEscaped else {
      isEscaped = byte == Byte.backslash
      if !isEscaped { result.append(byte) }
      continue
    }
    isEscaped = false
    switch byte {
    case UInt8(ascii: "n"), UInt8(ascii: "N"): result.append(Byte.lineFeed)
    case Byte.backslash, Byte.comma, Byte.semicolon, Byte.colon: result.append(byte)
    default: result += [Byte.backslash, byte]
    }
  }
  return isEscaped ? result + [Byte.backslash] : result
}

/// Decodes `=C3=A9`. A wrong code stays as it is.
private func fromQuotedPrintable(_ bytes: [UInt8]) -> [UInt8] {
  var result: [UInt8] = []
  var index = 0
  while index < bytes.count {
    if bytes[index] == Byte.equals, index + 2 < bytes.count,
      let code = UInt8(string(bytes[(index + 1)...(index + 2)]), radix: 16)
    {
      result.append(code)
      index += 3
    } else {
      result.append(bytes[index])
      index += 1
    }
  }
  return result
}

/// Text with the escapes of vCard 3.0 and 4.0.
func escaped(_ text: some Collection<UInt8>) -> [UInt8] {
  text.flatMap { byte -> [UInt8] in
    switch byte {
    case Byte.lineFeed: Array("\\n".utf8)
    case Byte.backslash, Byte.comma, Byte.semicolon: [Byte.backslash, byte]
    default: [byte]
    }
  }
}

/// A line for the file: folded to 75 bytes, never inside a character, with its line end.
func folded(_ line: [UInt8], lineEnd: [UInt8]) -> [UInt8] {
  var result: [UInt8] = []
  var room = 75
  var index = 0
  while index < line.count {
    var next = index + 1
    while next < line.count, line[next] & 0xC0 == 0x80 { next += 1 }
    if next - index > room {
      result += lineEnd + [Byte.space]
      room = 74
    }
    result += line[index..<next]
    room -= next - index
    index = next
  }
  return result + lineEnd
}

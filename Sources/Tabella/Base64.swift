/// Encodes bytes in base64 (RFC 4648, section 4).
package func base64(_ bytes: UnsafeRawBufferPointer) -> String {
  let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  var text: [UInt8] = []
  text.reserveCapacity((bytes.count + 2) / 3 * 4)
  for start in stride(from: 0, to: bytes.count, by: 3) {
    let count = min(3, bytes.count - start)
    var bits = 0
    for index in 0..<3 { bits = bits << 8 | (index < count ? Int(bytes[start + index]) : 0) }
    for index in 0..<4 {
      text.append(
        index <= count ? alphabet[(bits >> (18 - 6 * index)) & 63] : UInt8(ascii: "="))
    }
  }
  return String(decoding: text, as: UTF8.self)
}

/// Decodes base64 with padding (RFC 4648, section 4). Returns nil if the text is invalid.
package func bytes(base64 text: String) -> [UInt8]? {
  let text = Array(text.utf8)
  guard text.count % 4 == 0 else { return nil }
  let padding = text.reversed().prefix(2).prefix { $0 == UInt8(ascii: "=") }.count
  var bytes: [UInt8] = []
  bytes.reserveCapacity(text.count / 4 * 3)
  var bits: UInt32 = 0
  for (index, character) in text.dropLast(padding).enumerated() {
    let digit: UInt8
    switch character {
    case 65...90: digit = character - 65
    case 97...122: digit = character - 97 + 26
    case 48...57: digit = character - 48 + 52
    case UInt8(ascii: "+"): digit = 62
    case UInt8(ascii: "/"): digit = 63
    default: return nil
    }
    bits = bits << 6 | UInt32(digit)
    // Each digit except the first of four completes a byte.
    if index % 4 > 0 {
      let rest = UInt32(6 - 2 * (index % 4))
      bytes.append(UInt8(truncatingIfNeeded: bits >> rest))
    }
  }
  // The unused bits of the last digit must be zero.
  let rest = UInt32(2 * padding)
  return bits & (1 << rest - 1) == 0 ? bytes : nil
}

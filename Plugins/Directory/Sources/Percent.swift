/// Percent encoding, as in URIs: special bytes become `%` and two hexadecimal digits.
enum Percent {
  private static let plain = Set(
    Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~".utf8))
  private static let digits = Array("0123456789ABCDEF".utf8)

  static func escaped(_ name: [UInt8], keeping other: UInt8? = nil) -> [UInt8] {
    name.flatMap { byte in
      plain.contains(byte) || byte == other
        ? [byte] : [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }

  /// The bytes of an encoded name; nil if the encoding is invalid.
  static func unescaped(_ text: ArraySlice<UInt8>) -> [UInt8]? {
    var rest = text
    var bytes: [UInt8] = []
    while let byte = rest.popFirst() {
      if plain.contains(byte) {
        bytes.append(byte)
      } else if byte == UInt8(ascii: "%"),
        let high = rest.popFirst().flatMap(digits.firstIndex),
        let low = rest.popFirst().flatMap(digits.firstIndex)
      {
        bytes.append(UInt8(high << 4 | low))
      } else {
        return nil
      }
    }
    return bytes
  }
}

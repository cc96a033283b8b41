/// A number that tells byte strings apart: 64 bits of FNV-1a, stirred so that every bit counts.
func fingerprint(_ bytes: some Sequence<UInt8>) -> UInt64 {
  var hash: UInt64 = 0xCBF2_9CE4_8422_2325
  for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
  hash = (hash ^ (hash >> 32)) &* 0x9E37_79B9_7F4A_7C15
  return hash ^ (hash >> 29)
}

/// The last digits of a number in base 16, with zeros in front.
func hexadecimal(_ number: UInt64, digits: Int) -> String {
  let text = String(number, radix: 16)
  return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text.suffix(digits)
}

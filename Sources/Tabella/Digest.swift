/// A 64-bit digest of bytes: quick, well spread, not for secrets.
///
/// Eight bytes at a time, each folded in by a 128-bit multiplication (the idea of wyhash).
public func digest64(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
  var hash = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
  var at = 0
  while at + 8 <= bytes.count {
    hash = fold(
      hash ^ bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian,
      0xE703_7ED1_A0B4_28DB)
    at += 8
  }
  var tail: UInt64 = 0
  for index in at..<bytes.count { tail |= UInt64(bytes[index]) << UInt64((index - at) * 8) }
  return fold(fold(hash ^ tail, 0x8EBC_6AF0_9C88_C6E3), 0x5899_65CC_7537_4CC3)
}

@inline(__always)
private func fold(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right)
  return product.high ^ product.low
}

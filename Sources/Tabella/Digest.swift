/// A 64-bit digest of bytes. It is fast and well distributed, but not cryptographic.
///
/// It processes eight bytes at a time and combines each word by a 128-bit multiplication (the idea of wyhash).
public func digest64(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
  var hash = 0x9E37_79B9_7F4A_7C15 ^ UInt64(bytes.count)
  var at = 0
  while at + 8 <= bytes.count {
    hash = digestFold(
      hash ^ bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self).littleEndian,
      0xE703_7ED1_A0B4_28DB)
    at += 8
  }
  return digestFold(
    digestFold(hash ^ digestTail(of: bytes), 0x8EBC_6AF0_9C88_C6E3), 0x5899_65CC_7537_4CC3)
}

/// The bytes after the last whole word, as a little-endian number.
///
/// It loads overlapping words, because a loop over so few bytes would cost more.
@inline(__always)
func digestTail(of bytes: UnsafeRawBufferPointer) -> UInt64 {
  func load<N: FixedWidthInteger & BitwiseCopyable>(_ at: Int, _: N.Type) -> UInt64 {
    UInt64(truncatingIfNeeded: bytes.loadUnaligned(fromByteOffset: at, as: N.self).littleEndian)
  }
  let (count, rest) = (bytes.count, bytes.count & 7)
  if rest == 0 { return 0 }
  if count >= 8 { return load(count - 8, UInt64.self) >> UInt64(64 - rest * 8) }
  if count >= 4 {
    return load(0, UInt32.self) | load(count - 4, UInt32.self) << UInt64(rest * 8 - 32)
  }
  if count >= 2 {
    return load(0, UInt16.self) | load(count - 2, UInt16.self) << UInt64(rest * 8 - 16)
  }
  return UInt64(bytes[0])
}

/// Whether two byte runs are equal. It compares eight bytes at a time.
func areEqual(_ left: UnsafeRawBufferPointer, _ right: UnsafeRawBufferPointer) -> Bool {
  guard left.count == right.count else { return false }
  var at = 0
  while at + 8 <= left.count {
    if left.loadUnaligned(fromByteOffset: at, as: UInt64.self)
      != right.loadUnaligned(fromByteOffset: at, as: UInt64.self)
    {
      return false
    }
    at += 8
  }
  return digestTail(of: left) == digestTail(of: right)
}

/// Combines two words by a 128-bit multiplication.
@inline(__always)
func digestFold(_ left: UInt64, _ right: UInt64) -> UInt64 {
  let product = left.multipliedFullWidth(by: right)
  return product.high ^ product.low
}

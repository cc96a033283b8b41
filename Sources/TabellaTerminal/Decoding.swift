/// Decodes the scalar at a byte offset. Returns the scalar and its length in bytes, or nil for invalid UTF-8.
///
/// The standard library's decoder does not report how many bytes it skipped.
@inlinable @inline(__always)
package func decodeScalar(
  _ bytes: UnsafeRawBufferPointer, _ at: Int
) -> (scalar: Unicode.Scalar, length: Int)? {
  let first = UInt32(bytes[at])
  if first < 0x80 { return (Unicode.Scalar(UInt8(first)), 1) }
  let length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
  guard 0xC2...0xF4 ~= first, length <= bytes.count - at else { return nil }
  var value = first & (0x7F >> UInt32(length))
  for index in at + 1..<at + length {
    guard bytes[index] & 0xC0 == 0x80 else { return nil }
    value = value << 6 | UInt32(bytes[index] & 0x3F)
  }
  // Overlong sequences and surrogates are invalid UTF-8.
  guard value >= (length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000) else { return nil }
  return Unicode.Scalar(value).map { ($0, length) }
}

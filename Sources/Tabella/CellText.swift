extension ColumnBatch {
  /// The maximum number of bytes that ``writeText(of:to:)`` writes.
  public static let longestText = 64

  /// Writes the exact text of a cell, as in ``Cell/description``, and returns its length in bytes.
  ///
  /// The cell must not be text, binary or missing. `place` has room for ``longestText`` bytes.
  public func writeText(of row: Int, to place: UnsafeMutableRawPointer) -> Int {
    switch type {
    case .integer: return integer(row).write(to: place)
    case .boolean:
      let text: StaticString = boolean(row) ? "true" : "false"
      place.copyMemory(from: text.utf8Start, byteCount: text.utf8CodeUnitCount)
      return text.utf8CodeUnitCount
    case .real: return real(row).write(to: place)
    case .date:
      var count = 0
      Timestamp(nanoseconds: integer(row)).withRFC3339 { bytes in
        place.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
        count = bytes.count
      }
      return count
    case .text, .binary: preconditionFailure("a \(type.name) cell is bytes")
    }
  }
}

extension Int64 {
  /// The maximum number of bytes that ``write(to:)`` writes.
  package static let longestText = 20

  /// Writes the number in decimal digits, and returns the number of bytes.
  package func write(to place: UnsafeMutableRawPointer) -> Int {
    var rest = magnitude
    var digits = 1
    var limit: UInt64 = 10
    while digits < 19, rest >= limit {
      digits += 1
      limit &*= 10
    }
    if digits == 19, rest >= 10_000_000_000_000_000_000 { digits = 20 }
    let sign = self < 0 ? 1 : 0
    if self < 0 { place.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self) }
    for index in stride(from: sign + digits - 1, through: sign, by: -1) {
      place.storeBytes(
        of: UInt8(truncatingIfNeeded: 48 + rest % 10), toByteOffset: index, as: UInt8.self)
      rest /= 10
    }
    return sign + digits
  }
}

extension Double {
  /// The shortest text that reads back as the same number. A whole number has no fraction: `2`, not `2.0`.
  var shortestText: String {
    let text = description
    return text.utf8.count > 2 && text.hasSuffix(".0") ? String(text.dropLast(2)) : text
  }

  /// Writes ``shortestText``, and returns the number of bytes; at most ``ColumnBatch/longestText``.
  func write(to place: UnsafeMutableRawPointer) -> Int {
    let scale = 10_000.0
    let scaled = (magnitude * scale).rounded()
    // Different numbers of at most 15 digits are different doubles. So no shorter text reads back as this number.
    guard scaled >= 10, scaled < 1e15, scaled / scale == magnitude else {
      var text = shortestText
      return text.withUTF8 { bytes in
        place.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
        return bytes.count
      }
    }
    var (whole, fraction) = Int64(scaled).quotientAndRemainder(dividingBy: Int64(scale))
    var count = 0
    if self < 0 {
      place.storeBytes(of: UInt8(ascii: "-"), as: UInt8.self)
      count = 1
    }
    count += whole.write(to: place + count)
    if fraction == 0 { return count }
    place.storeBytes(of: UInt8(ascii: "."), toByteOffset: count, as: UInt8.self)
    count += 1
    var unit = Int64(scale) / 10
    while fraction > 0 {
      (whole, fraction) = fraction.quotientAndRemainder(dividingBy: unit)
      place.storeBytes(
        of: UInt8(truncatingIfNeeded: 48 + whole), toByteOffset: count, as: UInt8.self)
      unit /= 10
      count += 1
    }
    return count
  }
}

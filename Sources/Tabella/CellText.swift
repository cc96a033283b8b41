extension ColumnBatch {
  /// The maximum number of bytes that ``writeText(of:to:)`` writes.
  public static let longestText = 64

  /// Writes the exact text of a cell, as in ``Cell/description``, and returns its length in bytes.
  ///
  /// The cell must not be text, binary or missing. `place` has room for ``longestText`` bytes.
  public func writeText(of row: Int, to place: UnsafeMutableRawPointer) -> Int {
    switch type {
    case .integer: return integer(row).write(to: place)
    case .boolean: return write(boolean(row) ? "true" : "false", to: place)
    case .real: return write(Cell.real(real(row)).description, to: place)
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

  private func write(_ text: String, to place: UnsafeMutableRawPointer) -> Int {
    var text = text
    return text.withUTF8 { bytes in
      place.copyMemory(from: bytes.baseAddress!, byteCount: bytes.count)
      return bytes.count
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

extension ColumnBatch {
  /// The column as text: the ``Cell/description`` of each cell. Missing cells stay missing.
  func asText() -> ColumnBatch {
    let builder = BatchBuilder([.text], capacity: count)
    let column = builder.columns[0]
    var bytes: [UInt8] = []
    withUnsafeTemporaryAllocation(byteCount: ColumnBatch.longestText, alignment: 1) { place in
      for row in 0..<count {
        if isMissing(row) {
          column.appendMissing()
          continue
        }
        switch type {
        case .text: withBytes(at: row) { column.append(bytes: $0) }
        case .binary:
          bytes.removeAll(keepingCapacity: true)
          withBytes(at: row) { for byte in $0 { bytes.append(hexadecimal: byte) } }
          bytes.withUnsafeBytes { column.append(bytes: $0) }
        default:
          let length = writeText(of: row, to: place.baseAddress!)
          column.append(bytes: UnsafeRawBufferPointer(rebasing: place[..<length]))
        }
      }
    }
    return builder.finish().columns[0]
  }
}

extension [UInt8] {
  fileprivate mutating func append(hexadecimal byte: UInt8) {
    for digit in [byte >> 4, byte & 15] { append(digit < 10 ? 48 + digit : 87 + digit) }
  }
}

extension Cell {
  /// Reads text as a value of a type; nil if the text has another format. It reads everything that ``description``
  /// writes.
  ///
  /// Integers and reals have Swift's syntax. Booleans are `true` and `false`. Dates have the format of RFC 3339; a
  /// day alone is allowed. Binary is hexadecimal. Text can be any bytes.
  public init?(_ text: [UInt8], as type: ColumnType) {
    let string = String(decoding: text, as: UTF8.self)
    switch type {
    case .text: self = .text(text)
    case .integer:
      guard let value = Int64(string) else { return nil }
      self = .integer(value)
    case .real:
      guard let value = Double(string) else { return nil }
      self = .real(value)
    case .boolean:
      guard let value = Bool(string) else { return nil }
      self = .boolean(value)
    case .date:
      guard let value = text.withUnsafeBytes({ Timestamp(rfc3339: $0) }) else { return nil }
      self = .date(value)
    case .binary:
      let bytes = stride(from: 0, to: text.count - 1, by: 2).compactMap {
        UInt8(String(decoding: text[$0...$0 + 1], as: UTF8.self), radix: 16)
      }
      guard bytes.count * 2 == text.count else { return nil }
      self = .binary(bytes)
    }
  }
}

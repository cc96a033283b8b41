/// Reads an input piece by piece. After its end, all values are 0.
struct InputReader {
  private let bytes: UnsafeRawBufferPointer
  private(set) var at = 0

  init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

  var remaining: Int { bytes.count - at }

  mutating func byte() -> UInt8 {
    guard at < bytes.count else { return 0 }
    defer { at += 1 }
    return bytes[at]
  }

  mutating func short() -> Int { Int(byte()) | Int(byte()) << 8 }

  mutating func word() -> UInt64 {
    var value: UInt64 = 0
    for shift in 0..<8 { value |= UInt64(byte()) << UInt64(shift * 8) }
    return value
  }

  /// The next `count` bytes, or the remaining ones.
  mutating func run(_ count: Int) -> UnsafeRawBufferPointer {
    let end = at + min(count, remaining)
    defer { at = end }
    return UnsafeRawBufferPointer(rebasing: bytes[at..<end])
  }
}

/// A record of an input: a tag, an argument, and bytes with their length in front.
struct Record {
  var tag: UInt8
  var argument: UInt8
  var bytes: UnsafeRawBufferPointer

  /// The offset of the bytes in a record.
  static let headSize = 4

  static func append(_ tag: UInt8, _ argument: UInt8, _ bytes: [UInt8], to input: inout [UInt8]) {
    input += [tag, argument, UInt8(bytes.count & 0xFF), UInt8(bytes.count >> 8)] + bytes
  }

  /// The records of an input. The last may be truncated.
  static func all(in input: UnsafeRawBufferPointer) -> [Record] {
    var reader = InputReader(input)
    var records: [Record] = []
    while reader.remaining >= headSize {
      let (tag, argument) = (reader.byte(), reader.byte())
      let count = reader.short()
      records.append(Record(tag: tag, argument: argument, bytes: reader.run(count)))
    }
    return records
  }
}

/// The bytes of a number in memory order.
func bytes<N: FixedWidthInteger>(of number: N) -> [UInt8] {
  withUnsafeBytes(of: number) { Array($0) }
}

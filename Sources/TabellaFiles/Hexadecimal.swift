/// Numbers in hexadecimal, and the display format of binary data, with a fixed number of bytes per line.
public enum Hexadecimal {
  /// The number of bytes per line.
  public static let width = 16
  private static let digits = Array("0123456789abcdef".utf8)

  /// The bytes in hexadecimal, `48 65 6c 6c 6f`, with an additional space in the middle of a full line.
  public static func digits(of line: ArraySlice<UInt8>) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(3 * width + 1)
    for (index, byte) in line.enumerated() {
      if index > 0 { text.append(UInt8(ascii: " ")) }
      if index == width / 2 { text.append(UInt8(ascii: " ")) }
      text.append(digits[Int(byte >> 4)])
      text.append(digits[Int(byte & 15)])
    }
    return text
  }

  /// The bytes as ASCII, with dots for bytes that cannot be printed.
  public static func text(of line: ArraySlice<UInt8>) -> [UInt8] {
    line.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: ".") }
  }

  /// The numbers in hexadecimal, without leading zeros, joined by dots: `fd00.1a2.-5`.
  static func joined(_ numbers: [Int]) -> String {
    String(unsafeUninitializedCapacity: 18 * numbers.count) { text in
      var end = 0
      for (index, number) in numbers.enumerated() {
        if index > 0 { end = put(UInt8(ascii: "."), to: text, end) }
        if number < 0 { end = put(UInt8(ascii: "-"), to: text, end) }
        end = write(UInt64(number.magnitude), to: text, end)
      }
      return end
    }
  }

  /// Writes a number without leading zeros to a text from an index on. Returns the index after it.
  static func write(
    _ number: UInt64, to text: UnsafeMutableBufferPointer<UInt8>, _ start: Int
  ) -> Int {
    let count = max(1, (UInt64.bitWidth - number.leadingZeroBitCount + 3) / 4)
    var rest = number
    for index in (start..<start + count).reversed() {
      text[index] = digits[Int(rest & 15)]
      rest >>= 4
    }
    return start + count
  }

  private static func put(
    _ byte: UInt8, to text: UnsafeMutableBufferPointer<UInt8>, _ index: Int
  ) -> Int {
    text[index] = byte
    return index + 1
  }
}

/// How bytes that are no text are shown, so many on a line.
public enum Hexadecimal {
  /// How many bytes a line has.
  public static let width = 16
  private static let digits = Array("0123456789abcdef".utf8)

  /// `48 65 6c 6c 6f`, with a second blank in the middle of a line.
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

  /// The bytes as ASCII, with dots for what is not printed.
  public static func text(of line: ArraySlice<UInt8>) -> [UInt8] {
    line.map { 0x20...0x7E ~= $0 ? $0 : UInt8(ascii: ".") }
  }
}

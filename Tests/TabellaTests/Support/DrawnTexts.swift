/// Texts that look like values of a type, and texts that differ from these in a detail.
enum DrawnTexts {
  static let kinds = 6

  /// A text of one of ``kinds`` kinds: integers, reals, booleans, days, times, and any bytes.
  static func text(_ kind: Int, using generator: inout some RandomNumberGenerator) -> [UInt8] {
    Array(draw(kind, using: &generator).utf8)
  }

  /// A text with one byte replaced, removed or added.
  static func changed(_ text: [UInt8], using generator: inout some RandomNumberGenerator) -> [UInt8]
  {
    var text = text
    let byte = bytes.randomElement(using: &generator) ?? 0
    let place = Int.random(in: 0...text.count, using: &generator)
    if place == text.count || Bool.random(using: &generator) {
      text.insert(byte, at: place)
    } else if Bool.random(using: &generator) {
      text[place] = byte
    } else {
      text.remove(at: place)
    }
    return text
  }

  private static let bytes =
    Array("0019.,-+eETZ: tfa".utf8) + [0, 0x10, 0x2F, 0x3A, 0x80, 0xFA, 0xFF]

  private static func draw(
    _ kind: Int, using generator: inout some RandomNumberGenerator
  ) -> String {
    func below(_ limit: Int) -> Int { Int.random(in: 0..<limit, using: &generator) }
    func digits(_ count: Int) -> String { (0..<count).map { _ in "\(below(10))" }.joined() }
    func two(_ limit: Int) -> String {
      let number = below(limit)
      return number < 10 ? "0\(number)" : "\(number)"
    }
    let sign = below(3) == 0 ? "-" : ""
    switch kind {
    case 0:
      let borders = [
        "0", "-0", "9223372036854775807", "-9223372036854775808", "9223372036854775808",
        "-9223372036854775809", "9999999999999999999", "18446744073709551616",
        "10000000000000000000", "00", "-", "+1",
      ]
      return below(4) == 0 ? borders[below(borders.count)] : sign + digits(1 + below(21))
    case 1:
      let whole = below(3) == 0 ? "0" : "\(1 + below(9))" + digits(below(18))
      let exponents = ["e5", "E-7", "e+300", "e400", "e-400", "e"]
      return sign + whole + (below(5) == 0 ? "" : "." + digits(below(21)))
        + (below(6) == 0 ? exponents[below(exponents.count)] : "")
    case 2: return ["true", "false", "TRUE", "False", "tRuE", "yes", "t", "1"][below(8)]
    case 3:
      let year = ["2024", "1970", "0000", "9999", "1677", "2262", "1900"][below(7)]
      return "\(year)-\(two(14))-\(two(33))"
    case 4:
      let day = ["2024-02-29", "1677-09-21", "2262-04-11", "2023-12-31"][below(4)]
      let fraction = below(2) == 0 ? "" : "." + digits(below(11))
      let zone = ["Z", "z", "+01:00", "-23:59", "+24:00", "", "+0100"][below(7)]
      return day + ["T", "t", " ", "_"][below(4)] + "\(two(25)):\(two(61)):\(two(61))" + fraction
        + zone
    default:
      let characters = Array("aé1 -.:")
      return String((0..<below(60)).map { _ in characters[below(characters.count)] })
    }
  }
}

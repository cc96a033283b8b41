import Testing

@testable import Tabella
@testable import TabellaTestSupport

@Suite struct JSONTextTests {
  /// The JSON string of a text, one character after the other.
  private func naive(_ text: String) -> String {
    var json = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": json += "\\\""
      case "\\": json += "\\\\"
      case "\n": json += "\\n"
      case "\r": json += "\\r"
      case "\t": json += "\\t"
      case "\u{8}": json += "\\b"
      case "\u{C}": json += "\\f"
      default:
        if scalar.value >= 0x20, !scalar.isUnsafeToPrint {
          json.unicodeScalars.append(scalar)
        } else {
          for unit in String(scalar).utf16 {
            let digits = String(unit, radix: 16)
            json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
          }
        }
      }
    }
    return json + "\""
  }

  private static let characters: [Unicode.Scalar] =
    (0..<0x100).map { Unicode.Scalar(UInt8($0)) } + Array(repeating: "a", count: 200)
    + [
      "é", "ß", "\u{202E}", "\u{2028}", "\u{FEFF}", "\u{61C}", "\u{180E}", "\u{3164}", "漢", "😀",
      "\u{E0001}", "\u{10FFFF}",
    ]

  /// Short texts are read eight bytes at a time, also beyond their end if the memory allows it.
  @Test(arguments: 0..<300)
  func `a string is that of one character after the other`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var text = ""
    for _ in 0..<Int.random(in: 0...30, using: &generator) {
      text.unicodeScalars.append(Self.characters.randomElement(using: &generator)!)
    }
    let expected = naive(text)
    let bytes = Array(text.utf8)
    // The bytes after the text look like characters that need an escape.
    for more in [0, 1, 7, 8, 20] {
      let memory = bytes + Array(repeating: UInt8(ascii: "\""), count: more)
      var json: [UInt8] = []
      memory.withUnsafeBytes { memory in
        json.append(room: JSONValue.room(forStrings: 1, bytes: bytes.count)) {
          JSONValue.write(
            string: UnsafeRawBufferPointer(rebasing: memory[..<bytes.count]),
            readable: memory.count, to: $0)
        }
      }
      #expect(String(decoding: json, as: UTF8.self) == expected, "\(more) bytes more")
    }
    #expect(JSONValue.string(text).text == expected)
    #expect(try! JSONValue(parsing: Array(expected.utf8)) == .string(text))
  }
}

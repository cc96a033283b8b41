extension Unicode.Scalar {
  /// Whether the character can act as a command to a terminal, or can hide or change other characters.
  ///
  /// These are C0, DEL, C1, line and paragraph separators, bidi controls, byte order and annotation marks, tags,
  /// fillers, invisible format characters, and noncharacters. Characters that scripts and emoji need are safe
  /// although they are invisible: joiners, variation selectors, the zero width space of Khmer and Thai, soft
  /// hyphens. Private use characters are safe, because fonts have glyphs for them. Unassigned characters are safe.
  ///
  /// Output for terminals shows unsafe characters as escapes. JSON has them as `\u` escapes.
  public var isUnsafeToPrint: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0: true
    case 0xA0..<0x061C: false
    case 0x061C, 0x180E, 0x200E, 0x200F, 0x2028...0x202E, 0x2060...0x206F, 0x3164, 0xFEFF, 0xFFA0,
      0xFFF0...0xFFFB, 0x1BCA0...0x1BCA3, 0x1D173...0x1D17A, 0xE0000..<0xE0100,
      0xE01F0..<0xE1000:
      true
    default: isNoncharacter
    }
  }

  private var isNoncharacter: Bool { value & 0xFFFE == 0xFFFE || 0xFDD0...0xFDEF ~= value }

  /// Whether a character can be unsafe to print, judged by the first two bytes of its UTF-8.
  ///
  /// This check is quick and rejects most characters of two or more bytes.
  static func mayBeUnsafe(_ first: UInt8, _ second: UInt8) -> Bool {
    switch first {
    case 0xC2: second < 0xA0
    case 0xD8: second == 0x9C
    case 0xE1: second == 0xA0
    case 0xE2: second <= 0x81
    case 0xE3: second == 0x85
    case 0xEF: second >= 0xB7
    case 0xF0: second & 0xF == 0xF || second == 0x9B || second == 0x9D
    default: first > 0xF0
    }
  }
}

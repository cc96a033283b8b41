extension Unicode.Scalar {
  /// Whether a terminal could take the character for a command, or it hides or changes how others are
  /// read.
  ///
  /// C0, DEL, C1, line and paragraph separators, bidi controls, byte order and annotation marks, tags,
  /// fillers and format characters that nothing shows, and noncharacters. Not what scripts and pictures
  /// need although it cannot be seen (joiners, variation selectors, the zero width space of Khmer and
  /// Thai, soft hyphens), nor private use, which fonts have pictures for, nor what is not assigned yet.
  ///
  /// Terminals are shown these as escapes, and JSON has them as `\u` escapes.
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

  /// Whether a character of more than one byte of UTF-8 that begins with these two may be unsafe to
  /// print; only few are looked at closer.
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

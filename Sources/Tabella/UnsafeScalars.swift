extension Unicode.Scalar {
  /// Whether a terminal could take the character for a command, or it changes how others are read: C0,
  /// DEL, C1, line and paragraph separators, bidi controls, byte order and annotation marks, tags.
  ///
  /// Terminals are shown these as escapes, and JSON has them as `\u` escapes.
  public var isUnsafeToPrint: Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069, 0xFEFF,
      0xFFF9...0xFFFB, 0xE0000...0xE007F:
      true
    default: false
    }
  }
}

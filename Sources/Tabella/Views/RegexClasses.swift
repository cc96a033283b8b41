/// The classes of bytes of a program. All bytes of a class have the same effect in every step.
struct RegexClasses {
  /// The number of the class of each byte.
  private(set) var numbers = [UInt8](repeating: 0, count: 256)
  /// The first byte of each class. A class is a range.
  private(set) var examples: [UInt8] = []
  /// The number of classes.
  var count: Int { examples.count }

  init(_ program: RegexProgram) {
    var isBorder = [Bool](repeating: false, count: 257)
    for case .byte(let range, _) in program.steps {
      isBorder[Int(range.lowerBound)] = true
      isBorder[Int(range.upperBound) + 1] = true
    }
    if program.checksWords {
      for byte in 1...255 as ClosedRange<UInt8> {
        let differs =
          byte.isWordByte != (byte - 1).isWordByte
          || byte.continuesCharacter != (byte - 1).continuesCharacter
        if differs { isBorder[Int(byte)] = true }
      }
    }
    for byte in 0..<256 {
      if byte == 0 || isBorder[byte] { examples.append(UInt8(byte)) }
      numbers[byte] = UInt8(truncatingIfNeeded: examples.count - 1)
    }
  }
}

extension UInt8 {
  /// Whether the byte is a letter or a digit of ASCII, or `_`: `\w`.
  var isWordByte: Bool { self == 95 || self &- 48 < 10 || (self | 0x20) &- 97 < 26 }

  /// Whether the byte continues a character of UTF-8.
  var continuesCharacter: Bool { self & 0xC0 == 0x80 }
}

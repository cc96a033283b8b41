extension JSONValue {
  /// The number of bytes that ``write(string:readable:to:)`` needs at most for texts of `count` bytes in all.
  package static func room(forStrings strings: Int, bytes count: Int) -> Int {
    // An escape of one byte takes six.
    count * 6 + strings * (2 + wordSize)
  }

  private static let wordSize = 8

  /// Writes `text`, which must be valid UTF-8, as a JSON string. Returns the place after it.
  ///
  /// Characters that are unsafe to print are escaped, so that JSON can be viewed in a terminal. `readable` is the number of
  /// bytes from the start of the text on that can be read, at least its length; more make short texts faster. `place` needs
  /// the room of ``room(forStrings:bytes:)``.
  /// - Complexity: O(bytes), eight at a time while they need no escape.
  package static func write(
    string text: UnsafeRawBufferPointer, readable: Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var at = place
    at.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    at += 1
    var index = 0
    while index < text.count {
      let rest = text.count - index
      guard rest >= wordSize || index + wordSize <= readable else {
        // The last bytes of a text at the end of the memory.
        if text[index] &- 0x20 < 0x5F, text[index] != 0x22, text[index] != 0x5C {
          at.storeBytes(of: text[index], as: UInt8.self)
          (at, index) = (at + 1, index + 1)
        } else {
          at = write(special: text, &index, to: at)
        }
        continue
      }
      let word = text.baseAddress!.loadUnaligned(fromByteOffset: index, as: UInt64.self)
        .littleEndian
      at.storeBytes(of: word.littleEndian, as: UInt64.self)
      let plain = min(specialBytes(word).trailingZeroBitCount >> 3, rest)
      (at, index) = (at + plain, index + plain)
      if plain < min(rest, wordSize) { at = write(special: text, &index, to: at) }
    }
    at.storeBytes(of: UInt8(ascii: "\""), as: UInt8.self)
    return at + 1
  }

  /// The highest bit of the first byte, the lowest one, that is not printable ASCII or that JSON escapes. Bits of bytes
  /// after it can be wrong.
  @inline(__always)
  private static func specialBytes(_ word: UInt64) -> UInt64 {
    let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    func zeros(_ word: UInt64) -> UInt64 { (word &- ones) & ~word }
    let controls = (word &- ones &* 0x20) & ~word
    return
      (controls | zeros(word ^ ones &* 0x22) | zeros(word ^ ones &* 0x5C)
      | zeros(word ^ ones &* 0x7F) | word) & tops
  }

  /// Writes the character at an index, which may need an escape.
  private static func write(
    special text: UnsafeRawBufferPointer, _ index: inout Int, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    let byte = text[index]
    let length = byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
    let character = UnsafeRawBufferPointer(rebasing: text[index..<min(index + length, text.count)])
    index += character.count
    let isPlain =
      byte >= 0x80
      && !(character.count > 1 && Unicode.Scalar.mayBeUnsafe(byte, character[1])
        && scalar(character).isUnsafeToPrint)
    if isPlain {
      place.copyMemory(from: character.baseAddress!, byteCount: character.count)
      return place + character.count
    }
    return write(escape: scalar(character), to: place)
  }

  private static func scalar(_ character: UnsafeRawBufferPointer) -> Unicode.Scalar {
    String(decoding: character, as: UTF8.self).unicodeScalars.first ?? "\u{FFFD}"
  }

  private static func write(
    escape scalar: Unicode.Scalar, to place: UnsafeMutableRawPointer
  ) -> UnsafeMutableRawPointer {
    var at = place
    func put(_ byte: UInt8) {
      at.storeBytes(of: byte, as: UInt8.self)
      at += 1
    }
    func putShort(_ letter: UInt8) {
      put(UInt8(ascii: "\\"))
      put(letter)
    }
    switch scalar {
    case "\u{8}": putShort(UInt8(ascii: "b"))
    case "\t": putShort(UInt8(ascii: "t"))
    case "\n": putShort(UInt8(ascii: "n"))
    case "\u{C}": putShort(UInt8(ascii: "f"))
    case "\r": putShort(UInt8(ascii: "r"))
    case "\"", "\\": putShort(UInt8(scalar.value))
    default:
      for unit in UTF16.encode(scalar)! {
        putShort(UInt8(ascii: "u"))
        for shift in [12, 8, 4, 0] {
          let digit = UInt8(unit >> shift & 15)
          put(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
      }
    }
    return at
  }

  /// Appends `text`, which must be valid UTF-8, as a JSON string.
  ///
  /// Characters that are unsafe to print are escaped, so that JSON can be viewed in a terminal.
  public static func append(string text: UnsafeRawBufferPointer, to output: inout [UInt8]) {
    output.append(room: room(forStrings: 1, bytes: text.count)) {
      write(string: text, readable: text.count, to: $0)
    }
  }
}

extension [UInt8] {
  /// Appends what `body` writes. It receives room for that many bytes, and returns the place after the last one.
  package mutating func append(
    room: Int, _ body: (UnsafeMutableRawPointer) -> UnsafeMutableRawPointer
  ) {
    withUnsafeTemporaryAllocation(byteCount: Swift.max(room, 1), alignment: 16) { place in
      let start = place.baseAddress!
      append(contentsOf: UnsafeRawBufferPointer(start: start, count: body(start) - start))
    }
  }
}

/// Codes of texts: bytes whose order, compared as by `memcmp`, is the natural order of the texts.
///
/// So a sort compares eight bytes of a code at a time, as one word. No code is a prefix of another one, and two texts
/// have the same code only if they have the same bytes.
///
/// A code consists of
/// - the characters. Upper case is folded. A run of digits without its leading zeros is a byte from `0` to `9` that
///   says how long it is, and the digits;
/// - if a run has leading zeros, a 2 and the number of zeros of every run;
/// - a 1 if the text has no upper case. Otherwise a 0, the distance of each upper-case letter from the previous one, and
///   a 255, because upper case comes first.
enum NaturalCode {
  /// The byte in front of a byte of the text that is below ``firstPlain``, and that is then greater by 1.
  private static let escape: UInt8 = 3
  /// Bytes below this one have a meaning of their own.
  private static let firstPlain: UInt8 = 4
  /// The end of a code without upper case.
  private static let end: UInt8 = 1

  /// The maximum number of bytes that a code of a text needs, with some bytes more for writing words.
  static func capacity(for count: Int, limit: Int = .max) -> Int {
    limit == .max ? 4 * count + 32 : limit + 48
  }

  /// Writes the code of a text to memory with ``capacity(for:limit:)`` bytes. Returns the number of its bytes.
  ///
  /// Only the first `limit` bytes of a longer code are valid.
  /// - Complexity: O(bytes), eight at a time if they are lower case.
  static func write(
    _ text: UnsafeRawBufferPointer, to place: UnsafeMutableRawPointer, limit: Int = .max
  ) -> Int {
    var writer = Writer(place)
    var at = 0
    // The byte in front of a run says how long it is, so a run ends before the code does.
    while at < text.count, writer.count < limit || writer.hasRun(before: limit) {
      if at + 8 <= text.count {
        let block = text.loadUnaligned(fromByteOffset: at, as: UInt64.self)
        if isPlain(block) {
          writer.append(block: block)
          at += 8
          continue
        }
      }
      let stop = min(at + 8, text.count)
      while at < stop {
        let byte = text[at]
        if byte < firstPlain {
          writer.append(escaping: byte)
          at += 1
          continue
        }
        let next = at + 1 < text.count ? text[at + 1] : 0
        if writer.append(byte, before: next) {
          at += 1
          continue
        }
        // A long run is rare, and is appended as a whole.
        while at > 0, isDigit(text[at - 1]) { at -= 1 }
        let run = DigitRun(text, at)
        writer.append(run, of: text, limit)
        at = run.end
        break
      }
    }
    guard writer.count < limit else { return writer.count }
    if writer.hasSkipped { writeZeros(of: text, &writer, limit) }
    if writer.hasFolded { writeUpperCase(of: text, &writer, limit) } else { writer.append(end) }
    return writer.count
  }

  /// Writes a code whose order is that of the bytes. See ``write(_:to:limit:)``.
  static func write(
    bytes: UnsafeRawBufferPointer, to place: UnsafeMutableRawPointer, limit: Int = .max
  ) -> Int {
    var writer = Writer(place)
    for byte in bytes {
      guard writer.count < limit else { return writer.count }
      writer.append(escaping: byte)
    }
    writer.append(end)
    return writer.count
  }

  private static func writeZeros(
    of text: UnsafeRawBufferPointer, _ writer: inout Writer, _ limit: Int
  ) {
    writer.append(2)
    var at = 0
    while at < text.count, writer.count < limit {
      guard isDigit(text[at]) else {
        at += 1
        continue
      }
      let run = DigitRun(text, at)
      writer.append(number: run.zeros, below: 255)
      at = run.end
    }
  }

  private static func writeUpperCase(
    of text: UnsafeRawBufferPointer, _ writer: inout Writer, _ limit: Int
  ) {
    writer.append(0)
    var last = 0
    for (at, byte) in text.enumerated() where isUpperCase(byte) {
      guard writer.count < limit else { return }
      writer.append(number: at - last, below: 254)
      last = at
    }
    writer.append(255)
  }

  @inline(__always)
  private static func isDigit(_ byte: UInt8) -> Bool { byte &- 48 < 10 }

  @inline(__always)
  private static func isUpperCase(_ byte: UInt8) -> Bool { byte &- 65 < 26 }

  /// Whether eight bytes are ASCII and are their own code.
  @inline(__always)
  private static func isPlain(_ block: UInt64) -> Bool {
    let (ones, high): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
    // The highest bit of each byte says whether the byte, which is below 128, is not below the limit.
    func reaching(_ limit: UInt64) -> UInt64 { block &+ ones &* (128 - limit) }
    if block & high != 0 { return false }
    let digits = reaching(48) & ~reaching(58)
    let upperCase = reaching(65) & ~reaching(91)
    return (digits | upperCase | ~reaching(UInt64(firstPlain))) & high == 0
  }

  /// A run of digits in a text.
  private struct DigitRun {
    /// The number of leading zeros, which are not digits of the value.
    let zeros: Int
    /// The first digit of the value.
    let first: Int
    let end: Int

    init(_ text: UnsafeRawBufferPointer, _ start: Int) {
      var end = start
      while end < text.count, isDigit(text[end]) { end += 1 }
      var first = start
      while first < end - 1, text[first] == 48 { first += 1 }
      (zeros, self.first, self.end) = (first - start, first, end)
    }
  }

  private struct Writer {
    private let place: UnsafeMutableRawPointer
    private(set) var count = 0
    /// The place of the byte that says how long the current run of digits is; `count` outside runs.
    private var lengthPlace = 0
    /// The combined bits of upper case that were added, and of zeros that were skipped.
    private var (folded, skipped): (UInt8, Int) = (0, 0)

    /// Whether a letter was folded.
    var hasFolded: Bool { folded != 0 }
    /// Whether a leading zero was left out.
    var hasSkipped: Bool { skipped != 0 }

    /// Whether the last character is a digit of a run that begins in front of a place.
    func hasRun(before place: Int) -> Bool { lengthPlace != count && lengthPlace < place }

    init(_ place: UnsafeMutableRawPointer) { self.place = place }

    @inline(__always)
    mutating func append(_ byte: UInt8) {
      place.storeBytes(of: byte, toByteOffset: count, as: UInt8.self)
      count &+= 1
      lengthPlace = count
    }

    @inline(__always)
    mutating func append(block: UInt64) {
      place.storeBytes(of: block, toByteOffset: count, as: UInt64.self)
      count &+= 8
      lengthPlace = count
    }

    /// Appends a character. If it is the tenth digit of a run, removes the run instead and returns false.
    ///
    /// Letters and digits that alternate would be mispredicted. So conditions are bits, for which the compiler makes no
    /// branches.
    @inline(__always)
    mutating func append(_ byte: UInt8, before next: UInt8) -> Bool {
      let isDigit = isBelow(byte &- 48, 10)
      let length = count &- lengthPlace
      count &+= isDigit & isBelow(length, 1)
      // In front of the first digit that is not skipped, a run consists of the byte for its length.
      let isZero = isDigit & isBelow(byte ^ 48, 1) & isBelow(length, 2)
      let skips = isZero & isBelow(next &- 48, 10)
      let fold = UInt8(truncatingIfNeeded: isBelow(byte &- 65, 26) &<< 5)
      place.storeBytes(of: byte | fold, toByteOffset: count, as: UInt8.self)
      count &+= 1 &- skips
      (folded, skipped) = (folded | fold, skipped | skips)
      // Outside a run, the next character replaces the byte for the length.
      lengthPlace &+= (count &- lengthPlace) & (isDigit &- 1)
      let written = count &- lengthPlace
      place.storeBytes(
        of: UInt8(truncatingIfNeeded: 46 &+ written), toByteOffset: lengthPlace, as: UInt8.self)
      if written <= 10 { return true }
      count = lengthPlace
      return false
    }

    /// 1 if a number that is not negative is below a limit, otherwise 0.
    @inline(__always)
    private func isBelow<Number: FixedWidthInteger>(_ number: Number, _ limit: Int) -> Int {
      Int(bitPattern: UInt(bitPattern: Int(truncatingIfNeeded: number) &- limit) &>> 63)
    }

    @inline(__always)
    mutating func append(escaping byte: UInt8) {
      guard byte < firstPlain else { return append(byte) }
      append(escape)
      append(byte &+ 1)
    }

    /// Appends a number in one byte. Numbers from `limit` on take eight bytes more.
    mutating func append(number: Int, below limit: UInt8) {
      if number < Int(limit) { return append(UInt8(truncatingIfNeeded: number)) }
      append(limit)
      append(block: UInt64(truncatingIfNeeded: number).bigEndian)
    }

    /// The first byte of a run lies between `0` and `9`, so every other byte has the same order to all digits.
    mutating func append(_ run: DigitRun, of text: UnsafeRawBufferPointer, _ limit: Int) {
      let length = run.end - run.first
      append(UInt8(truncatingIfNeeded: 47 + min(length, 10)))
      if length >= 10 { append(number: length - 10, below: 255) }
      let written = min(length, max(0, limit - count))
      for index in run.first..<run.first + written { append(text[index]) }
    }
  }
}

import Tabella

/// Converts text from another encoding to UTF-8 as it is read, with the system's `iconv`.
public final class Transcoder {
  private let source: any ByteSource
  private let converter: iconv_t
  /// The size in bytes of the smallest unit that can be skipped.
  private let unit: Int
  private let input = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 15, alignment: 16)
  /// The range of `input` that is not converted yet.
  private var rest = 0..<0
  /// The offset in the source of the start of `rest`.
  private var position = 0
  private var isAtEnd = false
  private var isFlushed = false
  /// The offset in the source of the first sequence that could not be converted.
  public private(set) var firstFailure: Int?

  /// Throws ``TableError`` with `.invalidArgument` if the system does not support the encoding.
  public init(_ source: any ByteSource, from encoding: String) throws(TableError) {
    converter = iconv_open("UTF-8", encoding)
    guard converter != iconv_t(bitPattern: -1) else {
      input.deallocate()
      throw TableError(
        .invalidArgument, "the encoding \(encoding) is not known; `iconv --list` prints the names")
    }
    self.source = source
    unit = Transcoder.unitSize(encoding)
  }

  deinit {
    iconv_close(converter)
    input.deallocate()
  }

  private static func unitSize(_ encoding: String) -> Int {
    let name = encoding.uppercased().filter { $0 != "-" && $0 != "_" }
    if ["UTF32", "UCS4", "CSUCS4", "WCHART"].contains(where: name.hasPrefix) { return 4 }
    return ["UTF16", "UCS2", "UNICODE"].contains(where: name.hasPrefix) ? 2 : 1
  }

  /// The text as UTF-8. U+FFFD replaces everything that cannot be converted.
  public func bytes() -> SpooledBytes {
    SpooledBytes { [self] buffer throws(TableError) in
      try convert(into: buffer)
    } hasArrived: { [self] milliseconds throws(TableError) in
      try source.hasArrived(at: position + rest.count, within: milliseconds)
    }
  }

  /// Fills `output` as far as the source has arrived, with at least one byte. Returns the number of bytes; 0 at the
  /// end.
  private func convert(into output: UnsafeMutableRawBufferPointer) throws(TableError) -> Int {
    var written = 0
    // This is the minimum space for one step: a character or two, or a replacement.
    while output.count - written >= 64 {
      if rest.count < 64, !isAtEnd {
        let hasMore = try source.hasArrived(at: position + rest.count, within: 0)
        if written > 0, !hasMore { break }
        try readMore()
      }
      if rest.isEmpty {
        // Some encodings hold a character back until the next one.
        if !isFlushed { flush(output, &written) }
        break
      }
      let failure = step(output, &written)
      guard failure == EILSEQ || (failure == EINVAL && isAtEnd) else { continue }
      if firstFailure == nil { firstFailure = position }
      consume(min(unit, rest.count))
      for byte: UInt8 in [0xEF, 0xBF, 0xBD] {
        output[written] = byte
        written += 1
      }
    }
    return written
  }

  private func readMore() throws(TableError) {
    input.copyMemory(from: UnsafeRawBufferPointer(rebasing: input[rest]))
    rest = 0..<rest.count
    let got = try source.read(
      at: position + rest.count, into: UnsafeMutableRawBufferPointer(rebasing: input[rest.count...])
    )
    isAtEnd = got == 0
    rest = 0..<rest.count + got
  }

  private func consume(_ count: Int) {
    rest = rest.lowerBound + count..<rest.upperBound
    position += count
  }

  /// Converts as much as possible. Returns the reason for stopping.
  private func step(_ output: UnsafeMutableRawBufferPointer, _ written: inout Int) -> Int32 {
    var from: UnsafeMutablePointer<CChar>? = (input.baseAddress! + rest.lowerBound)
      .assumingMemoryBound(to: CChar.self)
    var fromLeft = rest.count
    var to: UnsafeMutablePointer<CChar>? = (output.baseAddress! + written)
      .assumingMemoryBound(to: CChar.self)
    // Keep space for one replacement character.
    let room = output.count - written - 3
    var toLeft = room
    let failure = iconv(converter, &from, &fromLeft, &to, &toLeft) == -1 ? errno : 0
    consume(rest.count - fromLeft)
    written += room - toLeft
    return failure
  }

  private func flush(_ output: UnsafeMutableRawBufferPointer, _ written: inout Int) {
    isFlushed = true
    var to: UnsafeMutablePointer<CChar>? = (output.baseAddress! + written)
      .assumingMemoryBound(to: CChar.self)
    let room = output.count - written
    var toLeft = room
    _ = iconv(converter, nil, nil, &to, &toLeft)
    written += room - toLeft
  }
}

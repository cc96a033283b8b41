import Tabella

/// Turns text of another encoding into UTF-8 as it is read, with the system's `iconv`.
public final class Transcoder {
  private let source: any ByteSource
  private let converter: iconv_t
  /// The size of the smallest thing that can be stepped over.
  private let unit: Int
  private var input: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  /// Where in the source the first sequence stood that could not be converted.
  public private(set) var firstFailure: Int?

  /// Throws ``TableError`` with `.invalidArgument` if the system does not know the encoding.
  public init(_ source: any ByteSource, from encoding: String) throws(TableError) {
    converter = iconv_open("UTF-8", encoding)
    guard converter != iconv_t(bitPattern: -1) else {
      throw TableError(
        .invalidArgument, "the encoding \(encoding) is not known; see `iconv --list` for names")
    }
    self.source = source
    let name = encoding.uppercased()
    unit =
      if name.hasPrefix("UTF-16") || name.hasPrefix("UTF16") || name.hasPrefix("UCS-2") {
        2
      } else if name.hasPrefix("UTF-32") || name.hasPrefix("UTF32") || name.hasPrefix("UCS-4") {
        4
      } else { 1 }
  }

  deinit { iconv_close(converter) }

  /// The text as UTF-8; what cannot be converted is U+FFFD.
  public func bytes() -> SpooledBytes {
    SpooledBytes { [self] buffer throws(TableError) in try convert(into: buffer) }
  }

  private func convert(into output: UnsafeMutableRawBufferPointer) throws(TableError) -> Int {
    while true {
      if input.count < 64, !isAtEnd { try readMore() }
      if input.isEmpty { return 0 }
      let before = input.count
      var (written, failure) = step(into: output)
      position += before - input.count
      if failure == EILSEQ || (failure == EINVAL && isAtEnd) {
        if firstFailure == nil { firstFailure = position }
        // Step over what is no text; a unit of UTF-16 or UTF-32 stays whole.
        let dropped = min(unit, input.count)
        input.removeFirst(dropped)
        position += dropped
        let replacement: [UInt8] = [0xEF, 0xBF, 0xBD]
        if written + 3 <= output.count {
          for byte in replacement {
            output[written] = byte
            written += 1
          }
        }
      }
      if written > 0 { return written }
    }
  }

  private func readMore() throws(TableError) {
    var chunk = [UInt8](repeating: 0, count: 1 << 15)
    var got = 0
    var failure: TableError?
    let offset = position + input.count
    chunk.withUnsafeMutableBytes { bytes in
      do throws(TableError) { got = try source.read(at: offset, into: bytes) } catch {
        failure = error
      }
    }
    if let failure { throw failure }
    isAtEnd = got == 0
    input += chunk[..<got]
  }

  /// Converts what it can and returns how much was written and why it stopped.
  private func step(into output: UnsafeMutableRawBufferPointer) -> (Int, Int32) {
    var consumed = 0
    var written = 0
    var failure: Int32 = 0
    input.withUnsafeMutableBytes { bytes in
      var from = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
      var fromLeft = bytes.count
      var to = output.baseAddress?.assumingMemoryBound(to: CChar.self)
      // Room for one replacement is kept.
      let room = output.count - 3
      var toLeft = room
      if iconv(converter, &from, &fromLeft, &to, &toLeft) == -1 { failure = errno }
      consumed = bytes.count - fromLeft
      written = room - toLeft
    }
    input.removeFirst(consumed)
    return (written, failure)
  }
}

import Tabella

/// The text of a file: its bytes, converted to UTF-8 if they have another encoding.
public struct DecodedText {
  /// The text. It is UTF-8 if the file is valid in its encoding.
  public let bytes: any ByteSource
  /// The offset of the text, after a byte order mark.
  public let start: Int
  /// A digest of the conversion; 0 if the bytes are those of the file.
  public let reading: UInt64
  private let transcoder: Transcoder?
  /// The number of bytes at the start that show whether a file is text.
  static let sampleSize = 8192

  /// Decodes a file in an encoding that the system's `iconv` supports.
  ///
  /// Without an encoding, a byte order mark of UTF-16 or UTF-32 determines it. Otherwise the bytes stay as they
  /// are. Throws ``TableError`` with `.invalidArgument` if the encoding is unknown.
  public init(_ file: any ByteSource, encoding: String?) throws(TableError) {
    var name = encoding
    if name == nil { name = try DecodedText.markedEncoding(file) }
    transcoder = try name.map { name throws(TableError) in try Transcoder(file, from: name) }
    reading = name.map { Array($0.utf8).withUnsafeBytes { digest64($0) } | 1 } ?? 0
    bytes = transcoder?.bytes() ?? file
    start = try bytes.firstBytes(3) == [0xEF, 0xBB, 0xBF] ? 3 : 0
  }

  /// The encoding that a byte order mark names, except UTF-8.
  static func markedEncoding(_ file: any ByteSource) throws(TableError) -> String? {
    let sample = try file.firstBytes(4)
    if sample == [0xFF, 0xFE, 0, 0] { return "UTF-32LE" }
    if sample == [0, 0, 0xFE, 0xFF] { return "UTF-32BE" }
    if sample.starts(with: [0xFF, 0xFE]) { return "UTF-16LE" }
    if sample.starts(with: [0xFE, 0xFF]) { return "UTF-16BE" }
    return nil
  }

  /// Whether the text is converted. A converted text is always valid UTF-8.
  public var isConverted: Bool { transcoder != nil }

  /// Whether the text consists of the file's own bytes, so that offsets in the text are offsets in the file.
  public var isAsStored: Bool { transcoder == nil && bytes.hasVersion }

  /// A diagnostic about the first bytes so far that could not be converted; nil if there are none.
  public var diagnostic: String? {
    transcoder?.firstFailure.map {
      "byte \($0) could not be converted to UTF-8 and is shown as U+FFFD"
    }
  }
}

extension ByteSource {
  /// Whether the bytes look like text: the first 8 KiB contain no NUL, or there is a byte order mark. Of a stream, only
  /// the bytes in front of its first pause count.
  public func looksLikeText() throws(TableError) -> Bool {
    if try DecodedText.markedEncoding(self) != nil { return true }
    return !(try firstBytes(DecodedText.sampleSize)).contains(0)
  }
}

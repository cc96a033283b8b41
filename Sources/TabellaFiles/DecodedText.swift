import Tabella

/// The text of a file: its bytes, turned into UTF-8 if they are something else.
public struct DecodedText {
  /// The text; UTF-8 as far as the file holds what it claims to.
  public let bytes: any ByteSource
  /// Where the text begins: behind a byte order mark.
  public let start: Int
  /// Tells how the bytes were converted; 0 if they are the file's own.
  public let reading: UInt64
  private let transcoder: Transcoder?

  /// Decodes a file as an encoding that the system's `iconv` knows. Without one, a byte order mark of
  /// UTF-16 or UTF-32 decides; else the bytes are taken as they are.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if the encoding is not known.
  public init(_ file: any ByteSource, encoding: String?) throws(TableError) {
    var name = encoding
    if name == nil { name = try DecodedText.markedEncoding(file) }
    transcoder = try name.map { name throws(TableError) in try Transcoder(file, from: name) }
    reading = name.map { Array($0.utf8).withUnsafeBytes { digest64($0) } | 1 } ?? 0
    bytes = transcoder?.bytes() ?? file
    start = try bytes.bytes(at: 0, count: 3) == [0xEF, 0xBB, 0xBF] ? 3 : 0
  }

  /// The encoding that a byte order mark names, but for UTF-8.
  static func markedEncoding(_ file: any ByteSource) throws(TableError) -> String? {
    let sample = try file.bytes(at: 0, count: 4)
    if sample == [0xFF, 0xFE, 0, 0] { return "UTF-32LE" }
    if sample == [0, 0, 0xFE, 0xFF] { return "UTF-32BE" }
    if sample.starts(with: [0xFF, 0xFE]) { return "UTF-16LE" }
    if sample.starts(with: [0xFE, 0xFF]) { return "UTF-16BE" }
    return nil
  }

  /// Whether the text is converted, and so UTF-8 throughout.
  public var isConverted: Bool { transcoder != nil }

  /// Whether the text is a file's bytes, so that places in it are places in the file.
  public var isAsStored: Bool { transcoder == nil && bytes.version != nil }

  /// A remark on the first place so far that could not be converted; nil if there is none.
  public var remark: String? {
    transcoder?.firstFailure.map {
      "byte \($0) could not be converted to UTF-8 and is shown as U+FFFD"
    }
  }
}

extension ByteSource {
  /// Whether the bytes look like text: no NUL in the first 8 KiB, or a byte order mark.
  public func looksLikeText() throws(TableError) -> Bool {
    if try DecodedText.markedEncoding(self) != nil { return true }
    return !(try bytes(at: 0, count: 8192)).contains(0)
  }
}

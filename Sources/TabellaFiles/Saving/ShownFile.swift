import Tabella

/// The file behind a table, as it was opened or last saved.
public final class ShownFile {
  public let path: [UInt8]
  public private(set) var file: OpenFile
  private let options: SaveOptions
  private let reading: Reading

  /// A file that was opened by this path.
  public init(path: [UInt8], _ file: OpenFile, _ options: SaveOptions, reading: Reading) {
    self.path = path
    self.file = file
    self.options = options
    self.reading = reading
  }

  /// Opens a file that is to be shown. A save in place of it that is going on is waited for, two seconds.
  ///
  /// Throws ``TableError`` with `.notFound`, `.denied` or `.io`.
  public static func open(_ path: [UInt8]) throws(TableError) -> OpenFile {
    for _ in 1...FileSave.lockPatience.attempts {
      let file = try OpenFile(path: path)
      guard trace(of: file, at: path)?.trace == .isRunning else { return file }
      usleep(FileSave.lockPatience.microseconds)
    }
    return try OpenFile(path: path)
  }

  private static func trace(
    of file: OpenFile, at path: [UInt8]
  ) -> (trace: KeptBytes.Trace, place: KeptBytes.Slot)? {
    guard file.fingerprint.kind == S_IFREG, let place = try? KeptBytes.Slot(of: file, at: path),
      let trace = try? place.trace(of: file)
    else { return nil }
    return (trace, place)
  }

  /// What is to be said of the file before it is shown; nil if nothing is.
  public var remark: String? {
    guard let (trace, place) = ShownFile.trace(of: file, at: path) else { return nil }
    return switch trace {
    case .none: nil
    case .isRunning:
      "another process is saving it in place, so that what is shown may be half written; open it again"
    case .wasInterrupted: place.interruption
    }
  }

  /// The table's version while its bytes have this one; nil if they have none.
  public func version(of bytes: Version?) -> Version? {
    bytes.map { Version("\($0.token).\(reading.token)") }
  }

  /// A save of the file as it is shown. Taking back keeps no backup: that of the edit stays.
  func save(cancel: CancelFlag, isUndo: Bool = false) -> FileSave {
    var options = options
    if isUndo { options.backupSuffix = nil }
    return FileSave(path: path, file, options, cancel: cancel)
  }

  /// From now on the file is shown as it was saved.
  func show(_ saved: OpenFile) { file = saved }

  /// Throws why a file that is shown as this text cannot be edited, if so it is.
  public func checkEditable(_ text: DecodedText) throws(TableError) {
    // First: what is half written may look like anything.
    try FileSave.check(KeptBytes.Slot(of: file, at: path), of: file)
    try ShownFile.checkText(text)
  }

  /// Throws unless places in a text are places in its file, and nothing says that it is no text.
  private static func checkText(_ text: DecodedText) throws(TableError) {
    guard text.isAsStored else {
      throw TableError(
        .readOnly,
        "is converted to be shown, and what is converted cannot be edited; leave -o encoding out if it is UTF-8, else convert the file with iconv"
      )
    }
    // UTF-16 without a mark, a compressed file: records put in between would break it.
    guard try text.bytes.looksLikeText() else {
      throw TableError(
        .readOnly, "is no text: it has a NUL in its first 8 KiB; such a file cannot be edited")
    }
  }

  /// Throws unless new bytes of a file would be text that can be edited as the old ones could: else the edit
  /// could not even be taken back.
  static func checkStaysEditable(_ bytes: any ByteSource) throws(TableError) {
    do throws(TableError) {
      try checkText(try DecodedText(bytes, encoding: nil))
    } catch {
      guard error.code == .readOnly else { throw error }
      throw TableError(
        .constraint,
        "the edit could not be taken back, since what it makes cannot be edited: a NUL in the first 8 KiB, or what begins as UTF-16 or UTF-32 does; nothing was changed"
      )
    }
  }
}

/// How a file is read: by which provider, and with which of its options that decide what its rows are.
///
/// Part of a table's version, because the place of a row in one reading is another's in the next.
public struct Reading: Hashable, Sendable {
  /// The provider's id, and a digest of the options if there are any.
  let token: String

  /// `options` says what differs from the plain reading; nil is nothing.
  public init(_ provider: String, _ options: [String?] = []) {
    let said = options.compactMap { $0 }.map { "\($0.utf8.count) \($0)" }.joined()
    let digest = Array(said.utf8).withUnsafeBytes { digest64($0) }
    token = said.isEmpty ? provider : "\(provider)-\(String(digest, radix: 16))"
  }
}

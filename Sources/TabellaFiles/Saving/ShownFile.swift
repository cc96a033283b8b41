import Tabella

/// The file of a table, as it was opened or last saved.
public final class ShownFile {
  /// The path by which the file was opened.
  let lastingPath: LastingPath
  /// The open file.
  public private(set) var file: OpenFile
  /// Whether the table shows the content of this file. It shows an older one if reading fails after an edit.
  private(set) var isRead = true
  private let options: SaveOptions
  private let reading: Reading
  /// The text whose start was found to be that of a text. A text that is no longer shown is released.
  private weak var checkedText: (any ByteSource)?

  /// Creates the file of a table, opened by this path.
  public init(path: [UInt8], _ file: OpenFile, _ options: SaveOptions, reading: Reading) {
    lastingPath = LastingPath(path)
    self.file = file
    self.options = options
    self.reading = reading
  }

  /// The path of the file: the one by which it was opened, unless the program has changed its working directory.
  public var path: [UInt8] { lastingPath.current }

  /// Opens a file for display. Waits at most two seconds for a running save in place.
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

  /// A diagnostic about the file, for example after an interrupted save; nil if there is none.
  public var diagnostic: String? {
    guard let (trace, place) = ShownFile.trace(of: file, at: path) else { return nil }
    return switch trace {
    case .none: nil
    case .isRunning:
      "another process is saving it in place, so the shown content may be incomplete; open it again"
    case .wasInterrupted: place.interruption
    }
  }

  /// The table's version for a version of the bytes; nil if the bytes have none.
  func version(of bytes: Version?) -> Version? {
    bytes.map { Version("\($0.token).\(reading.token)") }
  }

  /// The table's version while it shows these bytes; nil if the bytes have none.
  ///
  /// Throws ``TableError`` with `.conflict` if the file has changed, or if it could not be read after the last edit.
  public func version(showing bytes: any ByteSource) throws(TableError) -> Version? {
    try bytes.checkUnchanged()
    guard isRead else {
      throw TableError(.conflict, "was saved, but could not be read again; open it again")
    }
    return version(of: bytes.version)
  }

  /// Creates a save of the file. An undo makes no backup, so that the backup of the edit stays.
  func save(cancel: CancelFlag, isUndo: Bool = false) -> FileSave {
    var options = options
    if isUndo { options.backupSuffix = nil }
    return FileSave(path: path, file, options, cancel: cancel)
  }

  /// Replaces the file by its saved form.
  func show(_ saved: OpenFile, isRead: Bool = true) { (file, self.isRead) = (saved, isRead) }

  /// Throws if the file, shown as this text, cannot be edited.
  public func checkEditable(_ text: DecodedText) throws(TableError) {
    // This check comes first, because a half-written file can look like anything.
    try FileSave.check(KeptBytes.Slot(of: file, at: path), of: file)
    guard text.bytes.size ?? file.fingerprint.size == file.fingerprint.size else {
      throw TableError(
        .conflict, "another program is writing its last row; try again when the row is complete")
    }
    // A table can be asked about each of its sections. The start of a long text does not change while the text grows.
    guard checkedText !== text.bytes else { return }
    try ShownFile.checkText(text)
    if file.fingerprint.size >= DecodedText.sampleSize { checkedText = text.bytes }
  }

  /// Throws unless offsets in the text are offsets in the file, and the file looks like text.
  private static func checkText(_ text: DecodedText) throws(TableError) {
    guard text.isAsStored else {
      throw TableError(
        .readOnly,
        "is shown in a converted encoding and cannot be edited; leave -o encoding out if you gave it and the file is UTF-8, else convert the file with iconv"
      )
    }
    // This can be UTF-16 without a mark, or a compressed file. Inserted records would damage it.
    guard try text.bytes.looksLikeText() else {
      throw TableError(
        .readOnly,
        "is not text, because it has a NUL in its first 8 KiB; such a file cannot be edited")
    }
  }

  /// Throws unless the new bytes can be edited as text. Otherwise the edit could not be undone.
  static func checkStaysEditable(_ bytes: any ByteSource) throws(TableError) {
    do throws(TableError) {
      try checkText(try DecodedText(bytes, encoding: nil))
    } catch {
      guard error.code == .readOnly else { throw error }
      throw TableError(
        .constraint,
        "the edit could not be undone, because the result cannot be edited: it would have a NUL in the first 8 KiB, or begin like UTF-16 or UTF-32; nothing was changed"
      )
    }
  }
}

/// The way in which a file is read: the provider, and the options that determine the rows.
///
/// It is part of a table's version, because the same position means another row in another reading.
public struct Reading: Hashable, Sendable {
  /// The provider's id, followed by a digest of the options if there are any.
  let token: String

  /// Creates a reading. `options` contains the options that differ from the defaults; nil entries are ignored.
  public init(_ provider: String, _ options: [String?] = []) {
    let said = options.compactMap { $0 }.map { "\($0.utf8.count) \($0)" }.joined()
    let digest = Array(said.utf8).withUnsafeBytes { digest64($0) }
    token = said.isEmpty ? provider : "\(provider)-\(String(digest, radix: 16))"
  }
}

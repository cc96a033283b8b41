import CTabellaSystem
import Tabella

/// The only way in which Tabella changes a user's file. At any moment the file is entirely old or entirely new.
///
/// The new bytes go to a nameless file in the same folder. That file becomes durable before it takes the name,
/// unless another program has changed the original in the meantime. docs/saving.md explains each step and its
/// reason.
public struct FileSave {
  /// The result of a save.
  public struct Saved {
    /// The file after the save.
    public let file: OpenFile
    /// The data for ``undoing(_:)``; nil after a dry run, and if nothing can undo the save.
    public let receipt: [UInt8]?
    /// Whether the receipt would be too large, so nothing can undo the save. A dry run foresees it.
    public let isFinal: Bool
    /// A problem that occurred although the file was saved, or that the file is half written; nil if there is none.
    public let problem: String?
  }

  /// The maximum number of old bytes in a receipt.
  private static let mostOldBytes = 16 << 20
  /// The maximum number of pieces in a receipt. A million edits of separate rows have so many.
  private static let mostPieces = 1 << 21
  /// The limit of the wait for another process's save.
  static let lockPatience = (attempts: 100, microseconds: UInt32(20_000))

  let path: [UInt8]
  let file: OpenFile
  let options: SaveOptions
  let cancel: CancelFlag

  /// Creates a save of a file that was opened by this path. Changes nothing yet.
  public init(
    path: [UInt8], _ file: OpenFile, _ options: SaveOptions, cancel: CancelFlag
  ) {
    self.path = path
    self.file = file
    self.options = options
    self.cancel = cancel
  }

  /// Writes the content of the table to the file and makes it durable.
  ///
  /// `edited` contains ranges of the old file with digests of the bytes that were read there; the save reads them
  /// again. `verify` reads the new bytes before they replace the old ones, and throws if they are wrong. A dry run
  /// performs all checks that are possible without writing.
  ///
  /// If the method throws, the file is unchanged. Throws ``TableError`` with `.conflict` if the file has changed
  /// since it was opened, or if another process is saving it. Throws `.readOnly` or `.denied` if the file must not
  /// be saved, and `.io`.
  /// - Complexity: O(size of the file) in time, and O(size of the table) in memory.
  public func save(
    _ table: PieceTable, edited: [EditedRange], isDryRun: Bool,
    verify: (any ByteSource) throws(TableError) -> Void
  ) throws(TableError) -> Saved {
    try checkUnchanged(edited)
    let kept = try KeptBytes.Slot(of: file, at: path)
    try FileSave.check(kept, of: file)
    let target = try SaveTarget(path: path, of: file)
    try target.checkMayBeSaved(file, options)
    let isNothing = table.isIdentity(ofSize: file.fingerprint.size)
    func check() throws(TableError) {
      try target.checkHolds(file.fingerprint)
      try checkUnchanged(edited)
    }
    func verifyOrConflict(_ bytes: any ByteSource) throws(TableError) {
      do throws(TableError) {
        try verify(bytes)
      } catch {
        // If another program changed the file meanwhile, the new bytes are wrong because of that.
        try check()
        throw error
      }
    }
    if isDryRun, !isNothing {
      if options.isInPlace {
        try InPlaceSave(target, file, keepingIn: kept, cancel: cancel)
          .tryOut(size: table.size, backup: options.backupSuffix)
      } else {
        try Replacement(target, file, cancel: cancel).tryOut(size: table.size)
      }
      try verifyOrConflict(PieceBytes(table, of: file.bytes()))
    }
    if isNothing { return Saved(file: file, receipt: nil, isFinal: false, problem: nil) }
    let old = BufferedBytes(file.bytes())
    if isDryRun {
      return Saved(
        file: file, receipt: nil, isFinal: try inverse(of: table, old) == nil, problem: nil)
    }
    try lock(file)
    defer { _ = tabella_system_unlock(file.descriptor) }
    // The last owner of the lock may have saved the file, or may have been killed during its save.
    try target.checkHolds(file.fingerprint)
    if let kept, try kept.isTaken() { throw TableError(.readOnly, kept.interruption) }
    let inverse = try inverse(of: table, old)
    let content =
      inverse == nil
      ? nil : try ContentDigest.digest(of: PieceBytes(table, of: old), size: table.size)
    let written: WrittenFile
    if options.isInPlace {
      written = try InPlaceSave(target, file, keepingIn: kept, cancel: cancel)
        .save(table, backup: options.backupSuffix, check: check, verify: verifyOrConflict)
    } else {
      written = try Replacement(target, file, cancel: cancel)
        .save(table, backup: options.backupSuffix, check: check, verify: verifyOrConflict)
    }
    // No receipt can restore a half-written file.
    let receipt = written.isWhole ? inverse : nil
    return Saved(
      file: written.file,
      receipt: receipt.map {
        SaveReceipt(
          version: written.file.fingerprint.version, content: content, place: target.path, table: $0
        ).bytes
      },
      isFinal: inverse == nil, problem: written.problem)
  }

  /// The table that restores the old bytes; nil if it would be too large for a receipt.
  private func inverse(
    of table: PieceTable, _ old: BufferedBytes
  ) throws(TableError) -> PieceTable? {
    try table.inverse(
      of: old, size: file.fingerprint.size, mostBytes: FileSave.mostOldBytes,
      mostPieces: FileSave.mostPieces)
  }

  /// Throws if a save in place was interrupted, because another save would hide that the file is half written.
  /// Throws `.conflict` if a save in place is running.
  static func check(_ kept: KeptBytes.Slot?, of file: OpenFile) throws(TableError) {
    guard let kept else { return }
    switch try kept.trace(of: file) {
    case .none: break
    case .isRunning: throw isLocked
    case .wasInterrupted: throw TableError(.readOnly, kept.interruption)
    }
  }

  /// The table that undoes the save that returned a receipt.
  ///
  /// Throws ``TableError`` with `.conflict` if the file no longer has the bytes of that save, or if another file
  /// has these bytes. Throws `.invalidArgument` if the data is not a receipt.
  public func undoing(_ receipt: [UInt8]) throws(TableError) -> PieceTable {
    let receipt = try SaveReceipt(receipt, ofSize: file.fingerprint.size)
    let changed = TableError(.conflict, "was changed since the edit, so the edit cannot be undone")
    let hasVersion = receipt.version == file.fingerprint.version
    guard let content = receipt.content else {
      guard hasVersion else { throw changed }
      return receipt.table
    }
    // Compare the bytes, because file times are coarse and another program may have saved in between.
    let isThere =
      try hasVersion ? true : SaveTarget(path: path, of: file).path == receipt.place
    guard isThere,
      try ContentDigest.digest(of: file.bytes(), size: file.fingerprint.size) == content
    else { throw changed }
    return receipt.table
  }

  private func checkUnchanged(_ edited: [EditedRange]) throws(TableError) {
    let bytes = BufferedBytes(file.bytes())
    try bytes.checkUnchanged()
    for edited in edited where try edited.digest(of: bytes) != edited.digest {
      throw TableError(
        .conflict, "changed at byte \(edited.range.lowerBound) since it was read; open it again")
    }
    try bytes.checkUnchanged()
  }

  /// Locks the file against other saves. On a file system without locks, only the fingerprint protects.
  private func lock(_ file: OpenFile) throws(TableError) {
    for attempt in 1...FileSave.lockPatience.attempts {
      let result = tabella_system_lock(file.descriptor)
      guard result == -EWOULDBLOCK || result == -EINTR else { return }
      try cancel.check()
      if attempt < FileSave.lockPatience.attempts { usleep(FileSave.lockPatience.microseconds) }
    }
    throw FileSave.isLocked
  }

  private static var isLocked: TableError {
    var error = TableError(
      .conflict,
      "is locked by another process, which may be saving it; nothing was changed, try again")
    error.isRetryable = true
    return error
  }
}

/// The result of writing a file.
struct WrittenFile {
  let file: OpenFile
  /// A problem that occurred although the file was written; nil if there is none.
  let problem: String?
  /// Whether the file has all new bytes.
  let isWhole: Bool

  init(_ file: OpenFile, _ problem: String?, isWhole: Bool = true) {
    self.file = file
    self.problem = problem
    self.isWhole = isWhole
  }
}

/// A range of a file, with a digest of the bytes that were read there.
public struct EditedRange: Hashable, Sendable {
  let range: Range<Int>
  let digest: UInt64

  /// Creates the range of a record that was read.
  public init(_ span: RecordSpan) { self.init(span.content, digest: span.digest) }

  /// Creates a range.
  public init(_ range: Range<Int>, digest: UInt64) {
    self.range = range
    self.digest = digest
  }

  fileprivate func digest(of bytes: any ByteSource) throws(TableError) -> UInt64 {
    let there = try bytes.bytes(at: range.lowerBound, count: range.count)
    return there.withUnsafeBytes { digest64($0) }
  }
}

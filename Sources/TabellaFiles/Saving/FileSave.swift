import CTabellaSystem
import Tabella

/// The one way in which a file of a user is changed: it is wholly old or wholly new at any moment.
///
/// The new bytes go to a file without a name in the folder of the old one, which becomes durable
/// before it takes the name; unless somebody changed the file meanwhile. docs/saving.md has the order
/// of the steps and the reason of each.
public struct FileSave {
  /// What a save led to.
  public struct Saved {
    /// The file as it is now.
    public let file: OpenFile
    /// What ``undoing(_:)`` takes; nil if too much would have to be kept.
    public let receipt: [UInt8]?
    /// What is wrong though the file was saved, or that it is half written; nil if nothing is.
    public let trouble: String?
  }

  /// How many bytes a receipt holds at most.
  private static let receiptLimit = 16 << 20
  /// How long another process's save is waited for.
  static let lockPatience = (attempts: 100, microseconds: UInt32(20_000))

  let path: [UInt8]
  let file: OpenFile
  let options: SaveOptions
  let cancel: CancelFlag

  /// A save of a file that was opened by this path. Changes nothing yet.
  public init(
    path: [UInt8], _ file: OpenFile, _ options: SaveOptions, cancel: CancelFlag
  ) {
    self.path = path
    self.file = file
    self.options = options
    self.cancel = cancel
  }

  /// Makes the file hold what the table says, and all of it durable.
  ///
  /// `edited` are places of the old file with digests of what was read there; they are read again.
  /// `verify` reads the new bytes before they take the old ones' place, and throws if they are not
  /// what was meant. In a dry run all is checked that can be without writing.
  ///
  /// Throws ``TableError`` if nothing was changed: `.conflict` if the file is not as it was opened or
  /// another process is saving it, `.readOnly` or `.denied` if it must not be saved, `.io`.
  /// - Complexity: O(size of the file) in time, in memory what the table holds.
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
    if isDryRun, !isNothing {
      if options.isInPlace {
        try InPlaceSave(target, file, keepingIn: kept, cancel: cancel)
          .tryOut(size: table.size, backup: options.backupSuffix)
      } else {
        try Replacement(target, file, cancel: cancel).tryOut(size: table.size)
      }
      try verify(PieceBytes(table, of: file.bytes()))
    }
    if isDryRun || isNothing { return Saved(file: file, receipt: nil, trouble: nil) }
    try lock(file)
    defer { _ = tabella_system_unlock(file.descriptor) }
    // The last holder of the lock may have saved, or was killed in it.
    try target.checkHolds(file.fingerprint)
    if let kept, try kept.isTaken() { throw TableError(.readOnly, kept.interruption) }
    let inverse = try table.inverse(
      of: file.bytes(), size: file.fingerprint.size, limit: FileSave.receiptLimit)
    let content =
      inverse == nil
      ? nil : try ContentDigest.of(PieceBytes(table, of: file.bytes()), size: table.size)
    let check = { () throws(TableError) in
      try target.checkHolds(file.fingerprint)
      try checkUnchanged(edited)
    }
    let written: WrittenFile
    if options.isInPlace {
      written = try InPlaceSave(target, file, keepingIn: kept, cancel: cancel)
        .save(table, backup: options.backupSuffix, check: check, verify: verify)
    } else {
      written = try Replacement(target, file, cancel: cancel)
        .save(table, backup: options.backupSuffix, check: check, verify: verify)
    }
    // What is half written no receipt leads back from.
    let receipt = written.isWhole ? inverse : nil
    return Saved(
      file: written.file,
      receipt: receipt.map {
        SaveReceipt(
          version: written.file.fingerprint.version, content: content, place: target.path, table: $0
        ).bytes
      },
      trouble: written.trouble)
  }

  /// Throws if a save in place was interrupted: the next would hide that the file is half written. Throws
  /// `.conflict` if one is going on.
  static func check(_ kept: KeptBytes.Slot?, of file: OpenFile) throws(TableError) {
    guard let kept else { return }
    switch try kept.trace(of: file) {
    case .none: break
    case .isRunning: throw isLocked
    case .wasInterrupted: throw TableError(.readOnly, kept.interruption)
    }
  }

  /// The table that takes back the save that gave a receipt.
  ///
  /// Throws ``TableError`` with `.conflict` if the file has no longer the bytes that save left, or is
  /// another with the same; with `.invalidArgument` if it is no receipt.
  public func undoing(_ receipt: [UInt8]) throws(TableError) -> PieceTable {
    let receipt = try SaveReceipt(receipt, ofSize: file.fingerprint.size)
    let changed = TableError(.conflict, "was changed since, so that cannot be taken back")
    let hasVersion = receipt.version == file.fingerprint.version
    guard let content = receipt.content else {
      guard hasVersion else { throw changed }
      return receipt.table
    }
    // The bytes decide: times of files are coarse, and another program may have come in between.
    let isThere =
      try hasVersion ? true : SaveTarget(path: path, of: file).path == receipt.place
    guard isThere,
      try ContentDigest.of(file.bytes(), size: file.fingerprint.size) == content
    else { throw changed }
    return receipt.table
  }

  private func checkUnchanged(_ edited: [EditedRange]) throws(TableError) {
    let bytes = file.bytes()
    try bytes.checkUnchanged()
    for edited in edited where try edited.digest(of: bytes) != edited.digest {
      throw TableError(
        .conflict, "changed at byte \(edited.range.lowerBound) since it was read; open it again")
    }
    try bytes.checkUnchanged()
  }

  /// One save at a time. A file system without locks does not hinder: the fingerprint decides.
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

/// What writing a file led to.
struct WrittenFile {
  let file: OpenFile
  /// What is wrong though it was written; nil if nothing is.
  let trouble: String?
  /// Whether it has all the new bytes.
  let isWhole: Bool

  init(_ file: OpenFile, _ trouble: String?, isWhole: Bool = true) {
    self.file = file
    self.trouble = trouble
    self.isWhole = isWhole
  }
}

/// A place of a file, with a digest of what was read there.
public struct EditedRange: Hashable, Sendable {
  let range: Range<Int>
  let digest: UInt64

  /// A record that was read.
  public init(_ span: RecordSpan) { self.init(span.content, digest: span.digest) }

  public init(_ range: Range<Int>, digest: UInt64) {
    self.range = range
    self.digest = digest
  }

  fileprivate func digest(of bytes: any ByteSource) throws(TableError) -> UInt64 {
    let there = try bytes.bytes(at: range.lowerBound, count: range.count)
    return there.withUnsafeBytes { digest64($0) }
  }
}

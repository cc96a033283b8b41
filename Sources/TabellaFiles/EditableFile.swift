import Tabella
import TabellaSystem

/// A file that a provider reads as a whole, and saves by pieces.
///
/// It is the safe way to change a user's file for a format of which a program needs all bytes: contacts, settings,
/// calendars. A save has the promises of docs/saving.md. The file is wholly old or wholly new after any fault, bytes
/// that no piece replaces stay, and a change by another program is a conflict.
///
/// One thread at a time may use the object. The bytes stay in memory.
public final class EditableFile {
  /// A piece of the new bytes: a range of the old bytes, or new bytes.
  public typealias Piece = PieceTable.Piece

  /// The result of a save.
  public struct Saved: Hashable, Sendable {
    /// The data for ``undo(_:isDryRun:)``. Nil if nothing was saved, or if the data would be too large.
    public let receipt: [UInt8]?
    /// Whether the receipt would be too large, so nothing can undo the save. A dry run foresees it.
    public let isFinal: Bool
    /// A problem that occurred although the file was saved; nil if there is none.
    public let problem: String?

    /// The outcome of an edit that the save contains.
    public var outcome: EditResult.Outcome {
      EditResult.Outcome(code: problem.map { _ in .io }, message: problem, isFinal: isFinal)
    }
  }

  /// The options for saving: `in-place` and `backup`. A provider that saves files declares them.
  public static let options = SaveOptions.declarations
  /// The maximum size of a file in bytes.
  public static let limit = 256 << 20

  private let lastingPath: LastingPath
  /// The bytes of the file, as it was opened, saved or pulled last.
  public private(set) var bytes: [UInt8]
  private var file: OpenFile
  private var options = SaveOptions()
  private var watch: FileWatch?

  /// Opens and reads a file. `options` can contain ``options``; the initializer ignores others.
  ///
  /// Throws ``TableError`` with `.notFound`, `.denied` or `.io`, and `.notSupported` if the file is too large.
  public init(path: [UInt8], options: [String: String] = [:]) throws(TableError) {
    lastingPath = LastingPath(path)
    for (name, value) in options { _ = try self.options.take(name, value) }
    file = try ShownFile.open(path)
    bytes = try EditableFile.read(file)
  }

  /// The path of the file: the one by which it was opened, unless the program has changed its working directory.
  public var path: [UInt8] { lastingPath.current }

  /// A version of the bytes: equal bytes have equal versions.
  public var version: Version {
    Version(
      "\(String(bytes.count, radix: 16)).\(String(bytes.withUnsafeBytes { digest64($0) }, radix: 16))"
    )
  }

  /// Whether the file can be saved at all: it is a regular file, and not a pipe or a device.
  public var isStored: Bool { file.isStored }

  /// A warning for the user, for example after an interrupted save; nil if there is none.
  public var diagnostic: String? {
    ShownFile(path: path, file, options, reading: Reading("whole")).diagnostic
  }

  /// The bytes that pieces describe.
  public func bytes(of pieces: [Piece]) -> [UInt8] {
    var result: [UInt8] = []
    result.reserveCapacity(pieces.reduce(0) { $0 + $1.count })
    for piece in pieces {
      switch piece {
      case .old(let range): result += bytes[range]
      case .new(let new): result += new
      }
    }
    return result
  }

  /// Saves the bytes that pieces describe, durably. A dry run makes all checks that are possible without writing.
  ///
  /// If the method throws, the file is unchanged. Throws ``TableError`` with `.conflict` if another program has changed
  /// the file, with `.readOnly` or `.denied` if the file must not be saved, and `.io`.
  public func save(_ pieces: [Piece], isDryRun: Bool = false) throws(TableError) -> Saved {
    var table = PieceTable()
    for piece in pieces { table.append(piece) }
    return try save(table, isDryRun: isDryRun, isUndo: false)
  }

  /// Undoes the save that returned a receipt. The new receipt makes the save again.
  ///
  /// Throws as ``save(_:isDryRun:)`` does. Throws `.conflict` also if the file no longer has the bytes of that save, and
  /// `.invalidArgument` if the data is not a receipt.
  public func undo(_ receipt: [UInt8], isDryRun: Bool = false) throws(TableError) -> Saved {
    try adoptEqualFile()
    return try save(try fileSave(isUndo: true).undoing(receipt), isDryRun: isDryRun, isUndo: true)
  }

  private func save(
    _ table: PieceTable, isDryRun: Bool, isUndo: Bool
  ) throws(TableError) -> Saved {
    try adoptEqualFile()
    let wanted = bytes(of: table.pieces)
    let saved = try fileSave(isUndo: isUndo).save(table, edited: [], isDryRun: isDryRun) {
      new throws(TableError) in
      guard try new.bytes(at: 0, count: wanted.count + 1) == wanted else {
        throw TableError(.io, "was written with other bytes; nothing was changed")
      }
    }
    if !isDryRun {
      (file, bytes) = (saved.file, wanted)
      rearm(file)
    }
    return Saved(
      receipt: saved.receipt, isFinal: saved.isFinal && !isUndo, problem: saved.problem)
  }

  private func fileSave(isUndo: Bool) -> FileSave {
    var options = options
    // The backup of the edit stays.
    if isUndo { options.backupSuffix = nil }
    return FileSave(path: path, file, options, cancel: CancelFlag())
  }

  /// Accepts a file with other times and the same bytes, for example after `touch`. Throws `.conflict` for other
  /// bytes, and `.readOnly` for a pipe or a device.
  private func adoptEqualFile() throws(TableError) {
    guard isStored else {
      throw TableError(.readOnly, "is not a regular file, so it cannot be edited")
    }
    let now = try ShownFile.open(path)
    if now.fingerprint == file.fingerprint { return }
    guard try EditableFile.read(now) == bytes else {
      throw TableError(.conflict, "was changed by another program; open it again")
    }
    file = now
  }

  // Changes by other programs.

  /// Reads the file again if it has changed. Returns whether its bytes differ.
  ///
  /// `accept` receives the new bytes before the object takes them. If `accept` throws, the object keeps its old bytes,
  /// and the next pull tries again. Throws ``TableError`` with `.notFound` if the file is gone.
  public func pull(
    accepting accept: ([UInt8]) throws(TableError) -> Void
  ) throws(TableError) -> Bool {
    let now = try ShownFile.open(path)
    if now.fingerprint == file.fingerprint {
      rearm(file)
      return false
    }
    defer { rearm(now) }
    let read = try EditableFile.read(now)
    guard read != bytes else {
      file = now
      return false
    }
    try accept(read)
    (file, bytes) = (now, read)
    return true
  }

  /// Sets the function to call when a pull may find other bytes; nil removes it.
  ///
  /// A thread calls `notify`. Between two pulls one call suffices. Once a removal returns, the old function no longer
  /// runs.
  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    watch?.stop()
    watch = nil
    guard let notify else { return }
    watch = try FileWatch(lastingPath, notify)
    rearm(file)
  }

  /// Allows the next notice: of a change after this state of the file.
  private func rearm(_ seen: OpenFile) {
    watch?.rearm(
      FileWatch.Known(
        file: seen, look: FileLook(opened: seen.fingerprint), due: nil, notBefore: 0,
        readsGrowth: false))
  }

  private static func read(_ file: OpenFile) throws(TableError) -> [UInt8] {
    let source = file.bytes()
    let bytes = try source.bytes(
      at: 0, count: (file.isStored ? min(file.fingerprint.size, limit) : limit) + 1)
    guard bytes.count <= limit else {
      throw TableError(.notSupported, "has more than \(limit >> 20) MiB")
    }
    try source.checkUnchanged()
    return bytes
  }

  deinit { watch?.stop() }
}

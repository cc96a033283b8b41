import CTabellaSystem
import Tabella
import TabellaSystem

/// A save that overwrites a file, for files that must not be replaced.
///
/// If the process is killed during the save, the file is half written. The old bytes are then in a file in the
/// user's state folder. That file is durable before the first byte is overwritten, and is removed after the last
/// one.
struct InPlaceSave {
  private static let errorPrefix = "cannot be rewritten"
  private static let wasChanged = TableError(
    .conflict, "was changed since it was opened; nothing was changed")

  private let target: SaveTarget
  private let file: OpenFile
  private let place: KeptBytes.Slot
  private let cancel: CancelFlag

  /// Creates a save. Throws ``TableError`` if there is no path for the old bytes.
  init(
    _ target: SaveTarget, _ file: OpenFile, keepingIn place: KeptBytes.Slot?, cancel: CancelFlag
  ) throws(TableError) {
    guard let place else {
      throw TableError(
        .readOnly,
        "cannot be rewritten in place: there is no state folder for the old bytes; set HOME or XDG_STATE_HOME"
      )
    }
    self.target = target
    self.file = file
    self.place = place
    self.cancel = cancel
  }

  func save(
    _ table: PieceTable, backup: [UInt8]?, check: () throws(TableError) -> Void,
    verify: (any ByteSource) throws(TableError) -> Void
  ) throws(TableError) -> WrittenFile {
    try makeFolders(place.folder)
    let state = try Descriptor(
      opening: place.folder, O_RDONLY | O_DIRECTORY,
      errorPrefix: "the folder for its old bytes cannot be opened")
    let new = try TemporaryFile(in: state.raw)
    var writer = FileWriter(new.descriptor, cancel: cancel)
    try writer.write(table, old: file)
    try verify(FileBytes(try OpenFile(duplicating: new.descriptor)))
    let kept = try KeptBytes(of: file, in: place, cancel: cancel)
    do throws(TableError) {
      let opened = try openInPlace()
      try check()
      if let backup { try copy(as: backup) }
      if let failure = try rewrite(opened, from: new.descriptor, table, kept) {
        return WrittenFile(opened.reopened() ?? opened, failure, isWhole: false)
      }
      // The save is done. Examine the file at once, because another program can write to it at any moment.
      let written = written(opened, new.descriptor)
      return WrittenFile(written, kept.remove())
    } catch {
      _ = kept.remove()
      throw error
    }
  }

  /// Throws if the file could not be overwritten with so many bytes, as far as a test without side effects shows.
  func tryOut(size: Int, backup: [UInt8]?) throws(TableError) {
    // Opening the file for writing would copy it on an overlay file system.
    let old = file.fingerprint.size
    // Both files exist at the same time during a save, so reserve their space together.
    try DurableFile.tryOut(in: place.folder, rooms: [size, old]) {
      () throws(TableError) in
      var copy: TemporaryFile?
      if backup != nil {
        copy = try TemporaryFile(namelessIn: target.folder, errorPrefix: TemporaryFile.errorPrefix)
      }
      if let copy {
        try copy.tryRoom(old, sharing: file.descriptor, errorPrefix: "the backup cannot be created")
        try copyRights(to: copy)
      }
      try withExtendedLifetime(copy) { () throws(TableError) in try tryGrowth(to: size) }
    }
  }

  /// Throws if the file system reports too little space for this size.
  private func tryGrowth(to size: Int) throws(TableError) {
    var system = statvfs()
    guard let status = stat(of: file.descriptor), fstatvfs(file.descriptor, &system) == 0 else {
      return
    }
    // The last block of the file can have unused space.
    let growth = size - max(Int(status.st_size), Int(status.st_blocks) * 512)
    let free = geteuid() == 0 ? system.f_bfree : system.f_bavail
    let (bytes, overflow) = UInt(free).multipliedReportingOverflow(by: UInt(system.f_frsize))
    guard overflow || growth <= 0 || bytes >= growth else {
      throw .system(ENOSPC, InPlaceSave.errorPrefix)
    }
  }

  private func copyRights(to copy: TemporaryFile) throws(TableError) {
    do throws(TableError) {
      try FileAttributes.copy(from: file.descriptor, to: copy.descriptor, as: .replacement)
    } catch {
      throw TableError(
        error.code, "the backup cannot be created: \(error.message); nothing was changed")
    }
  }

  /// Copies the file as its backup, and replaces an earlier backup.
  private func copy(as suffix: [UInt8]) throws(TableError) {
    let copy = try TemporaryFile(in: target.folder)
    var writer = FileWriter(copy.descriptor, cancel: cancel)
    try writer.copy(0..<file.fingerprint.size, of: file.descriptor)
    try copyRights(to: copy)
    guard fsync(copy.descriptor) == 0 else {
      throw .system(errno, "the backup cannot be created durable; nothing was changed")
    }
    try copy.takeName()
    let result = tabella_system_rename(
      target.folder, copy.name, target.folder, target.backupName(suffix), TABELLA_RENAME_OVER)
    guard result == 0 else {
      throw .system(-result, "the backup cannot be created; nothing was changed")
    }
    copy.nameIsAnothers()
    guard fsync(target.folder) == 0 else {
      throw .system(errno, "the backup cannot be created durable; nothing was changed")
    }
  }

  /// Opens the file for writing, if it is still the same file.
  private func openInPlace() throws(TableError) -> OpenFile {
    guard let found = Descriptor(opening: target.name, in: target.folder, O_RDWR | O_NOFOLLOW)
    else { throw .system(errno, "cannot be written; nothing was changed") }
    let opened = try OpenFile(duplicating: found.raw)
    guard opened.fingerprint == file.fingerprint else { throw InPlaceSave.wasChanged }
    return opened
  }

  /// The file after the save.
  ///
  /// If another program has already changed it, later reads report a conflict, because its bytes are not the saved
  /// ones.
  private func written(_ opened: OpenFile, _ new: Int32) -> OpenFile {
    if let saved = opened.reopened(), let wanted = try? OpenFile(duplicating: new),
      (try? haveSameBytes(saved, wanted)) == true
    {
      return saved
    }
    // A fingerprint that the file never has serves the same purpose.
    return (try? OpenFile(duplicating: opened.descriptor, isOutdated: true)) ?? opened
  }

  /// Whether two files have the same bytes, and the first has not changed since it was opened.
  private func haveSameBytes(_ left: OpenFile, _ right: OpenFile) throws(TableError) -> Bool {
    let size = left.fingerprint.size
    guard right.fingerprint.size == size else { return false }
    let step = min(max(1, size), 1 << 20)
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 2 * step, alignment: 64)
    defer { buffer.deallocate() }
    let (first, second) = (FileBytes(left), FileBytes(right))
    var offset = 0
    while offset < size {
      let count = min(step, size - offset)
      let one = UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
      let other = UnsafeMutableRawBufferPointer(rebasing: buffer[step..<step + count])
      guard try first.fill(one, at: offset) == count, try second.fill(other, at: offset) == count,
        memcmp(one.baseAddress!, other.baseAddress!, count) == 0
      else { return false }
      offset += count
    }
    try first.checkUnchanged()
    return true
  }

  /// Writes the new bytes.
  ///
  /// Throws if that failed and the old bytes were restored. Returns the problem if the old bytes could not be
  /// restored.
  private func rewrite(
    _ opened: OpenFile, from new: Int32, _ table: PieceTable, _ kept: KeptBytes
  ) throws(TableError) -> String? {
    let (start, old) = (table.keptPrefix, file.fingerprint.size)
    // Copying the backup took some time.
    guard try Fingerprint(of: opened.descriptor) == opened.fingerprint else {
      throw InPlaceSave.wasChanged
    }
    var failure: TableError
    do throws(TableError) {
      try replace(opened.descriptor, start, with: new, table.size, upTo: old)
      return nil
    } catch { failure = error }
    do throws(TableError) {
      try replace(
        opened.descriptor, start, with: kept.descriptor, old, upTo: max(old, table.size),
        byHand: true)
    } catch {
      return
        "\(failure.message), and the file is half written; the old bytes are in \(kept.path.shown): copy them back, then remove \(kept.path.shown)"
    }
    failure.message += "; its old bytes were written back, so nothing was changed"
    throw failure
  }

  /// Overwrites a file with the bytes of another file from an offset on, and truncates it to that size.
  ///
  /// `longest` is the maximum size that the file can have without another program. A longer file is not truncated.
  private func replace(
    _ descriptor: Int32, _ start: Int, with bytes: Int32, _ size: Int, upTo longest: Int,
    byHand: Bool = false
  ) throws(TableError) {
    let errorPrefix = InPlaceSave.errorPrefix
    if size > longest {
      let result = posix_fallocate(descriptor, longest, size - longest)
      guard result == 0 else { throw .system(result, errorPrefix) }
    }
    // From here on, the save cannot be cancelled.
    var writer = FileWriter(
      descriptor, cancel: CancelFlag(), errorPrefix: errorPrefix, byHand: byHand)
    writer.position = start
    try writer.copy(start..<size, of: bytes)
    if size < longest {
      guard try Fingerprint(of: descriptor).size <= longest else {
        throw TableError(.conflict, "was extended by another program at the same moment")
      }
      guard ftruncate(descriptor, size) == 0 else { throw .system(errno, errorPrefix) }
    }
    guard fsync(descriptor) == 0 else { throw .system(errno, errorPrefix) }
  }
}

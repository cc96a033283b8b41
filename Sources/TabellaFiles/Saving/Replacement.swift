import CTabellaSystem
import Tabella

/// A save that makes a new file and lets it take the old one's name.
struct Replacement {
  private let target: SaveTarget
  private let file: OpenFile
  private let cancel: CancelFlag

  init(_ target: SaveTarget, _ file: OpenFile, cancel: CancelFlag) {
    self.target = target
    self.file = file
    self.cancel = cancel
  }

  func save(
    _ table: PieceTable, backup: [UInt8]?, check: () throws(TableError) -> Void,
    verify: (any ByteSource) throws(TableError) -> Void
  ) throws(TableError) -> WrittenFile {
    let new = try TemporaryFile(in: target.folder)
    // Those who open it as soon as it has the name wait until it is durable there.
    _ = tabella_system_lock(new.descriptor)
    var writer = FileWriter(new.descriptor, cancel: cancel, replacesOld: true)
    try writer.write(table, old: file.descriptor)
    let rights = try copyRights(to: new.descriptor)
    try verify(FileBytes(try OpenFile(duplicating: new.descriptor)))
    // Never again if it fails: the system would forget what it could not write.
    guard fsync(new.descriptor) == 0 else {
      throw .system(errno, "cannot be made durable; nothing was changed")
    }
    try cancel.check()
    // Had before the swap: nothing may be thrown behind it.
    let opened = try OpenFile(duplicating: new.descriptor)
    try new.takeName()
    try check()
    var trouble = try swap(new, rights, backup)
    if fsync(target.folder) != 0 {
      trouble =
        trouble
        ?? "was saved, but its folder cannot be made durable: \(errorText(errno))"
    }
    defer { _ = tabella_system_unlock(new.descriptor) }
    do throws(TableError) {
      let saved = try OpenFile(duplicating: new.descriptor)
      // What another program wrote there since is not what was saved: whoever reads on is told.
      let isSame = saved.fingerprint.isOfSameContent(as: opened.fingerprint)
      return WrittenFile(isSame ? saved : opened, trouble)
    } catch {
      return WrittenFile(opened, trouble ?? "was saved, but \(error.message)")
    }
  }

  /// Throws why a file of this size could not take the old one's place, if that can be tried without a trace.
  func tryOut(size: Int) throws(TableError) {
    guard
      let trial = try TemporaryFile(namelessIn: target.folder, failing: TemporaryFile.failing)
    else { return }
    try trial.tryRoom(size, sharing: file.descriptor, failing: FileWriter.failing)
    _ = try copyRights(to: trial.descriptor)
  }

  private func copyRights(to new: Int32) throws(TableError) -> stat {
    do throws(TableError) {
      return try FileAttributes.copy(from: file.descriptor, to: new, as: .replacement).was
    } catch {
      throw TableError(
        error.code,
        "\(error.message); nothing was changed (--in-place, -o in-place=true, rewrites it where it is)"
      )
    }
  }

  /// Lets the new file have the old one's name, if that is still the file that was opened.
  ///
  /// Exchanging the names shows what was replaced, so that it can be put back: between a check and a
  /// rename another program could save.
  private func swap(
    _ new: TemporaryFile, _ rights: stat, _ backup: [UInt8]?
  ) throws(TableError) -> String? {
    let result = rename(new.name, target.name, TABELLA_RENAME_EXCHANGE)
    if TemporaryFile.isUnknown(result) {
      return try swapWithoutExchange(new, backup)
    }
    guard result == 0 else { throw cannotReplace(-result) }
    guard let displaced = target.status(of: new.name) else {
      return try swapBack(new, .system(errno, "cannot be examined; nothing was changed"))
    }
    // An exchange sets the time of change, so that does not count.
    guard Fingerprint(displaced).isOfSameContent(as: file.fingerprint) else {
      return try swapBack(
        new,
        TableError(
          .conflict, "was changed by another program at the same moment; nothing was changed"))
    }
    guard displaced.st_nlink == 1 else {
      return try swapBack(
        new,
        TableError(
          .conflict,
          "got another name (hard link) at the same moment, which a save would part; nothing was changed"
        ))
    }
    new.nameIsAnothers()
    // Somebody may have changed the mode or the owner since they were copied: that is no conflict.
    if let trouble = follow(displaced, after: rights, new) { return trouble }
    if let backup { return keep(new.name, as: backup) }
    guard unlinkat(target.folder, new.name, 0) == 0 else {
      return
        "was saved, but the old file cannot be removed and stays as \(new.shownName): \(errorText(errno))"
    }
    return nil
  }

  /// Gives the new file the rights that the old one got since they were copied; returns what is wrong
  /// if it cannot.
  private func follow(_ old: stat, after rights: stat, _ new: TemporaryFile) -> String? {
    let isSame =
      rights.st_mode == old.st_mode && rights.st_uid == old.st_uid && rights.st_gid == old.st_gid
    if isSame { return nil }
    do throws(TableError) {
      _ = try copyRights(to: new.descriptor)
      return nil
    } catch {
      return
        "was saved, but its rights were changed at the same moment and could not be kept; the old file stays as \(new.shownName)"
    }
  }

  /// Another program's file was displaced, or nobody knows: it gets its name back.
  private func swapBack(
    _ new: TemporaryFile, _ error: TableError
  ) throws(TableError) -> String? {
    guard rename(new.name, target.name, TABELLA_RENAME_EXCHANGE) == 0 else {
      new.nameIsAnothers()
      return
        "was saved, but over a change that another program made at the same moment; that is kept as \(new.shownName)"
    }
    throw error
  }

  /// For file systems that cannot exchange: the check before is all there is.
  private func swapWithoutExchange(
    _ new: TemporaryFile, _ backup: [UInt8]?
  ) throws(TableError) -> String? {
    // The old file gets its name as the backup only when the new one is there: until then the file and
    // its backup would be one, and an earlier backup gone for nothing.
    let spare = TemporaryFile.randomName()
    if backup != nil, linkat(target.folder, target.name, target.folder, spare, 0) != 0 {
      throw .system(errno, "the backup cannot be made; nothing was changed")
    }
    let result = rename(new.name, target.name, TABELLA_RENAME_OVER)
    guard result == 0 else {
      if backup != nil { unlinkat(target.folder, spare, 0) }
      throw cannotReplace(-result)
    }
    new.nameIsAnothers()
    guard let backup else { return nil }
    guard fsync(target.folder) == 0 else {
      return
        "was saved, but its folder cannot be made durable, and the old file stays as \(spare.shown): \(errorText(errno))"
    }
    return keep(spare, as: backup)
  }

  private func cannotReplace(_ number: Int32) -> TableError {
    switch number {
    case EBUSY: SaveTarget.isMounted
    case ENOENT: SaveTarget.isGone
    default: .system(number, "cannot be replaced; nothing was changed")
    }
  }

  /// Names the old file as the backup, in place of an earlier one.
  private func keep(_ name: [CChar], as suffix: [UInt8]) -> String? {
    let result = rename(name, target.backupName(suffix), TABELLA_RENAME_OVER)
    guard result != 0 else { return nil }
    return
      "was saved, but the old file cannot be named as the backup and stays as \(name.shown): \(errorText(-result))"
  }

  private func rename(_ from: [CChar], _ to: [CChar], _ kind: tabella_rename_kind) -> Int32 {
    tabella_system_rename(target.folder, from, target.folder, to, kind)
  }
}

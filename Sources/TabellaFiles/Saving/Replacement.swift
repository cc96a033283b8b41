import CTabellaSystem
import Tabella
import TabellaSystem

/// A save that creates a new file and gives it the old file's name.
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
    // Programs that open the new file right after the rename wait for this lock until the name is durable.
    _ = tabella_system_lock(new.descriptor)
    var writer = FileWriter(new.descriptor, cancel: cancel, replacesOld: true)
    try writer.write(table, old: file)
    let rights = try copyRights(to: new.descriptor)
    try verify(FileBytes(try OpenFile(duplicating: new.descriptor)))
    // A failed fsync must not be repeated, because the system forgets the bytes that it could not write.
    guard fsync(new.descriptor) == 0 else {
      throw .system(errno, "cannot be flushed to the disk; nothing was changed")
    }
    try cancel.check()
    // Opened before the swap, because nothing may throw after it.
    let opened = try OpenFile(duplicating: new.descriptor)
    try new.takeName()
    try check()
    var problem = try swap(new, rights, backup)
    if fsync(target.folder) != 0 {
      problem =
        problem
        ?? "was saved, but its folder cannot be flushed to the disk: \(errorText(errno))"
    }
    defer { _ = tabella_system_unlock(new.descriptor) }
    do throws(TableError) {
      let saved = try OpenFile(duplicating: new.descriptor)
      // If another program has written to the new file since, later readers must see a conflict.
      let isSame = saved.fingerprint.isOfSameContent(as: opened.fingerprint)
      return WrittenFile(isSame ? saved : opened, problem)
    } catch {
      return WrittenFile(opened, problem ?? "was saved, but \(error.message)")
    }
  }

  /// Throws if a file of this size could not replace the old one, as far as a test without side effects shows.
  func tryOut(size: Int) throws(TableError) {
    guard
      let trial = try TemporaryFile(
        namelessIn: target.folder, errorPrefix: TemporaryFile.errorPrefix)
    else { return }
    try trial.tryRoom(size, sharing: file.descriptor, errorPrefix: FileWriter.errorPrefix)
    _ = try copyRights(to: trial.descriptor)
  }

  private func copyRights(to new: Int32) throws(TableError) -> stat {
    do throws(TableError) {
      return try FileAttributes.copy(from: file.descriptor, to: new, as: .replacement).was
    } catch {
      throw TableError(
        error.code,
        "\(error.message); nothing was changed (the option in-place=true writes into the existing file)"
      )
    }
  }

  /// Gives the new file the name of the old one, if the name still belongs to the opened file.
  ///
  /// Another program could save between a check and a rename. The method therefore exchanges the two names, which
  /// reveals the displaced file, so that the exchange can be undone.
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
    // An exchange sets the change time, so the comparison ignores it.
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
          "got another name (hard link) at the same moment, and a save would replace only one of them; nothing was changed"
        ))
    }
    new.nameIsAnothers()
    // Another program may have changed the mode or owner since they were copied. That is not a conflict.
    if let problem = updateRights(displaced, after: rights, new) { return problem }
    if let backup { return keep(new.name, as: backup) }
    guard unlinkat(target.folder, new.name, 0) == 0 else {
      return
        "was saved, but the old file cannot be removed and stays as \(new.shownName): \(errorText(errno))"
    }
    return nil
  }

  /// Copies mode and owner again if they have changed since they were copied. Returns the problem if that fails.
  private func updateRights(_ old: stat, after rights: stat, _ new: TemporaryFile) -> String? {
    let isSame =
      rights.st_mode == old.st_mode && rights.st_uid == old.st_uid && rights.st_gid == old.st_gid
    if isSame { return nil }
    do throws(TableError) {
      _ = try copyRights(to: new.descriptor)
      return nil
    } catch {
      return
        "was saved, but another program changed its permissions at the same moment, and they could not be kept; the old file stays as \(new.shownName)"
    }
  }

  /// Gives the displaced file its name back, because it belongs to another program or could not be examined.
  private func swapBack(
    _ new: TemporaryFile, _ error: TableError
  ) throws(TableError) -> String? {
    guard rename(new.name, target.name, TABELLA_RENAME_EXCHANGE) == 0 else {
      new.nameIsAnothers()
      return
        "was saved, but another program changed it at the same moment; the version of that program is kept as \(new.shownName)"
    }
    throw error
  }

  /// Replaces the file on file systems that cannot exchange names. Only the check before the rename protects.
  private func swapWithoutExchange(
    _ new: TemporaryFile, _ backup: [UInt8]?
  ) throws(TableError) -> String? {
    // The old file gets the name of the backup only after the rename. Before that, the file and its backup would be
    // the same file, and a failure would lose an earlier backup.
    let spare = TemporaryFile.randomName()
    if backup != nil, linkat(target.folder, target.name, target.folder, spare, 0) != 0 {
      throw .system(errno, "the backup cannot be created; nothing was changed")
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
        "was saved, but its folder cannot be flushed to the disk, and the old file stays as \(spare.shown): \(errorText(errno))"
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

  /// Renames the old file to the backup's name, and replaces an earlier backup.
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

import CTabellaSystem
import Tabella

/// A save that rewrites a file where it is, for one that must not be replaced.
///
/// A kill in the middle leaves it half written; the old bytes are then in a file of the user's state
/// folder, which is durable before the first byte is written and goes when the last one is.
public struct InPlaceSave {
  private let target: SaveTarget
  private let file: OpenFile
  private let cancel: CancelFlag

  init(_ target: SaveTarget, _ file: OpenFile, cancel: CancelFlag) {
    self.target = target
    self.file = file
    self.cancel = cancel
  }

  /// What to say of a file whose last such save was interrupted; nil if none was.
  public static func remark(on fingerprint: Fingerprint) -> String? {
    guard let path = try? KeptBytes.path(of: fingerprint),
      path.withCString({ access($0, F_OK) }) == 0
    else { return nil }
    return
      "an in-place save was interrupted and may have left it half written; the bytes from before are in \(text(path)): copy them back or remove them, then edit"
  }

  func save(
    _ table: PieceTable, backup: [UInt8]?, check: () throws(TableError) -> Void,
    verify: (any ByteSource) throws(TableError) -> Void
  ) throws(TableError) -> (OpenFile, trouble: String?) {
    if let remark = InPlaceSave.remark(on: file.fingerprint) { throw TableError(.readOnly, remark) }
    let state = try KeptBytes.folder()
    defer { close(state) }
    let new = try TemporaryFile(in: state)
    var writer = FileWriter(new.descriptor, cancel: cancel)
    try writer.write(table, old: file.descriptor)
    try verify(FileBytes(try OpenFile(duplicating: new.descriptor)))
    let kept = try KeptBytes(of: file, in: state, cancel: cancel)
    do throws(TableError) {
      let place = try openInPlace()
      try check()
      if let backup { try copy(as: backup) }
      var trouble = try rewrite(place, from: new.descriptor, table, kept)
      // From here on it is done.
      trouble = trouble ?? kept.remove()
      do throws(TableError) {
        return (try OpenFile(duplicating: place.descriptor), trouble)
      } catch {
        return (place, trouble ?? "was saved, but \(error.message)")
      }
    } catch {
      _ = kept.remove()
      throw error
    }
  }

  /// Copies the file as its backup, in place of an earlier one.
  private func copy(as suffix: [UInt8]) throws(TableError) {
    let copy = try TemporaryFile(in: target.folder)
    var writer = FileWriter(copy.descriptor, cancel: cancel)
    try writer.copy(0..<file.fingerprint.size, of: file.descriptor)
    do throws(TableError) {
      try FileAttributes.copy(from: file.descriptor, to: copy.descriptor, as: .replacement)
    } catch {
      throw TableError(
        error.code, "the backup cannot be made: \(error.message); nothing was changed")
    }
    guard fsync(copy.descriptor) == 0 else {
      throw .system(errno, "the backup cannot be made durable; nothing was changed")
    }
    try copy.takeName()
    let result = tabella_system_rename(
      target.folder, copy.name, target.folder, target.backupName(suffix), TABELLA_RENAME_OVER)
    guard result == 0 else {
      throw .system(-result, "the backup cannot be made; nothing was changed")
    }
    copy.nameIsAnothers()
    guard fsync(target.folder) == 0 else {
      throw .system(errno, "the backup cannot be made durable; nothing was changed")
    }
  }

  /// Opens the file for writing, if it is still the one that was opened.
  private func openInPlace() throws(TableError) -> OpenFile {
    let descriptor = openat(target.folder, target.name, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { throw .system(errno, "cannot be written; nothing was changed") }
    defer { close(descriptor) }
    let place = try OpenFile(duplicating: descriptor)
    guard place.fingerprint == file.fingerprint else {
      throw TableError(.conflict, "was changed since it was opened; nothing was changed")
    }
    return place
  }

  private func rewrite(
    _ place: OpenFile, from new: Int32, _ table: PieceTable, _ kept: KeptBytes
  ) throws(TableError) -> String? {
    let (start, old) = (table.keptPrefix, file.fingerprint.size)
    do throws(TableError) {
      try replace(place.descriptor, start, with: new, table.size, was: old)
      return nil
    } catch {
      do throws(TableError) {
        try replace(place.descriptor, start, with: kept.descriptor, old, was: old, byHand: true)
      } catch {
        return
          "was left half written; the bytes from before are in \(text(kept.path)): copy them back (\(error.message))"
      }
      throw error
    }
  }

  /// Writes one file's bytes over another's from a place on, and cuts it to that size.
  private func replace(
    _ descriptor: Int32, _ start: Int, with bytes: Int32, _ size: Int, was: Int,
    byHand: Bool = false
  ) throws(TableError) {
    if size > was {
      let result = posix_fallocate(descriptor, was, size - was)
      guard result == 0 else { throw .system(result, "cannot be saved; nothing was changed") }
    }
    // No longer to be cancelled.
    var writer = FileWriter(descriptor, cancel: CancelFlag(), byHand: byHand)
    writer.position = start
    try writer.copy(start..<size, of: bytes)
    guard ftruncate(descriptor, size) == 0, fsync(descriptor) == 0 else {
      throw .system(errno, "cannot be saved; its old bytes were written back")
    }
  }
}

/// The bytes of a file from before it is rewritten in place, durable under the user's state folder.
private final class KeptBytes {
  let path: [UInt8]
  let descriptor: Int32
  private let folder: Int32
  private let name: [CChar]

  /// `$XDG_STATE_HOME/tabella/in-place`.
  private static func folderPath() throws(TableError) -> [UInt8] {
    guard let state = stateFolder() else {
      throw TableError(
        .readOnly,
        "cannot be rewritten in place: there is no state folder for the old bytes; set HOME or XDG_STATE_HOME"
      )
    }
    return state + Array("/in-place".utf8)
  }

  static func folder() throws(TableError) -> Int32 {
    let path = try folderPath()
    try makeFolders(path)
    let descriptor = path.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw .system(errno, "\(text(path)) cannot be opened") }
    return descriptor
  }

  /// Where the old bytes of a file would be.
  static func path(of print: Fingerprint) throws(TableError) -> [UInt8] {
    try folderPath()
      + Array("/\(String(print.device, radix: 16))-\(String(print.inode, radix: 16))".utf8)
  }

  init(of file: OpenFile, in folder: Int32, cancel: CancelFlag) throws(TableError) {
    self.folder = folder
    path = try KeptBytes.path(of: file.fingerprint)
    let slash = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    name = path[(slash + 1)...].map { CChar(bitPattern: $0) } + [0]
    let copy = try TemporaryFile(in: folder)
    var writer = FileWriter(copy.descriptor, cancel: cancel)
    try writer.copy(0..<file.fingerprint.size, of: file.descriptor)
    guard fsync(copy.descriptor) == 0 else {
      throw .system(errno, "its old bytes cannot be kept; nothing was changed")
    }
    let result = copy.become(name)
    guard result == 0 else {
      throw .system(-result, "its old bytes cannot be kept; nothing was changed")
    }
    descriptor = dup(copy.descriptor)
    guard descriptor >= 0, fsync(folder) == 0 else {
      let number = errno
      _ = remove()
      throw .system(number, "its old bytes cannot be kept; nothing was changed")
    }
  }

  deinit { close(descriptor) }

  /// Removes the bytes, which are needed no more; returns what is wrong if that fails.
  func remove() -> String? {
    guard unlinkat(folder, name, 0) == 0, fsync(folder) == 0 else {
      return
        "was saved, but the bytes from before cannot be removed from \(text(path)); remove them before you edit it again: \(errorText(errno))"
    }
    return nil
  }
}

/// Bytes of a path as a message shows them.
private func text(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

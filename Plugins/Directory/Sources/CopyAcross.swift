import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// Moves a file or a link to another file system: a copy, made durable, then the removal of the original.
struct CopyAcross {
  let folders: OpenFolders
  let cancel: CancelFlag
  let from: Place
  /// What it is called in errors.
  private let text: String

  init(_ from: Place, _ folders: OpenFolders, _ cancel: CancelFlag) {
    self.from = from
    self.folders = folders
    self.cancel = cancel
    text = folders.text(from)
  }

  /// Throws if an entry has other names too: of these only one would be another file then.
  static func check(_ status: tabella_status, _ text: String) throws(TableError) {
    if status.links == 1 { return }
    throw TableError(
      .constraint,
      "\(text) cannot be moved to another file system: it has \(status.links) names (hard links), and a copy under one of them would be another file"
    )
  }

  /// Returns what is at the new place, and what could not be kept. After an error the entry is where it was.
  func move(
    _ identity: Identity, to: Place
  ) throws(TableError) -> (status: tabella_status, remarks: [Remark]) {
    let source = folders[from.folder].descriptor
    let target = folders[to.folder].descriptor
    let before = try status(source, from.name)
    guard Identity(before) == identity else { throw Failure.vanished.error(of: text, "") }
    try CopyAcross.check(before, text)
    let remarks =
      identity.kind == .link
      ? try copyLink(before, source, from.name, target, to.name)
      : try copyFile(before, source, from.name, target, to.name)
    do throws(TableError) {
      if let failure = folders.sync(to.folder) {
        throw failed(failure.number, "cannot be made durable")
      }
      let copy = try status(target, to.name)
      try check(try status(source, from.name), isStill: before)
      if from.name.withCString({ unlinkat(source, $0, 0) }) != 0 {
        throw failed(errno, "cannot be removed where it is")
      }
      folders.note(changed: from.folder)
      return (copy, remarks)
    } catch {
      folders.note(changed: to.folder)
      if to.name.withCString({ unlinkat(target, $0, 0) }) != 0 {
        throw TableError(error.code, "\(error.message), and its copy \(folders.text(to)) is left")
      }
      throw error
    }
  }

  // Errors

  private func failed(_ number: Int32, _ what: String) -> TableError {
    Failure(number).error(of: text, what)
  }

  private func status(_ folder: Int32, _ name: [UInt8]) throws(TableError) -> tabella_status {
    do throws(Failure) {
      return try tabella_status(folder, name)
    } catch {
      throw failed(error.number, "cannot be examined")
    }
  }

  private func check(
    _ status: tabella_status, isStill before: tabella_status
  ) throws(TableError) {
    guard Identity(status) == Identity(before) else { throw Failure.vanished.error(of: text, "") }
    guard status.size == before.size, status.moment == before.moment else {
      throw TableError(.conflict, "\(text) was changed while it was copied")
    }
  }

  // Copying

  private static let newOwner = Remark("its owner and group could not be kept")

  private func copyLink(
    _ status: tabella_status, _ source: Int32, _ name: [UInt8], _ target: Int32, _ newName: [UInt8]
  ) throws(TableError) -> [Remark] {
    guard let text = readLink(source, name) else { throw failed(errno, "cannot be read") }
    // A link is made with a name; it gets the right one when it is complete.
    let between = TemporaryFile.randomName()
    if text.withCString({ symlinkat($0, target, between) }) != 0 {
      throw failed(errno, "cannot be copied")
    }
    do throws(TableError) {
      let entry = tabella_system_open_entry(target, between)
      guard entry >= 0 else { throw failed(-entry, "cannot be copied") }
      defer { close(entry) }
      let keepsOwner =
        fchownat(target, between, status.owner, status.group, AT_SYMLINK_NOFOLLOW) == 0
      let remark = try setTime(of: entry, status)
      let result = newName.withCString {
        tabella_system_rename(target, between, target, $0, TABELLA_RENAME_NO_REPLACE)
      }
      if result < 0 { throw failed(-result, "cannot be given its name") }
      return [keepsOwner ? nil : CopyAcross.newOwner, remark].compactMap { $0 }
    } catch {
      unlinkat(target, between, 0)
      throw error
    }
  }

  private func copyFile(
    _ status: tabella_status, _ source: Int32, _ name: [UInt8], _ target: Int32, _ newName: [UInt8]
  ) throws(TableError) -> [Remark] {
    let original = name.withCString {
      openat(source, $0, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
    }
    guard original >= 0 else { throw failed(errno, "cannot be read") }
    defer { close(original) }
    try check(try self.status(original, []), isStill: status)
    let copy = try TemporaryFile(in: target, failing: "\(text) cannot be copied")
    var writer = FileWriter(copy.descriptor, cancel: cancel, failing: "\(text) cannot be copied")
    try writer.copyAll(of: original)
    let keepsOwner: Bool
    do throws(TableError) {
      (_, keepsOwner) = try FileAttributes.copy(
        from: original, to: copy.descriptor, as: .copy)
    } catch {
      throw TableError(error.code, "\(text): \(error.message)")
    }
    let remark = try setTime(of: copy.descriptor, status)
    if let failure = makeDurable(copy.descriptor) {
      throw failed(failure.number, "cannot be made durable")
    }
    let result = copy.become(newName.map { CChar(bitPattern: $0) } + [0])
    if result < 0 { throw failed(-result, "cannot be given its name") }
    return [keepsOwner ? nil : CopyAcross.newOwner, remark].compactMap { $0 }
  }

  /// Gives the copy the time that the original has; returns what there is to say if another is kept.
  private func setTime(
    of copy: Int32, _ status: tabella_status
  ) throws(TableError) -> Remark? {
    let result = tabella_system_set_modified(copy, status.modified, status.modified_rest)
    if result < 0 { throw failed(-result, "cannot keep its time") }
    let moment = try self.status(copy, []).moment
    return moment == status.moment ? nil : .keeps(moment)
  }
}

/// What a symbolic link says; nil if it cannot be read.
func readLink(_ directory: Int32, _ name: [UInt8]) -> [UInt8]? {
  name.withCString { readLink(directory, $0) }
}

func readLink(_ directory: Int32, _ name: UnsafePointer<CChar>) -> [UInt8]? {
  var size = 256
  while true {
    var count = 0
    let target = [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
      count = readlinkat(
        directory, name,
        UnsafeMutableRawPointer(buffer.baseAddress!).assumingMemoryBound(to: CChar.self), size)
      filled = max(0, count)
    }
    if count < 0 { return nil }
    // A target that fills the buffer may be longer.
    if count < size { return target }
    size *= 4
  }
}

import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// Moves a file or a link to another file system: it makes a durable copy and then removes the original.
///
/// It removes the original only if the original is still the copied version. It removes an unneeded copy only if nobody
/// has changed the copy. Otherwise both stay.
final class CopyAcross {
  let folders: OpenFolders
  let cancel: CancelFlag
  let from: FolderEntry
  /// The name of the entry in error messages.
  private let text: String
  /// Whether something was left changed after an error.
  private(set) var hasLeftTraces = false

  init(_ from: FolderEntry, _ folders: OpenFolders, _ cancel: CancelFlag) {
    self.from = from
    self.folders = folders
    self.cancel = cancel
    text = folders.text(from)
  }

  /// Throws if an entry has several hard links, because the copy would replace only one of them. Also throws for a link
  /// if the new folder is append-only, because a link is made under a temporary name first.
  static func check(
    _ status: tabella_status, _ text: String, into folder: OpenFolders.Folder
  ) throws(TableError) {
    if status.links > 1 {
      throw TableError(
        .constraint,
        "\(text) cannot be moved to another file system: it has \(status.links) names (hard links), and a copy would be a separate file"
      )
    }
    if EntryKind(mode: status.mode) == .link, folder.status.is_append_only {
      throw TableError(
        .denied,
        "\(text) cannot be moved to another file system: it is a link, and the target folder only accepts new names (chattr +a)"
      )
    }
  }

  /// A copy with its final name.
  struct Copy {
    let original: tabella_status
    let status: tabella_status
    /// The attributes that could not be kept.
    let diagnostics: [ActDiagnostic]
  }

  /// Copies the entry and removes the original. After an error, the entry is at its old path.
  func move(_ identity: Identity, to: FolderEntry) throws(TableError) -> Copy {
    let copy = try copy(identity, to: to)
    try finish(copy, at: to)
    return copy
  }

  /// Makes a copy at the new path.
  func copy(_ identity: Identity, to: FolderEntry) throws(TableError) -> Copy {
    let source = folders[from.folder].descriptor
    let target = folders[to.folder].descriptor
    let before = try checked(identity, to: to)
    let (status, diagnostics) =
      identity.kind == .link
      ? try copyLink(before, source, from.name, target, to.name)
      : try copyFile(before, source, from.name, target, to.name)
    return Copy(original: before, status: status, diagnostics: diagnostics)
  }

  /// Checks whether a copy can be made, as far as that is possible without a trace. Returns the notes that the copy
  /// would have.
  ///
  /// It subtracts the space of the copy from `trial` and adds the space of the original, for the acts that are tried
  /// next.
  func tryOut(
    _ identity: Identity, to: FolderEntry, _ trial: RoomTrial
  ) throws(TableError) -> [ActDiagnostic] {
    let source = folders[from.folder].descriptor
    let target = folders[to.folder]
    let before = try checked(identity, to: to)
    let errorPrefix = "\(text) cannot be copied"
    var diagnostics: [ActDiagnostic] = []
    if identity.kind == .link {
      guard let text = readLink(source, from.name) else { throw failed(errno, "cannot be read") }
      let size = text.count > tabella_system_short_link(target.descriptor) ? text.count : 0
      try trial.tryFile(
        ofSize: size, in: target.descriptor, onDevice: target.status.device,
        errorPrefix: errorPrefix)
    } else {
      let original = try openOriginal(before, source, from.name)
      try trial.tryFile(
        ofSize: Int(clamping: before.size), in: target.descriptor, onDevice: target.status.device,
        sharing: original.raw, errorPrefix: errorPrefix
      ) { copy throws(TableError) in diagnostics = try complete(copy, as: original.raw, before) }
    }
    trial.free(Int(clamping: before.room), onDevice: before.device)
    return diagnostics
  }

  /// The status of the entry. Throws if the entry was replaced or must not be copied.
  private func checked(_ identity: Identity, to: FolderEntry) throws(TableError) -> tabella_status {
    let status = try status(folders[from.folder].descriptor, from.name)
    guard Identity(status) == identity else { throw Failure.vanished.error(of: text, "") }
    try CopyAcross.check(status, text, into: folders[to.folder])
    return status
  }

  /// Makes the copy durable and removes the original. If that fails, removes the copy.
  func finish(_ copy: Copy, at to: FolderEntry) throws(TableError) {
    do throws(TableError) {
      if let failure = folders.sync(to.folder) {
        throw failed(failure.number, "cannot be flushed to the disk")
      }
      try check(copy.status, isAt: to)
      try remove(from, copy.original) {
        $0.error(of: text, "cannot be removed from its old folder")
      }
    } catch {
      try remove(to, copy.status) { failure in
        var error = error
        // Another entry has the name now.
        if case .replaced = failure.reason, failure.stranded == nil { return error }
        hasLeftTraces = true
        let reason = failure.error(of: "it", "cannot be removed").message
        error.message += "; its copy \(folders.text(to)) remains, because \(reason)"
        return error
      }
      throw error
    }
  }

  /// Removes a file or link if it has not changed. `error` makes the error for the caller.
  private func remove(
    _ place: FolderEntry, _ status: tabella_status, _ error: (RemovalFailure) -> TableError
  ) throws(TableError) {
    folders.note(changed: place.folder)
    do throws(RemovalFailure) {
      try Removal.perform(
        place.name, in: folders[place.folder].descriptor, Removal.Expected(status, .content))
    } catch let failure {
      if failure.stranded != nil { hasLeftTraces = true }
      throw error(failure)
    }
  }

  /// Throws unless the copy is unchanged at its path. Otherwise the original may be the only version.
  private func check(_ copy: tabella_status, isAt to: FolderEntry) throws(TableError) {
    let now = try folders.status(to)
    guard let now, now.isEntry(of: copy), now.hasContent(of: copy) else {
      throw TableError(
        .conflict,
        "\(text) is not moved: its copy \(folders.text(to)) was changed or replaced by another program"
      )
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
    guard status.hasContent(of: before) else { throw RemovalFailure(.changed).error(of: text, "") }
  }

  // Copying

  private static let newOwner = ActDiagnostic("its owner and group could not be kept")

  private func copyLink(
    _ status: tabella_status, _ source: Int32, _ name: [UInt8], _ target: Int32, _ newName: [UInt8]
  ) throws(TableError) -> (copy: tabella_status, diagnostics: [ActDiagnostic]) {
    guard let text = readLink(source, name) else { throw failed(errno, "cannot be read") }
    // A link is created with a temporary name. It gets the final name when it is complete.
    let between = TemporaryFile.randomName()
    if text.withCString({ symlinkat($0, target, between) }) != 0 {
      throw failed(errno, "cannot be copied")
    }
    do throws(TableError) {
      let result = tabella_system_open_entry(target, between)
      guard let opened = Descriptor(result) else { throw failed(-result, "cannot be copied") }
      let entry = opened.raw
      let keepsOwner =
        fchownat(target, between, status.owner, status.group, AT_SYMLINK_NOFOLLOW) == 0
      let diagnostic = try setTime(of: entry, status)
      let complete = try self.status(entry, [])
      let renamed = newName.withCString {
        tabella_system_rename(target, between, target, $0, TABELLA_RENAME_NO_REPLACE)
      }
      if renamed < 0 { throw failed(-renamed, "cannot get its name") }
      let diagnostics = [keepsOwner ? nil : CopyAcross.newOwner, diagnostic].compactMap { $0 }
      return (named(entry, complete), diagnostics)
    } catch {
      unlinkat(target, between, 0)
      throw error
    }
  }

  private func copyFile(
    _ status: tabella_status, _ source: Int32, _ name: [UInt8], _ target: Int32, _ newName: [UInt8]
  ) throws(TableError) -> (copy: tabella_status, diagnostics: [ActDiagnostic]) {
    let original = try openOriginal(status, source, name)
    let copy = try TemporaryFile(in: target, errorPrefix: "\(text) cannot be copied")
    var writer = FileWriter(
      copy.descriptor, cancel: cancel, errorPrefix: "\(text) cannot be copied")
    try writer.copyAll(of: original.raw)
    let diagnostics = try complete(copy.descriptor, as: original.raw, status)
    if let failure = makeDurable(copy.descriptor) {
      throw failed(failure.number, "cannot be flushed to the disk")
    }
    let complete = try self.status(copy.descriptor, [])
    let result = copy.become(newName.map { CChar(bitPattern: $0) } + [0])
    if result < 0 { throw failed(-result, "cannot get its name") }
    return (named(copy.descriptor, complete), diagnostics)
  }

  /// Opens the original. Throws if it has changed or if another program has it open for writing.
  private func openOriginal(
    _ status: tabella_status, _ source: Int32, _ name: [UInt8]
  ) throws(TableError) -> Descriptor {
    guard
      let original = Descriptor(
        opening: name, in: source, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    else { throw failed(errno, "cannot be read") }
    try checkWriters(original.raw)
    try check(try self.status(original.raw, []), isStill: status)
    return original
  }

  /// Copies all attributes of the original to the copy. Returns diagnostics for those that could not be kept.
  private func complete(
    _ copy: Int32, as original: Int32, _ status: tabella_status
  ) throws(TableError) -> [ActDiagnostic] {
    let keepsOwner: Bool
    do throws(TableError) {
      keepsOwner = try FileAttributes.copy(from: original, to: copy, as: .copy).keepsOwner
    } catch {
      throw TableError(error.code, "\(text): \(error.message)")
    }
    let diagnostic = try setTime(of: copy, status)
    return [keepsOwner ? nil : CopyAcross.newOwner, diagnostic].compactMap { $0 }
  }

  /// Throws if another program has the original open for writing. It could write through mapped memory during the copy,
  /// and no time stamp would show that.
  private func checkWriters(_ original: Int32) throws(TableError) {
    do throws(Failure) {
      if try WriterWatch(original).hasWriter { throw Failure(ETXTBSY) }
    } catch {
      throw RemovalFailure(error.number == ETXTBSY ? .open : .system(error))
        .error(of: text, "cannot be copied")
    }
  }

  /// The status of a copy after it got its name, which changes its change time (ctime). Returns the status from before
  /// if another program has written to the copy since.
  private func named(_ copy: Int32, _ complete: tabella_status) -> tabella_status {
    guard let now = try? tabella_status(copy), now.hasContent(of: complete) else { return complete }
    return now
  }

  /// Sets the modification time of the copy to that of the original. Returns a note if the file system stores another
  /// time.
  private func setTime(
    of copy: Int32, _ status: tabella_status
  ) throws(TableError) -> ActDiagnostic? {
    let result = tabella_system_set_modified(copy, status.modified, status.modified_rest)
    if result < 0 { throw failed(-result, "cannot keep its time") }
    let moment = try self.status(copy, []).moment
    return moment == status.moment ? nil : .keeps(moment)
  }
}

/// The target of a symbolic link; nil if it cannot be read.
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
    // A target that fills the buffer may be incomplete.
    if count < size { return target }
    size *= 4
  }
}

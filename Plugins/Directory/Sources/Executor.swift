import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// Performs acts and records how to undo them. Each act changes only the entry that it was planned for.
final class Executor {
  private let folders: OpenFolders
  private let cans: TrashCans
  private let cancel: CancelFlag
  private(set) var records: [Receipt.Record] = []
  /// The identities of the copies, by the entry that each was copied to.
  private(set) var copies: [FolderEntry: Identity] = [:]
  /// The identities of the created entries.
  private(set) var created: [FolderEntry: Identity] = [:]
  /// Whether an act failed and left a change behind.
  private(set) var hasLeftTraces = false
  private var usedCans: [TrashCan] = []

  init(_ folders: OpenFolders, _ cans: TrashCans, _ cancel: CancelFlag) {
    self.folders = folders
    self.cans = cans
    self.cancel = cancel
  }

  /// Performs an act. Returns its notes and problems.
  ///
  /// If it throws, nothing was changed, or the message names the changes.
  func perform(_ act: Step.Act) throws(TableError) -> [ActDiagnostic] {
    try cancel.check()
    var diagnostics: [ActDiagnostic?] = []
    switch act {
    case .trash(let place, let identity): diagnostics = [try trash(place, identity)]
    case .remove(let place, let expected): try remove(place, expected)
    case .relocate(let relocations):
      if relocations[0].isAcross { return try copy(relocations[0]) }
      try relocate(relocations)
    case .create(let place, let creation): return try create(place, creation)
    case .setMode(let place, let identity, let mode, let now):
      diagnostics = [try setMode(place, identity, mode, ifStill: now), sync(place, identity)]
    case .setModified(let place, let identity, let moment, let old, let now):
      diagnostics = [
        try setModified(place, identity, moment, was: old, ifStill: now), sync(place, identity),
      ]
    case .restore(let trashed, let place): try restore(trashed, place)
    }
    return diagnostics.compactMap { $0 }
  }

  /// Makes all changes durable. Returns the folders for which that failed, with the reason.
  func sync() -> [Int: Failure] {
    var failures = folders.sync()
    for can in usedCans {
      // The entries in this trash can come from any folder.
      if let failure = can.sync() { failures[Executor.trash] = failure }
    }
    return failures
  }

  /// The key of the trash in the result of ``sync()``.
  static let trash = -1

  // Errors

  private func vanished(_ place: FolderEntry) -> TableError {
    Failure.vanished.error(of: folders.text(place), "")
  }

  private func error(_ place: FolderEntry, _ number: Int32, _ what: String) -> TableError {
    Failure(number).error(of: folders.text(place), what)
  }

  /// The reason why a name could not be created in a folder.
  private func refusal(
    _ place: FolderEntry, in folder: Int, _ number: Int32, _ what: String
  ) -> TableError {
    // Some file systems report `ENOENT` if they accept no new names, as for a removed folder.
    guard number == ENOENT, let status = try? tabella_status(folders[folder].descriptor),
      status.links > 0
    else { return error(place, number, what) }
    return TableError(
      .readOnly, "\(folders.text(place)) \(what): the file system accepts no new names there")
  }

  @discardableResult private func verify(
    _ place: FolderEntry, _ identity: Identity
  ) throws(TableError) -> tabella_status {
    guard let status = try folders.status(place), Identity(status) == identity else {
      throw vanished(place)
    }
    return status
  }

  // Deleting

  private func trash(_ place: FolderEntry, _ identity: Identity) throws(TableError)
    -> ActDiagnostic?
  {
    try verify(place, identity)
    let folder = folders[place.folder]
    do throws(Failure) {
      guard let can = try cans.can(for: folder) else { throw Failure(ENOENT) }
      let (name, infoIdentity) = try can.moveIn(
        place.name, from: folder.descriptor, pathOfFolder: pathOfFolder(folder))
      folders.note(changed: place.folder)
      use(can)
      var lasting = LastingIdentity(inode: identity.inode, kind: identity.kind, birth: nil)
      var diagnostic: ActDiagnostic?
      do throws(Failure) {
        let status = try tabella_status(can.files, name)
        lasting = LastingIdentity(status)
        if Identity(status) != identity {
          do throws(Failure) {
            // Another entry took the name just now; it goes back.
            try can.restore(name, infoIdentity, to: place.name, in: folder.descriptor) {
              folders.sync(place.folder)
            }
          } catch {
            return ActDiagnostic(
              "another entry took its name; that entry is in the trash as \(readable(name))",
              .conflict)
          }
          throw Failure.vanished
        }
      } catch {
        if error == .vanished { throw error }
        // The entry was there a moment ago, and undo checks it again.
        diagnostic = ActDiagnostic(error.error("the entry in the trash cannot be examined"))
      }
      records.append(
        .trashed(
          place, Trashed(kind: can.kind, name: name, identity: lasting, info: infoIdentity.digest)))
      return diagnostic
    } catch {
      throw error.error(of: folders.text(place), "cannot be put in the trash")
    }
  }

  private func use(_ can: TrashCan) {
    if !usedCans.contains(where: { $0 === can }) { usedCans.append(can) }
  }

  private func remove(_ place: FolderEntry, _ expected: Removal.Expected) throws(TableError) {
    let folder = folders[place.folder].descriptor
    let infoFile = cans.infoFile(of: place.name, in: folder)
    folders.note(changed: place.folder)
    do throws(RemovalFailure) {
      try Removal.perform(place.name, in: folder, expected)
    } catch {
      if error.stranded != nil { hasLeftTraces = true }
      throw error.error(of: folders.text(place), "cannot be deleted")
    }
    infoFile?.remove()
  }

  private func restore(_ trashed: Trashed, _ place: FolderEntry) throws(TableError) {
    let folder = folders[place.folder]
    do throws(Failure) {
      guard let can = try cans.can(for: folder, trashed.kind),
        let infoIdentity = try can.infoIdentity(of: trashed)
      else { throw Failure.vanished }
      use(can)
      folders.note(changed: place.folder)
      try can.restore(
        trashed.name, infoIdentity, to: place.name, in: folder.descriptor, only: trashed.identity
      ) { folders.sync(place.folder) }
    } catch {
      throw error.error(of: folders.text(place), "cannot be restored")
    }
  }

  // Renaming and moving

  private func relocate(_ relocations: [Relocation]) throws(TableError) {
    for relocation in relocations { try verify(relocation.from, relocation.identity) }
    let first = relocations[0]
    let isAlone = relocations.count == 1
    let renaming =
      isAlone ? Renaming.direct(first.from, first.to) : Renaming.exchanging(relocations)
    var done = renaming
    do throws(RenamingFailure) {
      try renaming.perform(folders)
    } catch {
      guard let other = otherWay(relocations, error) else { throw self.error(first, error) }
      do throws(RenamingFailure) {
        try other.perform(folders)
      } catch {
        throw self.error(first, error)
      }
      done = other
    }
    var identities: [LastingIdentity] = []
    for relocation in relocations {
      do throws(TableError) {
        identities.append(
          LastingIdentity(try verify(relocation.to, relocation.identity)))
      } catch {
        if let stranded = done.undo(folders) { throw self.stranded(first, stranded) }
        throw error.code == .conflict ? vanished(relocation.from) : error
      }
    }
    for (relocation, identity) in zip(relocations, identities) {
      records.append(
        .relocated(from: relocation.from, to: relocation.to, identity, isAcross: false))
    }
  }

  /// The next method to try after the first rename failed; nil if there is none.
  private func otherWay(_ relocations: [Relocation], _ failure: RenamingFailure) -> Renaming? {
    guard failure.isFirst else { return nil }
    let first = relocations[0]
    if relocations.count > 1 {
      return failure.failure.number == EINVAL ? .turning(relocations) : nil
    }
    // The name differs in case only, and the file system ignores case.
    guard failure.failure.number == EEXIST,
      (try? verify(first.to, first.identity)) != nil, !isListed(first.to)
    else { return nil }
    return .roundabout(first.from, first.to)
  }

  /// Whether a folder has an entry with exactly this name.
  private func isListed(_ place: FolderEntry) -> Bool {
    let folder = FolderEntry(folder: place.folder, name: [UInt8(ascii: ".")])
    return (try? folders.names(in: folder))?.contains(place.name) ?? true
  }

  private func error(_ relocation: Relocation, _ failure: RenamingFailure) -> TableError {
    if let place = failure.stranded { return stranded(relocation, place) }
    let name = readable(relocation.to.name)
    switch failure.failure.number {
    case EEXIST:
      return TableError(
        .conflict, "\(folders.text(relocation.from)): there is something named \(name) now")
    case EINVAL:
      return TableError(
        .notSupported,
        "\(folders.text(relocation.from)): this file system cannot rename without replacing")
    default:
      let number = failure.failure.number
      let isRenaming = relocation.from.folder == relocation.to.folder
      let what = isRenaming ? "cannot be renamed to \(name)" : "cannot be moved"
      guard (try? verify(relocation.from, relocation.identity)) != nil else {
        return error(relocation.from, number, what)
      }
      return refusal(relocation.from, in: relocation.to.folder, number, what)
    }
  }

  private func stranded(_ relocation: Relocation, _ place: FolderEntry) -> TableError {
    hasLeftTraces = true
    return TableError(
      .io,
      "\(folders.text(relocation.from)) could not be renamed, and not all of it could be restored: see \(folders.text(place))"
    )
  }

  private func copy(_ relocation: Relocation) throws(TableError) -> [ActDiagnostic] {
    let across = CopyAcross(relocation.from, folders, cancel)
    defer { if across.hasLeftTraces { hasLeftTraces = true } }
    let copy = try across.move(relocation.identity, to: relocation.to)
    copies[relocation.to] = Identity(copy.status)
    records.append(
      .relocated(
        from: relocation.from, to: relocation.to, LastingIdentity(copy.status), isAcross: true))
    return copy.diagnostics
  }

  // Creating

  private func create(_ place: FolderEntry, _ creation: Creation) throws(TableError)
    -> [ActDiagnostic]
  {
    let folder = folders[place.folder].descriptor
    var status: tabella_status?
    let number = make(place.name, creation, in: folder, &status)
    if number != 0 { throw refusal(place, in: place.folder, number, "cannot be created") }
    folders.note(changed: place.folder)
    let mark = records.count
    var made: Identity?
    do throws(TableError) {
      if status == nil { status = try folders.status(place) }
      guard let status else { throw vanished(place) }
      let identity = Identity(status)
      made = identity
      var diagnostics: [ActDiagnostic?] = []
      if let mode = creation.mode { diagnostics.append(try setMode(place, identity, mode)) }
      if let moment = creation.modified {
        diagnostics.append(try setModified(place, identity, moment, was: status.moment))
      }
      // Removing the entry undoes the mode and the time, too.
      records.removeSubrange(mark...)
      try withEntry(place, identity) { entry, _ in syncEntry(entry, identity, folder) ?? 0 }
      let now = try verify(place, identity)
      records.append(
        .created(
          place, LastingIdentity(now),
          Receipt.Contents(size: now.size, modified: now.moment, target: creation.target)))
      created[place] = identity
      return diagnostics.compactMap { $0 }
    } catch {
      records.removeSubrange(mark...)
      guard let made, discard(place, made) else { return [ActDiagnostic(error)] }
      throw error
    }
  }

  /// Removes a new entry if it is still empty. Returns whether it did.
  private func discard(_ place: FolderEntry, _ made: Identity) -> Bool {
    guard let status = try? verify(place, made), made.kind != .file || status.size == 0 else {
      return false
    }
    return (try? remove(place, Removal.Expected(status, .content))) != nil
  }

  /// Creates an entry. Returns an `errno` value, or 0. For a file, it also sets `status`.
  private func make(
    _ name: [UInt8], _ creation: Creation, in folder: Int32, _ status: inout tabella_status?
  ) -> Int32 {
    name.withCString { name in
      switch creation.kind {
      case .directory:
        return mkdirat(folder, name, creation.mode == nil ? 0o777 : 0o700) == 0 ? 0 : errno
      case .link:
        return creation.target.withCString { symlinkat($0, folder, name) == 0 ? 0 : errno }
      default:
        guard
          let file = Descriptor(
            opening: name, in: folder, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
            mode: creation.mode == nil ? 0o666 : 0o600)
        else { return errno }
        // The open file is certain. Its name could already belong to another file.
        status = try? tabella_status(file.raw)
        return 0
      }
    }
  }

  // Setting

  /// Calls `body` with a descriptor and the status of an entry, if both are as expected.
  ///
  /// The descriptor stays with the entry even if the entry is renamed. Throws an error for the `errno` value that
  /// `body` returns, unless it is 0.
  private func withEntry(
    _ place: FolderEntry, _ identity: Identity, _ what: String = "cannot be flushed to the disk",
    if isExpected: (tabella_status) -> Bool = { _ in true },
    _ body: (Int32, tabella_status) -> Int32
  ) throws(TableError) {
    let folder = folders[place.folder].descriptor
    let result = place.name.withCString { tabella_system_open_entry(folder, $0) }
    guard let opened = Descriptor(result) else { throw error(place, -result, what) }
    let entry = opened.raw
    let status: tabella_status
    do throws(Failure) {
      status = try tabella_status(entry)
    } catch {
      throw error.error(of: folders.text(place), what)
    }
    guard Identity(status) == copies[place] ?? identity else { throw vanished(place) }
    guard isExpected(status) else {
      throw RemovalFailure(.changed).error(of: folders.text(place), what)
    }
    let number = body(entry, status)
    if number != 0 { throw error(place, number, what) }
  }

  private func setMode(
    _ place: FolderEntry, _ identity: Identity, _ mode: UInt32, ifStill now: UInt32? = nil
  ) throws(TableError) -> ActDiagnostic? {
    var old: UInt32 = 0
    var new = mode
    var lasting: LastingIdentity?
    func isExpected(_ status: tabella_status) -> Bool {
      now == nil || status.mode & permissionBits == now
    }
    try withEntry(place, identity, "cannot get a new mode", if: isExpected) { entry, status in
      old = status.mode & permissionBits
      lasting = LastingIdentity(status)
      let result = tabella_system_set_mode(entry, mode)
      if result < 0 { return -result }
      if let status = try? tabella_status(entry) {
        lasting = LastingIdentity(status)
        new = status.mode & permissionBits
      }
      // The system drops bits that a user must not set.
      return new == mode || tabella_system_set_mode(entry, old) < 0 ? 0 : EPERM
    }
    if let lasting { records.append(.mode(place, lasting, old: old, new: new)) }
    return new == mode ? nil : ActDiagnostic("the system set only a part of it", .denied)
  }

  private func setModified(
    _ place: FolderEntry, _ identity: Identity, _ moment: Moment, was old: Moment,
    ifStill now: Moment? = nil
  ) throws(TableError) -> ActDiagnostic? {
    var new: Moment?
    var lasting: LastingIdentity?
    // A copy has the time in the precision of its file system.
    func isExpected(_ status: tabella_status) -> Bool {
      now == nil || status.moment == now || copies[place] != nil
    }
    try withEntry(place, identity, "cannot get a new time", if: isExpected) { entry, status in
      lasting = LastingIdentity(status)
      let result = tabella_system_set_modified(entry, moment.seconds, moment.nanoseconds)
      if result < 0 { return -result }
      if let status = try? tabella_status(entry) {
        lasting = LastingIdentity(status)
        // File systems differ in the precision that they store.
        new = status.moment
      }
      return 0
    }
    if let lasting { records.append(.modified(place, lasting, old: old, new: new ?? moment)) }
    guard let new else { return ActDiagnostic("the new time cannot be read", .io) }
    return new == moment ? nil : .keeps(new)
  }

  /// Makes the mode and the time of an entry durable. Returns a diagnostic if that fails.
  private func sync(_ place: FolderEntry, _ identity: Identity) -> ActDiagnostic? {
    do throws(TableError) {
      var number: Int32?
      try withEntry(place, identity) { entry, _ in
        number = syncEntry(entry, identity, folders[place.folder].descriptor)
        return 0
      }
      return number.map { .notDurable(Failure($0)) }
    } catch {
      return ActDiagnostic("it may be lost in a power failure: \(error.message)", error.code)
    }
  }

  /// Makes the attributes of an open entry durable. Returns the `errno` value of a failure.
  private func syncEntry(_ entry: Int32, _ identity: Identity, _ folder: Int32) -> Int32? {
    // Opening other kinds can have side effects.
    if [.file, .directory].contains(identity.kind) {
      let path = "/proc/self/fd/\(entry)"
      if let file = Descriptor(opening: path, O_RDONLY | O_NONBLOCK | O_NOCTTY) {
        return makeDurable(file.raw)?.number
      }
    }
    let result = tabella_system_sync_file_system(folder)
    return result < 0 ? -result : nil
  }
}

/// The absolute path of a folder, with a final slash.
private func pathOfFolder(_ folder: OpenFolders.Folder) throws(Failure) -> [UInt8] {
  let path = try absolutePath(of: folder.descriptor)
  return path.last == UInt8(ascii: "/") ? path : path + [UInt8(ascii: "/")]
}

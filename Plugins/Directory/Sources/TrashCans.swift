import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// The trash of each file system, and the folders that must not be trashed. Lives as long as a batch.
final class TrashCans {
  private let trash: Trash
  /// Whether to create a missing trash.
  private let makes: Bool
  private struct Key: Hashable {
    let device: UInt64
    let mount: UInt64
    let kind: Trash.Kind?
  }
  private var cans: [Key: TrashCan] = [:]
  /// Folders that must stay, with the reason as text for people.
  private var holders: [Identity: String] = [:]
  /// The trash folders found so far.
  private var known: Set<Identity> = []
  /// The mount table, read at first use.
  private var mounts: Mounts?

  init(_ trash: Trash, makes: Bool) {
    self.trash = trash
    self.makes = makes
    hold("the current directory", ".")
    if let home = trash.home { hold("the home directory", home) }
    if let path = trash.homeTrash { note(trash: path) }
    if var path = trash.receipts {
      // Protects the existing part of the path, because the rest may be created at any time.
      while !hold("the folder of tabella's receipts", path),
        let slash = path.lastIndex(of: UInt8(ascii: "/"))
      {
        path.removeSubrange(slash...)
      }
    }
  }

  private func hold(_ what: String, _ path: String) { hold(what, Array(path.utf8)) }

  /// Protects a folder and its ancestors. Returns whether the folder exists.
  @discardableResult private func hold(_ what: String, _ path: [UInt8]) -> Bool {
    let descriptor = path.withCString { tabella_open_path($0) }
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    for (level, identity) in ancestors(of: descriptor).enumerated()
    where holders[identity] == nil {
      holders[identity] = level == 0 ? "is \(what)" : "contains \(what)"
    }
    return true
  }

  private func note(trash path: [UInt8]) {
    let descriptor = path.withCString { tabella_open_path($0) }
    guard descriptor >= 0 else { return }
    defer { close(descriptor) }
    note(trash: descriptor)
  }

  private func note(trash descriptor: Int32) {
    for (level, identity) in ancestors(of: descriptor).enumerated() {
      if level == 0 { known.insert(identity) }
      if holders[identity] == nil {
        holders[identity] = level == 0 ? "is the trash" : "contains the trash"
      }
    }
  }

  // Protected entries

  /// The reason why an entry must stay at its path; nil if it may go.
  func reasonToKeep(_ identity: Identity) -> String? {
    identity.kind == .directory ? holders[identity] : nil
  }

  /// A mount point below an entry; nil if there is none.
  func mountPoint(
    below name: [UInt8], in folder: OpenFolders.Folder
  ) throws(Failure) -> [UInt8]? {
    let known: Mounts
    if let mounts { known = mounts } else { known = try Mounts() }
    mounts = known
    var path = try absolutePath(of: folder.descriptor)
    if path == [UInt8(ascii: "/")] { path = [] }
    return known.point(below: path + [UInt8(ascii: "/")] + name, folder.status.mount)
  }

  /// Whether a folder is in the trash.
  func isInTrash(_ folder: Int32) -> Bool {
    ancestors(of: folder).contains { known.contains($0) }
  }

  /// The `.trashinfo` file of an entry, which is removed with it; nil if the folder is not in a trash.
  func infoFile(of name: [UInt8], in folder: Int32) -> TrashInfoFile? {
    guard let path = try? absolutePath(of: folder),
      path.reversed().starts(with: "/files".utf8.reversed())
    else { return nil }
    let above = tabella_system_open_directory(folder, "..", 0)
    guard above >= 0 else { return nil }
    defer { close(above) }
    let rest = path.dropLast("/files".utf8.count)
    let tops = [trash.ownName, Trash.sharedName + Array("/\(trash.user)".utf8)]
    let isKnown = (try? tabella_status(above)).map { known.contains(Identity($0)) } == true
    guard isKnown || tops.contains(where: { rest.reversed().starts(with: ([47] + $0).reversed()) })
    else { return nil }
    let info = tabella_system_open_directory(above, "info", 0)
    return info < 0 ? nil : TrashInfoFile(of: name, in: info)
  }

  // Choice of the trash

  /// The trash for the entries of a folder, of a given kind if `kind` is not nil.
  ///
  /// Returns nil if the trash is missing and must not be created. Throws the reason if no trash is possible.
  func can(for folder: OpenFolders.Folder, _ kind: Trash.Kind? = nil) throws(Failure) -> TrashCan? {
    let key = Key(device: folder.status.device, mount: folder.status.mount, kind: kind)
    if cans[key] == nil { cans[key] = try open(for: folder, kind) }
    return cans[key]
  }

  private func open(
    for folder: OpenFolders.Folder, _ kind: Trash.Kind?
  ) throws(Failure) -> TrashCan? {
    if kind == nil || kind == .home, let path = trash.homeTrash,
      isOnFileSystem(of: folder.status, path)
    {
      do throws(Failure) {
        guard let descriptor = try openHome(path) else { return nil }
        defer { close(descriptor) }
        note(trash: descriptor)
        return try TrashCan(.home, descriptor, base: [], makes: makes)
      } catch {
        if kind == .home || error.isOfCall || error.isOfSync { throw error }
      }
    }
    if kind == .home { throw Failure(ENOENT) }
    return try openTop(for: folder, kind)
  }

  /// Whether the home trash is on the file system of `status`, or would be there once it is created.
  private func isOnFileSystem(of status: tabella_status, _ path: [UInt8]) -> Bool {
    var path = path
    while !path.isEmpty {
      let descriptor = path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
      if descriptor >= 0 {
        defer { close(descriptor) }
        return (try? tabella_status(descriptor))?.isOnFileSystem(of: status) == true
      }
      guard descriptor == -ENOENT, let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
        return false
      }
      path = Array(path[..<slash])
    }
    return false
  }

  /// Opens the home trash. If it is missing, creates it with its parent folders, or returns nil.
  private func openHome(_ path: [UInt8]) throws(Failure) -> Int32? {
    let descriptor = path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
    if descriptor >= 0 { return descriptor }
    guard descriptor == -ENOENT else { throw Failure(-descriptor) }
    if !makes { return nil }
    for end in path.indices.dropFirst() + [path.endIndex]
    where end == path.endIndex || path[end] == UInt8(ascii: "/") {
      if Array(path[..<end]).withCString({ mkdir($0, 0o700) }) == 0 {
        do throws(Failure) {
          try syncFolder(above: path[..<end])
        } catch {
          // A later call would assume that the folder is durable.
          _ = Array(path[..<end]).withCString { rmdir($0) }
          throw error
        }
      } else if errno != EEXIST {
        throw Failure(errno)
      }
    }
    let made = path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
    guard made >= 0 else { throw Failure(-made) }
    return made
  }

  private func syncFolder(above path: ArraySlice<UInt8>) throws(Failure) {
    let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    let parent = Array(path[...max(0, end)])
    let descriptor = parent.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
    guard descriptor >= 0 else { throw Failure(-descriptor) }
    defer { close(descriptor) }
    if let failure = makeDurable(descriptor) { throw failure }
  }

  // At the top of a file system

  private func openTop(
    for folder: OpenFolders.Folder, _ kind: Trash.Kind?
  ) throws(Failure) -> TrashCan? {
    let top = try openTop(of: folder)
    defer { close(top) }
    var base = try absolutePath(of: top)
    if base.last != UInt8(ascii: "/") { base.append(UInt8(ascii: "/")) }
    if kind != .own, let shared = try openShared(top) {
      defer { close(shared) }
      note(trash: shared)
      do throws(Failure) {
        return try TrashCan(.shared, shared, base: base, makes: makes)
      } catch {
        if kind == .shared || error.isOfCall || error.isOfSync { throw error }
      }
    }
    if kind == .shared { throw Failure(ENOENT) }
    do throws(Failure) {
      let name = String(decoding: trash.ownName, as: UTF8.self)
      guard let own = try openFolder(name, in: top, makes: makes) else {
        if faccessat(top, ".", W_OK | X_OK, Int32(AT_EACCESS)) != 0 { throw Failure(errno) }
        return nil
      }
      defer { close(own) }
      guard try tabella_status(own).owner == trash.user else {
        throw Failure(EPERM, detail: "it is another user's")
      }
      note(trash: own)
      return try TrashCan(.own, own, base: base, makes: makes)
    } catch {
      let reason = error.detail ?? String(cString: strerror(error.number))
      throw Failure(
        error.number, isOfSync: error.isOfSync,
        detail: "\(readable(base + trash.ownName)): \(reason)")
    }
  }

  /// The top folder of the mounted file system that contains a folder. The caller must close the descriptor.
  private func openTop(of folder: OpenFolders.Folder) throws(Failure) -> Int32 {
    var current = tabella_system_open_entry(folder.descriptor, ".")
    while true {
      guard current >= 0 else { throw Failure(-current) }
      let parent = tabella_system_open_entry(current, "..")
      guard parent >= 0 else {
        close(current)
        throw Failure(-parent)
      }
      do throws(Failure) {
        let (own, above) = (try tabella_status(current), try tabella_status(parent))
        if !own.isOnFileSystem(of: above) || Identity(own) == Identity(above) {
          close(parent)
          return current
        }
      } catch {
        close(current)
        close(parent)
        throw error
      }
      close(current)
      current = parent
    }
  }

  /// The user's folder in `.Trash`; nil if it cannot be used. `.Trash` must be a sticky folder and no link.
  private func openShared(_ top: Int32) throws(Failure) -> Int32? {
    guard let status = try? tabella_status(top, Trash.sharedName),
      EntryKind(mode: status.mode) == .directory, status.mode & S_ISVTX != 0
    else { return nil }
    let all = Trash.sharedName.withCString { tabella_system_open_directory(top, $0, 0) }
    guard all >= 0 else { return nil }
    defer { close(all) }
    let opened: Int32?
    do throws(Failure) {
      opened = try openFolder("\(trash.user)", in: all, makes: makes)
    } catch {
      if error.isOfCall || error.isOfSync { throw error }
      return nil
    }
    guard let own = opened else { return nil }
    guard let status = try? tabella_status(own), status.owner == trash.user else {
      close(own)
      return nil
    }
    return own
  }
}

/// The absolute path of an open folder.
func absolutePath(of descriptor: Int32) throws(Failure) -> [UInt8] {
  var count = 0
  let path = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { buffer, filled in
    count = buffer.withMemoryRebound(to: CChar.self) {
      readlink("/proc/self/fd/\(descriptor)", $0.baseAddress!, $0.count)
    }
    filled = max(0, count)
  }
  guard count >= 0 else { throw Failure(errno) }
  // The folder is unreachable, or its path is longer than the system reports.
  guard count < Int(PATH_MAX), path.first == UInt8(ascii: "/") else { throw Failure(ENAMETOOLONG) }
  return path
}

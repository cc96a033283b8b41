import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

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
    guard let place = Descriptor(locating: path) else { return false }
    for (level, identity) in ancestors(of: place.raw).enumerated()
    where holders[identity] == nil {
      holders[identity] = level == 0 ? "is \(what)" : "contains \(what)"
    }
    return true
  }

  private func note(trash path: [UInt8]) {
    guard let place = Descriptor(locating: path) else { return }
    note(trash: place.raw)
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
    guard let above = Descriptor(tabella_system_open_directory(folder, "..", 0)) else { return nil }
    let rest = path.dropLast("/files".utf8.count)
    let tops = [trash.ownName, Trash.sharedName + Array("/\(trash.user)".utf8)]
    let isKnown = (try? tabella_status(above.raw)).map { known.contains(Identity($0)) } == true
    guard isKnown || tops.contains(where: { rest.reversed().starts(with: ([47] + $0).reversed()) })
    else { return nil }
    guard let info = Descriptor(tabella_system_open_directory(above.raw, "info", 0)) else {
      return nil
    }
    return TrashInfoFile(of: name, in: info)
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
        guard let opened = try openHome(path) else { return nil }
        note(trash: opened.raw)
        return try TrashCan(.home, opened.raw, base: [], makes: makes)
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
      let result = path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
      if let opened = Descriptor(result) {
        return (try? tabella_status(opened.raw))?.isOnFileSystem(of: status) == true
      }
      guard result == -ENOENT, let slash = path.lastIndex(of: UInt8(ascii: "/")) else {
        return false
      }
      path = Array(path[..<slash])
    }
    return false
  }

  /// Opens the home trash. If it is missing, creates it with its parent folders, or returns nil.
  private func openHome(_ path: [UInt8]) throws(Failure) -> Descriptor? {
    let result = path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
    if let opened = Descriptor(result) { return opened }
    guard result == -ENOENT else { throw Failure(-result) }
    if !makes {
      try checkThatItCanBeMade(path)
      return nil
    }
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
    return try Descriptor(
      opened: path.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) })
  }

  /// Throws if the folders of a missing path cannot be made.
  private func checkThatItCanBeMade(_ path: [UInt8]) throws(Failure) {
    var parent = path[...]
    while let slash = parent.lastIndex(of: UInt8(ascii: "/")) {
      parent = path[..<slash]
      let name = parent.isEmpty ? [UInt8(ascii: "/")] : Array(parent)
      let result = name.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
      if result == -ENOENT, !parent.isEmpty { continue }
      return try checkThatEntriesCanBeMade(in: try Descriptor(opened: result).raw)
    }
  }

  private func syncFolder(above path: ArraySlice<UInt8>) throws(Failure) {
    let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
    let parent = Array(path[...max(0, end)])
    let opened = try Descriptor(
      opened: parent.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) })
    if let failure = makeDurable(opened.raw) { throw failure }
  }

  // At the top of a file system

  private func openTop(
    for folder: OpenFolders.Folder, _ kind: Trash.Kind?
  ) throws(Failure) -> TrashCan? {
    let opened = try openTop(of: folder)
    let top = opened.raw
    var base = try absolutePath(of: top)
    if base.last != UInt8(ascii: "/") { base.append(UInt8(ascii: "/")) }
    if kind != .own, let shared = try openShared(top) {
      note(trash: shared.raw)
      do throws(Failure) {
        return try TrashCan(.shared, shared.raw, base: base, makes: makes)
      } catch {
        if kind == .shared || error.isOfCall || error.isOfSync { throw error }
      }
    }
    if kind == .shared { throw Failure(ENOENT) }
    do throws(Failure) {
      let name = String(decoding: trash.ownName, as: UTF8.self)
      guard let own = try openFolder(name, in: top, makes: makes) else {
        try checkThatEntriesCanBeMade(in: top)
        return nil
      }
      guard try tabella_status(own.raw).owner == trash.user else {
        throw Failure(EPERM, detail: "it is another user's")
      }
      note(trash: own.raw)
      return try TrashCan(.own, own.raw, base: base, makes: makes)
    } catch {
      let reason = error.detail ?? errorText(error.number)
      throw Failure(
        error.number, isOfSync: error.isOfSync,
        detail: "\(readable(base + trash.ownName)): \(reason)")
    }
  }

  /// The top folder of the mounted file system that contains a folder.
  private func openTop(of folder: OpenFolders.Folder) throws(Failure) -> Descriptor {
    var current = try Descriptor(opened: tabella_system_open_entry(folder.descriptor, "."))
    while true {
      let parent = try Descriptor(opened: tabella_system_open_entry(current.raw, ".."))
      let (own, above) = (try tabella_status(current.raw), try tabella_status(parent.raw))
      if !own.isOnFileSystem(of: above) || Identity(own) == Identity(above) { return current }
      current = parent
    }
  }

  /// The user's folder in `.Trash`; nil if it cannot be used. `.Trash` must be a sticky folder and no link.
  private func openShared(_ top: Int32) throws(Failure) -> Descriptor? {
    guard let status = try? tabella_status(top, Trash.sharedName),
      EntryKind(mode: status.mode) == .directory, status.mode & S_ISVTX != 0
    else { return nil }
    let result = Trash.sharedName.withCString { tabella_system_open_directory(top, $0, 0) }
    guard let all = Descriptor(result) else { return nil }
    do throws(Failure) {
      guard let own = try openFolder("\(trash.user)", in: all.raw, makes: makes),
        let status = try? tabella_status(own.raw), status.owner == trash.user
      else { return nil }
      return own
    } catch {
      if error.isOfCall || error.isOfSync { throw error }
      return nil
    }
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

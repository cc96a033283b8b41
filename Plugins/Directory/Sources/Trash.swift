import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The locations of the user's trash, according to the Trash specification 1.0 of freedesktop.org.
struct Trash {
  /// The kind of a trash folder.
  enum Kind: UInt8 {
    /// The trash in the user's data folder.
    case home = 0
    /// The user's folder in `.Trash` at the top of a file system.
    case shared = 1
    /// The folder `.Trash-UID` at the top of a file system.
    case own = 2
  }

  /// The home folder, if known.
  var home: [UInt8]?
  /// The user's data folder, which contains the home trash.
  var data: [UInt8]?
  /// The folder of receipts. It must never go to the trash, since undo needs it.
  var receipts: [UInt8]?
  var user = geteuid()

  /// The locations that the environment defines.
  static var ofUser: Trash {
    let folders = UserFolders.standard
    return Trash(
      home: folders.home, data: folders.folder(.data),
      receipts: stateFolder().map { $0 + Array("/receipts".utf8) })
  }

  /// The path of the home trash.
  var homeTrash: [UInt8]? { data.map { $0 + Array("/Trash".utf8) } }
  /// The name of the user's own trash at the top of a file system.
  var ownName: [UInt8] { Array(".Trash-\(user)".utf8) }
  static let sharedName = Array(".Trash".utf8)
}

/// An open trash: the folder of its entries, and the folder of the `.trashinfo` files with their former paths.
final class TrashCan {
  let kind: Trash.Kind
  private let filesFolder: Descriptor
  private let infoFolder: Descriptor
  /// The failed sync. It is permanent, because a failed sync is never repeated.
  private var failure: Failure?
  /// The folder that stored paths are relative to, with a final slash; empty if they are absolute.
  private let base: [UInt8]

  /// Opens `files` and `info` in a trash. Returns nil if they do not exist and `makes` is false.
  init?(_ kind: Trash.Kind, _ trash: Int32, base: [UInt8], makes: Bool) throws(Failure) {
    guard let files = try openFolder("files", in: trash, makes: makes) else { return nil }
    guard let info = try openFolder("info", in: trash, makes: makes) else { return nil }
    self.kind = kind
    filesFolder = files
    infoFolder = info
    self.base = base
  }

  /// The descriptor of the folder of its entries, valid during the lifetime of this object.
  var files: Int32 { filesFolder.raw }

  private var info: Int32 { infoFolder.raw }

  // Putting in

  /// The identity of a `.trashinfo` file: the digest of its content, and its status.
  struct InfoIdentity {
    let digest: UInt64
    fileprivate let file: tabella_status
  }

  /// Moves an entry into the trash. It keeps its name if that is free. Returns its name in the trash and the identity
  /// of its `.trashinfo` file.
  ///
  /// The `.trashinfo` file is durable before the entry moves.
  func moveIn(
    _ name: [UInt8], from folder: Int32, pathOfFolder: [UInt8]
  ) throws(Failure) -> (name: [UInt8], infoIdentity: InfoIdentity) {
    let path = pathOfFolder + name
    guard path.starts(with: base) else { throw Failure(EXDEV) }
    let text = TrashInfo.text(path: Array(path.dropFirst(base.count)), date: time(nil))
    for attempt in 1... {
      let stored = TrashCan.name(name, attempt)
      guard let infoIdentity = try write(text, stored) else { continue }
      let result = TrashCan.rename(name, in: folder, to: stored, in: files)
      if result == 0 { return (stored, infoIdentity) }
      remove(infoIdentity, of: stored)
      // The trash contains an entry of this name without a `.trashinfo` file.
      if result != -EEXIST { throw Failure(-result) }
    }
    throw Failure(EEXIST)
  }

  /// The name for an attempt: `name`, `name 2`, and so on; from the 100th attempt on with a random number.
  private static func name(_ name: [UInt8], _ attempt: Int) -> [UInt8] {
    let end =
      attempt == 1 ? "" : attempt < 100 ? " \(attempt)" : " \(TemporaryFile.randomDigits())"
    // The name of the `.trashinfo` file must fit, too.
    var kept = name.prefix(255 - TrashInfo.suffix.count - end.utf8.count)
    while kept.count < name.count, name[kept.count] & 0xC0 == 0x80, kept.count > 1 {
      kept.removeLast()
    }
    return kept + Array(end.utf8)
  }

  /// Writes a `.trashinfo` file. Returns nil if the name is taken.
  private func write(_ text: [UInt8], _ stored: [UInt8]) throws(Failure) -> InfoIdentity? {
    guard
      let opened = Descriptor(
        opening: stored + TrashInfo.suffix, in: info, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
        mode: 0o600)
    else {
      if errno == EEXIST { return nil }
      throw Failure(errno)
    }
    let file = opened.raw
    let infoIdentity: InfoIdentity
    do throws(Failure) {
      infoIdentity = InfoIdentity(
        digest: text.withUnsafeBytes { digest64($0) }, file: try tabella_status(file))
    } catch {
      removeUnexamined(file, stored)
      throw error
    }
    do throws(Failure) {
      let number = text.withUnsafeBytes { writeAll($0, to: file, at: 0) }
      if number != 0 { throw Failure(number) }
      if let failure = makeDurable(file) ?? makeDurable(info) { throw failure }
    } catch {
      remove(infoIdentity, of: stored)
      throw error
    }
    return infoIdentity
  }

  /// Removes a new `.trashinfo` file that is open, but whose status is unknown.
  private func removeUnexamined(_ file: Int32, _ stored: [UInt8]) {
    (stored + TrashInfo.suffix).withCString {
      // The inode of an open file is not reused.
      guard let made = stat(of: file), let there = stat(of: $0, in: info),
        made.isSameFile(as: there)
      else { return }
      unlinkat(info, $0, 0)
    }
  }

  // Taking out

  /// The `.trashinfo` file of an entry in the trash; nil if the name belongs to another entry now.
  func infoIdentity(of trashed: Trashed) throws(Failure) -> InfoIdentity? {
    guard trashed.identity.isSame(as: try tabella_status(files, trashed.name)) else { return nil }
    guard
      let file = Descriptor(
        opening: trashed.name + TrashInfo.suffix, in: info,
        O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
    else { throw Failure(errno) }
    let (text, isAll) = try contents(of: file.raw, upTo: TrashInfo.longest)
    guard isAll, text.withUnsafeBytes({ digest64($0) }) == trashed.info else { return nil }
    return InfoIdentity(digest: trashed.info, file: try tabella_status(file.raw))
  }

  /// Moves an entry from the trash to a free name in a folder. If another entry got the name in the meantime, it goes
  /// back.
  ///
  /// The `.trashinfo` file stays until the move is durable. `sync` makes the target folder durable.
  func restore(
    _ stored: [UInt8], _ infoIdentity: InfoIdentity, to name: [UInt8], in folder: Int32,
    only identity: LastingIdentity? = nil, _ sync: () -> Failure?
  ) throws(Failure) {
    let result = TrashCan.rename(stored, in: files, to: name, in: folder)
    if result < 0 { throw Failure(-result) }
    if let identity, let there = try? tabella_status(folder, name), !identity.isSame(as: there),
      TrashCan.rename(name, in: folder, to: stored, in: files) == 0
    {
      throw Failure.vanished
    }
    if sync() == nil, self.sync() == nil { remove(infoIdentity, of: stored) }
  }

  private static func rename(
    _ old: [UInt8], in folder: Int32, to new: [UInt8], in other: Int32
  ) -> Int32 {
    old.withCString { old in
      new.withCString {
        tabella_system_rename(folder, old, other, $0, TABELLA_RENAME_NO_REPLACE)
      }
    }
  }

  private func remove(_ infoIdentity: InfoIdentity, of stored: [UInt8]) {
    try? Removal.perform(
      stored + TrashInfo.suffix, in: info, Removal.Expected(infoIdentity.file, .entry))
  }

  /// Makes all moves into and out of the trash durable.
  func sync() -> Failure? {
    if failure == nil { failure = makeDurable(files) ?? makeDurable(info) }
    return failure
  }
}

/// The `.trashinfo` file of an entry that is deleted from a trash folder.
final class TrashInfoFile {
  private let info: Descriptor
  private let name: [UInt8]
  private let status: tabella_status

  /// Keeps the `info` folder open. Returns nil if the entry has no `.trashinfo` file.
  init?(of entry: [UInt8], in info: consuming Descriptor) {
    name = entry + TrashInfo.suffix
    guard let status = try? tabella_status(info.raw, name) else { return nil }
    self.status = status
    self.info = info
  }

  func remove() { try? Removal.perform(name, in: info.raw, Removal.Expected(status, .entry)) }
}

/// Opens a folder without following a link. If it is missing, creates it for the user alone, or returns nil.
func openFolder(_ name: String, in directory: Int32, makes: Bool) throws(Failure) -> Descriptor? {
  if makes {
    if mkdirat(directory, name, 0o700) == 0 {
      do throws(Failure) {
        // The new folder must be durable before its content.
        let parent = try Descriptor(opened: tabella_system_open_directory(directory, ".", 0))
        if let failure = makeDurable(parent.raw) { throw failure }
      } catch {
        // A later call would assume that the folder is durable.
        unlinkat(directory, name, AT_REMOVEDIR)
        throw error
      }
    } else if errno != EEXIST {
      throw Failure(errno)
    }
  }
  let result = tabella_system_open_directory(directory, name, 0)
  if result == -ENOENT, !makes { return nil }
  return try Descriptor(opened: result)
}

/// Throws if this process cannot make entries in a folder. Changes nothing.
///
/// access(2) does not know a worker's rules (Landlock), so the check also opens a file without a name. A file system
/// without such files passes.
func checkThatEntriesCanBeMade(in folder: Int32) throws(Failure) {
  if faccessat(folder, ".", W_OK | X_OK, Int32(AT_EACCESS)) != 0 { throw Failure(errno) }
  let result = tabella_system_make_nameless(folder)
  if Descriptor(result) == nil, result == -EACCES { throw Failure(EACCES) }
}

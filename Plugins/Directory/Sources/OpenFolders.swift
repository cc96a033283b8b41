import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// Where an entry is: in which folder, by its number, and under which name.
struct FolderEntry: Hashable {
  var folder: Int
  var name: [UInt8]
}

/// What tells an entry from another that has taken its name.
struct Identity: Hashable {
  let device: UInt64
  let inode: UInt64
  let kind: EntryKind

  init(_ status: tabella_status) {
    device = status.device
    inode = status.inode
    kind = EntryKind(mode: status.mode)
  }
}

/// What tells an entry from another in a later process, when its device may have another number.
struct LastingIdentity: Hashable {
  var inode: UInt64
  var kind: EntryKind
  /// When it was made, since inodes are used again; nil if the file system does not tell.
  var birth: Moment?

  init(inode: UInt64, kind: EntryKind, birth: Moment?) {
    self.inode = inode
    self.kind = kind
    self.birth = birth
  }

  init(_ status: tabella_status) {
    let birth = Moment(seconds: status.born, nanoseconds: status.born_rest)
    self.init(
      inode: status.inode, kind: EntryKind(mode: status.mode),
      birth: status.has_birth ? birth : nil)
  }

  func isSame(as status: tabella_status) -> Bool {
    let other = LastingIdentity(status)
    return inode == other.inode && kind == other.kind
      && (birth == other.birth || birth == nil || other.birth == nil)
  }
}

extension tabella_status {
  /// What is at a name in an open folder, or what is open if the name is empty.
  init(_ directory: Int32, _ name: [UInt8] = []) throws(Failure) {
    self.init()
    let result = name.withCString { tabella_system_status(directory, $0, &self) }
    if result < 0 { throw Failure(-result) }
  }

  var moment: Moment { Moment(seconds: modified, nanoseconds: modified_rest) }

  /// Whether a name can be moved from one folder to another.
  func isOnFileSystem(of other: tabella_status) -> Bool {
    device == other.device && mount == other.mount
  }
}

/// The folders that edits are about, held open: whatever is renamed meanwhile, each stays the same.
final class OpenFolders {
  struct Folder {
    let descriptor: Int32
    /// Its path below the root when it was opened, with a slash behind it.
    let path: [UInt8]
    let status: tabella_status
  }

  private var folders: [Int: Folder] = [:]
  /// The folders in which names came or went, and are not synced yet.
  private var changed: Set<Int> = []
  /// The folders that may not be durable, and why: for good, since a failed sync is never tried again.
  private var failures: [Int: Failure] = [:]

  deinit { for folder in folders.values { close(folder.descriptor) } }

  /// Folders are numbered by whoever opens them, who opens all that a plan names.
  subscript(_ number: Int) -> Folder {
    guard let folder = folders[number] else { preconditionFailure("a plan opens its folders") }
    return folder
  }

  func contains(_ number: Int) -> Bool { folders[number] != nil }

  /// Takes over a descriptor.
  func add(_ number: Int, _ descriptor: Int32, path: [UInt8]) throws(Failure) {
    do throws(Failure) {
      folders[number] = Folder(
        descriptor: descriptor, path: path, status: try tabella_status(descriptor))
    } catch {
      close(descriptor)
      throw error
    }
  }

  /// A place for people.
  func text(_ place: FolderEntry) -> String { readable(self[place.folder].path + place.name) }

  /// What is at a place; nil if nothing is.
  func status(_ place: FolderEntry) throws(TableError) -> tabella_status? {
    do throws(Failure) {
      return try tabella_status(self[place.folder].descriptor, place.name)
    } catch {
      if error == .vanished { return nil }
      throw error.error("\(text(place)) cannot be examined")
    }
  }

  /// The names in a folder that is an entry, hidden ones too.
  func names(in place: FolderEntry) throws(Failure) -> [[UInt8]] {
    let descriptor = place.name.withCString {
      tabella_system_open_directory(self[place.folder].descriptor, $0, 0)
    }
    guard descriptor >= 0 else { throw Failure(-descriptor) }
    defer { close(descriptor) }
    let listing = Listing(showsHidden: true)
    _ = try listing.add(descriptor, parent: nil, entry: nil)
    return (0..<listing.count).map { listing.withName($0) { Array($0) } }
  }

  // Durability

  func note(changed number: Int) { changed.insert(number) }

  /// Makes durable what was done; returns the folders for which that failed, and why.
  func sync() -> [Int: Failure] {
    for number in changed { _ = sync(number) }
    return failures
  }

  /// Makes one durable now, since something rests on it; returns why that failed.
  func sync(_ number: Int) -> Failure? {
    changed.remove(number)
    if failures[number] == nil { failures[number] = makeDurable(self[number].descriptor) }
    return failures[number]
  }
}

/// Waits until a file or folder is on its disk; returns why that failed. A failure is never tried again:
/// the second time the system may say that all is well.
func makeDurable(_ descriptor: Int32) -> Failure? {
  if fsync(descriptor) == 0 { return nil }
  // Some file systems have nothing to wait for.
  return [EINVAL, ENOTSUP].contains(errno) ? nil : Failure(errno, isOfSync: true)
}

/// What was found on the way from an open folder up to the root of all, itself first.
func ancestors(of descriptor: Int32) -> [Identity] {
  var found: [Identity] = []
  var current = dup(descriptor)
  defer { if current >= 0 { close(current) } }
  while current >= 0, let status = try? tabella_status(current) {
    let identity = Identity(status)
    if identity == found.last { break }
    found.append(identity)
    let parent = tabella_system_open_entry(current, "..")
    close(current)
    current = parent
  }
  return found
}

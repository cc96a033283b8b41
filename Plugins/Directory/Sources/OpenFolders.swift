import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// A folder, by its number, and a name in it.
struct FolderEntry: Hashable {
  var folder: Int
  var name: [UInt8]
}

/// The properties that distinguish an entry from another with the same name.
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

/// The properties that identify an entry in a later process. There, its device may have another number.
struct LastingIdentity: Hashable {
  var inode: UInt64
  var kind: EntryKind
  /// The creation time, because inodes are reused; nil if the file system does not store it.
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
  /// The status of a name in an open folder, or of the open file if the name is empty.
  init(_ directory: Int32, _ name: [UInt8] = []) throws(Failure) {
    self.init()
    let result = name.withCString { tabella_system_status(directory, $0, &self) }
    if result < 0 { throw Failure(-result) }
  }

  var moment: Moment { Moment(seconds: modified, nanoseconds: modified_rest) }

  /// Whether a rename between the two is possible.
  func isOnFileSystem(of other: tabella_status) -> Bool {
    device == other.device && mount == other.mount
  }
}

/// The folders of a plan, held open. Each descriptor stays with its folder, even if the folder is renamed.
final class OpenFolders {
  final class Folder {
    private let opened: Descriptor
    /// The path below the root at the time of opening, with a final slash.
    let path: [UInt8]
    let status: tabella_status

    init(_ opened: consuming Descriptor, path: [UInt8]) throws(Failure) {
      self.path = path
      status = try tabella_status(opened.raw)
      self.opened = opened
    }

    /// The descriptor of the folder, valid during the lifetime of this object.
    var descriptor: Int32 { opened.raw }
  }

  private var folders: [Int: Folder] = [:]
  /// The folders whose entries changed since the last sync.
  private var changed: Set<Int> = []
  /// The failed syncs by folder. They are permanent, because a failed sync is never repeated.
  private var failures: [Int: Failure] = [:]

  /// The folder with a number. The caller chooses the numbers, and must have added this one.
  subscript(_ number: Int) -> Folder {
    guard let folder = folders[number] else { preconditionFailure("a plan opens its folders") }
    return folder
  }

  func contains(_ number: Int) -> Bool { folders[number] != nil }

  /// Keeps a folder open with its number.
  func add(_ number: Int, _ opened: consuming Descriptor, path: [UInt8]) throws(Failure) {
    folders[number] = try Folder(opened, path: path)
  }

  /// The path of an entry as text for people.
  func text(_ place: FolderEntry) -> String { readable(self[place.folder].path + place.name) }

  /// The status of an entry; nil if there is none.
  func status(_ place: FolderEntry) throws(TableError) -> tabella_status? {
    do throws(Failure) {
      return try tabella_status(self[place.folder].descriptor, place.name)
    } catch {
      if error == .vanished { return nil }
      throw error.error("\(text(place)) cannot be examined")
    }
  }

  /// The names in a folder that is an entry, including hidden names.
  func names(in place: FolderEntry) throws(Failure) -> [[UInt8]] {
    let opened = try Descriptor(
      opened: place.name.withCString {
        tabella_system_open_directory(self[place.folder].descriptor, $0, 0)
      })
    let listing = Listing(showsHidden: true)
    _ = try listing.add(opened.raw, parent: nil, entry: nil)
    return (0..<listing.count).map { listing.withName($0) { Array($0) } }
  }

  // Durability

  func note(changed number: Int) { changed.insert(number) }

  /// Makes all changes durable. Returns the folders for which that failed, with the reason.
  func sync() -> [Int: Failure] {
    for number in changed { _ = sync(number) }
    return failures
  }

  /// Makes one folder durable now, because the next step depends on it. Returns the reason of a failure.
  func sync(_ number: Int) -> Failure? {
    changed.remove(number)
    if failures[number] == nil { failures[number] = makeDurable(self[number].descriptor) }
    return failures[number]
  }
}

/// Waits until a file or folder is on its disk. Returns the reason of a failure.
///
/// A failed fsync must never be repeated: the system may report success the second time, although data is lost.
func makeDurable(_ descriptor: Int32) -> Failure? {
  if fsync(descriptor) == 0 { return nil }
  // Some file systems have nothing to sync.
  return [EINVAL, ENOTSUP].contains(errno) ? nil : Failure(errno, isOfSync: true)
}

/// The identities of a folder and all its ancestors, up to the root of the file hierarchy.
func ancestors(of descriptor: Int32) -> [Identity] {
  var found: [Identity] = []
  guard var current = Descriptor(duplicating: descriptor) else { return found }
  while let status = try? tabella_status(current.raw) {
    let identity = Identity(status)
    if identity == found.last { break }
    found.append(identity)
    guard let parent = Descriptor(tabella_system_open_entry(current.raw, "..")) else { break }
    current = parent
  }
  return found
}

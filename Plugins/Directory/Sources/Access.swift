import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// Permission checks in open folders. They report only the refusals that are known without trying.
extension OpenFolders {
  /// Throws unless entries can be created and removed in a folder.
  func checkWritable(_ number: Int) throws(TableError) {
    let folder = self[number]
    let what = "\(folder.path.isEmpty ? "the folder" : readable(folder.path)) cannot be changed"
    // The mode allows root to write there.
    if tabella_system_is_of_kernel(folder.descriptor) {
      throw TableError(.readOnly, "\(what): only the kernel creates and removes its entries")
    }
    guard faccessat(folder.descriptor, ".", W_OK | X_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, what)
    }
  }

  /// Throws if an entry is a folder without write permission. A move to another folder changes the `..` of a folder.
  func checkMovable(_ place: FolderEntry, _ identity: Identity, _ what: String) throws(TableError) {
    guard identity.kind == .directory else { return }
    try checkAccess(place, W_OK, what)
  }

  /// Throws if an entry cannot be accessed with `mode` (`R_OK`, `W_OK`). A vanished entry passes: the edit itself
  /// reports it.
  func checkAccess(_ place: FolderEntry, _ mode: Int32, _ what: String) throws(TableError) {
    let flags = Int32(AT_EACCESS | AT_SYMLINK_NOFOLLOW)
    let number = place.name.withCString {
      faccessat(self[place.folder].descriptor, $0, mode, flags) == 0 ? 0 : errno
    }
    guard number == 0 || number == ENOENT else { throw .system(number, "\(text(place)) \(what)") }
  }

  /// Throws if an entry must not lose its name: because of its flags, its folder's flags or the sticky bit.
  func checkRemovable(_ place: FolderEntry, _ status: tabella_status) throws(TableError) {
    let folder = self[place.folder].status
    try checkFlags(place, status)
    if folder.is_append_only {
      throw refusal(place, "its folder only accepts new names (chattr +a)")
    }
    guard folder.mode & S_ISVTX != 0, ![0, folder.owner, status.owner].contains(geteuid()) else {
      return
    }
    throw refusal(place, "it belongs to another user, in a sticky folder")
  }

  /// Throws if the mode or the modification time of an entry cannot be set.
  func checkSettable(
    _ place: FolderEntry, _ status: tabella_status, _ what: String
  ) throws(TableError) {
    try checkFlags(place, status)
    if ![0, status.owner].contains(geteuid()) {
      throw TableError(
        .denied, "the \(what) of \(text(place)) cannot be set: it belongs to another user")
    }
    let result = place.name.withCString {
      tabella_system_open_entry(self[place.folder].descriptor, $0)
    }
    guard let entry = Descriptor(result) else {
      throw Failure(-result).error(of: text(place), "cannot be examined")
    }
    var system = statvfs()
    if fstatvfs(entry.raw, &system) == 0, system.f_flag & UInt(ST_RDONLY) != 0 {
      throw .system(EROFS, "\(text(place)) cannot be changed")
    }
  }

  /// Throws if an entry is immutable or append-only. Then nobody can change its name, mode or time.
  func checkFlags(_ place: FolderEntry, _ status: tabella_status) throws(TableError) {
    if status.is_immutable { throw refusal(place, "it is immutable (chattr +i)") }
    if status.is_append_only { throw refusal(place, "it is append-only (chattr +a)") }
  }

  private func refusal(_ place: FolderEntry, _ reason: String) -> TableError {
    TableError(.denied, "\(text(place)) cannot be changed: \(reason)")
  }
}

import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// What may be done in open folders, as far as the system tells without trying.
extension OpenFolders {
  /// Throws unless names in a folder may be made and removed.
  func checkWritable(_ number: Int) throws(TableError) {
    let folder = self[number]
    let what = "\(folder.path.isEmpty ? "the folder" : readable(folder.path)) cannot be changed"
    // Root may write there as far as modes say.
    if tabella_system_is_of_kernel(folder.descriptor) {
      throw TableError(.readOnly, "\(what): only the kernel makes and removes what is in it")
    }
    guard faccessat(folder.descriptor, ".", W_OK | X_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, what)
    }
  }

  /// Throws if what is at a place is a folder that may not go to another one: its `..` would change.
  func checkMovable(_ place: Place, _ identity: Identity, _ what: String) throws(TableError) {
    guard identity.kind == .directory else { return }
    try checkAccess(place, W_OK, what)
  }

  /// Throws if what is at a place may not be read or written, except where it has vanished: what is done
  /// with it will tell.
  func checkAccess(_ place: Place, _ mode: Int32, _ what: String) throws(TableError) {
    let flags = Int32(AT_EACCESS | AT_SYMLINK_NOFOLLOW)
    let number = place.name.withCString {
      faccessat(self[place.folder].descriptor, $0, mode, flags) == 0 ? 0 : errno
    }
    guard number == 0 || number == ENOENT else { throw .system(number, "\(text(place)) \(what)") }
  }

  /// Throws if the file system of what is at a place is only read, so that modes and times stay.
  func checkSettable(_ place: Place) throws(TableError) {
    let entry = place.name.withCString {
      tabella_system_open_entry(self[place.folder].descriptor, $0)
    }
    guard entry >= 0 else { throw Failure(-entry).error("\(text(place)) cannot be examined") }
    defer { close(entry) }
    var system = statvfs()
    if fstatvfs(entry, &system) == 0, system.f_flag & UInt(ST_RDONLY) != 0 {
      throw .system(EROFS, "\(text(place)) cannot be changed")
    }
  }
}

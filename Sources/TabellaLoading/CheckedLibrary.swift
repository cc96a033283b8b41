import CTabellaSystem
import Tabella
import TabellaBridge
import TabellaFiles

/// An open library file that may be loaded, checked without running any of its code.
///
/// What was checked is what ``Library/load(_:name:)`` loads: it goes by this open file, and refuses if the
/// file has changed since. Open as long as the object lives.
public final class CheckedLibrary: Sendable {
  /// The file, open for reading.
  public let descriptor: Int32
  /// The file's absolute path, without links: for messages, and for libraries that are looked for in the
  /// same folder.
  public let path: String
  /// The folders in which the library wants its own libraries to be looked for (RUNPATH): absolute.
  public let searched: [String]
  /// The libraries that it needs by a path instead of a name (NEEDED): absolute.
  public let neededPaths: [String]
  /// The file as it was when it was checked.
  public let fingerprint: Fingerprint
  /// Whether libraries are looked for by the folder that this one is in.
  let usesOrigin: Bool

  /// Takes over an open file and checks that it is a library with the entry of a provider.
  ///
  /// Who may have written the file is not asked here: a host asks before (docs/trust.md), a worker is given
  /// the file by its host. Throws ``TableError`` with `.noProvider` that names the path; the descriptor is
  /// closed then, too.
  public init(taking descriptor: Int32, path: String) throws(TableError) {
    self.descriptor = descriptor
    self.path = path
    do throws(TableError) {
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
        throw .system(errno, "cannot be read")
      }
      fingerprint = try Fingerprint(of: descriptor)
      guard fingerprint.kind == S_IFREG else {
        throw TableError(.noProvider, "is no regular file")
      }
      let image = try ELFImage(
        descriptor, size: fingerprint.size, exporting: providerEntrySymbol)
      let dynamic = image.dynamic
      searched = dynamic.searched.map { ELFDynamic.expanded($0, ofLibraryAt: path) }
      neededPaths = dynamic.neededPaths.map { ELFDynamic.expanded($0, ofLibraryAt: path) }
      usesOrigin = dynamic.usesOrigin
    } catch {
      close(descriptor)
      throw TableError(.noProvider, "\(path): \(error.message)")
    }
  }

  deinit { close(descriptor) }

  /// Throws ``TableError`` with `.denied` if the file is no longer as it was checked.
  public func checkUnchanged() throws(TableError) {
    guard (try? Fingerprint(of: descriptor)) == fingerprint else {
      throw TableError(
        .denied, "\(path) is not trusted (changed): it was changed since it was checked; try again")
    }
  }

  /// Whether another library is in the same file, whatever is in that now.
  func isSameFile(as other: CheckedLibrary) -> Bool {
    fingerprint.device == other.fingerprint.device && fingerprint.inode == other.fingerprint.inode
  }

  /// The folder that the path names, if the file still has its name there. Closed by the caller.
  func openFolder() throws(TableError) -> (descriptor: Int32, name: String) {
    let slash = path.lastIndex(of: "/") ?? path.startIndex
    let (folder, name) = (String(path[...slash]), String(path[path.index(after: slash)...]))
    let descriptor = tabella_system_open_entry(AT_FDCWD, folder)
    guard descriptor >= 0 else { throw .system(-descriptor, "\(folder) cannot be opened") }
    var status = stat()
    guard fstatat(descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
      Fingerprint(status) == fingerprint
    else {
      close(descriptor)
      throw TableError(
        .denied,
        "\(path) is not trusted (changed): another file has its name since it was checked; try again"
      )
    }
    return (descriptor, name)
  }
}

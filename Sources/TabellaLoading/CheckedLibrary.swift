import CTabellaSystem
import Tabella
import TabellaBridge
import TabellaFiles

/// An open library file that was checked without running any of its code.
///
/// ``Library/load(_:name:isMinimal:log:)`` loads this open file, and refuses it if it has changed since the check.
/// The file is open until the object is released.
public final class CheckedLibrary: Sendable {
  /// The file, open for reading.
  public let descriptor: Int32
  /// The file's absolute path without links, for messages and for libraries in the same folder.
  public let path: String
  /// The absolute folders in which the loader searches the library's dependencies (RUNPATH).
  public let searched: [String]
  /// The absolute paths of dependencies that the library names by path rather than by name (NEEDED).
  public let neededPaths: [String]
  /// The fingerprint of the file at the time of the check.
  public let fingerprint: Fingerprint
  /// Whether paths of dependencies begin with this library's own folder.
  let usesOrigin: Bool

  /// Takes over an open file and checks that it is a library with the entry function of a provider.
  ///
  /// This check does not ask who can write the file. A host asks before (docs/trust.md), and a worker receives the
  /// file from its host. Throws ``TableError`` with `.noProvider` that names the path, and then closes the
  /// descriptor.
  public init(taking descriptor: Int32, path: String) throws(TableError) {
    self.descriptor = descriptor
    self.path = path
    do throws(TableError) {
      guard fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0 else {
        throw .system(errno, "cannot be read")
      }
      fingerprint = try Fingerprint(of: descriptor)
      guard fingerprint.kind == S_IFREG else {
        throw TableError(.noProvider, "is not a regular file")
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

  /// Throws ``TableError`` with `.denied` if the file has changed since the check.
  public func checkUnchanged() throws(TableError) {
    guard (try? Fingerprint(of: descriptor)) == fingerprint else {
      throw TableError(
        .denied, "\(path) is not trusted (changed): it was changed since it was checked; try again")
    }
  }

  /// Whether the other library is the same file, even if its content has changed.
  func isSameFile(as other: CheckedLibrary) -> Bool {
    fingerprint.device == other.fingerprint.device && fingerprint.inode == other.fingerprint.inode
  }

  /// Opens the folder in the path, if the file still has its name there. The caller closes the descriptor.
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

import CTabellaSystem
import Tabella
import TabellaBridge
import TabellaFiles
import TabellaSystem

/// An open library file that was checked without running any of its code.
///
/// ``Library/load(_:name:isMinimal:log:)`` loads this open file, and refuses it if it has changed since the check.
/// The file is open until the object is released.
package final class CheckedLibrary: Sendable {
  private let file: Descriptor
  /// The file's absolute path without links, for messages and for libraries in the same folder.
  package let path: String
  /// The absolute folders in which the loader searches the library's dependencies (RUNPATH).
  package let searched: [String]
  /// The absolute paths of dependencies that the library names by path rather than by name (NEEDED).
  package let neededPaths: [String]
  /// The fingerprint of the file at the time of the check.
  package let fingerprint: Fingerprint
  /// The dependencies that belong to the Swift runtime.
  let neededRuntime: [String]
  /// Whether paths of dependencies begin with this library's own folder.
  let usesOrigin: Bool

  /// Takes over an open file and checks that it is a library with the entry function of a provider.
  ///
  /// This check does not ask who can write the file. A host asks before (docs/trust.md), and a worker receives the
  /// file from its host. Throws ``TableError`` with `.noProvider` that names the path, and then closes the
  /// descriptor.
  package init(taking descriptor: Int32, path: String) throws(TableError) {
    file = Descriptor(owning: descriptor)
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
      neededRuntime = dynamic.neededNames.filter { SwiftRuntime.contains($0) }
      usesOrigin = dynamic.usesOrigin
    } catch {
      throw TableError(.noProvider, "\(path): \(error.message)")
    }
  }

  /// The file, open for reading.
  package var descriptor: Int32 { file.raw }

  /// Throws ``TableError`` with `.denied` if the file has changed since the check.
  package func checkUnchanged() throws(TableError) {
    guard (try? Fingerprint(of: descriptor)) == fingerprint else {
      throw TableError(
        .denied, "\(path) is not trusted (changed): it was changed since it was checked; try again")
    }
  }

  /// Whether the other library is the same file, even if its content has changed.
  func isSameFile(as other: CheckedLibrary) -> Bool {
    fingerprint.device == other.fingerprint.device && fingerprint.inode == other.fingerprint.inode
  }

  /// The name of the file in its folder.
  var name: String { String(path[path.index(after: slash)...]) }

  private var slash: String.Index { path.lastIndex(of: "/") ?? path.startIndex }

  /// Opens the folder in the path, if the file still has its name there.
  func openFolder() throws(TableError) -> Descriptor {
    let folder = String(path[...slash])
    let result = tabella_system_open_entry(AT_FDCWD, folder)
    guard let opened = Descriptor(result) else {
      throw .system(-result, "\(folder) cannot be opened")
    }
    guard let status = stat(of: name, in: opened.raw), Fingerprint(status) == fingerprint else {
      throw TableError(
        .denied,
        "\(path) is not trusted (changed): another file has its name since it was checked; try again"
      )
    }
    return opened
  }
}

import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The file of a buffer, in a new folder that only this user can open.
///
/// It is removed by ``remove()`` only. So a kill, or an error after the user has edited the text, keeps it.
final class BufferFile {
  private let folder: [UInt8]
  let path: [UInt8]
  /// The file as this process wrote it. An editor can replace the file.
  private let file: Descriptor

  /// Creates the file in `$TMPDIR` or `/tmp`.
  init() throws(TableError) {
    let parent = trustedVariable("TMPDIR").flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
    var template = ((parent ?? Array("/tmp".utf8)) + Array("/tabella-edit-XXXXXX".utf8))
      .map { CChar(bitPattern: $0) }
    template.append(0)
    guard mkdtemp(&template) != nil else {
      throw .system(
        errno, "a folder for the text cannot be created in \((parent ?? Array("/tmp".utf8)).shown)")
    }
    let folder = template.dropLast().map { UInt8(bitPattern: $0) }
    self.folder = folder
    path = folder + Array("/rows.txt".utf8)
    guard
      let file = Descriptor(
        opening: path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    else {
      let number = errno
      _ = folder.withCString { rmdir($0) }
      throw .system(number, "\(path.shown) cannot be created")
    }
    self.file = file
  }

  var descriptor: Int32 { file.raw }

  var size: Int { max(0, Int(lseek(file.raw, 0, SEEK_CUR))) }

  /// The current text.
  func content() throws(Failure) -> [UInt8] {
    try Failure.about(path.shown) { () throws(TableError) in
      let current = try Descriptor(
        opening: path, O_RDONLY | O_NOCTTY | O_NONBLOCK, errorPrefix: "cannot be opened")
      guard let (bytes, _) = readAll(current.raw) else {
        throw .system(errno, "cannot be read")
      }
      return bytes
    }
  }

  /// Removes the file, the copies that an editor made next to it, and the folder.
  func remove() {
    var names: [[UInt8]] = []
    if var entries = FolderEntries(of: folder) {
      while let name = entries.next() { names.append(Array(name)) }
    }
    for name in names {
      _ = (folder + [UInt8(ascii: "/")] + name).withCString { unlink($0) }
    }
    _ = folder.withCString { rmdir($0) }
  }
}

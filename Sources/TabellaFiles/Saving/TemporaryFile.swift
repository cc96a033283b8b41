import CTabellaSystem
import Tabella

/// A new file in a folder, which goes unless it becomes one that stays.
///
/// It has no name until it is complete, where the file system knows such files: a kill before that
/// leaves nothing behind.
final class TemporaryFile {
  let descriptor: Int32
  let name: [CChar]
  private let folder: Int32
  private var isNamed: Bool

  /// A file in an open folder.
  init(in folder: Int32) throws(TableError) {
    self.folder = folder
    name = TemporaryFile.randomName()
    // The way from a nameless file to a name leads through /proc.
    if access("/proc/self/fd", X_OK) == 0 {
      let nameless = tabella_system_make_nameless(folder)
      if nameless >= 0 {
        descriptor = nameless
        isNamed = false
        return
      }
      guard [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(-nameless) else {
        throw TemporaryFile.failed(-nameless)
      }
    }
    descriptor = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    isNamed = true
    guard descriptor >= 0 else { throw TemporaryFile.failed(errno) }
  }

  deinit {
    discard()
    close(descriptor)
  }

  /// Removes the file's name, if it still has it.
  func discard() {
    if isNamed { unlinkat(folder, name, 0) }
    isNamed = false
  }

  private static func failed(_ number: Int32) -> TableError {
    .system(number, "a file cannot be made in the folder; nothing was changed")
  }

  /// A name that nobody can guess, short enough for any folder.
  static func randomName() -> [CChar] {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    let padding = String(repeating: "0", count: 16 - digits.count)
    return Array(".tabella-\(padding)\(digits)".utf8CString)
  }

  var shownName: String { name.shown }

  /// Gives the file its name, if it has none yet.
  func takeName() throws(TableError) {
    guard !isNamed else { return }
    let result = tabella_system_name(descriptor, folder, name)
    guard result == 0 else { throw TemporaryFile.failed(-result) }
    isNamed = true
  }

  /// Lets the file be the one of this name, which nothing has yet; 0 or -errno.
  func become(_ name: [CChar]) -> Int32 {
    let result =
      isNamed
      ? tabella_system_rename(folder, self.name, folder, name, TABELLA_RENAME_NO_REPLACE)
      : tabella_system_name(descriptor, folder, name)
    if result == 0 { isNamed = false }
    return result
  }

  /// From now on another file has the name, or none.
  func nameIsAnothers() { isNamed = false }
}

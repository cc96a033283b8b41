import CTabellaSystem
import Tabella

/// A new file in a folder, which goes unless it becomes one that stays.
///
/// It has no name until it is complete, where the file system knows such files: a kill before that
/// leaves nothing behind.
public final class TemporaryFile {
  /// The file, readable and writable by its owner only; closed with the object.
  public let descriptor: Int32
  let name: [CChar]
  /// What an error of making one says before the system's own words.
  public static let failing = "a file cannot be made in the folder; nothing was changed"

  private let folder: Int32
  private var isNamed: Bool
  private let failing: String

  /// A file in an open folder, which must stay open as long as the file has no name that stays.
  ///
  /// `failing` is what an error says before the system's own words. Throws ``TableError`` with `.denied`,
  /// `.readOnly`, `.notFound` or `.io`.
  public init(
    in folder: Int32, failing: String = TemporaryFile.failing
  ) throws(TableError) {
    self.folder = folder
    self.failing = failing
    name = TemporaryFile.randomName()
    // The way from a nameless file to a name leads through /proc.
    if access("/proc/self/fd", X_OK) == 0,
      let nameless = try TemporaryFile.nameless(in: folder, failing)
    {
      descriptor = nameless
      isNamed = false
      return
    }
    descriptor = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
    isNamed = true
    guard descriptor >= 0 else { throw .system(errno, failing) }
  }

  /// A file that never gets a name, to try out what can be done with one in this folder; nil where the file
  /// system knows no such files.
  init?(namelessIn folder: Int32, failing: String) throws(TableError) {
    guard let descriptor = try TemporaryFile.nameless(in: folder, failing) else { return nil }
    self.folder = folder
    self.failing = failing
    self.descriptor = descriptor
    name = []
    isNamed = false
  }

  private static func nameless(in folder: Int32, _ failing: String) throws(TableError) -> Int32? {
    let descriptor = tabella_system_make_nameless(folder)
    if descriptor >= 0 { return descriptor }
    guard [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(-descriptor) else {
      throw .system(-descriptor, failing)
    }
    return nil
  }

  deinit {
    discard()
    close(descriptor)
  }

  /// Throws if so many bytes do not fit into the file, as far as the file system tells before they are
  /// written. `old` is a file that most of them come from, whose room on the disk may be shared. For the first
  /// `freed` bytes there will be room by then.
  func tryRoom(
    _ size: Int, sharing old: Int32? = nil, freed: Int = 0, failing: String
  ) throws(TableError) {
    guard size > 0 else { return }
    // A limit is one on the size, whatever room there is.
    guard ftruncate(descriptor, size) == 0 else { throw .system(errno, failing) }
    guard size > freed else { return }
    let result = tabella_system_take_room(descriptor, Int64(freed), Int64(size - freed))
    switch -result {
    case 0, EOPNOTSUPP, ENOSYS, EINVAL: return
    case ENOSPC, EDQUOT:
      if let old, tabella_system_share_bytes(old, descriptor) == 0 { return }
    default: break
    }
    throw .system(-result, failing)
  }

  /// Removes the file's name, if it still has it.
  func discard() {
    if isNamed { unlinkat(folder, name, 0) }
    isNamed = false
  }

  /// A name that nobody can guess, short enough for any folder, as a C string.
  public static func randomName() -> [CChar] { Array(".tabella-\(randomDigits())".utf8CString) }

  /// What cannot be guessed of such a name: 16 hexadecimal digits.
  public static func randomDigits() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  var shownName: String { name.shown }

  /// Gives the file its name, if it has none yet.
  func takeName() throws(TableError) {
    guard !isNamed else { return }
    let result = tabella_system_name(descriptor, folder, name)
    guard result == 0 else { throw .system(-result, failing) }
    isNamed = true
  }

  /// Lets the file be the one of this name (a C string) in its folder, for good; returns 0, or -errno:
  /// `-EEXIST` if something has the name.
  public func become(_ name: [CChar]) -> Int32 {
    guard isNamed else { return tabella_system_name(descriptor, folder, name) }
    var result = tabella_system_rename(folder, self.name, folder, name, TABELLA_RENAME_NO_REPLACE)
    if TemporaryFile.isUnknown(result) {
      // NFS, 9p and others know only the plain rename, which replaces; a second name does not.
      result = linkat(folder, self.name, folder, name, 0) == 0 ? 0 : -errno
      if result == 0 { unlinkat(folder, self.name, 0) }
    }
    if result == 0 { isNamed = false }
    return result
  }

  /// Lets the file be the one of this name (a C string) in its folder, whatever has it; 0 or -errno.
  func replace(_ name: [CChar]) throws(TableError) -> Int32 {
    try takeName()
    let result = tabella_system_rename(folder, self.name, folder, name, TABELLA_RENAME_OVER)
    if result == 0 { isNamed = false }
    return result
  }

  /// Whether a file system does not know what was asked of a rename.
  static func isUnknown(_ result: Int32) -> Bool {
    [EINVAL, ENOSYS, EOPNOTSUPP].contains(-result)
  }

  /// From now on another file has the name, or none.
  func nameIsAnothers() { isNamed = false }
}

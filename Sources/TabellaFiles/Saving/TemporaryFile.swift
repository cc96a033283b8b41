import CTabellaSystem
import Tabella
import TabellaSystem

/// A new file in a folder. It is removed with the object, unless it receives a permanent name.
///
/// If the file system supports nameless files, the file has no name until it is complete. A kill before that leaves
/// nothing behind.
public final class TemporaryFile {
  private let file: Descriptor
  let name: [CChar]
  /// The text in front of the system's message, for errors of creating a file.
  public static let errorPrefix = "a file cannot be created in the folder; nothing was changed"

  private let folder: Int32
  private var isNamed: Bool
  private let errorPrefix: String

  /// Creates a file in an open folder. The folder must stay open until the file has its permanent name.
  ///
  /// `errorPrefix` is the text in front of the system's message in errors. Throws ``TableError`` with `.denied`,
  /// `.readOnly`, `.notFound` or `.io`.
  public init(
    in folder: Int32, errorPrefix: String = TemporaryFile.errorPrefix
  ) throws(TableError) {
    self.folder = folder
    self.errorPrefix = errorPrefix
    name = TemporaryFile.randomName()
    // Naming a nameless file requires /proc.
    if access("/proc/self/fd", X_OK) == 0,
      let nameless = try TemporaryFile.nameless(in: folder, errorPrefix)
    {
      file = nameless
      isNamed = false
      restoreMode()
      return
    }
    guard
      let file = Descriptor(
        opening: name, in: folder, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, mode: 0o600)
    else { throw .system(errno, errorPrefix) }
    self.file = file
    isNamed = true
    restoreMode()
  }

  /// The process may mask rights of the owner (umask).
  private func restoreMode() { _ = fchmod(file.raw, 0o600) }

  /// Creates a file that never gets a name, for tests of the folder; nil if the file system has no nameless files.
  init?(namelessIn folder: Int32, errorPrefix: String) throws(TableError) {
    guard let file = try TemporaryFile.nameless(in: folder, errorPrefix) else { return nil }
    self.folder = folder
    self.errorPrefix = errorPrefix
    self.file = file
    name = []
    isNamed = false
  }

  private static func nameless(
    in folder: Int32, _ errorPrefix: String
  ) throws(TableError) -> Descriptor? {
    let result = tabella_system_make_nameless(folder)
    if let file = Descriptor(result) { return file }
    guard [EOPNOTSUPP, EISDIR, ENOENT, EINVAL].contains(-result) else {
      throw .system(-result, errorPrefix)
    }
    return nil
  }

  deinit { discard() }

  /// The file. Only its owner can read and write it. The object closes it.
  public var descriptor: Int32 { file.raw }

  /// Throws if so many bytes do not fit into the file, as far as the file system can tell before a write.
  ///
  /// `old` is a file that most of the bytes come from; the two files can share space on the disk. The first `freed`
  /// bytes will have space by then.
  func tryRoom(
    _ size: Int, sharing old: Int32? = nil, freed: Int = 0, errorPrefix: String
  ) throws(TableError) {
    guard size > 0 else { return }
    // A limit on file sizes applies whatever the free space is.
    guard ftruncate(descriptor, size) == 0 else { throw .system(errno, errorPrefix) }
    guard size > freed else { return }
    let result = tabella_system_reserve_space(descriptor, Int64(freed), Int64(size - freed))
    switch -result {
    case 0, EOPNOTSUPP, ENOSYS, EINVAL: return
    case ENOSPC, EDQUOT:
      if let old, tabella_system_share_bytes(old, descriptor) == 0 { return }
    default: break
    }
    throw .system(-result, errorPrefix)
  }

  /// Removes the file's name, if it still has one.
  func discard() {
    if isNamed { unlinkat(folder, name, 0) }
    isNamed = false
  }

  /// A name that no one can guess, short enough for any folder, as a C string.
  public static func randomName() -> [CChar] { Array(".tabella-\(randomDigits())".utf8CString) }

  /// The unpredictable part of such a name: 16 hexadecimal digits.
  public static func randomDigits() -> String {
    let digits = String(UInt64.random(in: .min ... .max), radix: 16)
    return String(repeating: "0", count: 16 - digits.utf8.count) + digits
  }

  var shownName: String { name.shown }

  /// Gives the file its temporary name, if it has none yet.
  func takeName() throws(TableError) {
    guard !isNamed else { return }
    let result = tabella_system_name(descriptor, folder, name)
    guard result == 0 else { throw .system(-result, errorPrefix) }
    isNamed = true
  }

  /// Gives the file a permanent name (a C string) in its folder. Returns 0 or -errno: `-EEXIST` if the name is
  /// taken.
  public func become(_ name: [CChar]) -> Int32 {
    guard isNamed else { return tabella_system_name(descriptor, folder, name) }
    var result = tabella_system_rename(folder, self.name, folder, name, TABELLA_RENAME_NO_REPLACE)
    if TemporaryFile.isUnknown(result) {
      // NFS, 9p and other file systems support only a rename that replaces. A hard link does not replace.
      result = linkat(folder, self.name, folder, name, 0) == 0 ? 0 : -errno
      if result == 0 { unlinkat(folder, self.name, 0) }
    }
    if result == 0 { isNamed = false }
    return result
  }

  /// Gives the file a permanent name (a C string), and replaces any other file of that name. Returns 0 or -errno.
  func replace(_ name: [CChar]) throws(TableError) -> Int32 {
    try takeName()
    let result = tabella_system_rename(folder, self.name, folder, name, TABELLA_RENAME_OVER)
    if result == 0 { isNamed = false }
    return result
  }

  /// Whether an error means that the file system does not support the kind of rename.
  static func isUnknown(_ result: Int32) -> Bool {
    [EINVAL, ENOSYS, EOPNOTSUPP].contains(-result)
  }

  /// Records that the temporary name now belongs to another file, or to none.
  func nameIsAnothers() { isNamed = false }
}

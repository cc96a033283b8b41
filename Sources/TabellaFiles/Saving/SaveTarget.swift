import CTabellaSystem
import Tabella

/// Where an open file is saved: its folder, held open, and its name there, both behind all symbolic
/// links.
final class SaveTarget {
  let folder: Int32
  let name: [CChar]
  /// The whole path.
  let path: [UInt8]

  /// Finds the place of a file that was opened by a path. Throws ``TableError`` with `.conflict` if
  /// another file is there by now.
  init(path: [UInt8], of file: OpenFile) throws(TableError) {
    guard let resolved = path.withCString({ realpath($0, nil) }) else {
      let number = errno
      throw number == ENOENT ? SaveTarget.isGone : .system(number, "cannot be found again")
    }
    defer { free(resolved) }
    let bytes = UnsafeRawBufferPointer(start: resolved, count: strlen(resolved))
    self.path = Array(bytes)
    // An absolute path has a slash.
    let slash = bytes.lastIndex(of: UInt8(ascii: "/")) ?? 0
    name = bytes[(slash + 1)...].map { CChar(bitPattern: $0) } + [0]
    folder = Array(bytes[...slash]).withCString {
      open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }
    guard folder >= 0 else { throw .system(errno, "its folder cannot be opened") }
    try checkHolds(file.fingerprint)
  }

  deinit { close(folder) }

  /// What the file's backup is called.
  func backupName(_ suffix: [UInt8]) -> [CChar] {
    name.dropLast() + suffix.map { CChar(bitPattern: $0) } + [0]
  }

  private static let isGone = TableError(
    .conflict, "was removed since it was opened; nothing was changed")

  /// Throws `.conflict` unless the name is still that of the file with this fingerprint.
  func checkHolds(_ fingerprint: Fingerprint) throws(TableError) {
    guard let there = status(of: name) else {
      throw errno == ENOENT ? SaveTarget.isGone : .system(errno, "cannot be examined")
    }
    guard there.st_dev == fingerprint.device, there.st_ino == fingerprint.inode else {
      throw TableError(
        .conflict, "was replaced by another file since it was opened; nothing was changed")
    }
  }

  /// What is known of a name in the folder; nil with `errno` set if that cannot be had.
  func status(of name: [CChar]) -> stat? {
    var status = stat()
    return fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
  }

  /// Throws why the file must not be saved, if something speaks against it.
  func checkMayBeSaved(_ file: OpenFile, _ options: SaveOptions) throws(TableError) {
    var status = stat()
    guard fstat(file.descriptor, &status) == 0 else {
      throw .system(errno, "cannot be examined")
    }
    guard status.st_mode & S_IFMT == S_IFREG else {
      throw TableError(.readOnly, "is no regular file and cannot be saved")
    }
    guard status.st_mode & 0o222 != 0 else {
      throw TableError(
        .readOnly,
        "is marked read-only (mode \(octal(status.st_mode))); chmod u+w it first")
    }
    guard faccessat(folder, name, W_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, "cannot be written")
    }
    let needsFolder = !options.isInPlace || options.backupSuffix != nil
    guard !needsFolder || faccessat(folder, ".", W_OK | X_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, "its folder cannot be written into")
    }
    if let suffix = options.backupSuffix { try checkBackup(suffix) }
    guard status.st_nlink > 0 else { throw SaveTarget.isGone }
    guard status.st_nlink == 1 || options.isInPlace else {
      throw TableError(
        .readOnly,
        "has \(status.st_nlink) names (hard links), which a save would part; --in-place (-o in-place=true) rewrites it where it is"
      )
    }
  }

  /// Throws if a backup cannot have its name: it replaces an earlier one, and nothing else.
  private func checkBackup(_ suffix: [UInt8]) throws(TableError) {
    let backup = backupName(suffix)
    guard let there = status(of: backup) else {
      guard errno == ENOENT else {
        throw .system(errno, "the backup \(backup.shown) cannot be made")
      }
      return
    }
    guard [S_IFREG, S_IFLNK].contains(there.st_mode & S_IFMT) else {
      throw TableError(
        .readOnly,
        "the backup \(backup.shown) cannot be made: something that is no file has that name")
    }
  }
}

/// A mode as chmod takes it: `0644`.
private func octal(_ mode: mode_t) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.count)) + digits
}

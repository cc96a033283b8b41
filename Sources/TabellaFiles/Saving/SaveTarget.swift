import CTabellaSystem
import Tabella
import TabellaSystem

/// The target of a save: the open folder of a file and the file's name there, with all symbolic links resolved.
final class SaveTarget {
  private let openFolder: Descriptor
  let name: [CChar]
  /// The resolved path.
  let path: [UInt8]

  /// Resolves the path by which a file was opened. Throws ``TableError`` with `.conflict` if the path leads to
  /// another file now.
  init(path: [UInt8], of file: OpenFile) throws(TableError) {
    guard let resolved = realPath(path) else {
      let number = errno
      throw number == ENOENT ? SaveTarget.isGone : .system(number, "cannot be found again")
    }
    self.path = resolved
    // An absolute path has a slash.
    let slash = resolved.lastIndex(of: UInt8(ascii: "/")) ?? 0
    name = Array(resolved[(slash + 1)...]).cString
    openFolder = try SaveTarget.open(Array(resolved[...slash]))
    try checkHolds(file.fingerprint)
  }

  /// The descriptor of the folder. The object owns it.
  var folder: Int32 { openFolder.raw }

  private static func open(_ folder: [UInt8]) throws(TableError) -> Descriptor {
    if let opened = Descriptor(opening: folder, O_RDONLY | O_DIRECTORY) { return opened }
    let number = errno
    // A file in a folder that cannot be listed can still be overwritten in place.
    let place = folder.withCString { tabella_system_open_entry(AT_FDCWD, $0) }
    guard let opened = Descriptor(place), number == EACCES else {
      throw .system(number, "its folder cannot be opened")
    }
    return opened
  }

  /// The name of the file's backup.
  func backupName(_ suffix: [UInt8]) -> [CChar] {
    name.dropLast() + suffix.map { CChar(bitPattern: $0) } + [0]
  }

  static let isGone = TableError(
    .conflict, "was removed since it was opened; nothing was changed")

  /// Throws ``TableError`` with `.conflict` unless the name still belongs to the file with this fingerprint.
  func checkHolds(_ fingerprint: Fingerprint) throws(TableError) {
    guard let there = status(of: name) else {
      throw errno == ENOENT ? SaveTarget.isGone : .system(errno, "cannot be examined")
    }
    guard there.st_dev == fingerprint.device, there.st_ino == fingerprint.inode else {
      throw TableError(
        .conflict, "was replaced by another file since it was opened; nothing was changed")
    }
  }

  /// The status of a name in the folder; nil with `errno` set on failure.
  func status(of name: [CChar]) -> stat? { stat(of: name, in: folder) }

  /// Throws if there is a reason not to save the file.
  func checkMayBeSaved(_ file: OpenFile, _ options: SaveOptions) throws(TableError) {
    guard let status = stat(of: file.descriptor) else {
      throw .system(errno, "cannot be examined")
    }
    guard status.kind == S_IFREG else {
      throw TableError(.readOnly, "is not a regular file and cannot be saved")
    }
    guard status.st_mode & 0o222 != 0 else {
      let mode = octal(status.st_mode)
      guard geteuid() == 0 || geteuid() == status.st_uid else {
        throw TableError(
          .readOnly, "is marked read-only (mode \(mode)), and belongs to another user")
      }
      throw TableError(.readOnly, "is marked read-only (mode \(mode)); run chmod u+w first")
    }
    if let flag = flag(of: name) { throw TableError(.denied, flag.advice("it")) }
    guard faccessat(folder, name, W_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, "cannot be written")
    }
    if !options.isInPlace {
      try checkFolder(
        "its folder cannot be written to; the option in-place=true does not need that")
      guard mayTakeName(of: status) else {
        throw TableError(
          .denied,
          "belongs to another user, in a sticky folder, and cannot be replaced; use --in-place (in a program, the option in-place=true)"
        )
      }
    } else if options.backupSuffix != nil {
      try checkFolder("the backup cannot be created in its folder")
    }
    if let suffix = options.backupSuffix { try checkBackup(suffix) }
    guard status.st_nlink > 0 else { throw SaveTarget.isGone }
    guard status.st_nlink == 1 || options.isInPlace else {
      throw TableError(
        .readOnly,
        "has \(status.st_nlink) names (hard links), and a save would replace only one of them; use --in-place (in a program, the option in-place=true)"
      )
    }
    var there = tabella_status()
    guard options.isInPlace || tabella_system_status(folder, name, &there) != 0 || !there.is_mounted
    else { throw SaveTarget.isMounted }
  }

  static let isMounted = TableError(
    .readOnly,
    "is a mount point and cannot be replaced; the option in-place=true writes into the existing file"
  )

  /// Throws unless the folder is writable and readable. To make it durable, the save must open it for reading.
  private func checkFolder(_ errorPrefix: String) throws(TableError) {
    if let flag = flag(of: [0]) {
      throw TableError(.denied, "\(errorPrefix): the folder \(flag.advice("the folder"))")
    }
    guard faccessat(folder, ".", R_OK | W_OK | X_OK, Int32(AT_EACCESS)) == 0 else {
      throw .system(errno, errorPrefix)
    }
  }

  /// A flag of chattr(1) that protects a file, or the names in a folder, from changes.
  private enum Flag: String {
    case immutable = "i"
    case appendOnly = "a"

    func advice(_ what: String) -> String {
      "is \(self == .immutable ? "immutable" : "append-only") (chattr +\(rawValue)); chattr -\(rawValue) \(what) first"
    }
  }

  /// The flag of a name in the folder. An empty name means the folder itself.
  private func flag(of name: [CChar]) -> Flag? {
    var there = tabella_status()
    guard tabella_system_status(folder, name, &there) == 0 else { return nil }
    return there.is_immutable ? .immutable : there.is_append_only ? .appendOnly : nil
  }

  /// Whether another file may replace this one. In a sticky folder, the user must own the file or the folder.
  private func mayTakeName(of file: stat) -> Bool {
    guard geteuid() != 0, let there = stat(of: folder), there.st_mode & S_ISVTX != 0 else {
      return true
    }
    return file.st_uid == geteuid() || there.st_uid == geteuid()
  }

  /// Throws if a backup cannot have its name. A backup replaces only an earlier backup.
  private func checkBackup(_ suffix: [UInt8]) throws(TableError) {
    let backup = backupName(suffix)
    guard let there = status(of: backup) else {
      guard errno == ENOENT else {
        throw .system(errno, "the backup \(backup.shown) cannot be created")
      }
      return
    }
    guard [S_IFREG, S_IFLNK].contains(there.kind) else {
      throw TableError(
        .readOnly,
        "the backup \(backup.shown) cannot be created: something with that name is not a file")
    }
    if let flag = flag(of: backup) {
      throw TableError(
        .denied,
        "the backup \(backup.shown) cannot be created: an earlier one \(flag.advice("that"))")
    }
    guard mayTakeName(of: there) else {
      throw .system(
        EPERM, "the backup \(backup.shown) cannot be created: another user's file has that name")
    }
  }
}

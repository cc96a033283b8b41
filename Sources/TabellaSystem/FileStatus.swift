extension stat {
  /// The status of an open file. Returns nil with `errno` set on failure.
  package init?(of file: Int32) {
    self.init()
    guard fstat(file, &self) == 0 else { return nil }
  }

  /// The status of a path (bytes without NUL). Returns nil with `errno` set on failure.
  package init?(at path: [UInt8], followsLink: Bool = true) {
    self.init()
    let flags = followsLink ? 0 : AT_SYMLINK_NOFOLLOW
    guard path.withCString({ fstatat(AT_FDCWD, $0, &self, flags) }) == 0 else { return nil }
  }

  /// The status of a path. Returns nil with `errno` set on failure.
  package init?(at path: String, followsLink: Bool = true) {
    self.init()
    let flags = followsLink ? 0 : AT_SYMLINK_NOFOLLOW
    guard fstatat(AT_FDCWD, path, &self, flags) == 0 else { return nil }
  }

  /// The status of a name (a C string) in an open folder. Returns nil with `errno` set on failure.
  package init?(of name: UnsafePointer<CChar>, in folder: Int32, followsLink: Bool = false) {
    self.init()
    let flags = followsLink ? 0 : AT_SYMLINK_NOFOLLOW
    guard fstatat(folder, name, &self, flags) == 0 else { return nil }
  }

  /// The type of the file: `S_IFREG` and so on.
  package var kind: mode_t { st_mode & S_IFMT }

  /// Whether both belong to the same file, judged by the device and inode numbers.
  package func isSameFile(as other: stat) -> Bool {
    st_dev == other.st_dev && st_ino == other.st_ino
  }

  /// Whether every later change gets another time. The times of usual file systems are as coarse as two seconds.
  package var isSettled: Bool { timespec(on: CLOCK_REALTIME).seconds - st_ctim.seconds > 2 }
}

/// The permissions of a mode in the notation of chmod: `0644`.
package func octal(_ mode: mode_t) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}

import TabellaSystem

/// The mount table from `/proc/self/mountinfo`; see proc_pid_mountinfo(5).
struct Mounts {
  private struct Mount {
    let id: UInt64
    let parent: UInt64
    /// The file system, and the folder in it that is mounted.
    let device: ArraySlice<UInt8>
    let root: [UInt8]
    /// The mount point.
    let point: [UInt8]
  }

  /// A path in a file system. The file system can be mounted several times.
  private struct FileSystemPath {
    let device: ArraySlice<UInt8>
    let path: [UInt8]
  }

  private static let largestFile = 4 << 20

  private var mounts: [Mount] = []

  init() throws(Failure) {
    guard let file = Descriptor(opening: "/proc/self/mountinfo", O_RDONLY) else {
      throw Failure(errno)
    }
    let (text, isAll) = try contents(of: file.raw, upTo: Mounts.largestFile)
    guard isAll else { throw Failure(EFBIG) }
    for line in text.split(separator: 10) {
      let words = line.split(separator: 32)
      guard words.count > 4, let id = UInt64(String(decoding: words[0], as: UTF8.self)),
        let parent = UInt64(String(decoding: words[1], as: UTF8.self))
      else { continue }
      mounts.append(
        Mount(
          id: id, parent: parent, device: words[2], root: Mounts.path(words[3]),
          point: Mounts.path(words[4])))
    }
  }

  /// A path without a final slash. The kernel writes special bytes as a backslash and three octal digits.
  private static func path(_ text: ArraySlice<UInt8>) -> [UInt8] {
    var rest = text
    var path: [UInt8] = []
    while let byte = rest.popFirst() {
      if byte == UInt8(ascii: "\\"), rest.count >= 3 {
        path.append(rest.prefix(3).reduce(0) { $0 &* 8 &+ ($1 &- 0x30) })
        rest = rest.dropFirst(3)
      } else {
        path.append(byte)
      }
    }
    return path == [UInt8(ascii: "/")] ? [] : path
  }

  /// A mount point below a folder; nil if there is none. `mount` is the id of the mount that the folder was opened
  /// through; if the table does not contain the id, the path determines the mount.
  func point(below folder: [UInt8], _ mount: UInt64) -> [UInt8]? {
    let own = mounts.last { $0.id == mount } ?? mounts.last { fileSystemPath(folder, $0) != nil }
    guard let own, let whole = fileSystemPath(folder, own) else { return nil }
    return mounts.first { other in
      guard let parent = mounts.first(where: { $0.id == other.parent }),
        let otherPath = fileSystemPath(other.point, parent)
      else { return false }
      return otherPath.device == whole.device
        && otherPath.path.starts(with: whole.path + [UInt8(ascii: "/")])
    }?.point
  }

  /// The position of a path in the file system of a mount; nil if the mount does not contain the path.
  private func fileSystemPath(_ path: [UInt8], _ mount: Mount) -> FileSystemPath? {
    let rest = path.dropFirst(mount.point.count)
    guard path.starts(with: mount.point), rest.isEmpty || rest.first == UInt8(ascii: "/") else {
      return nil
    }
    return FileSystemPath(device: mount.device, path: mount.root + rest)
  }
}

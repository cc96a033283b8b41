import CTabellaSystem
import Glibc

/// The program that this process runs. Whoever can change it has no need of a library: what it is made of is
/// not held to more than it is itself.
///
/// Without this a program in a folder that is shared on purpose (a mounted one of a container, one of a
/// group that builds together) would run, but would refuse the libraries that lie beside it.
struct RunningProgram: Sendable {
  struct Identity: Hashable {
    let device: UInt64
    let inode: UInt64

    init(_ status: stat) {
      (device, inode) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
  }

  let owner: UInt32
  private let group: UInt32
  private let mode: UInt32

  /// This process' own; nil if /proc does not tell.
  static let current: RunningProgram? = {
    var status = stat()
    guard stat("/proc/self/exe", &status) == 0 else { return nil }
    return RunningProgram(status)
  }()

  init(_ status: stat) {
    owner = status.st_uid
    group = status.st_gid
    mode = status.st_mode
  }

  /// The bits of a mode by which those may write who may write to the program.
  func writers(group: UInt32) -> UInt32 {
    mode & 0o002 | (group == self.group ? mode & 0o020 : 0)
  }

  /// Whether a folder is one on the way to the program, or to the Swift runtime that it uses.
  ///
  /// Not a sticky one, in which nobody can exchange what is not theirs.
  func isMade(of status: stat) -> Bool {
    status.st_mode & S_ISVTX == 0 && RunningProgram.folders.contains(Identity(status))
  }

  private static let folders: Set<Identity> = {
    let runtime = dlsym(nil, "swift_retain").flatMap { tabella_system_library_of($0) }
    var folders: Set<Identity> = []
    for path in ["/proc/self/exe", runtime.map { String(cString: $0) }] {
      guard let path, let real = realpath(path, nil) else { continue }
      defer { free(real) }
      var folder = String(cString: real)[...]
      while let slash = folder.lastIndex(of: "/") {
        folder = folder[..<slash]
        var status = stat()
        if stat(folder.isEmpty ? "/" : String(folder), &status) == 0 {
          folders.insert(Identity(status))
        }
      }
    }
    return folders
  }()
}

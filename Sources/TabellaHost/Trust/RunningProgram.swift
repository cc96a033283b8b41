import CTabellaSystem
import Glibc
import TabellaSystem

/// The program that this process runs, with its owner and mode.
///
/// Somebody who can change the program needs no library to attack it. So libraries need the same protection as the
/// program, and no more. Without this exception, a program in a deliberately shared folder would run but refuse its own
/// libraries. Examples are a folder mounted into a container and the folder of a group that builds together.
///
/// The same holds for a library that contains the host.
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
  /// The file of a library that contains the host; nil for the program.
  private var library: String?

  /// The program of this process; nil if `/proc` is not available.
  static let current: RunningProgram? = {
    stat(at: "/proc/self/exe").map { RunningProgram($0) }
  }()

  /// The library that contains the host; nil if it is the program that contains it.
  init?(_ installation: Installation) {
    guard installation != .program, let path = installation.path, let status = stat(at: path) else {
      return nil
    }
    self.init(status)
    library = path
  }

  init(_ status: stat) {
    owner = status.st_uid
    group = status.st_gid
    mode = status.st_mode
  }

  /// The write bits of a mode that the program's own mode has, too.
  func writers(group: UInt32) -> UInt32 {
    mode & 0o002 | (group == self.group ? mode & 0o020 : 0)
  }

  /// Whether a folder is on the path to the program or to the Swift runtime that it uses.
  ///
  /// Sticky folders do not count, because nobody can exchange files of others there.
  func isOnPath(of status: stat) -> Bool {
    guard status.st_mode & S_ISVTX == 0 else { return false }
    let folders = library.map { RunningProgram.folders(of: [$0]) } ?? RunningProgram.folders
    return folders.contains(Identity(status))
  }

  private static let folders: Set<Identity> = {
    let runtime = dlsym(nil, "swift_retain").flatMap { tabella_system_library_of($0) }
    return folders(of: ["/proc/self/exe", runtime.map { String(cString: $0) }])
  }()

  /// The folders on the real paths of files.
  private static func folders(of paths: [String?]) -> Set<Identity> {
    var folders: Set<Identity> = []
    for path in paths {
      guard let path, let real = realpath(path, nil) else { continue }
      defer { free(real) }
      var folder = String(cString: real)[...]
      while let slash = folder.lastIndex(of: "/") {
        folder = folder[..<slash]
        if let status = stat(at: folder.isEmpty ? "/" : String(folder)) {
          folders.insert(Identity(status))
        }
      }
    }
    return folders
  }
}

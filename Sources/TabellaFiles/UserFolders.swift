import CTabellaSystem
import Tabella
import TabellaSystem

/// The user's folders, from the environment (XDG Base Directory Specification).
public struct UserFolders: Sendable {
  /// The kinds of folders. The raw value is the environment variable; `inHome` is the default path in the home
  /// folder.
  public enum Kind: String, CaseIterable, Sendable {
    case data = "XDG_DATA_HOME"
    case configuration = "XDG_CONFIG_HOME"
    case state = "XDG_STATE_HOME"
    case cache = "XDG_CACHE_HOME"

    var inHome: String {
      switch self {
      case .data: "/.local/share"
      case .configuration: "/.config"
      case .state: "/.local/state"
      case .cache: "/.cache"
      }
    }
  }

  private let variable: @Sendable (String) -> [UInt8]?

  /// Creates folders from a function that returns the value of a variable.
  public init(variable: @escaping @Sendable (String) -> [UInt8]?) { self.variable = variable }

  /// The folders of this process.
  ///
  /// There are none if the process has more rights than its user. Otherwise the author of the environment could
  /// choose the files that the process reads and writes with these rights.
  public static let standard = UserFolders { trustedVariable($0) }

  /// The home folder; nil unless the environment has it as an absolute path.
  public var home: [UInt8]? { absolute("HOME") }

  /// The path of a folder of the user. The folder need not exist.
  public func folder(_ kind: Kind) -> [UInt8]? {
    absolute(kind.rawValue) ?? home.map { $0 + Array(kind.inHome.utf8) }
  }

  private func absolute(_ name: String) -> [UInt8]? {
    variable(name).flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
  }
}

/// The value of an environment variable that names files or programs; nil if it is not set.
///
/// It is also nil if this process has more rights than its user (AT_SECURE). Otherwise the user could misuse these
/// rights.
public func trustedVariable(_ name: String) -> [UInt8]? {
  guard !tabella_system_is_privileged(), let value = getenv(name) else { return nil }
  return Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
}

/// The folder for data that must outlive the process: `$XDG_STATE_HOME/tabella`, or `$HOME/.local/state/tabella`.
/// Nil if neither variable is an absolute path.
public func stateFolder() -> [UInt8]? {
  UserFolders.standard.folder(.state).map { $0 + Array("/tabella".utf8) }
}

/// Creates the missing folders of a path, accessible only to their owner, and makes their names durable.
public func makeFolders(_ path: [UInt8]) throws(TableError) {
  for end in path.indices.dropFirst() + [path.count]
  where end == path.count || path[end] == UInt8(ascii: "/") {
    let folder = Array(path[..<end])
    if folder.withCString({ mkdir($0, 0o700) }) == 0 {
      // The process may mask rights of the owner.
      _ = folder.withCString { chmod($0, 0o700) }
      try synchronizeParent(of: folder)
      continue
    }
    let number = errno
    if number == EEXIST { continue }
    // For an existing folder, some systems report another error than EEXIST if the parent is not writable.
    guard folder.withCString({ access($0, F_OK) }) != 0 else { continue }
    throw .system(number, "\(folder.shown) cannot be created")
  }
}

/// Makes a name durable in its folder.
private func synchronizeParent(of path: [UInt8]) throws(TableError) {
  let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
  let parent = Array(path[..<max(1, end)])
  let folder = try Descriptor(
    opening: parent, O_RDONLY | O_DIRECTORY, errorPrefix: "\(parent.shown) cannot be opened")
  guard fsync(folder.raw) == 0 else {
    throw .system(errno, "\(path.shown) was created, but may be lost in a power failure")
  }
}

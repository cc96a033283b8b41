import CTabellaSystem
import Tabella

/// Where things of the user's belong, as the environment says (XDG Base Directory Specification).
public struct UserFolders: Sendable {
  /// The kinds of folders: their variables, and where they are in the home folder without one.
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

  /// The folders by variables that are given.
  public init(variable: @escaping @Sendable (String) -> [UInt8]?) { self.variable = variable }

  /// Those of this process. None if it has rights that its user has not: who sets the environment would say
  /// where it reads and writes with these rights.
  public static let standard = UserFolders { trustedVariable($0) }

  /// The home folder; nil if the environment does not say it as an absolute path.
  public var home: [UInt8]? { absolute("HOME") }

  /// A folder of the user's, which need not be there.
  public func folder(_ kind: Kind) -> [UInt8]? {
    absolute(kind.rawValue) ?? home.map { $0 + Array(kind.inHome.utf8) }
  }

  private func absolute(_ name: String) -> [UInt8]? {
    variable(name).flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
  }
}

/// A variable of the environment that says where files are or what is run; nil if it is not set, and if this
/// process has rights that its user has not (AT_SECURE): then whoever started it could use them.
public func trustedVariable(_ name: String) -> [UInt8]? {
  guard !tabella_system_is_privileged(), let value = getenv(name) else { return nil }
  return Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
}

/// Where Tabella keeps what must outlive it: `$XDG_STATE_HOME/tabella`, else
/// `$HOME/.local/state/tabella`; nil if neither is absolute.
public func stateFolder() -> [UInt8]? {
  UserFolders.standard.folder(.state).map { $0 + Array("/tabella".utf8) }
}

/// Makes the folders of a path that are not there yet, for their owner only, and their names durable.
public func makeFolders(_ path: [UInt8]) throws(TableError) {
  for end in path.indices.dropFirst() + [path.count]
  where end == path.count || path[end] == UInt8(ascii: "/") {
    let folder = Array(path[..<end])
    if folder.withCString({ mkdir($0, 0o700) }) == 0 {
      try synchronizeParent(of: folder)
      continue
    }
    let number = errno
    if number == EEXIST { continue }
    // One that is there may be told otherwise where nothing can be made.
    guard folder.withCString({ access($0, F_OK) }) != 0 else { continue }
    throw .system(number, "\(folder.shown) cannot be made")
  }
}

/// Makes a name durable in its folder.
private func synchronizeParent(of path: [UInt8]) throws(TableError) {
  let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
  let parent = Array(path[..<max(1, end)])
  let descriptor = parent.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
  guard descriptor >= 0 else {
    throw .system(errno, "\(parent.shown) cannot be opened")
  }
  defer { close(descriptor) }
  guard fsync(descriptor) == 0 else {
    throw .system(errno, "\(path.shown) was made, but cannot be made durable")
  }
}

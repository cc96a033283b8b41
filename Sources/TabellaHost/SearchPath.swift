import Glibc
import Tabella

/// The directories in which providers are looked for, in order.
public struct SearchPath: Hashable, Sendable {
  /// Absolute directories.
  public var directories: [String]
  /// Directories that were named and are not used, with the reason.
  public var refused: [(path: String, reason: String)] {
    relative.map { ($0, "not an absolute path") }
  }
  private var relative: [String] = []
  /// Where the shipped libraries belong; looked at first for them.
  var ownDirectories: [String] = []

  public init(_ directories: [String]) {
    var seen: Set<String> = []
    self.directories = directories.filter { $0.hasPrefix("/") && seen.insert($0).inserted }
    relative = directories.filter { !$0.hasPrefix("/") && !$0.isEmpty }
  }

  /// `TABELLA_PROVIDER_PATH`, the executable's directory, `../lib/tabella/providers` from it, and
  /// `tabella/providers` in the user's data directory.
  public static var standard: SearchPath {
    var directories: [String] = []
    if let named = environment("TABELLA_PROVIDER_PATH") {
      directories += named.split(separator: ":").map(String.init)
    }
    let own = executableDirectory.map { [$0, $0 + "/../lib/tabella/providers"] } ?? []
    directories += own
    if let data = environment("XDG_DATA_HOME"), data.hasPrefix("/") {
      directories.append(data + "/tabella/providers")
    } else if let home = environment("HOME"), home.hasPrefix("/") {
      directories.append(home + "/.local/share/tabella/providers")
    }
    var path = SearchPath(directories)
    path.ownDirectories = own
    return path
  }

  private static func environment(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
  }

  static var executableDirectory: String? {
    guard let path = realpath("/proc/self/exe", nil) else { return nil }
    defer { free(path) }
    let text = String(cString: path)
    return text.lastIndex(of: "/").map { String(text[..<$0]) }
  }
}

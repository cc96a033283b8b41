import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// The directories in which the host looks for providers, in order.
public struct SearchPath: Hashable, Sendable {
  private struct Refused: Hashable {
    let path: String
    let reason: String
  }

  /// Absolute directories.
  public var directories: [String] = []
  /// Those that the variable `TABELLA_PROVIDER_PATH` names.
  private(set) var directoriesOfVariable: [String] = []
  /// Directories that were named but are not used, with the reason.
  public var refused: [(path: String, reason: String)] { refusals.map { ($0.path, $0.reason) } }
  private var refusals: [Refused] = []
  /// The directories of the shipped libraries. The host looks for these libraries here first.
  var ownDirectories: [String] = []
  /// The program or library that contains the host.
  let installation: Installation

  /// A search path of the given directories. Paths that are not absolute are refused. The host finds `tabella-worker`
  /// relative to `installation`.
  public init(_ directories: [String], for installation: Installation = .program) {
    self.installation = installation
    for directory in directories { add(directory, named: "the search path") }
  }

  /// The standard search path: `TABELLA_PROVIDER_PATH`, the directory of the executable, `../lib/tabella/providers`
  /// from there, and `tabella/providers` in the user's data directory.
  ///
  /// A process with more rights than its user (`AT_SECURE`) ignores the environment.
  public static var standard: SearchPath { standard(for: .program) }

  /// The standard search path of a program or library. That of a library has `tabella/providers` in its own directory
  /// instead of `../lib/tabella/providers`.
  public static func standard(for installation: Installation) -> SearchPath {
    SearchPath(isPrivileged: tabella_system_is_privileged(), for: installation) { name in
      getenv(name).map { String(cString: $0) }
    }
  }

  init(
    isPrivileged: Bool, for installation: Installation = .program, variable: (String) -> String?
  ) {
    self.installation = installation
    let named = variable("TABELLA_PROVIDER_PATH").flatMap { $0.isEmpty ? nil : $0 }
    if let named, isPrivileged {
      refuse(
        named, "TABELLA_PROVIDER_PATH is ignored: this process has more rights than its user")
    } else if let named {
      for directory in named.split(separator: ":", omittingEmptySubsequences: false) {
        add(String(directory), named: "TABELLA_PROVIDER_PATH")
      }
      directoriesOfVariable = directories
    }
    ownDirectories = installation.providerFolders
    for directory in ownDirectories { add(directory, named: "the executable's path") }
    guard !isPrivileged else { return }
    if let data = variable("XDG_DATA_HOME"), !data.isEmpty, !data.hasPrefix("/") {
      refuse(data, "XDG_DATA_HOME is ignored: it is not an absolute path")
    }
    // Copies, because the closure escapes and must not capture `variable`.
    let (data, home) = (variable("XDG_DATA_HOME"), variable("HOME"))
    let folders = UserFolders { name in
      switch name {
      case "XDG_DATA_HOME": data.map { Array($0.utf8) }
      case "HOME": home.map { Array($0.utf8) }
      default: nil
      }
    }
    if let data = folders.folder(.data) {
      add(String(decoding: data, as: UTF8.self) + "/tabella/providers", named: "XDG_DATA_HOME")
    }
  }

  private mutating func add(_ directory: String, named source: String) {
    if directory.isEmpty {
      refuse(source, "has an empty entry, which would mean the current directory")
    } else if !directory.hasPrefix("/") {
      refuse(directory, "not an absolute path (in \(source))")
    } else if !directories.contains(directory) {
      directories.append(directory)
    }
  }

  private mutating func refuse(_ path: String, _ reason: String) {
    refusals.append(Refused(path: path, reason: reason))
  }
}

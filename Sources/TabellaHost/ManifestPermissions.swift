import Tabella
import TabellaFiles

extension Manifest {
  /// The permissions that a manifest requests for a provider in a worker, beyond its location.
  ///
  /// A request grants nothing by itself; docs/trust.md says who grants it. The manifest's member is `confinement`.
  public struct Permissions: Hashable, Sendable {
    /// Paths of files and folders, as they are written: absolute, or beginning with `~/` or with
    /// `$XDG_DATA_HOME/` and the like. Sorted.
    public private(set) var read: [String] = []
    public private(set) var write: [String] = []
    /// Making and renaming symbolic links in the folders that it may change.
    public private(set) var links = false
    /// Sending signals to other processes.
    public private(set) var signals = false
    /// Connecting and listening.
    public private(set) var network = false
    /// Looking at all processes, not only at its own.
    public private(set) var processes = false

    /// No permissions.
    public static let none = Permissions()

    public init(
      read: [String] = [], write: [String] = [], links: Bool = false, signals: Bool = false,
      network: Bool = false, processes: Bool = false
    ) {
      self.read = Array(Set(read)).sorted()
      self.write = Array(Set(write)).sorted()
      self.links = links
      self.signals = signals
      self.network = network
      self.processes = processes
    }

    /// Each permission in a few words, for people; empty if there are none.
    public var descriptions: [String] {
      read.map { "read \($0)" } + write.map { "write \($0)" } + (links ? ["links"] : [])
        + (signals ? ["signals"] : []) + (network ? ["network"] : [])
        + (processes ? ["all processes"] : [])
    }
  }
}

extension Manifest.Permissions {
  /// The absolute path that a requested path means; nil if the user has no such folder.
  public static func path(_ requested: String, in folders: UserFolders = .standard) -> [UInt8]? {
    guard !requested.hasPrefix("/") else { return Array(requested.utf8) }
    guard let slash = requested.firstIndex(of: "/") else { return nil }
    let rest = Array(requested[slash...].utf8)
    if requested[..<slash] == "~" { return folders.home.map { $0 + rest } }
    return UserFolders.Kind(rawValue: String(requested[..<slash].dropFirst()))
      .flatMap { folders.folder($0) }.map { $0 + rest }
  }

  /// Throws ``TableError`` with `.noProvider` that says what is wrong.
  init(_ json: JSONValue) throws(TableError) {
    guard case .object = json else {
      throw TableError(.noProvider, "the manifest's \"confinement\" is no object")
    }
    self.init(
      read: try Self.paths(json, "read"), write: try Self.paths(json, "write"),
      links: try Self.flag(json, "links"), signals: try Self.flag(json, "signals"),
      network: try Self.flag(json, "network"), processes: try Self.flag(json, "processes"))
  }

  /// As a manifest has it, with every member.
  public var json: JSONValue {
    .object([
      "read": .array(read.map { .string($0) }), "write": .array(write.map { .string($0) }),
      "links": .boolean(links), "signals": .boolean(signals), "network": .boolean(network),
      "processes": .boolean(processes),
    ])
  }

  private static func flag(_ json: JSONValue, _ key: String) throws(TableError) -> Bool {
    switch json[key] {
    case nil: return false
    case .boolean(let value): return value
    default: throw TableError(.noProvider, "the confinement's \"\(key)\" is not true or false")
    }
  }

  private static func paths(_ json: JSONValue, _ key: String) throws(TableError) -> [String] {
    guard let value = json[key] else { return [] }
    guard let paths = value.array else {
      throw TableError(.noProvider, "the confinement's \"\(key)\" is no array")
    }
    return try paths.map { path throws(TableError) in
      guard let path = path.string, isPath(path) else {
        throw TableError(
          .noProvider,
          "the confinement's \"\(key)\" holds something that is no path from /, ~/ or $XDG_DATA_HOME/ on"
        )
      }
      return path
    }
  }

  /// Whether it is a path that means the same wherever one is, and that reads as what it means.
  private static func isPath(_ text: String) -> Bool {
    let steps = text.split(separator: "/", omittingEmptySubsequences: false)
    guard let start = steps.first, steps.count > 1,
      steps.dropFirst().dropLast().allSatisfy({ !$0.isEmpty }), !steps.contains(".."),
      !steps.contains("."), !text.utf8.contains(0)
    else { return false }
    return start.isEmpty || start == "~"
      || start.first == "$" && UserFolders.Kind(rawValue: String(start.dropFirst())) != nil
  }
}

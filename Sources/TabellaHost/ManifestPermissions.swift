import Tabella
import TabellaFiles

extension Manifest {
  /// The permissions that a manifest requests for a provider in a worker, in addition to its location.
  ///
  /// A request grants nothing by itself; docs/trust.md describes who grants it. The member of the manifest is
  /// `confinement`.
  public struct Permissions: Hashable, Sendable {
    /// Files and folders to read, sorted. The paths are as the manifest contains them: absolute, or with `~/` or a
    /// variable such as `$XDG_DATA_HOME/` in front.
    public private(set) var read: [String] = []
    /// Files and folders to change, in the same form. A path that ends in `/` is a folder that the host makes.
    public private(set) var write: [String] = []
    /// Whether the provider may create and rename symbolic links in the folders that it may change.
    public private(set) var links = false
    /// Whether the provider may send signals to other processes.
    public private(set) var signals = false
    /// Whether the provider may use the network, to connect and to listen.
    public private(set) var network = false
    /// Whether the provider may see all processes and not only its own.
    public private(set) var processes = false

    /// No permissions.
    public static let none = Permissions()

    /// Creates a request. Duplicate paths are removed.
    public init(
      read: [String] = [], write: [String] = [], links: Bool = false, signals: Bool = false,
      network: Bool = false, processes: Bool = false
    ) {
      self.read = Self.sorted(read)
      self.write = Self.sorted(write)
      self.links = links
      self.signals = signals
      self.network = network
      self.processes = processes
    }

    private static func sorted(_ paths: [String]) -> [String] {
      let sorted = paths.sorted()
      return sorted.indices.filter { $0 == 0 || sorted[$0] != sorted[$0 - 1] }.map { sorted[$0] }
    }

    /// Each permission in a few words for people; empty if there are none.
    public var descriptions: [String] {
      read.map { "read \($0)" } + write.map { "write \($0)" } + (links ? ["links"] : [])
        + (signals ? ["signals"] : []) + (network ? ["network"] : [])
        + (processes ? ["all processes"] : [])
    }
  }
}

extension Manifest.Permissions {
  /// The absolute path for a requested path; nil if the user has no such folder.
  package static func path(_ requested: String, in folders: UserFolders = .standard) -> [UInt8]? {
    guard !requested.hasPrefix("/") else { return Array(requested.utf8) }
    guard let slash = requested.firstIndex(of: "/") else { return nil }
    let rest = Array(requested[slash...].utf8)
    if requested[..<slash] == "~" { return folders.home.map { $0 + rest } }
    return UserFolders.Kind(rawValue: String(requested[..<slash].dropFirst()))
      .flatMap { folders.folder($0) }.map { $0 + rest }
  }

  /// Parses the member `confinement`. Throws `TableError` with `.noProvider` and the fault.
  init(_ json: JSONValue) throws(TableError) {
    guard case .object = json else {
      throw TableError(.noProvider, "the manifest's \"confinement\" is not an object")
    }
    self.init(
      read: try Self.paths(json, "read"), write: try Self.paths(json, "write"),
      links: try Self.flag(json, "links"), signals: try Self.flag(json, "signals"),
      network: try Self.flag(json, "network"), processes: try Self.flag(json, "processes"))
  }

  /// The JSON of a manifest, with all members.
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
      throw TableError(.noProvider, "the confinement's \"\(key)\" is not an array")
    }
    return try paths.map { path throws(TableError) in
      guard let path = path.string, isPath(path) else {
        throw TableError(
          .noProvider,
          "the confinement's \"\(key)\" contains a path that does not begin with /, ~/ or $XDG_DATA_HOME/"
        )
      }
      return path
    }
  }

  /// Whether a path is independent of the current directory and has no `.`, `..` or empty components.
  ///
  /// It works on bytes: every start checks the shipped manifests, and substrings cost more types at first use.
  private static func isPath(_ text: String) -> Bool {
    let path = Array(text.utf8)
    let steps = path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    guard let start = steps.first, steps.count > 1, !path.contains(0),
      steps.dropFirst().dropLast().allSatisfy({ !$0.isEmpty }),
      !steps.contains(where: { [".", ".."].contains(String(decoding: $0, as: UTF8.self)) })
    else { return false }
    let first = String(decoding: start, as: UTF8.self)
    return first.isEmpty || first == "~"
      || first.utf8.first == UInt8(ascii: "$")
        && UserFolders.Kind(rawValue: String(first.dropFirst())) != nil
  }
}

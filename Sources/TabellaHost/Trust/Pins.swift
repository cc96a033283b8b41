import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// The pins of the user. A pin holds an added library to a SHA-256, and grants the permissions that its manifest
/// requested.
///
/// The file is read at each request. A file that is untrusted or damaged is an error. It does not count as an empty
/// one.
public struct Pins: Hashable, Sendable {
  /// A pinned library.
  public struct Pin: Hashable, Sendable {
    /// The id of the provider.
    public let id: String
    /// The absolute path of the library at the time of pinning.
    public let library: String
    /// The SHA-256 of the library: 64 hexadecimal digits.
    public let sha256: String
    /// The permissions that the manifest requested at the time of pinning.
    public let permissions: Manifest.Permissions

    /// Creates a pin.
    public init(
      id: String, library: String, sha256: String, permissions: Manifest.Permissions
    ) {
      self.id = id
      self.library = library
      self.sha256 = sha256
      self.permissions = permissions
    }
  }

  /// The path of the file; nil if the user has no folder for it.
  let file: String?

  /// No pins. No library needs a certain hash, and only shipped providers get permissions.
  public static let none = Pins(file: nil)

  /// The user's pins: `$XDG_CONFIG_HOME/tabella/pins.json`, or `~/.config/tabella/pins.json`.
  ///
  /// A process with more rights than its user has none.
  public static var standard: Pins {
    Pins(
      file: UserFolders.standard.folder(.configuration).map {
        String(decoding: $0, as: UTF8.self) + "/tabella/pins.json"
      })
  }

  /// The pins in a file, which may be missing.
  public init(at path: String) { file = path }

  private init(file: String?) { self.file = file }

  private static let version = 1
  private static let mostBytes = 1 << 20

  // Reading

  /// Reads the pins, sorted by id.
  ///
  /// Throws `TableError` with `.denied` if the file is damaged or if others may have written it.
  public func read() throws(TableError) -> [Pin] { try read(by: TrustCheck()) }

  func read(by trust: TrustCheck) throws(TableError) -> [Pin] {
    guard let file else { return [] }
    let opened: TrustCheck.File
    do throws(TableError) {
      opened = try trust.open(file, for: .settings)
    } catch {
      // A dangling link may point to a disk that is not mounted now.
      if error.code == .notFound, !leadsNowhere(file) { return [] }
      throw TableError(
        .denied, "the pins cannot be used, so no added provider can be used: \(error.message)")
    }
    do throws(TableError) {
      return try Pins.parse(try opened.bytes(limit: Pins.mostBytes))
    } catch {
      throw TableError(
        .denied,
        "the pins are damaged, so no added provider is used: \(file): \(error.message); repair or remove the file, then pin again"
      )
    }
  }

  /// Whether a path is a dangling link.
  private func leadsNowhere(_ path: String) -> Bool {
    stat(at: path, followsLink: false)?.kind == S_IFLNK
  }

  private static func parse(_ text: [UInt8]) throws(TableError) -> [Pin] {
    let json = try JSONValue(parsing: text)
    guard json["version"]?.integer == version, let list = json["pins"]?.array else {
      throw TableError(.invalidArgument, "it must have \"version\" \(version) and \"pins\"")
    }
    let pins = try list.map { json throws(TableError) in try Pin(json) }
    for (pin, next) in zip(pins, pins.dropFirst()) where pin.id >= next.id {
      throw TableError(.invalidArgument, "the ids are not sorted, or \(pin.id) occurs twice")
    }
    return pins
  }

  // Writing

  /// Adds and removes pins. An added pin replaces the one with the same id. The change is durable when the call
  /// returns.
  ///
  /// Throws `TableError`: the errors of ``read()``, `.conflict` if another process writes the pins at the moment, and
  /// the errors of creating a file.
  public func change(adding added: [Pin], removing removed: Set<String> = []) throws(TableError) {
    guard let file, let slash = file.lastIndex(of: "/") else {
      throw TableError(
        .io,
        "there is no folder for pins, because neither XDG_CONFIG_HOME nor HOME is an absolute path; set one of them"
      )
    }
    let folder = Array(file[..<slash].utf8)
    try makeFolders(folder)
    let opened = try Descriptor(
      opening: folder, O_RDONLY | O_DIRECTORY, errorPrefix: "\(file[..<slash]) cannot be opened")
    guard tabella_system_lock(opened.raw) == 0 else {
      throw TableError(.conflict, "another process is writing \(file); try again")
    }
    // Unlocks explicitly, because a child process may hold a copy of the descriptor.
    defer { _ = tabella_system_unlock(opened.raw) }
    var pins = Dictionary(uniqueKeysWithValues: try read().map { ($0.id, $0) })
    for id in removed { pins[id] = nil }
    for pin in added { pins[pin.id] = pin }
    let new = try DurableFile(in: folder, room: 0)
    try new.write(
      Pins.text(pins.values.sorted { $0.id < $1.id }),
      replacing: String(file[file.index(after: slash)...]))
  }

  /// The content of the file, one line per pin, so that people can compare versions.
  private static func text(_ pins: [Pin]) -> [UInt8] {
    let lines = pins.map { "    \($0.json.text)" }.joined(separator: ",\n")
    return Array("{\n  \"version\": \(version),\n  \"pins\": [\n\(lines)\n  ]\n}\n".utf8)
  }
}

extension Pins.Pin {
  fileprivate init(_ json: JSONValue) throws(TableError) {
    guard let id = json["id"]?.string, Manifest.isName(id),
      let library = json["library"]?.string, library.hasPrefix("/"),
      let sha256 = json["sha256"]?.string, sha256.utf8.count == 64,
      sha256.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }),
      let confinement = json["confinement"]
    else {
      throw TableError(
        .invalidArgument, "a pin has no valid \"id\", \"library\", \"sha256\" or \"confinement\"")
    }
    self.init(
      id: id, library: library, sha256: sha256, permissions: try Manifest.Permissions(confinement))
  }

  /// The JSON of a pin in the file.
  public var json: JSONValue {
    .object([
      "id": .string(id), "library": .string(library), "sha256": .string(sha256),
      "confinement": permissions.json,
    ])
  }
}

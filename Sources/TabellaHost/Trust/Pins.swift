import CTabellaSystem
import Tabella
import TabellaFiles

/// The libraries that the user pinned: each with its SHA-256 and with the permissions that its manifest requested
/// and the user granted by pinning it.
///
/// A file, read whenever it is asked. If it is there and cannot be trusted or understood, that is an error and
/// not the same as having none.
public struct Pins: Hashable, Sendable {
  /// A library that is pinned.
  public struct Pin: Hashable, Sendable {
    /// The provider's id.
    public let id: String
    /// The library's absolute path when it was pinned.
    public let library: String
    /// 64 hexadecimal digits.
    public let sha256: String
    /// The permissions that the manifest requested when the user pinned it.
    public let permissions: Manifest.Permissions

    public init(
      id: String, library: String, sha256: String, permissions: Manifest.Permissions
    ) {
      self.id = id
      self.library = library
      self.sha256 = sha256
      self.permissions = permissions
    }
  }

  /// Nil if there is no place for them.
  let file: String?

  /// No pins at all: nothing is held to a hash, and only shipped providers get permissions.
  public static let none = Pins(file: nil)

  /// The user's: `$XDG_CONFIG_HOME/tabella/pins.json`, else `~/.config/tabella/pins.json`. None for a process
  /// with rights that its user has not.
  public static var standard: Pins {
    Pins(
      file: UserFolders.standard.folder(.configuration).map {
        String(decoding: $0, as: UTF8.self) + "/tabella/pins.json"
      })
  }

  /// Those of a file, which need not be there.
  public init(at path: String) { file = path }

  private init(file: String?) { self.file = file }

  private static let version = 1
  private static let mostBytes = 1 << 20

  // Reading

  /// The pins there are, by their ids.
  ///
  /// Throws ``TableError`` with `.denied` if the file is damaged, or others may have written it.
  public func read() throws(TableError) -> [Pin] { try read(by: TrustCheck()) }

  func read(by trust: TrustCheck) throws(TableError) -> [Pin] {
    guard let file else { return [] }
    let opened: TrustCheck.File
    do throws(TableError) {
      opened = try trust.open(file, for: .settings)
    } catch {
      // A link to nothing may be one to a disk that is not there now.
      if error.code == .notFound, !leadsNowhere(file) { return [] }
      throw TableError(
        .denied, "the pins cannot be used, so no added provider is: \(error.message)")
    }
    defer { close(opened.descriptor) }
    do throws(TableError) {
      return try Pins.parse(try opened.bytes(limit: Pins.mostBytes))
    } catch {
      throw TableError(
        .denied,
        "the pins are damaged, so no added provider is used: \(file): \(error.message); repair or remove the file, and pin again"
      )
    }
  }

  /// Whether a path ends at a link that leads to nothing.
  private func leadsNowhere(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
  }

  private static func parse(_ text: [UInt8]) throws(TableError) -> [Pin] {
    let json = try JSONValue(parsing: text)
    guard json["version"]?.integer == version, let list = json["pins"]?.array else {
      throw TableError(.invalidArgument, "it has no \"version\" \(version) and \"pins\"")
    }
    let pins = try list.map { json throws(TableError) in try Pin(json) }
    for (pin, next) in zip(pins, pins.dropFirst()) where pin.id >= next.id {
      throw TableError(.invalidArgument, "the ids are not in order, or \(pin.id) is there twice")
    }
    return pins
  }

  // Writing

  /// Adds pins, each in place of one with its id, and takes those of other ids away; durable when it
  /// returns.
  ///
  /// Throws ``TableError``: what ``read()`` throws, `.conflict` if another process writes them at this moment,
  /// and what making a file throws.
  public func change(adding added: [Pin], removing removed: Set<String> = []) throws(TableError) {
    guard let file, let slash = file.lastIndex(of: "/") else {
      throw TableError(
        .io, "there is no place for pins: neither XDG_CONFIG_HOME nor HOME is an absolute path")
    }
    let folder = Array(file[..<slash].utf8)
    try makeFolders(folder)
    let descriptor = folder.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
    guard descriptor >= 0 else { throw .system(errno, "\(file[..<slash]) cannot be opened") }
    defer { close(descriptor) }
    guard tabella_system_lock(descriptor) == 0 else {
      throw TableError(.conflict, "another process is writing \(file); try again")
    }
    // Closing is not enough while a child that was just made has the descriptor, too.
    defer { _ = tabella_system_unlock(descriptor) }
    var pins = Dictionary(uniqueKeysWithValues: try read().map { ($0.id, $0) })
    for id in removed { pins[id] = nil }
    for pin in added { pins[pin.id] = pin }
    let new = try DurableFile(in: folder, room: 0)
    try new.write(
      Pins.text(pins.values.sorted { $0.id < $1.id }),
      replacing: String(file[file.index(after: slash)...]))
  }

  /// A line for each, for people who compare.
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
        .invalidArgument, "a pin has no good \"id\", \"library\", \"sha256\" or \"confinement\"")
    }
    self.init(
      id: id, library: library, sha256: sha256, permissions: try Manifest.Permissions(confinement))
  }

  /// As the file has it.
  public var json: JSONValue {
    .object([
      "id": .string(id), "library": .string(library), "sha256": .string(sha256),
      "confinement": permissions.json,
    ])
  }
}

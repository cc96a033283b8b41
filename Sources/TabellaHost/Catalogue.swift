import Glibc
import ShippedManifests
import Tabella
import TabellaBridge
import TabellaFiles

/// Every provider found on a search path, and every candidate refused; made without running any
/// provider's code.
public struct Catalogue: Sendable {
  /// A provider that can be loaded.
  public struct Entry: Hashable, Sendable {
    public let manifest: Manifest
    /// The library's absolute path.
    public let library: String
    /// Whether the provider ships with Tabella.
    public let isShipped: Bool
  }

  /// A candidate that is not used.
  public struct Refusal: Hashable, Sendable {
    /// The manifest, library or directory.
    public let path: String
    public let reason: String
    /// `.denied` if it is not trusted, else `.noProvider`.
    public var code = TableError.Code.noProvider
    /// Its manifest, if that could be read. Nothing of it is trusted; it tells what the provider would have
    /// opened.
    var manifest: Manifest?
  }

  /// The shipped providers, then the others in the order of the search path and of their names.
  public private(set) var entries: [Entry] = []
  public private(set) var refusals: [Refusal] = []

  private let trust: TrustCheck

  public init(_ searchPath: SearchPath) { self.init(searchPath, trust: TrustCheck()) }

  init(_ searchPath: SearchPath, trust: TrustCheck) {
    self.trust = trust
    refusals = searchPath.refused.map { Refusal(path: $0.path, reason: $0.reason) }
    for text in shippedManifests { addShipped(text, searchPath) }
    for directory in searchPath.directories {
      for name in manifestNames(in: directory) { add("\(directory)/\(name)", in: directory) }
    }
  }

  /// The provider with this id; throws `.noProvider` that lists the ids there are, or why it is refused, with
  /// `.denied` if that is because it is not trusted.
  public func entry(id: String) throws(TableError) -> Entry {
    if let entry = entries.first(where: { $0.manifest.id == id }) { return entry }
    if let refusal = refusals.first(where: {
      $0.manifest?.id == id || $0.path == id || $0.path.hasSuffix("/\(id)")
    }) {
      throw TableError(refusal.code, "\(refusal.path): \(refusal.reason)")
    }
    let known = entries.map(\.manifest.id).joined(separator: ", ")
    throw TableError(
      .noProvider, "there is no provider \(id); there are \(known.isEmpty ? "none" : known)")
  }

  /// Throws why the provider with this id or scheme is refused, if one is.
  public func checkNotRefused(_ name: String) throws(TableError) {
    guard
      let refusal = refusals.first(where: {
        $0.manifest?.id == name || $0.manifest?.schemes.contains(name) == true
      })
    else { return }
    throw TableError(
      refusal.code, "the provider of \(name): is refused: \(refusal.path): \(refusal.reason)")
  }

  private mutating func addShipped(_ text: [UInt8], _ searchPath: SearchPath) {
    do throws(TableError) {
      let manifest = try Manifest(parsing: text)
      let candidates = (searchPath.ownDirectories + searchPath.directories).map {
        "\($0)/\(manifest.library)"
      }
      guard let library = candidates.first(where: { access($0, F_OK) == 0 }) else {
        let place =
          SearchPath.executableDirectory == nil
          ? "looked for beside the program, and where that is only /proc tells, which is not mounted"
          : "in none of " + searchPath.directories.joined(separator: ", ")
        refusals.append(
          Refusal(
            path: manifest.library,
            reason: "the library of the shipped provider \(manifest.id) is \(place)",
            manifest: manifest))
        return
      }
      entries.append(Entry(manifest: manifest, library: library, isShipped: true))
    } catch {
      refusals.append(Refusal(path: "a shipped manifest", reason: error.message))
    }
  }

  private mutating func add(_ path: String, in directory: String) {
    var manifest: Manifest?
    do throws(TableError) {
      let (text, distrust) = try readManifest(path)
      let parsed = try Manifest(parsing: text)
      manifest = parsed
      // What it says is then told with the refusal only.
      if let distrust { throw distrust }
      entries.append(try accepted(parsed, in: directory))
    } catch {
      refusals.append(
        Refusal(
          path: path, reason: error.message, code: error.code == .denied ? .denied : .noProvider,
          manifest: manifest))
    }
  }

  /// The entry for a manifest; throws why it is none.
  private func accepted(
    _ manifest: Manifest, in directory: String
  ) throws(TableError) -> Entry {
    guard manifest.contract == contractVersionName else {
      throw TableError(
        .noProvider,
        "it is built for contract \(manifest.contract), this host has \(contractVersionName)")
    }
    for other in entries {
      if other.manifest.id == manifest.id {
        throw TableError(
          .noProvider, "the id \(manifest.id) is taken by \(other.library), which was found first")
      }
      if let scheme = manifest.schemes.first(where: other.manifest.schemes.contains) {
        throw TableError(
          .noProvider, "the scheme \(scheme) is taken by provider \(other.manifest.id)")
      }
    }
    let library =
      manifest.library.hasPrefix("/") ? manifest.library : "\(directory)/\(manifest.library)"
    guard access(library, F_OK) == 0 else {
      throw TableError(.noProvider, "its library \(library) is not there")
    }
    close(try trust.open(library, for: .library).descriptor)
    return Entry(manifest: manifest, library: library, isShipped: false)
  }

  /// The bytes of a manifest, and why it is not trusted if it is not.
  private func readManifest(
    _ path: String
  ) throws(TableError) -> (bytes: [UInt8], distrust: TableError?) {
    let limit = 1 << 20
    do throws(TableError) {
      let file = try trust.open(path, for: .settings)
      defer { close(file.descriptor) }
      do throws(TableError) {
        return (try file.bytes(limit: limit), nil)
      } catch {
        throw TableError(.noProvider, "it \(error.message)")
      }
    } catch {
      guard error.code == .denied, let file = try? OpenFile(path: Array(path.utf8)),
        file.fingerprint.kind == S_IFREG,
        let bytes = try? file.bytes().bytes(at: 0, count: limit)
      else { throw error }
      return (bytes, error)
    }
  }
}

/// The names of the manifests in a directory, sorted; none if it cannot be read.
private func manifestNames(in directory: String) -> [String] {
  guard let stream = opendir(directory) else { return [] }
  defer { closedir(stream) }
  var names: [String] = []
  while let entry = readdir(stream) {
    // An entry is only as long as its name, so it must not be read as a whole.
    guard let offset = MemoryLayout<dirent>.offset(of: \.d_name) else { return [] }
    let name = String(
      cString: (UnsafeRawPointer(entry) + offset).assumingMemoryBound(to: CChar.self))
    if name.hasSuffix(".tabella.json") { names.append(name) }
  }
  return names.sorted()
}

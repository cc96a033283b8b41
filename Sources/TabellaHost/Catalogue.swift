import Glibc
import ShippedManifests
import Tabella
import TabellaBridge
import TabellaFiles
import TabellaSystem

/// All providers on a search path, and all refused candidates. Making a catalogue runs no code of providers.
public struct Catalogue: Sendable {
  /// A provider that can be loaded.
  public struct Entry: Hashable, Sendable {
    /// The parsed manifest.
    public let manifest: Manifest
    /// The absolute path of the library, or of this program if the provider is linked into it.
    public let library: String
    /// Whether the provider ships with Tabella.
    public let isShipped: Bool
    /// Whether the provider is linked into this program.
    public var isLinked = false
  }

  /// A candidate that is not used.
  public struct Refusal: Hashable, Sendable {
    /// The path of the manifest, the library or the directory.
    public let path: String
    /// The reason as text for people.
    public let reason: String
    /// `.denied` if the candidate is not trusted, otherwise `.noProvider`.
    public var code = TableError.Code.noProvider
    /// The readable part of its manifest. It is untrusted, and only tells which locations the provider would have
    /// opened.
    var manifest: Manifest?
  }

  /// A provider that can be chosen for a location, or the refusal of a provider that would be chosen otherwise.
  enum Candidate {
    case usable(Entry)
    case refused(Manifest, TableError)

    var manifest: Manifest {
      switch self {
      case .usable(let entry): entry.manifest
      case .refused(let manifest, _): manifest
      }
    }

    /// The reason of a refusal; nil if the provider is usable.
    var refusal: TableError? {
      if case .refused(_, let error) = self { error } else { nil }
    }
  }

  /// The shipped providers, then the others in the order of the search path and of their names.
  public private(set) var entries: [Entry] = []
  /// All refused candidates.
  public private(set) var refusals: [Refusal] = []
  /// The accepted and the refused providers in the order of choice: first those found, in the order of the search, then
  /// shipped providers whose library is missing, as in programs that embed a host.
  ///
  /// A candidate whose id was found before can never be chosen, so the list does not contain it.
  private(set) var candidates: [Candidate] = []

  private let trust: TrustCheck
  /// The folders in `TABELLA_PROVIDER_PATH` that do not exist. They are also ``refusals``.
  package private(set) var missingFolders: [String] = []

  /// Searches a path. Unusable candidates become ``refusals``. Linked providers come before all others with their id.
  public init(_ searchPath: SearchPath, linked: [LinkedProvider] = []) {
    self.init(
      searchPath, linked: linked, trust: TrustCheck(installation: searchPath.installation))
  }

  init(_ searchPath: SearchPath, linked: [LinkedProvider] = [], trust: TrustCheck) {
    self.trust = trust
    refusals = searchPath.refused.map { Refusal(path: $0.path, reason: $0.reason) }
    let linkedIDs = Set(linked.map(\.id))
    for manifest in Catalogue.shipped.manifests { addShipped(manifest, searchPath, linkedIDs) }
    for fault in Catalogue.shipped.faults {
      refusals.append(Refusal(path: "a shipped manifest", reason: fault))
    }
    for provider in linked { addLinked(provider, program: searchPath.installation.path) }
    let absent = candidates.filter { $0.refusal != nil }
    candidates.removeAll { $0.refusal != nil }
    defer { candidates += absent }
    for directory in searchPath.directories {
      for name in manifestNames(in: directory) { add("\(directory)/\(name)", in: directory) }
    }
    refuseMissing(searchPath.directoriesOfVariable)
  }

  /// Refuses folders in `TABELLA_PROVIDER_PATH` that do not exist, most likely a typing error.
  private mutating func refuseMissing(_ directories: [String]) {
    for directory in directories {
      let status = stat(at: directory)
      guard status?.kind != S_IFDIR else { continue }
      missingFolders.append(directory)
      let fault = status == nil ? "which does not exist" : "which is no folder"
      refusals.append(
        Refusal(path: directory, reason: "TABELLA_PROVIDER_PATH names this folder, \(fault)"))
    }
  }

  /// The error that no provider was found. It names the folders that could not be searched.
  func noProvider(_ message: String) -> TableError {
    let folders = missingFolders.joined(separator: ", ")
    return TableError(
      .noProvider,
      folders.isEmpty
        ? message
        : "\(message); TABELLA_PROVIDER_PATH names \(folders), and there is no such folder")
  }

  /// The provider with this id.
  ///
  /// Throws `TableError` with `.noProvider` and the known ids. If the provider is refused, throws the reason instead,
  /// with `.denied` if it is not trusted.
  public func entry(id: String) throws(TableError) -> Entry {
    if let entry = entries.first(where: { $0.manifest.id == id }) { return entry }
    if let refusal = refusals.first(where: {
      $0.manifest?.id == id || $0.path == id || $0.path.hasSuffix("/\(id)")
    }) {
      throw refused(TableError(refusal.code, "\(refusal.path): \(refusal.reason)"))
    }
    let known = entries.map(\.manifest.id).joined(separator: ", ")
    throw noProvider(
      "there is no provider \(id); the providers are \(known.isEmpty ? "none" : known)")
  }

  /// The error for a refused provider. Its remedy is to choose one of the other providers.
  func refused(_ error: TableError, _ id: String? = nil) -> TableError {
    let others = entries.map(\.manifest.id).filter { $0 != id }
    return others.isEmpty ? error : error.with(.chooseProvider(ids: others))
  }

  /// The error for options that the provider of a path lacks. Its remedy is to choose a provider of such paths that has
  /// them, if there is one.
  func naming(
    providersWith options: [String: String], insteadOf entry: Entry, _ error: TableError
  ) -> TableError {
    let ids = entries.map(\.manifest).filter { manifest in
      !manifest.patterns.isEmpty && manifest.accepts == entry.manifest.accepts
        && (try? manifest.check(options)) != nil
    }.map(\.id)
    return ids.isEmpty ? error : error.with(.chooseProvider(ids: ids))
  }

  /// Throws the reason if a provider with this id or scheme is refused.
  public func checkNotRefused(_ name: String) throws(TableError) {
    guard
      let refusal = refusals.first(where: {
        $0.manifest?.id == name || $0.manifest?.schemes.contains(name) == true
      })
    else { return }
    throw TableError(
      refusal.code, "the provider of \(name): is refused: \(refusal.path): \(refusal.reason)")
  }

  /// The manifests of the shipped providers. A program that makes many hosts parses them once.
  private static let shipped: (manifests: [Manifest], faults: [String]) = {
    var shipped: (manifests: [Manifest], faults: [String]) = ([], [])
    for text in shippedManifests {
      do throws(TableError) {
        shipped.manifests.append(try Manifest(parsing: text))
      } catch {
        shipped.faults.append(error.message)
      }
    }
    return shipped
  }()

  private mutating func addShipped(
    _ manifest: Manifest, _ searchPath: SearchPath, _ linkedIDs: Set<String>
  ) {
    guard !linkedIDs.contains(manifest.id) else {
      accept(
        Entry(
          manifest: manifest, library: searchPath.installation.path ?? manifest.library,
          isShipped: true, isLinked: true))
      return
    }
    let candidates = (searchPath.ownDirectories + searchPath.directories).map {
      "\($0)/\(manifest.library)"
    }
    guard let library = candidates.first(where: { access($0, F_OK) == 0 }) else {
      let place =
        searchPath.installation.folder == nil
        ? "not found, because the folder of the program is unknown: /proc is not mounted"
        : "not in " + searchPath.directories.joined(separator: ", ")
      refuse(
        Refusal(
          path: manifest.library,
          reason: "the library of the shipped provider \(manifest.id) is \(place)",
          manifest: manifest))
      return
    }
    accept(Entry(manifest: manifest, library: library, isShipped: true))
  }

  /// Adds a linked provider that does not ship with Tabella.
  private mutating func addLinked(_ provider: LinkedProvider, program: String?) {
    guard !entries.contains(where: { $0.isLinked && $0.manifest.id == provider.id }) else { return }
    let program = program ?? provider.id
    do throws(TableError) {
      let manifest = try Manifest(parsing: provider.manifest)
      guard manifest.id == provider.id else {
        throw TableError(.noProvider, "the manifest says \(manifest.id)")
      }
      try checkContract(manifest)
      try checkNotTaken(manifest)
      accept(Entry(manifest: manifest, library: program, isShipped: false, isLinked: true))
    } catch {
      refuse(
        Refusal(
          path: program, reason: "the linked provider \(provider.id): \(error.message)",
          manifest: Manifest(claimsOf: provider.manifest)))
    }
  }

  private mutating func add(_ path: String, in directory: String) {
    var manifest: Manifest?
    do throws(TableError) {
      let (text, distrust) = try readManifest(path)
      manifest = Manifest(claimsOf: text)
      let parsed = try Manifest(parsing: text)
      // An untrusted manifest only adds information to its refusal.
      if let distrust { throw distrust }
      accept(try accepted(parsed, in: directory))
    } catch {
      refuse(
        Refusal(
          path: path, reason: error.message, code: error.code == .denied ? .denied : .noProvider,
          manifest: manifest))
    }
  }

  private mutating func accept(_ entry: Entry) {
    entries.append(entry)
    candidates.append(.usable(entry))
  }

  private mutating func refuse(_ refusal: Refusal) {
    refusals.append(refusal)
    guard let manifest = refusal.manifest,
      !entries.contains(where: { $0.manifest.id == manifest.id })
    else { return }
    let error = TableError(
      refusal.code,
      "provider \(manifest.id), which opens this, is refused: \(refusal.path): \(refusal.reason)")
    candidates.append(.refused(manifest, error))
  }

  /// The entry for a manifest. Throws the reason if the host cannot use it.
  private func accepted(
    _ manifest: Manifest, in directory: String
  ) throws(TableError) -> Entry {
    try checkContract(manifest)
    try checkNotTaken(manifest)
    let library =
      manifest.library.hasPrefix("/") ? manifest.library : "\(directory)/\(manifest.library)"
    guard access(library, F_OK) == 0 else {
      throw TableError(.noProvider, "its library \(library) does not exist")
    }
    _ = try trust.open(library, for: .library)
    return Entry(manifest: manifest, library: library, isShipped: false)
  }

  private func checkContract(_ manifest: Manifest) throws(TableError) {
    guard let contract = ContractVersion(manifest.contract) else {
      throw TableError(
        .noProvider,
        "the manifest's contract \"\(manifest.contract)\" is no version such as \(contractVersionName)"
      )
    }
    try contract.checkAccepted("it")
  }

  /// Throws if another provider has the id or a scheme of a manifest.
  private func checkNotTaken(_ manifest: Manifest) throws(TableError) {
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
  }

  /// The bytes of a manifest. `distrust` is the reason if the manifest is not trusted.
  private func readManifest(
    _ path: String
  ) throws(TableError) -> (bytes: [UInt8], distrust: TableError?) {
    let limit = 1 << 20
    do throws(TableError) {
      let file = try trust.open(path, for: .settings)
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

/// The sorted names of the manifests in a directory; empty if the directory cannot be read.
private func manifestNames(in directory: String) -> [String] {
  guard var entries = FolderEntries(of: Array(directory.utf8)) else { return [] }
  var names: [String] = []
  while let bytes = entries.next() {
    let name = String(decoding: bytes, as: UTF8.self)
    if name.hasSuffix(".tabella.json") { names.append(name) }
  }
  return names.sorted()
}

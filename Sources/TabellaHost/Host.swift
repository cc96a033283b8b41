import CTabellaSystem
import Glibc
import Tabella
import TabellaBridge
import TabellaLoading
import TabellaRemote

/// The entry point for programs that show tables. A host finds, chooses and loads providers, and opens locations as
/// data sources.
///
///     let host = Host()
///     let table = try host.open("people.csv", options: ["delimiter": ";"])
///     let rows = try table.source.rows(RowRequest(first: 0, count: 20, columns: [0, 1]))
///
/// One thread at a time may use a host, together with all sources that it opened.
public final class Host {
  /// The providers found, and the candidates refused.
  public let catalogue: Catalogue
  /// The user's pins, read at first use.
  lazy var pinned: Result<[Pins.Pin], TableError> = Result { () throws(TableError) in
    try pins.read()
  }
  private let pins: Pins
  private let linked: [LinkedProvider]
  /// The program or library that contains the host.
  let installation: Installation
  /// The loaded providers, a few. An array, because the first dictionary of a type slows each start down
  /// (docs/performance.md, "What a start costs").
  private var providers: [(id: String, provider: ImportedProvider)] = []

  /// Creates a host for the providers on a search path, and for those that are linked into this program. Reads
  /// manifests, but runs no code of providers.
  ///
  /// If SIGXFSZ has its default action, it gets a handler that does nothing. A save beyond the limit on file sizes is then
  /// an error, and does not end the program.
  public init(
    searchPath: SearchPath = .standard, pins: Pins = .standard, linked: [LinkedProvider] = []
  ) {
    catalogue =
      linked.isEmpty
      ? KeptCatalogue.catalogue(searchPath) : Catalogue(searchPath, linked: linked)
    installation = searchPath.installation
    self.pins = pins
    self.linked = linked
    tabella_system_survive_file_limit()
  }

  /// The process in which providers run.
  public enum Isolation: Hashable, Sendable {
    /// Shipped providers run in this process, all others in workers.
    case automatic
    /// All providers run in workers.
    case always
    /// All providers run in this process, for debuggers. A provider that crashes ends the process.
    case never
  }

  /// The purpose for which a location is opened.
  public enum Access: Hashable, Sendable {
    /// Reading only. A provider in a worker gets no permission to change anything, and a ``ReceiptStore`` refuses edits.
    case reading
    /// Reading and editing.
    case editing
  }

  /// The process in which providers run from now on. The default is `.automatic`.
  public var isolation = Isolation.automatic
  /// The limits of providers in workers.
  public var limits = WorkerLimits()
  /// The folder that providers in workers take for the user's data folder (`$XDG_DATA_HOME`), if not the user's own. An
  /// absolute path, which need not exist.
  package var dataFolder: [UInt8]?
  /// The path of the program `tabella-worker`. With nil, the host looks for it next to this program or library
  /// (``Installation``), and in `../libexec/tabella` from there.
  public var workerProgram: String?
  /// Receives the output, log lines and denials of providers in workers. Any thread may call it until the worker ends.
  public var onOutput: (@Sendable (WorkerOutput) -> Void)?

  /// The trace of all calls to providers; nil, which costs nothing, for none.
  public var trace: Trace?

  /// Whether a provider in a worker may edit even if this system lacks a part of its confinement.
  ///
  /// If false, opening a location for editing throws `TableError` with `.denied` on such a system.
  public var acceptsWeakIsolation = false
  /// The providers whose weak isolation was reported to ``onOutput``.
  var reportedWeakIsolation: Set<String> = []

  /// A hook for tests. The host calls it with the worker's process id before and after it sends a request, and before
  /// it reads an answer.
  var onPacket: (@Sendable (pid_t) -> Void)?

  /// Opens a location with the named provider or, without a name, with the provider that matches the location.
  ///
  /// Throws all errors of the provider itself, and these `TableError`s:
  /// - `.noProvider` if no provider is found or its library cannot be loaded
  /// - `.denied` if the library is not trusted
  /// - `.misbehaved` if the provider breaks the contract
  /// - `.invalidArgument` for unknown options
  /// - `.notSupported` if a linked provider should run in a worker
  public func open(
    _ location: Location, provider: String? = nil, options: [String: String] = [:],
    access: Access = .editing
  ) throws(TableError) -> OpenedTable {
    let choice = try catalogue.choose(location, provider: provider)
    do throws(TableError) { try choice.entry.manifest.check(options) } catch {
      // A scheme or a name leaves no choice.
      throw provider == nil && choice.scheme == nil
        ? catalogue.naming(providersWith: options, insteadOf: choice.entry, error) : error
    }
    let request = OpenRequest(location: choice.rest, scheme: choice.scheme, options: options)
    let entry = choice.entry
    let isIsolated = isIsolated(entry)
    guard !(isIsolated && entry.isLinked) else {
      throw TableError(
        .notSupported,
        "provider \(entry.manifest.id) is linked into this program, so it cannot run in a worker; choose the isolation automatic, or load it from a library"
      )
    }
    let (source, worker) = try tracing(
      entry.manifest.id, entry.library, request, isIsolated: isIsolated
    ) { () throws(TableError) -> (any TableDataSource, WorkerStatus?) in
      do throws(TableError) {
        guard isIsolated else { return (try load(entry).open(request), nil) }
        return try openInWorker(
          LoadRequest(library: entry.library, name: entry.manifest.id), request, access, entry)
      } catch {
        // Only a library that cannot be loaded has this code.
        throw error.code == .noProvider ? catalogue.refused(error, entry.manifest.id) : error
      }
    }
    return OpenedTable(
      source: source, manifest: entry.manifest, location: location,
      folder: .current, options: options, access: access, worker: worker)
  }

  /// The manifest of the provider that would open a location. Runs no code of providers.
  public func manifest(
    for location: Location, provider: String? = nil
  ) throws(TableError) -> Manifest {
    try catalogue.choose(location, provider: provider).entry.manifest
  }

  /// Loads a provider. Returns the loaded one if there is one.
  package func load(_ entry: Catalogue.Entry) throws(TableError) -> ImportedProvider {
    if let known = providers.first(where: { $0.id == entry.manifest.id }) { return known.provider }
    let provider =
      entry.isLinked ? try load(linked: entry.manifest.id) : try load(libraryOf: entry)
    try entry.check(id: provider.id)
    providers.append((entry.manifest.id, provider))
    return provider
  }

  /// Checks and loads a library. A library that ships with Tabella is checked once per process, because a program can
  /// make a host for each of its connections.
  private func load(libraryOf entry: Catalogue.Entry) throws(TableError) -> ImportedProvider {
    let id = entry.manifest.id
    if entry.isShipped, let known = try Library.loaded(at: entry.library, name: id) { return known }
    return try Library.load(try checkChosen(entry), name: id)
  }

  private func load(linked id: String) throws(TableError) -> ImportedProvider {
    guard let provider = linked.first(where: { $0.id == id }) else {
      throw TableError(.noProvider, "provider \(id) is not linked into this program")
    }
    return try ImportedProvider(calling: provider.entry, name: id)
  }
}

extension Catalogue.Entry {
  /// Throws `.misbehaved` if the library has another id than the manifest.
  func check(id: String) throws(TableError) {
    guard id == manifest.id else {
      throw TableError(
        .misbehaved, "\(library): the manifest says \(manifest.id), the library says \(id)")
    }
  }
}

import Glibc
import Tabella
import TabellaBridge
import TabellaLoading
import TabellaRemote

/// The front door for programs that show tables: finds, chooses and loads providers, and opens
/// locations as data sources.
///
///     let host = Host()
///     let table = try host.open("people.csv", options: ["delimiter": ";"])
///     let rows = try table.source.rows(RowRequest(first: 0, count: 20, columns: [0, 1]))
///
/// Belongs to one thread at a time, as do the sources it gives.
public final class Host {
  /// The providers found, and the candidates refused.
  public let catalogue: Catalogue
  /// What the user holds added libraries to; read once, when it is first needed.
  lazy var pinned: Result<[Pins.Pin], TableError> = Result { () throws(TableError) in
    try pins.read()
  }
  private let pins: Pins
  private var providers: [String: ImportedProvider] = [:]

  /// A host for the providers on a search path. Reads manifests; runs no provider's code.
  public init(searchPath: SearchPath = .standard, pins: Pins = .standard) {
    catalogue = Catalogue(searchPath)
    self.pins = pins
  }

  /// Where providers run.
  public enum Isolation: Hashable, Sendable {
    /// Shipped providers in this process, all others in workers.
    case automatic
    case always
    /// In this process, whatever it is: for debuggers. A bad provider takes the process with it.
    case never
  }

  /// What a location is opened for.
  public enum Access: Hashable, Sendable {
    /// A provider in a worker gets no right to change anything.
    case reading
    case editing
  }

  /// Where providers run from now on. The default is `.automatic`.
  public var isolation = Isolation.automatic
  /// What providers in workers may use.
  public var limits = WorkerLimits()
  /// The program `tabella-worker`; nil to look for it beside this program and in `../libexec/tabella`
  /// from there.
  public var workerProgram: String?
  /// Gets what providers in workers print, log and are denied; from any thread, until the worker ends.
  public var onOutput: (@Sendable (WorkerOutput) -> Void)?

  /// Where the traffic of providers is written; nil for nowhere, which costs nothing.
  public var trace: Trace?

  /// Whether a provider in a worker may edit though a part of its confinement cannot be set up on this system.
  /// Without this, opening a location to edit it throws ``TableError`` with `.denied` there.
  public var acceptsWeakIsolation = false
  /// The providers whose weak isolation ``onOutput`` was told of.
  var toldOfWeakIsolation: Set<String> = []

  /// For tests: called with the worker's process before a request is sent, once it is sent, and before
  /// what came is read.
  var onPacket: (@Sendable (pid_t) -> Void)?

  /// Opens a location with the provider named, or with the one that fits it.
  ///
  /// Throws ``TableError``: `.noProvider` if none is found or it cannot be loaded, `.denied` if its library
  /// is not trusted, `.misbehaved` if it breaks the contract, `.invalidArgument` for options that it does
  /// not have, and whatever the provider itself says of the location.
  public func open(
    _ location: Location, provider: String? = nil, options: [String: String] = [:],
    access: Access = .editing
  ) throws(TableError) -> OpenedTable {
    let choice = try catalogue.choose(location, provider: provider)
    try choice.entry.manifest.check(options)
    let request = OpenRequest(location: choice.rest, scheme: choice.scheme, options: options)
    let entry = choice.entry
    let isIsolated = isIsolated(entry)
    let (source, worker) = try tracing(
      entry.manifest.id, entry.library, request, isIsolated: isIsolated
    ) { () throws(TableError) -> (any TableDataSource, WorkerStatus?) in
      do throws(TableError) {
        guard isIsolated else { return (try load(entry).open(request), nil) }
        return try openInWorker(
          LoadRequest(library: entry.library, name: entry.manifest.id), request, access, entry)
      } catch {
        // No other error has this code: the library cannot be loaded.
        throw error.code == .noProvider ? catalogue.refused(error, entry.manifest.id) : error
      }
    }
    return OpenedTable(
      source: source, manifest: entry.manifest, location: location,
      worker: worker)
  }

  /// The provider that would show a location; no provider's code runs.
  public func manifest(
    for location: Location, provider: String? = nil
  ) throws(TableError) -> Manifest {
    try catalogue.choose(location, provider: provider).entry.manifest
  }

  /// Loads a provider, or returns it if it is loaded.
  public func load(_ entry: Catalogue.Entry) throws(TableError) -> ImportedProvider {
    if let provider = providers[entry.manifest.id] { return provider }
    let provider = try Library.load(try checkChosen(entry), name: entry.manifest.id)
    try entry.check(id: provider.id)
    providers[entry.manifest.id] = provider
    return provider
  }
}

/// A location that is open.
public struct OpenedTable {
  /// The table. Whichever road it came by, it is a data source like any other.
  public let source: any TableDataSource
  /// The manifest of its provider.
  public let manifest: Manifest
  public let location: Location
  /// The worker that it lives in; nil if it lives in this process.
  public let worker: WorkerStatus?
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

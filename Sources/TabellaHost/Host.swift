import Tabella
import TabellaBridge
import TabellaLoading

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

  /// Opens a location with the provider named, or with the one that fits it.
  ///
  /// Throws ``TableError``: `.noProvider` if none is found or it cannot be loaded, `.denied` if its library
  /// is not trusted, `.misbehaved` if it breaks the contract, `.invalidArgument` for options that it does not have, and whatever the
  /// provider itself says of the location.
  public func open(
    _ location: Location, provider: String? = nil, options: [String: String] = [:]
  ) throws(TableError) -> OpenedTable {
    let choice = try catalogue.choose(location, provider: provider)
    try choice.entry.manifest.check(options)
    let request = OpenRequest(location: choice.rest, scheme: choice.scheme, options: options)
    return OpenedTable(
      source: try load(choice.entry).open(request), manifest: choice.entry.manifest,
      location: location)
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
    let provider = try Library.load(try check(entry), name: entry.manifest.id)
    guard provider.id == entry.manifest.id else {
      throw TableError(
        .misbehaved,
        "\(entry.library): the manifest says \(entry.manifest.id), the library says \(provider.id)")
    }
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
}

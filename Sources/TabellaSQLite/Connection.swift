import Tabella
import TabellaHost

/// A database connection: its SQLite, and the host that opens its tables. SQLite lets one thread at a time use it.
final class Connection {
  let api: SQLite
  /// The database, for declarations.
  let database: OpaquePointer

  /// The place of this library.
  private static let installation = Installation(ofLibraryContaining: #dsohandle) ?? .program

  /// The host. It reads the manifests when the first table is opened.
  lazy var host = Host(searchPath: .standard(for: Connection.installation))

  init(_ api: SQLite, _ database: OpaquePointer) {
    self.api = api
    self.database = database
  }

  /// Opens a location.
  func open(
    _ arguments: TableArguments, for access: Host.Access
  ) throws(TableError) -> OpenedTable {
    try ProcessUse.begin()
    return try host.open(arguments.location, options: arguments.options, access: access)
  }
}

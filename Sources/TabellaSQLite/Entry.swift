// swift-format-ignore-file: AlwaysUseLowerCamelCase
// SQLite names the function.

import CTabellaSQLite
import Tabella

/// Adds `tabella` to a database connection. SQLite calls it when a program loads the extension.
@c @implementation
public func sqlite3_extension_init(
  _ database: OpaquePointer, _ message: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?,
  _ api: UnsafePointer<tabella_sqlite_api>
) -> Int32 {
  let version = api.pointee.libversion_number()
  guard version >= TABELLA_SQLITE_OLDEST else {
    message?.pointee = api.copy(
      "tabella needs SQLite 3.38 or later; this program has 3.\(version / 1000 % 1000)")
    return TABELLA_SQLITE_ERROR
  }
  let connection = Unmanaged.passRetained(Connection(api, database)).toOpaque()
  return api.pointee.create_module_v2(database, "tabella", module, connection) { connection in
    if let connection { Unmanaged<Connection>.fromOpaque(connection).release() }
  }
}

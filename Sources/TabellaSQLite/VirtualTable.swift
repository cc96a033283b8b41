import CTabellaSQLite
import Tabella
import TabellaHost

/// A virtual table of a connection: a declared table of one location, or the table function `tabella()`.
final class VirtualTable {
  let connection: Connection
  let slots: [Declaration.Slot]
  /// The table of a declaration; nil for the table function.
  let declared: LiveTable?
  /// The tables that the table function has opened.
  private var opened: [TableArguments: LiveTable] = [:]
  private static let mostOpened = 16

  var isFunction: Bool { declared == nil }

  /// Creates the table function, or with arguments a declared table, and describes its columns to SQLite.
  init(_ connection: Connection, _ arguments: [String]?) throws(TableError) {
    self.connection = connection
    let declaration: Declaration
    if let arguments {
      let live = try LiveTable(
        connection, TableArguments(declaration: arguments), isOfFunction: false)
      live.expire()
      declared = live
      declaration = Declaration(of: live.declared)
    } else {
      declared = nil
      declaration = .generic
    }
    slots = declaration.slots
    let api = connection.api
    guard api.pointee.declare_vtab(connection.database, declaration.sql) == TABELLA_SQLITE_OK,
      tabella_sqlite_allow_direct_use_only(api, connection.database) == TABELLA_SQLITE_OK
    else {
      throw TableError(
        .notSupported,
        "\(declared?.arguments.location.description ?? "tabella()"): SQLite refuses a table of \(slots.count) columns"
      )
    }
  }

  /// The table that a scan reads.
  func liveTable(
    _ location: [UInt8]?, _ options: [Int: [UInt8]]
  ) throws(TableError) -> LiveTable {
    if let declared { return declared }
    guard let location else { throw .noLocation }
    var arguments = TableArguments(location)
    for number in options.keys.sorted() {
      try arguments.add(option: String(decoding: options[number] ?? [], as: UTF8.self))
    }
    if let known = opened[arguments] { return known }
    let live = try LiveTable(connection, arguments, isOfFunction: true)
    if opened.count >= VirtualTable.mostOpened { opened = opened.filter { $1.readers > 0 } }
    opened[arguments] = live
    live.optionTexts = options.mapValues { String(decoding: $0, as: UTF8.self) }
    return live
  }
}

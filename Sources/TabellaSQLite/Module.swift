import CTabellaSQLite
import Tabella

// The functions that SQLite calls.

/// The methods of all virtual tables. They live until the process ends.
nonisolated(unsafe) let module: UnsafePointer<tabella_sqlite_module> = {
  var methods = tabella_sqlite_module()
  // Version 2 has savepoints.
  methods.version = 2
  // One function for both makes `tabella` a table function, too.
  methods.create = connect
  methods.connect = connect
  methods.disconnect = disconnect
  methods.destroy = disconnect
  methods.best_index = { raw, info in
    let table = table(raw)
    var planner = Planner(table.connection.api, info, table.slots, table.declared)
    return planner.run() ? TABELLA_SQLITE_OK : TABELLA_SQLITE_CONSTRAINT
  }
  methods.open = { raw, out in
    let cursor = UnsafeMutablePointer<tabella_sqlite_cursor>.allocate(capacity: 1)
    cursor.initialize(
      to: tabella_sqlite_cursor(
        table: raw, object: Unmanaged.passRetained(TableCursor(table(raw))).toOpaque()))
    out.pointee = cursor
    return TABELLA_SQLITE_OK
  }
  methods.close = { raw in
    cursor(raw).stop()
    if let object = raw.pointee.object { Unmanaged<TableCursor>.fromOpaque(object).release() }
    raw.deallocate()
    return TABELLA_SQLITE_OK
  }
  methods.filter = { raw, _, text, count, values in
    answer(raw) { cursor throws(TableError) in
      let plan = text.map { Plan(String(cString: $0)) } ?? Plan()
      try cursor.start(plan, list(values, count))
    }
  }
  methods.next = { raw in answer(raw) { cursor throws(TableError) in try cursor.next() } }
  methods.eof = { raw in cursor(raw).isAtEnd ? 1 : 0 }
  methods.column = { raw, context, number in
    answer(raw) { cursor throws(TableError) in try cursor.column(Int(number), context) }
  }
  methods.row_id = { raw, out in
    answer(raw) { cursor throws(TableError) in out.pointee = try cursor.rowID() }
  }
  methods.update = { raw, count, values, out in
    answer(raw) { table throws(TableError) in
      if let rowID = try table.update(list(values, count)) { out.pointee = rowID }
    }
  }
  methods.begin = { raw in answer(raw) { table in table.declared?.begin() } }
  methods.sync = { raw in
    answer(raw) { table throws(TableError) in
      guard let live = table.declared else { return }
      try live.running { () throws(TableError) in try live.sync() }
    }
  }
  methods.commit = { raw in answer(raw) { table in table.declared?.commit() } }
  methods.rollback = { raw in answer(raw) { table in table.declared?.rollback() } }
  methods.rename = { _, _ in TABELLA_SQLITE_OK }
  methods.savepoint = { raw, number in
    answer(raw) { table in table.declared?.addSavepoint(number) }
  }
  methods.release = { raw, number in
    answer(raw) { table in table.declared?.releaseSavepoint(number) }
  }
  methods.rollback_to = { raw, number in
    answer(raw) { table in table.declared?.rollback(to: number) }
  }
  let memory = UnsafeMutablePointer<tabella_sqlite_module>.allocate(capacity: 1)
  memory.initialize(to: methods)
  return UnsafePointer(memory)
}()

/// Creates a table. `arguments` are the module, the database, the table, and the arguments of the declaration.
private func connect(
  _ database: OpaquePointer, _ context: UnsafeMutableRawPointer?, _ count: Int32,
  _ arguments: UnsafePointer<UnsafePointer<CChar>?>,
  _ out: UnsafeMutablePointer<UnsafeMutablePointer<tabella_sqlite_vtab>?>,
  _ message: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
) -> Int32 {
  guard let context else { return TABELLA_SQLITE_ERROR }
  let connection = Unmanaged<Connection>.fromOpaque(context).takeUnretainedValue()
  return answer(connection.api, &message.pointee) { () throws(TableError) in
    let texts = (0..<Int(count)).map { arguments[$0].map { String(cString: $0) } ?? "" }
    // The table function has the name of the module, and no arguments.
    let isFunction = texts.count == 3 && texts[0] == texts[2]
    let table = try VirtualTable(connection, isFunction ? nil : Array(texts.dropFirst(3)))
    let memory = UnsafeMutablePointer<tabella_sqlite_vtab>.allocate(capacity: 1)
    memory.initialize(
      to: tabella_sqlite_vtab(
        module: nil, references: 0, error: nil,
        object: Unmanaged.passRetained(table).toOpaque()))
    out.pointee = memory
  }
}

private func disconnect(_ raw: UnsafeMutablePointer<tabella_sqlite_vtab>) -> Int32 {
  if let object = raw.pointee.object { Unmanaged<VirtualTable>.fromOpaque(object).release() }
  raw.deallocate()
  return TABELLA_SQLITE_OK
}

private func table(_ raw: UnsafeMutablePointer<tabella_sqlite_vtab>) -> VirtualTable {
  Unmanaged<VirtualTable>.fromOpaque(raw.pointee.object!).takeUnretainedValue()
}

@inline(__always)
private func cursor(_ raw: UnsafeMutablePointer<tabella_sqlite_cursor>) -> TableCursor {
  Unmanaged<TableCursor>.fromOpaque(raw.pointee.object!).takeUnretainedValue()
}

private func list(
  _ values: UnsafeMutablePointer<OpaquePointer?>?, _ count: Int32
) -> [OpaquePointer] {
  guard let values else { return [] }
  return UnsafeBufferPointer(start: values, count: Int(count)).compactMap { $0 }
}

/// Runs `body` about a table.
private func answer(
  _ raw: UnsafeMutablePointer<tabella_sqlite_vtab>,
  _ body: (VirtualTable) throws(TableError) -> Void
) -> Int32 {
  let table = table(raw)
  return answer(table.connection.api, &raw.pointee.error) { () throws(TableError) in
    try body(table)
  }
}

/// Runs `body` about a cursor.
@inline(__always)
private func answer(
  _ raw: UnsafeMutablePointer<tabella_sqlite_cursor>,
  _ body: (TableCursor) throws(TableError) -> Void
) -> Int32 {
  do throws(TableError) {
    try body(cursor(raw))
    return TABELLA_SQLITE_OK
  } catch {
    guard let base = raw.pointee.table else { return error.sqliteCode }
    return answer(base) { _ throws(TableError) in throw error }
  }
}

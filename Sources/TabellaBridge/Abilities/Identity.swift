import CTabella
import Tabella

nonisolated(unsafe) let identityTable = immortal(
  tabella_identity(find: { source, id, out, error in
    answer(source, error) { box throws(TableError) in
      guard let identity = box.base.identity, let id = try id.text("the id") else {
        throw TableError(.notFound, "there is no such id")
      }
      out.pointee = try identity.indexPath(forID: id).raw
    }
  }))

func importIdentity(_ foreign: ForeignSource) throws(TableError) -> (any TableIdentity)? {
  let table = try foreign.ability(TABELLA_IDENTITY_ID, tabella_identity.self) {
    [("find", $0.find != nil)]
  }
  return table.map { ImportedIdentity(foreign: foreign, table: $0) }
}

private final class ImportedIdentity: TableIdentity {
  let foreign: ForeignSource
  let table: tabella_identity

  init(foreign: ForeignSource, table: tabella_identity) {
    self.foreign = foreign
    self.table = table
  }

  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    var raw = tabella_index_path()
    try foreign.call("identity.find") { error in
      withCString(id) { table.find!(foreign.source, $0, &raw, error) }
    }
    return IndexPath(raw)
  }
}

/// Calls `body` with the text as a C string with a length. The string is valid only during the call.
func withCString<R>(_ text: String, _ body: (tabella_string) -> R) -> R {
  var text = text
  return text.withUTF8 { bytes in
    bytes.withMemoryRebound(to: CChar.self) { chars in
      var empty: CChar = 0
      return withUnsafePointer(to: &empty) { nothing in
        body(tabella_string(bytes: chars.baseAddress ?? nothing, length: Int64(chars.count)))
      }
    }
  }
}

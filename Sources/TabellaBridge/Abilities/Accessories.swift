import CTabella
import Tabella

nonisolated(unsafe) let accessoriesTable = immortal(
  tabella_accessories(location: { source, path, out, error in
    answer(source, error) { box throws(TableError) in
      let location = try box.base.accessories?.location(forRowAt: try IndexPath(asked: path))
      let arena = box.lend()
      out.pointee = location.map { arena.string($0) } ?? tabella_string()
    }
  }))

func importAccessories(_ foreign: ForeignSource) throws(TableError) -> (any TableAccessories)? {
  let table = try foreign.ability(TABELLA_ACCESSORIES_ID, tabella_accessories.self) {
    [("location", $0.location != nil)]
  }
  return table.map { ImportedAccessories(foreign: foreign, table: $0) }
}

private final class ImportedAccessories: TableAccessories {
  let foreign: ForeignSource
  let table: tabella_accessories

  init(foreign: ForeignSource, table: tabella_accessories) {
    self.foreign = foreign
    self.table = table
  }

  func location(forRowAt path: IndexPath) throws(TableError) -> [UInt8]? {
    var raw = tabella_string()
    try foreign.call("accessories.location") {
      table.location!(foreign.source, path.raw, &raw, $0)
    }
    return try foreign.checking("accessories.location") { () throws(TableError) in
      try raw.copied("the location")
    }
  }
}

import CTabella
import Tabella

nonisolated(unsafe) let movingTable = immortal(
  tabella_moving(
    movable: { source, section, first, count, out, error in
      answer(source, error) { box throws(TableError) in
        let rows = try range(first, count)
        let answers = try box.base.moving?.movability(ofRows: rows, inSection: Int(section)) ?? []
        for (index, answer) in answers.prefix(rows.count).enumerated() {
          out[index] = answer ? 1 : 0
        }
      }
    },
    target: { source, from, proposed, out, error in
      answer(source, error) { box throws(TableError) in
        guard let moving = box.base.moving else { throw TableError(.notSupported, "no moving") }
        out.pointee =
          try moving.target(ofMoveFrom: IndexPath(from), to: IndexPath(proposed)).raw
      }
    }))

func importMoving(_ foreign: ForeignSource) throws(TableError) -> (any TableMoving)? {
  let table = try foreign.ability(TABELLA_MOVING_ID, tabella_moving.self) {
    [("movable", $0.movable != nil)]
  }
  return table.map { ImportedMoving(foreign: foreign, table: $0) }
}

private final class ImportedMoving: TableMoving {
  let foreign: ForeignSource
  let table: tabella_moving

  init(foreign: ForeignSource, table: tabella_moving) {
    self.foreign = foreign
    self.table = table
  }

  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool] {
    try importBytes(foreign, "moving.movable", rows) { out, error in
      table.movable!(
        foreign.source, Int64(section), Int64(rows.lowerBound), Int64(rows.count), out, error)
    }.map { $0 != 0 }
  }

  func target(ofMoveFrom source: IndexPath, to proposed: IndexPath) throws(TableError)
    -> IndexPath
  {
    guard let function = table.target else { return proposed }
    var raw = tabella_index_path()
    try foreign.call("moving.target") {
      function(foreign.source, source.raw, proposed.raw, &raw, $0)
    }
    return IndexPath(raw)
  }
}

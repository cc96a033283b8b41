import CTabella
import Tabella

nonisolated(unsafe) let gatheringTable = immortal(
  tabella_gathering(rows: { source, request, out, error in
    answer(source, error) { box throws(TableError) in
      guard let gathering = box.base.gathering else {
        throw TableError(.notSupported, "no gathering")
      }
      let asked = request.pointee
      guard (0...Int64(Int32.max)).contains(asked.path_count),
        asked.path_count == 0 || asked.paths != nil
      else { throw TableError(.invalidArgument, "\(asked.path_count) rows cannot be requested") }
      let paths = UnsafeBufferPointer(start: asked.paths, count: Int(asked.path_count))
      let batch = try gathering.rows(
        at: paths.map { IndexPath($0) },
        columns: try columnNumbers(asked.columns, asked.column_count),
        includesIDs: asked.flags & TABELLA_ROWS_IDS != 0)
      exportBatch(batch, to: out)
    }
  }))

func importGathering(_ foreign: ForeignSource) throws(TableError) -> tabella_gathering? {
  try foreign.ability(TABELLA_GATHERING_ID, tabella_gathering.self) { [("rows", $0.rows != nil)] }
}

// The source itself has this ability, because its columns determine the types of the cells.
extension ImportedSource: TableGathering {
  func rows(at paths: [IndexPath], columns: [Int], includesIDs: Bool) throws(TableError) -> Batch {
    try refreshColumns()
    var raw = tabella_batch()
    let columnNumbers = columns.map { Int64($0) }
    try foreign.call("gathering.rows") { error in
      paths.withRaw { paths in
        columnNumbers.withUnsafeBufferPointer { numbers in
          var asked = tabella_gather_request(
            paths: paths.baseAddress, path_count: Int64(paths.count),
            columns: numbers.baseAddress, column_count: Int64(numbers.count),
            flags: includesIDs ? TABELLA_ROWS_IDS : 0, reserved: 0)
          return gatherer!.rows!(foreign.source, &asked, &raw, error)
        }
      }
    }
    return try foreign.checking("gathering.rows") { () throws(TableError) in
      let request = RowRequest(gathering: paths, columns: columns, includesIDs: includesIDs)
      return try importBatch(raw, answering: request, of: self.columns, foreign.witness)
    }
  }
}

import Tabella

/// Rows that an edit is about, as they are before it.
struct RowCells {
  let cells: [Cell]
  let id: String?
}

extension TableDataSource {
  /// How many rows are read at once.
  private static var chunk: Int { 4096 }

  /// Whole rows from anywhere, with their ids if they have any.
  func wholeRows(at paths: [IndexPath]) throws(TableError) -> [RowCells] {
    var rows: [RowCells] = []
    let numbers = Array(columns.indices)
    while rows.count < paths.count {
      let batch: Batch
      let path = paths[rows.count]
      if let gathering {
        let some = Array(paths[rows.count...].prefix(Self.chunk))
        batch = try gathering.rows(at: some, columns: numbers, includesIDs: identity != nil)
      } else {
        batch = try self.rows(
          RowRequest(
            section: path.section, first: path.row, count: 1, columns: numbers,
            includesIDs: identity != nil))
      }
      guard batch.rowCount > 0 else {
        throw .noRow(path.row, inSection: path.section, of: path.row)
      }
      for row in 0..<batch.rowCount {
        rows.append(RowCells(cells: batch.row(row), id: batch.id(row)))
      }
    }
    return rows
  }

  /// The rows that edits are about, as they are; nil for what is inserted, and for what was not found.
  func wholeRows(of edits: [PlannedEdit]) throws(TableError) -> [RowCells?] {
    var rest = try wholeRows(at: edits.compactMap(\.source))[...]
    return edits.map { $0.source == nil ? nil : rest.popFirst() }
  }
}

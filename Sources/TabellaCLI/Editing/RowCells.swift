import Tabella

/// The cells of rows before an edit.
struct RowCells {
  let cells: [Cell]
  let id: String?
}

extension TableDataSource {
  /// The number of rows per request.
  private static var chunk: Int { 4096 }

  /// Reads rows at any positions, with their ids if they have any.
  ///
  /// Unless columns are named, a row has a cell for each column. Cells that are computed only on request are missing.
  func wholeRows(
    at paths: [IndexPath], columns: [Int]? = nil
  ) throws(TableError) -> [RowCells] {
    var rows: [RowCells] = []
    let numbers = columns ?? self.columns.usualNumbers
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
        let cells =
          columns == nil ? batch.row(row, of: numbers, in: self.columns) : batch.row(row)
        rows.append(RowCells(cells: cells, id: batch.id(row)))
      }
    }
    return rows
  }

  /// The current rows of the edits; nil for insertions, for rows that were not found, and for
  /// sections.
  func wholeRows(of edits: some Sequence<PlannedEdit>) throws(TableError) -> [RowCells?] {
    func row(_ edit: PlannedEdit) -> IndexPath? { edit.isOfSection ? nil : edit.source }
    var rest = try wholeRows(at: edits.compactMap(row))[...]
    return edits.map { row($0) == nil ? nil : rest.popFirst() }
  }
}

import Tabella

/// All rows of a section: the cells, or the values that text reads as.
func readAll(
  _ source: any TableDataSource, section: Int = 0, asValues: Bool = false
) throws -> [[Cell]] {
  var rows: [[Cell]] = []
  while true {
    let batch = try source.rows(
      RowRequest(
        section: section, first: rows.count, count: 1000, columns: Array(source.columns.indices)))
    if batch.rowCount == 0 { return rows }
    let columns = zip(source.columns, batch.columns).map { asValues ? $0.values(of: $1) : $1 }
    for row in 0..<batch.rowCount { rows.append(columns.map { $0[row] }) }
  }
}

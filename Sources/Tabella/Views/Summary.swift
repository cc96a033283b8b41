/// The content of a summary: one row per group.
struct Summary {
  let columns: [Column]
  private let keyCount: Int
  private let rows: [[Cell]]

  init(
    _ groupings: [Grouping], _ names: ColumnNames, _ keys: GroupKeys, _ order: [UInt32],
    _ results: [AggregateColumn]
  ) {
    keyCount = groupings.count
    columns =
      groupings.enumerated().map { keys.resultColumn($0.offset, name: $0.element.text(names)) }
      + results.map(\.column)
    rows = order.enumerated().map { row, group in
      groupings.indices.map { keys.cell($0, ofGroup: group) } + results.map { $0.cells[row] }
    }
  }

  /// The rows as batches. Each has at most 2 GiB of text.
  var batches: [Batch] {
    var batches: [Batch] = []
    var builder = BatchBuilder(columns.map(\.type))
    var count = 0
    for cells in rows {
      let isFull = zip(builder.columns, cells).contains { column, cell in
        column.byteCount + cell.byteCount > Int(Int32.max)
      }
      if isFull || count == MappedSource.batchSize {
        batches.append(builder.finish(rowCount: count))
        (builder, count) = (BatchBuilder(columns.map(\.type)), 0)
      }
      for (column, cell) in zip(builder.columns, cells) { column.append(cell) }
      count += 1
    }
    return batches + [builder.finish(rowCount: count)]
  }

  /// The changes that lead to a newer summary with the same columns.
  /// - Complexity: O(groups)
  func changes(to newer: Summary) -> [ChangeBatch.Change] {
    let difference = ListDifference(
      from: rows.map { $0.prefix(keyCount) }, to: newer.rows.map { $0.prefix(keyCount) })
    let changes = difference.changes(ofRowsIn: 0, after: 0)
    let plan = try? BatchPlan(
      changes, numberOfSections: { _ in .exact(1) }, numberOfRows: { _, _ in .exact(rows.count) })
    return changes
      + rows.indices.filter { row in
        let now = plan?.path(of: IndexPath(section: 0, row: row))
        return now.map { newer.rows[$0.row] != rows[row] } ?? false
      }.map { .reconfigure(IndexPath(section: 0, row: $0)) }
  }
}

extension [Batch] {
  /// The number of rows in front of each batch, and the total.
  var starts: [Int] { reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.rowCount) } }
}

extension Cell {
  /// The number of bytes of text or binary.
  fileprivate var byteCount: Int {
    switch self {
    case .text(let bytes), .binary(let bytes): bytes.count
    default: 0
    }
  }
}

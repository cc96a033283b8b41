/// The content of a summary: one row per group.
struct Summary {
  let columns: [Column]
  /// The rows. Each batch has at most 2 GiB of text.
  private(set) var batches: [Batch] = []
  private let keyCount: Int

  init(
    _ groupings: [Grouping], _ names: ColumnNames, _ keys: GroupKeys, _ order: [UInt32],
    _ results: [AggregateColumn]
  ) {
    keyCount = groupings.count
    columns =
      groupings.enumerated().map { keys.resultColumn($0.offset, name: $0.element.text(names)) }
      + results.map(\.column)
    var (builder, count) = (BatchBuilder(columns.map(\.type)), 0)
    for (row, group) in order.enumerated() {
      let isFull =
        groupings.indices.contains {
          builder.columns[$0].hasNoRoom(for: keys.byteCount($0, ofGroup: group))
        }
        || results.indices.contains {
          builder.columns[keyCount + $0].hasNoRoom(for: results[$0].byteCount(row))
        }
      if isFull || count == MappedSource.batchSize {
        batches.append(builder.finish(rowCount: count))
        (builder, count) = (BatchBuilder(columns.map(\.type)), 0)
      }
      for key in groupings.indices {
        keys.append(key, ofGroup: group, to: builder.columns[key])
      }
      for (index, result) in results.enumerated() {
        result.append(row, to: builder.columns[keyCount + index])
      }
      count += 1
    }
    batches.append(builder.finish(rowCount: count))
  }

  /// The cells of all rows.
  private var rows: [[Cell]] {
    batches.flatMap { batch in (0..<batch.rowCount).map { batch.row($0) } }
  }

  /// The changes that lead to a newer summary with the same columns.
  /// - Complexity: O(groups)
  func changes(to newer: Summary) -> [ChangeBatch.Change] {
    let (rows, newRows) = (rows, newer.rows)
    let difference = ListDifference(
      from: rows.map { $0.prefix(keyCount) }, to: newRows.map { $0.prefix(keyCount) })
    let changes = difference.changes(ofRowsIn: 0, after: 0)
    let plan = try? BatchPlan(
      changes, numberOfSections: { _ in .exact(1) }, numberOfRows: { _, _ in .exact(rows.count) })
    return changes
      + rows.indices.filter { row in
        let now = plan?.path(of: IndexPath(section: 0, row: row))
        return now.map { newRows[$0.row] != rows[row] } ?? false
      }.map { .reconfigure(IndexPath(section: 0, row: $0)) }
  }
}

extension [Batch] {
  /// The number of rows in front of each batch, and the total.
  var starts: [Int] { reduce(into: [0]) { $0.append($0[$0.count - 1] + $1.rowCount) } }
}

extension ColumnBuilder {
  /// Whether a batch is too small for so many more bytes in this column.
  fileprivate func hasNoRoom(for bytes: Int) -> Bool {
    bytes > 0 && byteCount + bytes > Int(Int32.max)
  }
}

import TabellaThreads

/// The content of a summary: one row per group.
struct Summary {
  let columns: [Column]
  /// The rows. Each column of a batch has at most 2 GiB of text, because offsets have 32 bits.
  private(set) var batches: [Batch] = []
  private let keyCount: Int

  init(
    _ groupings: [Grouping], _ names: ColumnNames, _ keys: GroupKeys, _ order: [UInt32],
    _ results: [AggregateColumn], batchBytes: Int = Int(Int32.max)
  ) {
    keyCount = groupings.count
    columns =
      groupings.enumerated().map { keys.resultColumn($0.offset, name: $0.element.text(names)) }
      + results.map(\.column)
    let size = MappedSource.batchSize
    let parts = max(1, (order.count + size - 1) / size)
    var batches: [Batch] = []
    produceInOrder(parts, threads: Cores.count, ahead: Cores.count + 1) { part in
      makeBatches(
        part * size..<min((part + 1) * size, order.count), keys, order, results, batchBytes)
    } consume: { _, made in
      batches += made
      return .all
    }
    self.batches = batches
  }

  /// Makes the batches of some rows.
  private func makeBatches(
    _ rows: Range<Int>, _ keys: GroupKeys, _ order: [UInt32], _ results: [AggregateColumn],
    _ batchBytes: Int
  ) -> [Batch] {
    let groups = order[rows]
    let fit =
      (0..<keyCount).allSatisfy { keys.fit($0, ofGroups: groups, into: batchBytes) }
      && results.allSatisfy { $0.fit(rows, into: batchBytes) }
    if rows.count > 1, !fit {
      let middle = rows.lowerBound + rows.count / 2
      return makeBatches(rows.lowerBound..<middle, keys, order, results, batchBytes)
        + makeBatches(middle..<rows.upperBound, keys, order, results, batchBytes)
    }
    let builder = BatchBuilder(columns.map(\.type))
    for key in 0..<keyCount { keys.append(key, ofGroups: groups, to: builder.columns[key]) }
    for (index, result) in results.enumerated() {
      result.append(rows, to: builder.columns[keyCount + index])
    }
    return [builder.finish(rowCount: rows.count)]
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

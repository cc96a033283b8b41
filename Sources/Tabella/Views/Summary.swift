/// The content of a summary: one row per group.
///
/// Cells are made when they are read. Several threads may read at the same time.
struct Summary {
  let columns: [Column]
  private let keyCount: Int
  private let keys: GroupKeys
  /// The group of each row in the keys.
  private let groups: [UInt32]
  private let results: [AggregateColumn]
  /// The group of each row in the results.
  private let resultGroups: [UInt32]
  /// The maximum number of bytes of text in a column of a batch, because offsets have 32 bits.
  private let batchBytes: Int

  /// `order` has the groups of the keys in the order of the rows, and `resultOrder` those of the results, if these are
  /// numbered in another way.
  init(
    _ groupings: [Grouping], _ names: ColumnNames, _ keys: GroupKeys, _ order: [UInt32],
    _ results: [AggregateColumn], _ resultOrder: [UInt32]? = nil, batchBytes: Int = Int(Int32.max)
  ) {
    keyCount = groupings.count
    columns =
      groupings.enumerated().map { keys.resultColumn($0.offset, name: $0.element.text(names)) }
      + results.map(\.column)
    (self.keys, groups, self.results, self.batchBytes) = (keys, order, results, batchBytes)
    resultGroups = resultOrder ?? order
  }

  /// The number of rows.
  var count: Int { groups.count }

  /// The cells of some rows, or of the first few of them.
  func batch(_ rows: Range<Int>, columns: [Int]) -> Batch {
    batch(groups[rows], resultGroups[rows], columns)
  }

  /// The cells of rows in any order, or of the first few of them.
  func batch(at rows: [Int], columns: [Int]) -> Batch {
    let rows = rows.prefix(MappedSource.gatherSize)
    return batch(rows.map { groups[$0] }[...], rows.map { resultGroups[$0] }[...], columns)
  }

  private func batch(
    _ groups: ArraySlice<UInt32>, _ resultGroups: ArraySlice<UInt32>, _ columns: [Int]
  ) -> Batch {
    let fit = columns.allSatisfy { column in
      column < keyCount
        ? keys.fit(column, ofGroups: groups, into: batchBytes)
        : results[column - keyCount].fit(ofGroups: resultGroups, into: batchBytes)
    }
    if groups.count > 1, !fit {
      return batch(
        groups.prefix(groups.count / 2), resultGroups.prefix(groups.count / 2), columns)
    }
    let builder = BatchBuilder(columns.map { self.columns[$0].type })
    for (column, place) in zip(columns, builder.columns) {
      if column < keyCount {
        keys.append(column, ofGroups: groups, to: place)
      } else {
        results[column - keyCount].append(ofGroups: resultGroups, to: place)
      }
    }
    return builder.finish(rowCount: groups.count)
  }

  /// The cells of all rows.
  private var rows: [[Cell]] {
    var rows: [[Cell]] = []
    while rows.count < count {
      let batch = batch(rows.count..<count, columns: Array(columns.indices))
      rows += (0..<batch.rowCount).map { batch.row($0) }
    }
    return rows
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

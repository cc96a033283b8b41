/// A column to sort by, and the direction.
///
/// Integers, reals (NaN after all numbers), booleans, dates and binary are ordered by value. In text columns, cells
/// that are numbers come first, by value. All other text follows in natural order (runs of digits by value, ASCII
/// case ignored). A descending sort reverses the order within numbers and within text. Missing cells are last in
/// both directions. Rows with equal cells keep their order.
public struct SortDescriptor: Hashable, Sendable {
  /// The number of the column.
  public var column: Int
  /// Whether the order is descending.
  public var isDescending: Bool

  /// Creates a sort descriptor.
  public init(column: Int, isDescending: Bool = false) {
    self.column = column
    self.isDescending = isDescending
  }
}

/// The sort keys of rows, collected from batches.
///
/// They use 8 bytes per row and key. A text also uses 4 bytes, and the bytes of its ``NaturalCode`` after the first
/// eight. A number of more than 15 digits uses its bytes. Columns with several kinds of cells use another byte per row.
/// Sorting uses another 4 bytes per row.
struct SortKeys: RowCollector {
  /// The columns to read, without repetition. A batch has exactly these columns.
  let columns: [Int]
  /// The keys of each column, in the order of priority.
  private var keys: [SortColumn]
  private(set) var count = 0

  init(_ descriptors: [SortDescriptor], in columns: [Column]) {
    var wanted: [SortDescriptor] = []
    // A repeated column has no effect, because its rows are already in order.
    for descriptor in descriptors where !wanted.contains(where: { $0.column == descriptor.column })
    {
      wanted.append(descriptor)
    }
    self.columns = wanted.map(\.column)
    keys = wanted.map { SortColumn(columns[$0.column], isDescending: $0.isDescending) }
  }

  /// Adds the keys of more rows.
  mutating func append(_ batch: Batch) {
    for index in keys.indices { keys[index].append(batch.columns[index]) }
    count += batch.rowCount
  }

  var emptied: SortKeys {
    var copy = self
    copy.removeAll()
    return copy
  }

  /// Adds the rows of other keys of the same columns.
  mutating func merge(_ next: SortKeys) {
    for index in keys.indices { keys[index].merge(next.keys[index]) }
    count += next.count
  }

  /// Adds the keys of the rows whose first key does not come after `bound`. Returns the numbers of these rows.
  mutating func append(_ batch: Batch, upTo bound: SortColumn.Bound?) -> [Int] {
    guard let bound, let first = keys.first else {
      append(batch)
      return Array(0..<batch.rowCount)
    }
    let rows = first.rows(first.values(batch.columns[0]), upTo: bound)
    if rows.isEmpty { return [] }
    for index in keys.indices { keys[index].append(batch.columns[index], rows) }
    count += rows.count
    return rows
  }

  /// The first key of a row, as a bound for other rows; nil if there is no column.
  func bound(ofRow row: Int) -> SortColumn.Bound? { keys.first?.bound(ofRow: row) }

  /// Removes all other rows. `rows` is in ascending order.
  mutating func keep(_ rows: [UInt32]) {
    for index in keys.indices { keys[index].keep(rows) }
    count = rows.count
  }

  /// Ensures room for more rows, and for `bytes` of the rests of texts of the first
  /// column.
  mutating func makeRoom(for more: Int, bytes: Int = 0) {
    for index in keys.indices { keys[index].makeRoom(for: more, bytes: index == 0 ? bytes : 0) }
  }

  /// Adds a row with one cell, whose text or binary is given. Only for a single column of this type.
  mutating func append(bytes: UnsafeRawBufferPointer) {
    keys[0].append(bytes: bytes)
    count += 1
  }

  /// Adds a row with one cell. Only for a single column of the cell's type.
  mutating func append(_ cell: Cell) {
    keys[0].append(cell)
    count += 1
  }

  /// The numbers of the rows in their new order; nil if the call was cancelled. There are at most 2^32 rows. The
  /// call removes all rows.
  ///
  /// Rows with equal keys stay in order, unless `sortEqualRows` sorts them. Several threads call it at the same time,
  /// each with other rows.
  /// - Complexity: O(rows + bytes of the texts) for keys that differ in few bytes, otherwise O(rows × log rows).
  mutating func sortedRows(
    sortEqualRows: ((UnsafeMutableBufferPointer<UInt32>) -> Void)? = nil, isCancelled: () -> Bool
  ) -> [UInt32]? {
    defer { removeAll() }
    var rows: [UInt32] = []
    rows.makeRoom(for: count)
    rows += 0..<UInt32(truncatingIfNeeded: count)
    // The words of the first column are in the order of the rows, and no one needs them again.
    var words = keys.isEmpty ? Array(repeating: 0, count: count) : keys[0].takeWords()
    precondition(words.count == rows.count, "every row has a word")
    rows.withUnsafeMutableBufferPointer { rows in
      words.withUnsafeMutableBufferPointer { words in
        guard let rowStart = rows.baseAddress, let wordStart = words.baseAddress else { return }
        var views: [SortColumn.View] = []
        SortKeys.withViews(keys[...], &views) { columns in
          withoutActuallyEscaping(isCancelled) { isCancelled in
            RowSorter(
              columns: columns, words: wordStart, rows: rowStart, sortEqualRows: sortEqualRows,
              isCancelled: isCancelled
            ).sort(0..<rows.count, by: 0)
          }
        }
      }
    }
    return isCancelled() ? nil : rows
  }

  private mutating func removeAll() {
    for index in keys.indices { keys[index].removeAll() }
    count = 0
  }

  private static func withViews(
    _ keys: ArraySlice<SortColumn>, _ views: inout [SortColumn.View],
    _ body: ([SortColumn.View]) -> Void
  ) {
    guard let first = keys.first else { return body(views) }
    first.withView {
      views.append($0)
      withViews(keys.dropFirst(), &views, body)
    }
  }
}

/// Finds the first rows of a sort without sorting all rows.
///
/// It keeps the keys of a few thousand candidates. Most rows are refused by their first key alone, because enough
/// candidates come before them.
struct TopRows: RowCollector {
  private let limit: Int
  private var keys: SortKeys
  /// The number of each candidate, ascending.
  private var rows: [UInt32] = []
  /// The number of rows so far.
  private var count = 0
  /// The first key of the last candidate that counts; nil while all rows are candidates.
  private var bound: SortColumn.Bound?

  /// The number of candidates after which most of them are removed.
  private var room: Int { max(4 * limit, 1 << 12) }

  /// `limit` is the number of rows to find.
  init(_ descriptors: [SortDescriptor], in columns: [Column], limit: Int) {
    self.limit = limit
    keys = SortKeys(descriptors, in: columns)
  }

  /// The columns to read, without repetition. A batch has exactly these columns.
  var columns: [Int] { keys.columns }

  /// Adds rows. There are at most 2^32.
  mutating func append(_ batch: Batch) {
    for row in keys.append(batch, upTo: bound) {
      rows.append(UInt32(truncatingIfNeeded: count + row))
    }
    count += batch.rowCount
    if rows.count > room { removeLast() }
  }

  /// The same search without rows. It still refuses rows that come after enough of the removed ones.
  var emptied: TopRows {
    var copy = self
    (copy.keys, copy.rows, copy.count) = (keys.emptied, [], 0)
    return copy
  }

  /// Adds the rows of another search, which may have refused rows that come after enough rows of this one.
  mutating func merge(_ next: TopRows) {
    keys.merge(next.keys)
    for row in next.rows { rows.append(UInt32(truncatingIfNeeded: count + Int(row))) }
    count += next.count
    if rows.count > room { removeLast() }
  }

  /// Removes the candidates behind the first ones.
  private mutating func removeLast() {
    var copy = keys
    guard let order = copy.sortedRows(isCancelled: { false }) else { return }
    let kept = order.prefix(limit)
    bound = kept.last.flatMap { keys.bound(ofRow: Int($0)) }
    // Candidates with equal keys stay in the order of the rows.
    let ascending = kept.sorted()
    keys.keep(ascending)
    rows = ascending.map { rows[Int($0)] }
  }

  /// The first rows in order, and whether they are all rows; nil if the call was cancelled. The call removes
  /// all rows.
  mutating func finish(isCancelled: () -> Bool) -> (rows: [UInt32], isAll: Bool)? {
    defer { (rows, count, bound) = ([], 0, nil) }
    guard let order = keys.sortedRows(isCancelled: isCancelled) else { return nil }
    return (order.prefix(limit).map { rows[Int($0)] }, count <= limit)
  }
}

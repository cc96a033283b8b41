/// A view with sorted rows in each section. The sort is stable.
///
/// The first request for rows of a section reads the columns to sort by to the end of the section. The view stores
/// the order, 4 bytes per row. If only the first rows of a section are requested, it stores only these; the first request
/// for other rows then reads the columns again. Counts do not need the order.
public final class SortedSource: MappedSource {
  /// The order of a section.
  struct Order {
    /// The base row of each row in the view.
    var rows: [UInt32]
    /// The row in the view of each base row. Computed on demand.
    var inverse: [UInt32]?
  }

  let descriptors: [SortDescriptor]
  var orders: [Int: Order] = [:]
  /// The base rows of a section that were read to place the rows of the last batch.
  var compared: [Int: [Int]] = [:]
  /// The base rows of the first rows of a section that has no order. There are ``headLimit`` of them.
  var heads: [Int: [UInt32]] = [:]

  /// The maximum number of first rows that are found without sorting the other rows of their section.
  static let headLimit = 128

  /// The number of groups that were sorted alone since the start, or since all groups were sorted, and of their rows.
  private var sortedAlone = (groups: 0, rows: 0)
  /// The maximum number of groups that are sorted alone, before all groups are sorted together.
  static let mostSortedAlone = 64
  /// The share of all rows that are sorted in groups alone, before all groups are sorted together. A row that is read
  /// for its group alone takes about ten times as long as one of many.
  private static let shareSortedAlone = 10

  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist.
  init(_ base: any TableDataSource, by descriptors: [SortDescriptor]) throws(TableError) {
    self.descriptors = descriptors
    let texts = descriptors.map { "\($0.column) \($0.isDescending ? "down" : "up")" }
    super.init(base, description: ["sorted"] + texts, columns: descriptors.map(\.column))
    try checkColumns()
  }

  private func checkColumns() throws(TableError) {
    for descriptor in descriptors where !base.columns.indices.contains(descriptor.column) {
      throw TableError(
        .invalidArgument,
        "there is no column \(descriptor.column) to sort by; there are \(base.columns.count)",
        column: descriptor.column)
    }
  }

  override var editPolicy: any EditPolicy { SortedEditPolicy(view: self) }

  override func forget() {
    super.forget()
    (orders, heads, compared) = ([:], [:], [:])
    sortedAlone = (0, 0)
  }

  override func mappedCount(ofBaseSection section: Int) -> Count {
    orders[section].map { .exact($0.rows.count) } ?? BaseChanges.unknownCount
  }

  /// Sorts the sections whose first rows are known. If that fails, their changes are reloads.
  override func completeMapping() {
    for section in heads.keys.sorted() { _ = try? order(of: section) }
  }

  override func translate(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    try follow(changes)
  }

  override func prepare(_ rows: Range<Int>, inSection section: Int) throws(TableError) {
    _ = try sortedRows(upTo: rows.upperBound, inSection: section)
  }

  override func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool {
    orders[section] != nil || heads[section] != nil && rows.upperBound <= SortedSource.headLimit
  }

  override func count(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    if let order = orders[section] { return .exact(order.rows.count) }
    return try base.numberOfRows(inSection: section, knowing: minimum)
  }

  override func basePath(of path: IndexPath) throws(TableError) -> IndexPath {
    let rows = try sortedRows(upTo: path.row.advancedUp(by: 1), inSection: path.section)
    guard rows.indices.contains(path.row) else {
      throw .noRow(path.row, inSection: path.section, of: rows.count)
    }
    return IndexPath(section: path.section, row: Int(rows[path.row]))
  }

  override func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    let order = try sortedRows(upTo: rows.upperBound, inSection: section)
    return rows.map { IndexPath(section: section, row: Int(order[$0])) }
  }

  override func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? {
    let rows = try order(of: path.section)
    guard rows.indices.contains(path.row) else { return nil }
    if orders[path.section]?.inverse == nil {
      var inverse = [UInt32](repeating: 0, count: rows.count)
      for (row, baseRow) in rows.enumerated() {
        inverse[Int(baseRow)] = UInt32(truncatingIfNeeded: row)
      }
      orders[path.section]?.inverse = inverse
    }
    return orders[path.section]?.inverse.map {
      IndexPath(section: path.section, row: Int($0[path.row]))
    }
  }

  /// The base rows of a section in order: all of them, or the first ones up to at least `end`.
  private func sortedRows(
    upTo end: Int, inSection section: Int
  ) throws(TableError) -> [UInt32] {
    guard end <= SortedSource.headLimit, orders[section] == nil else {
      return try order(of: section)
    }
    if let head = heads[section] { return head }
    if let rows = try orderAmongGroups(of: section) { return rows }
    let (rows, isAll) = try mapping { () throws(TableError) in try head(section) }
    if isAll { orders[section] = Order(rows: rows) } else { heads[section] = rows }
    return rows
  }

  /// The order of a section. The first call reads and sorts the section.
  func order(of section: Int) throws(TableError) -> [UInt32] {
    if let order = orders[section] { return order.rows }
    if let rows = try orderAmongGroups(of: section) { return rows }
    let rows = try mapping { () throws(TableError) in try sorted(section) }
    orders[section] = Order(rows: rows)
    heads[section] = nil
    return rows
  }

  /// The order of a group, computed with those of all other groups. Nil if few groups are shown, or if the sections of
  /// the base are no groups.
  private func orderAmongGroups(of section: Int) throws(TableError) -> [UInt32]? {
    guard let base = base as? GroupedSource else { return nil }
    let all = try base.grouped().groups.groupOfRow.count
    sortedAlone.groups += 1
    sortedAlone.rows += try base.count(inSection: section, knowing: 0).value
    guard
      sortedAlone.groups > SortedSource.mostSortedAlone
        || sortedAlone.groups > 1
          && sortedAlone.rows > all / SortedSource.shareSortedAlone
    else { return nil }
    let sorted = try mapping(isWhole: true) { () throws(TableError) in try sortedGroups(of: base) }
    for (section, rows) in sorted.enumerated() where orders[section] == nil {
      orders[section] = Order(rows: rows)
    }
    heads = [:]
    // Groups that arrive later are few.
    sortedAlone = (0, 0)
    return orders[section]?.rows
  }

  /// Sorts all rows under a grouped view, and divides them among the groups.
  private func sortedGroups(of grouped: GroupedSource) throws(TableError) -> [[UInt32]] {
    try checkColumns()
    var keys = SortKeys(descriptors, in: base.columns)
    let index = try grouped.collectRows(columns: keys.columns, into: &keys, flag) {
      onProgress?($0)
    }
    guard let sorted = keys.sortedRows(isCancelled: { flag.isSet }) else {
      throw TableError(.cancelled, "cancelled")
    }
    let groupOfRow = index.groups.groupOfRow
    var next = [UInt32](repeating: 0, count: index.count)
    var places: [UInt32] = []
    places.reserveCapacity(groupOfRow.count)
    for group in groupOfRow {
      places.append(next[Int(group)])
      next[Int(group)] += 1
    }
    var orders = index.groups.counts.map { count in
      var rows: [UInt32] = []
      rows.reserveCapacity(count)
      return rows
    }
    for row in sorted { orders[Int(groupOfRow[Int(row)])].append(places[Int(row)]) }
    return orders
  }

  /// Reads a section, and finds its first rows.
  private func head(_ section: Int) throws(TableError) -> (rows: [UInt32], isAll: Bool) {
    try checkColumns()
    var top = TopRows(descriptors, in: base.columns, limit: SortedSource.headLimit)
    _ = try readBase(section: section, columns: top.columns, into: &top)
    guard let head = top.finish(isCancelled: { flag.isSet }) else {
      throw TableError(.cancelled, "cancelled")
    }
    return head
  }

  /// Reads and sorts a section.
  func sorted(_ section: Int) throws(TableError) -> [UInt32] {
    try checkColumns()
    var keys = SortKeys(descriptors, in: base.columns)
    _ = try readBase(section: section, columns: keys.columns, into: &keys)
    guard let rows = keys.sortedRows(isCancelled: { flag.isSet }) else {
      throw TableError(.cancelled, "cancelled")
    }
    return rows
  }
}

extension TableDataSource {
  /// A view with the rows of each section sorted by columns. The first column has priority.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist.
  public func sorted(by descriptors: [SortDescriptor]) throws(TableError) -> SortedSource {
    try SortedSource(self, by: descriptors)
  }
}

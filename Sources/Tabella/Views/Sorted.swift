/// A view with sorted rows in each section. The sort is stable.
///
/// The first request for rows of a section reads the columns to sort by to the end of the section. The view stores
/// the order, 4 bytes per row. Counts do not need the order.
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

  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist.
  init(_ base: any TableDataSource, by descriptors: [SortDescriptor]) throws(TableError) {
    self.descriptors = descriptors
    let described = descriptors.map { "\($0.column) \($0.isDescending ? "down" : "up")" }
    super.init(base, description: "sorted by \(described)")
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
    orders = [:]
  }

  override func mappedCount(ofBaseSection section: Int) -> Count {
    orders[section].map { .exact($0.rows.count) } ?? BaseChanges.unknownCount
  }

  override func translate(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    try follow(changes)
  }

  override func prepare(section: Int) throws(TableError) { _ = try order(of: section) }
  override func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool {
    orders[section] != nil
  }

  override func count(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    if let order = orders[section] { return .exact(order.rows.count) }
    return try base.numberOfRows(inSection: section, knowing: minimum)
  }

  override func basePath(of path: IndexPath) throws(TableError) -> IndexPath {
    let rows = try order(of: path.section)
    guard rows.indices.contains(path.row) else {
      throw .noRow(path.row, inSection: path.section, of: rows.count)
    }
    return IndexPath(section: path.section, row: Int(rows[path.row]))
  }

  override func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    let order = try order(of: section)
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

  /// The order of a section. The first call reads and sorts the section.
  private func order(of section: Int) throws(TableError) -> [UInt32] {
    if let order = orders[section] { return order.rows }
    let rows = try mapping { () throws(TableError) in try sorted(section) }
    orders[section] = Order(rows: rows)
    return rows
  }

  /// Reads and sorts a section.
  func sorted(_ section: Int) throws(TableError) -> [UInt32] {
    try checkColumns()
    var keys = SortKeys(descriptors, in: base.columns)
    _ = try readBase(section: section, columns: keys.columns) { keys.append($0) }
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

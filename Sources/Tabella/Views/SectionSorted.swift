/// The order of sections: by an aggregate of their rows. Sections without a value are the last in both directions.
public struct SectionOrder: Hashable, Sendable {
  /// The value to order by.
  public var aggregate: Aggregate
  /// Whether the order is descending.
  public var isDescending: Bool

  /// Creates an order of sections.
  public init(_ aggregate: Aggregate, isDescending: Bool = false) {
    self.aggregate = aggregate
    self.isDescending = isDescending
  }
}

/// A view with the sections of its base in the order of an aggregate. Sections with equal values keep their order.
///
/// The first call that needs the order reads the column of the aggregate to its end. Rows keep their order within their
/// section.
public final class SectionSortedSource: MappedSource {
  /// The aggregate of each section of the base.
  struct Values {
    var column: Column
    var cells: [Cell]
  }

  /// The order of the sections.
  struct Arrangement {
    /// The base's number of each section.
    let sections: [Int]
    /// The number in the view of each section of the base.
    let inverse: [Int]
    let values: Values
  }

  let order: SectionOrder
  var sorted: Arrangement?

  /// Throws ``TableError`` with `.invalidArgument` if the column does not exist or has no such aggregate.
  init(_ base: any TableDataSource, by order: SectionOrder) throws(TableError) {
    self.order = order
    let (aggregate, direction) = (order.aggregate, order.isDescending ? "down" : "up")
    super.init(
      base,
      description: [
        "sections by \(aggregate.function.rawValue) \(aggregate.column ?? -1) \(direction)"
      ], columns: aggregate.column.map { [$0] } ?? [])
    _ = try Aggregator([aggregate], in: base.columns)
  }

  override func forget() {
    super.forget()
    sorted = nil
  }

  override var editPolicy: any EditPolicy { SectionSortedEditPolicy(view: self) }

  override var mappedSectionCount: Count {
    sorted.map { .exact($0.sections.count) } ?? BaseChanges.unknownCount
  }

  override func translate(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    try follow(changes)
  }

  override func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool { sorted != nil }

  override func baseSection(of section: Int) throws(TableError) -> Int? {
    let sections = try baseSections()
    guard sections.indices.contains(section) else { throw .noSection(section) }
    return sections[section]
  }

  /// Returns the base's number of a section. Throws ``TableError`` with `.notFound` if there is no such section.
  public func numberInBase(ofSection section: Int) throws(TableError) -> Int {
    try begin()
    return try inBase(section)
  }

  private func inBase(_ section: Int) throws(TableError) -> Int {
    try baseSection(of: section) ?? section
  }

  /// The number in the view of a section of the base.
  func section(ofBase section: Int) throws(TableError) -> Int {
    let inverse = try order(of: base).inverse
    guard inverse.indices.contains(section) else { throw .noSection(section) }
    return inverse[section]
  }

  override func count(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    try base.numberOfRows(inSection: try inBase(section), knowing: minimum)
  }

  override func basePath(of path: IndexPath) throws(TableError) -> IndexPath {
    let section = try inBase(path.section)
    let count = try base.numberOfRows(inSection: section, knowing: path.row.advancedUp(by: 1)).value
    guard 0..<count ~= path.row else {
      throw .noRow(path.row, inSection: path.section, of: count)
    }
    return IndexPath(section: section, row: path.row)
  }

  override func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    let section = try inBase(section)
    return rows.map { IndexPath(section: section, row: $0) }
  }

  override func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? {
    IndexPath(section: try section(ofBase: path.section), row: path.row)
  }

  override func indexTitleTarget(forBase path: IndexPath) throws(TableError) -> IndexPath {
    IndexPath(section: try section(ofBase: path.section), row: path.row)
  }

  // Sections

  public override var sections: (any TableSections)? { base.sections.map { _ in self } }

  /// The base's number of each section, in the order of the view.
  func baseSections() throws(TableError) -> [Int] { try order(of: base).sections }

  private func order(of base: any TableDataSource) throws(TableError) -> Arrangement {
    if let sorted { return sorted }
    let made = try mapping(isWhole: true) { () throws(TableError) in try arranged(values()) }
    sorted = made
    return made
  }

  /// Reads the aggregates of all sections.
  func values() throws(TableError) -> Values {
    let values = try base.sectionAggregates(
      [order.aggregate], flag: flag, onProgress: onProgress ?? { _ in })
    return Values(column: values.columns[0], cells: values.sections.map { $0[0] })
  }

  /// Sorts the sections by their aggregates.
  func arranged(_ values: Values) throws(TableError) -> Arrangement {
    let builder = BatchBuilder([values.column.type], capacity: values.cells.count)
    for cell in values.cells { builder.columns[0].append(cell) }
    var keys = SortKeys(
      [SortDescriptor(column: 0, isDescending: order.isDescending)], in: [values.column])
    keys.append(builder.finish(rowCount: values.cells.count))
    guard let rows = keys.sortedRows(isCancelled: { flag.isSet }) else {
      throw TableError(.cancelled, "cancelled")
    }
    var inverse = [Int](repeating: 0, count: rows.count)
    for (section, row) in rows.enumerated() { inverse[Int(row)] = section }
    return Arrangement(sections: rows.map { Int($0) }, inverse: inverse, values: values)
  }
}

extension SectionSortedSource: TableSections {
  public func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try base.numberOfSections(knowing: minimum)
  }

  public func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try begin()
    return try base.sections?.title(place, ofSection: try inBase(section))
  }
}

extension TableDataSource {
  /// A view with the same sections in the order of an aggregate of their rows.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if the column does not exist or has no such aggregate.
  public func sectionsSorted(by order: SectionOrder) throws(TableError) -> SectionSortedSource {
    try SectionSortedSource(self, by: order)
  }
}

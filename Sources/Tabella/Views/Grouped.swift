/// A view with one section for each group of rows. Rows of a group have the same value, or kind of value, in one
/// column or in several.
///
/// The base's own sections are not shown. Within a group, rows have the base's order. The first call that needs the
/// groups reads the columns to their end. The view stores the values of the groups and the group of each row. Once rows
/// are requested, it also stores the rows of each group; together this takes 8 bytes per row.
public final class GroupedSource: MappedSource {
  final class Index {
    let groups: Groups
    /// The values of the groups, to find the groups of rows that arrive.
    var keys: GroupKeys
    /// The number of base rows in front of each base section, and the total.
    let baseStarts: [Int]
    /// The number of groups.
    var count: Int { groups.count }
    /// The number of rows in front of each group, and the total. Computed on demand.
    lazy var starts = groups.counts.reduce(into: [0]) { $0.append($0[$0.count - 1] + $1) }
    /// The first letters of titles, each with its first group. Computed on demand.
    lazy var indexTitles = groups.indexTitles()
    /// The base rows, numbered across the base's sections, in the order of the groups. Computed on demand.
    lazy var rows = groupedRows()
    /// The number of groups for each combination of values of the keys that a move cannot change freely. Computed on
    /// demand.
    var fixedCombinations: [[UInt32]: Int]?

    init(groups: Groups, keys: GroupKeys, baseStarts: [Int]) {
      self.groups = groups
      self.keys = keys
      self.baseStarts = baseStarts
    }

    private func groupedRows() -> [UInt32] {
      var next = starts
      var rows = [UInt32](repeating: 0, count: groups.groupOfRow.count)
      for (number, group) in groups.groupOfRow.enumerated() {
        rows[next[Int(group)]] = UInt32(truncatingIfNeeded: number)
        next[Int(group)] += 1
      }
      return rows
    }

    /// The number of rows of a group whose base number is lower than `number`.
    func place(ofNumber number: Int, inGroup group: Int) -> Int {
      // The rows of a group are in ascending order.
      let rows = rows[starts[group]..<starts[group + 1]]
      return rows.partitioningIndex { Int($0) >= number } - rows.startIndex
    }

    /// The number of a base row, counted across the base's sections.
    func number(_ path: IndexPath) -> Int { baseStarts[path.section].advancedUp(by: path.row) }

    /// The base path of a row number.
    func basePath(_ number: Int) -> IndexPath {
      if baseStarts.count == 2 { return IndexPath(section: 0, row: number) }
      // The last section that begins at or in front of the row. Empty sections can precede it.
      let section = baseStarts.partitioningIndex { $0 > number } - 1
      return IndexPath(section: section, row: number - baseStarts[section])
    }
  }

  let groupings: [Grouping]
  /// The zone of days and hours.
  let zone: Zone
  var index: Index?

  /// Throws ``TableError`` with `.invalidArgument` if there is no grouping, or if a column does not exist or cannot be
  /// grouped in this way.
  init(
    _ base: any TableDataSource, by groupings: [Grouping], in zone: Zone = .utc
  ) throws(TableError) {
    guard !groupings.isEmpty else {
      throw TableError(.invalidArgument, "there is no column to group by")
    }
    self.groupings = groupings
    self.zone = zone
    let place = groupings.contains { $0.by.isOfDates } ? ["in \(zone.name)"] : []
    super.init(
      base,
      description: ["grouped"] + groupings.map { "\($0.column) \($0.by.name)" } + place,
      columns: groupings.map(\.column))
    _ = try makeKeys()
  }

  /// Empty keys, for the columns of the base's current version.
  func makeKeys() throws(TableError) -> GroupKeys {
    try GroupKeys(
      groupings, in: base.columns, zone: zone, listsFrom: GroupKeys.usualListsFrom)
  }

  /// The names of the grouped columns, for messages.
  var columnNames: String {
    var names: [String] = []
    for grouping in groupings where base.columns.indices.contains(grouping.column) {
      let name = base.columns[grouping.column].name
      if !names.contains(name) { names.append(name) }
    }
    return names.joined(separator: " and ")
  }

  override func baseSection(of section: Int) throws(TableError) -> Int? { nil }
  override var editPolicy: any EditPolicy { GroupedEditPolicy(view: self) }

  override func forget() {
    super.forget()
    index = nil
  }

  override var mappedSectionCount: Count {
    index.map { .exact($0.baseStarts.count - 1) } ?? BaseChanges.unknownCount
  }

  override func mappedCount(ofBaseSection section: Int) -> Count {
    guard let starts = index?.baseStarts else { return BaseChanges.unknownCount }
    guard section >= 0, section < starts.count - 1 else { return .exact(0) }
    return .exact(starts[section + 1] - starts[section])
  }

  override func translate(_ changes: BaseChanges) throws(TableError) -> [ChangeBatch.Change]? {
    try follow(changes)
  }

  override func isMapped(_ rows: Range<Int>, inSection section: Int) -> Bool { index != nil }

  override func count(
    inSection section: Int, knowing minimum: Int
  ) throws(TableError) -> Count {
    let index = try grouped()
    guard 0..<index.count ~= section else { throw .noSection(section) }
    return .exact(index.groups.rowCount(ofGroup: section))
  }

  override func basePath(of path: IndexPath) throws(TableError) -> IndexPath {
    let count = try count(inSection: path.section, knowing: 0).value
    guard 0..<count ~= path.row else {
      throw .noRow(path.row, inSection: path.section, of: count)
    }
    let index = try grouped()
    return index.basePath(Int(index.rows[index.starts[path.section] + path.row]))
  }

  override func basePaths(
    of rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [IndexPath] {
    let index = try grouped()
    let start = index.starts[section]
    let shown = index.rows
    return rows.map { index.basePath(Int(shown[start + $0])) }
  }

  override func path(ofBase path: IndexPath) throws(TableError) -> IndexPath? {
    let index = try grouped()
    guard path.section >= 0, path.section < index.baseStarts.count - 1 else { return nil }
    let number = index.baseStarts[path.section] + path.row
    guard number < index.baseStarts[path.section + 1] else { return nil }
    let group = Int(index.groups.groupOfRow[number])
    return IndexPath(section: group, row: index.place(ofNumber: number, inGroup: group))
  }

  // Sections.

  public override var sections: (any TableSections)? { self }

  /// The first letters of the groups' titles. Available for groups named by text, if there are enough letters.
  public override var sectionIndex: (any TableSectionIndex)? {
    let first = groupings[0]
    let isText =
      base.columns.indices.contains(first.column) && base.columns[first.column].type == .text
    return isText && (first.by == .value || first.by == .letter) ? self : nil
  }

  public override func sectionIndexTitles() throws(TableError) -> [String] {
    try begin()
    return try grouped().indexTitles.map(\.title)
  }

  public override func indexPath(
    forIndexTitle title: String, at index: Int
  ) throws(TableError) -> IndexPath {
    try begin()
    let titles = try grouped().indexTitles
    guard titles.indices.contains(index), titles[index].title == title else {
      throw TableError(.notFound, "there is no index title \(title) at \(index)")
    }
    return .section(titles[index].group)
  }

  // The index.

  /// The groups, read on demand.
  func grouped() throws(TableError) -> Index {
    if let index { return index }
    let made = try mapping(isWhole: true) { () throws(TableError) in try readGroups() }
    index = made
    return made
  }

  /// Reads the rows of all groups into a collector, in the order of the base. Reading one group after another would read
  /// the base once per group.
  ///
  /// Returns the groups. Throws ``TableError`` with `.conflict` if the base has other rows now.
  func collectRows<Collector: RowCollector>(
    columns: [Int], into collector: inout Collector, _ flag: CancelFlag, _ onProgress: (Int) -> Void
  ) throws(TableError) -> Index {
    let index = try grouped()
    var count = 0
    for section in 0..<index.baseStarts.count - 1 {
      let done = count
      count += try collect(base, section: section, columns: columns, into: &collector, flag) {
        onProgress(done + $0)
      }
      guard count == index.baseStarts[section + 1] else {
        throw TableError(.conflict, "the table changed while it was read; read it again")
      }
    }
    return index
  }

  private func readGroups() throws(TableError) -> Index {
    var keys = try makeKeys()
    var baseStarts = [0]
    while try base.numberOfSections(knowing: baseStarts.count).value >= baseStarts.count {
      let section = baseStarts.count - 1
      let count = try readBase(
        section: section, columns: keys.columns, done: baseStarts[section], into: &keys)
      baseStarts.append(baseStarts[section] + count)
    }
    let groups = keys.finish()
    return Index(groups: groups, keys: keys, baseStarts: baseStarts)
  }
}

extension GroupedSource: TableSections {
  /// The number of groups; at least 0 if the rows are not grouped yet and the caller asks for no work.
  public func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try begin()
    if minimum == 0, index == nil { return .atLeast(0) }
    return .exact(try grouped().count)
  }

  public func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try begin()
    let index = try grouped()
    guard 0..<index.count ~= section else { throw .noSection(section) }
    return place == .header ? index.groups.title(ofGroup: section) : nil
  }

  /// All groups. Several threads may read their titles and numbers of rows at the same time.
  package func allGroups() throws(TableError) -> Groups {
    try begin()
    return try grouped().groups
  }
}

extension TableDataSource {
  /// A view with one section for each group of rows, in the order of the groups' values. Missing values are last.
  /// `zone` is the zone of days and hours.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if the column does not exist or cannot be grouped in this way.
  public func grouped(
    by grouping: Grouping, in zone: Zone = .utc
  ) throws(TableError) -> GroupedSource {
    try GroupedSource(self, by: [grouping], in: zone)
  }

  /// A view with one section for each combination of values, in the order of the first grouping, then the second, and
  /// so on. The titles of a section's values are joined: `north · 2026-02`.
  ///
  /// Throws ``TableError`` with `.invalidArgument` if there is no grouping, or if a column does not exist or cannot be
  /// grouped in this way.
  public func grouped(
    by groupings: [Grouping], in zone: Zone = .utc
  ) throws(TableError) -> GroupedSource {
    try GroupedSource(self, by: groupings, in: zone)
  }
}

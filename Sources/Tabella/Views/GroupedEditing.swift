// Moves in a grouped view. A move to another group sets a cell of the base row. A move within a group moves the
// base row.

extension GroupedSource {
  /// Whether each column of the base can be set.
  private func canSet(_ column: Int) -> Bool {
    guard let editing = base.editing, let columns = try? editing.editableColumns() else {
      return base.editing != nil
    }
    return columns.indices.contains(column) && columns[column]
  }

  /// Whether any grouped column can be set.
  var canSetSomeColumn: Bool { groupings.contains { canSet($0.column) } }

  /// The end of the base's last section. New rows go there.
  func baseEnd() throws(TableError) -> IndexPath {
    let starts = try grouped().baseStarts
    guard starts.count > 1 else {
      throw TableError(.constraint, "the table has no section for a new row")
    }
    return IndexPath(
      section: starts.count - 2, row: starts[starts.count - 1] - starts[starts.count - 2])
  }

  /// Whether each row can be moved to another group.
  func mayLeave(_ rows: Range<Int>, group: Int) throws(TableError) -> [Bool] {
    guard try hasTarget(fromGroup: group), let editing = base.editing else {
      return rows.map { _ in false }
    }
    return try answers(for: rows, group, RowEditability()) { rows, section throws(TableError) in
      try editing.editability(ofRows: rows, inSection: section)
    }.map { $0.contains(.editable) }
  }

  /// Whether cells can bring a row of a group to another group.
  ///
  /// A key of equal values can get any value. A class can only stay, or become missing, because its cell is not known. A
  /// column that cannot be set stays.
  /// - Complexity: O(2ⁿ) for n classes, plus O(groups) once.
  private func hasTarget(fromGroup group: Int) throws(TableError) -> Bool {
    let index = try grouped()
    let keys = index.groups.keys
    let free = Set(
      keys.map(\.grouping).filter { $0.by == .value && canSet($0.column) }.map(\.column))
    let fixed = keys.filter { !free.contains($0.grouping.column) }
    let counts =
      index.fixedCombinations
      ?? index.groups.counts.indices.reduce(into: [[UInt32]: Int]()) { counts, group in
        counts[fixed.map { $0.valueOfGroup[group] }, default: 0] += 1
      }
    index.fixedCombinations = counts
    var reachable = [fixed.map { $0.valueOfGroup[group] }]
    if counts[reachable[0], default: 0] > 1 { return true }
    for (number, key) in fixed.enumerated()
    where key.titles.last == .some(nil) && canSet(key.grouping.column) {
      let missing = UInt32(truncatingIfNeeded: key.titles.count - 1)
      for var combination in reachable where combination[number] != missing {
        combination[number] = missing
        if counts[combination] != nil { return true }
        reachable.append(combination)
      }
    }
    return false
  }

  /// Whether an adjacent row of the group is in the same base section, so that the two rows can be swapped.
  func hasNeighbour(_ row: Int, inGroup group: Int) throws(TableError) -> Bool {
    let count = try grouped().groups.counts[group]
    let section = try baseSection(row, group)
    for other in [row - 1, row + 1] where 0..<count ~= other {
      if try baseSection(other, group) == section { return true }
    }
    return false
  }

  private func baseSection(_ row: Int, _ group: Int) throws(TableError) -> Int {
    try basePath(of: IndexPath(section: group, row: row)).section
  }

  /// The cells to set in a row that moves to another group: the values of the keys in which the groups differ.
  func cells(moving source: IndexPath, toGroup group: Int) throws(TableError) -> [Int: Cell] {
    let groups = try grouped().groups
    guard groups.counts.indices.contains(group) else { throw .noSection(group) }
    var cells: [Int: Cell] = [:]
    let changed = groups.keys.filter { $0.valueOfGroup[source.section] != $0.valueOfGroup[group] }
    for key in changed {
      if let cell = key.cell(ofGroup: group) { cells[key.grouping.column] = cell }
    }
    for key in changed where cells[key.grouping.column] == nil {
      let name = base.columns[key.grouping.column].name
      throw TableError(
        .constraint,
        "\"\(groups.titles[group] ?? "")\" contains rows with several values: set \(name) to one of "
          + "them instead of moving \(source.noun)", column: key.grouping.column)
    }
    let path = try basePath(of: source)
    let rows = path.row..<path.row + 1
    let editability = try base.editing?.editability(ofRows: rows, inSection: path.section)
    for column in cells.keys.sorted()
    where !canSet(column) || editability?.first?.contains(.editable) != true {
      throw TableError(
        .constraint,
        "\(source.noun) cannot be moved to another group: its \(base.columns[column].name) cannot be set",
        column: column)
    }
    return cells
  }

  /// The base row in front of which a row that is moved within its group arrives.
  ///
  /// It is the next row of the group that is not moved, or the row after the previous one. It must be in the base
  /// section of the moved row, because a move within a group should not change the base section.
  func place(
    ofArrival number: Int, inGroup group: Int, _ rows: ListPlan, _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> IndexPath {
    guard base.moving != nil else {
      throw TableError(.constraint, "the order of the table's rows cannot be changed")
    }
    func basePath(_ row: Int?) throws(TableError) -> IndexPath? {
      guard let row else { return nil }
      return try self.basePath(of: IndexPath(section: group, row: row))
    }
    func moved(_ number: Int) -> Int? {
      guard case .move(let source, _) = changes[rows.arrivals[number].change],
        source.section == group
      else { return nil }
      return source.row
    }
    let rank = rows.arrivals[number].indexAfter - number
    // Earlier arrivals in the same gap.
    let before = try (0..<number).reversed().prefix { rows.arrivals[$0].indexAfter - $0 == rank }
      .first { moved($0) != nil }
      .flatMap { number throws(TableError) in try basePath(moved(number)) }
    guard let own = try basePath(moved(number)) else { return try baseEnd() }
    let (last, next) = (try basePath(rows.survivor(rank - 1)), try basePath(rows.survivor(rank)))
    guard before?.section ?? 0 <= own.section, last?.section ?? 0 <= own.section,
      own.section <= next?.section ?? .max
    else {
      throw TableError(
        .constraint,
        "rows of different sections of the table cannot be reordered in a group")
    }
    if let next, next.section == own.section { return next }
    if let last, last.section == own.section {
      return IndexPath(section: own.section, row: last.row + 1)
    }
    // All rows of the group in this section are moved. They arrive at the position of the first one.
    let index = try grouped()
    let first = index.place(ofNumber: index.baseStarts[own.section], inGroup: group)
    return try self.basePath(of: IndexPath(section: group, row: first))
  }
}

/// The rules for edits of a grouped view.
///
/// A move to another group sets a cell of the base row. A move within a group moves the base row. The sections are
/// groups and cannot be edited.
struct GroupedEditPolicy: EditPolicy {
  let view: GroupedSource

  private func grouped() throws(TableError) -> GroupedSource.Index { try view.grouped() }

  var sectionRefusal: TableError? {
    TableError(
      .notSupported,
      "the sections are groups of rows by \(view.columnNames) and cannot be edited; set \(view.columnNames) in the rows instead"
    )
  }

  var hasGroups: Bool { true }

  /// Available if a row can be moved in the base, or if its cell can be set to the value of another group.
  var allowsMoves: Bool {
    base.editing != nil && (base.moving != nil || canSetSomeColumn)
  }

  func movable(_ paths: [IndexPath], elsewhere: Bool) throws(TableError) -> [Bool] {
    var answers = try mayLeave(paths)
    if elsewhere || base.moving == nil || !answers.contains(false) { return answers }
    for (number, canMove) in try movableInBase(paths, elsewhere: false).enumerated()
    where canMove && !answers[number] {
      answers[number] = try hasNeighbour(paths[number])
    }
    return answers
  }

  func baseTarget(
    ofArrival index: Int, inSection section: Int, _ rows: ListPlan,
    _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> BaseTarget {
    guard case .move(let source, _) = changes[rows.arrivals[index].change] else {
      return .before(try baseEnd())
    }
    return source.section == section
      ? .before(try place(ofArrival: index, inGroup: section, rows, changes))
      : .stays(try cells(moving: source, toGroup: section))
  }

  func path(
    ofBase path: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    let index = try grouped()
    return IndexPath(
      section: proposed.section,
      row: index.place(ofNumber: index.number(path), inGroup: proposed.section))
  }

  func path(
    ofBaseTarget target: IndexPath, from source: IndexPath, proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    let index = try grouped()
    guard target.section >= 0, target.section < index.baseStarts.count - 1 else { return proposed }
    let isBehind = target.section == source.section && target.row >= source.row
    // The first base row after the moved row.
    let next = index.number(target) + (isBehind ? 1 : 0)
    return IndexPath(
      section: proposed.section,
      row: index.place(ofNumber: next, inGroup: proposed.section)
        - (index.number(source) < next ? 1 : 0))
  }

  /// Adds the group's values to the cells. Throws if the cells have other values in the grouped columns.
  func baseCells(
    _ cells: [Int: Cell], insertedAt target: IndexPath
  ) throws(TableError) -> [Int: Cell] {
    let groups = try grouped().groups
    let group = target.section
    guard 0..<groups.count ~= group else { throw .noSection(group) }
    var cells = cells
    for column in Set(view.groupings.map(\.column)).sorted() {
      let keys = groups.keys.filter { $0.grouping.column == column }
      let name = base.columns[column].name
      guard let own = cells[column] else {
        guard let value = keys.compactMap({ $0.cell(ofGroup: group) }).first else {
          throw TableError(
            .constraint,
            "a row of \"\(groups.title(ofGroup: group) ?? "")\" needs a value for \(name)",
            column: column)
        }
        cells[column] = value
        continue
      }
      for key in keys where try title(of: own, groupedBy: key.grouping) != key.title(ofGroup: group)
      {
        let title = groups.title(ofGroup: group).map { "\"\($0)\"" } ?? "the group without a value"
        throw TableError(
          .constraint,
          "a row with \(own) as \(name) does not belong to \(title): leave \(name) out, or insert it into its own group",
          column: column)
      }
    }
    return cells
  }

  /// The title of a cell's group by one key, even if there is no such group yet.
  private func title(
    of cell: Cell, groupedBy grouping: Grouping
  ) throws(TableError) -> String? {
    let builder = BatchBuilder([base.columns[grouping.column].type])
    guard cell == .missing || cell.type == builder.columns[0].type else {
      throw TableError(
        .invalidArgument,
        "\(base.columns[grouping.column].name) must be \(builder.columns[0].type.name), not \(cell)",
        column: grouping.column)
    }
    builder.columns[0].append(cell)
    var keys = try GroupKeys([grouping], in: base.columns, zone: view.zone)
    keys.append(builder.finish(rowCount: 1))
    return keys.finish().title(ofGroup: 0)
  }

  /// Whether each column of the base can be set.
  private func canSet(_ column: Int) -> Bool {
    guard let editing = base.editing, let columns = try? editing.editableColumns() else {
      return base.editing != nil
    }
    return columns.indices.contains(column) && columns[column]
  }

  /// Whether any grouped column can be set.
  private var canSetSomeColumn: Bool { view.groupings.contains { canSet($0.column) } }

  /// The end of the base's last section. New rows go there.
  private func baseEnd() throws(TableError) -> IndexPath {
    let starts = try grouped().baseStarts
    guard starts.count > 1 else {
      throw TableError(.constraint, "the table has no section for a new row")
    }
    return IndexPath(
      section: starts.count - 2, row: starts[starts.count - 1] - starts[starts.count - 2])
  }

  /// Whether each row can be moved to another group.
  private func mayLeave(_ paths: [IndexPath]) throws(TableError) -> [Bool] {
    var targets: [Int: Bool] = [:]
    for path in paths where targets[path.section] == nil {
      targets[path.section] = try hasTarget(fromGroup: path.section)
    }
    var answers = paths.map { targets[$0.section] == true }
    guard answers.contains(true), base.editing != nil else { return paths.map { _ in false } }
    for (number, editability) in try view.editability(at: paths).enumerated()
    where !editability.contains(.editable) {
      answers[number] = false
    }
    return answers
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
      ?? (0..<index.groups.count).reduce(into: [[UInt32]: Int]()) { counts, group in
        counts[fixed.map { $0.valueOfGroup[group] }, default: 0] += 1
      }
    index.fixedCombinations = counts
    var reachable = [fixed.map { $0.valueOfGroup[group] }]
    if counts[reachable[0], default: 0] > 1 { return true }
    for (number, key) in fixed.enumerated()
    where canSet(key.grouping.column) {
      guard let missing = key.missing else { continue }
      for var combination in reachable where combination[number] != missing {
        combination[number] = missing
        if counts[combination] != nil { return true }
        reachable.append(combination)
      }
    }
    return false
  }

  /// Whether an adjacent row of the group is in the same base section, so that the two rows can be swapped.
  private func hasNeighbour(_ path: IndexPath) throws(TableError) -> Bool {
    let count = try grouped().groups.rowCount(ofGroup: path.section)
    let section = try view.basePath(of: path).section
    for row in [path.row - 1, path.row + 1] where 0..<count ~= row {
      let other = try view.basePath(of: IndexPath(section: path.section, row: row))
      if other.section == section { return true }
    }
    return false
  }

  /// The cells to set in a row that moves to another group: the values of the keys in which the groups differ.
  private func cells(moving source: IndexPath, toGroup group: Int) throws(TableError) -> [Int: Cell]
  {
    let groups = try grouped().groups
    guard 0..<groups.count ~= group else { throw .noSection(group) }
    var cells: [Int: Cell] = [:]
    let changed = groups.keys.filter { $0.valueOfGroup[source.section] != $0.valueOfGroup[group] }
    for key in changed {
      if let cell = key.cell(ofGroup: group) { cells[key.grouping.column] = cell }
    }
    for key in changed where cells[key.grouping.column] == nil {
      let name = base.columns[key.grouping.column].name
      throw TableError(
        .constraint,
        "\"\(groups.title(ofGroup: group) ?? "")\" contains rows with several values: set \(name) to one of "
          + "them instead of moving \(source.noun)", column: key.grouping.column)
    }
    let path = try view.basePath(of: source)
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
  private func place(
    ofArrival number: Int, inGroup group: Int, _ rows: ListPlan, _ changes: [ChangeBatch.Change]
  ) throws(TableError) -> IndexPath {
    guard base.moving != nil else {
      throw TableError(.constraint, "the order of the table's rows cannot be changed")
    }
    func basePath(_ row: Int?) throws(TableError) -> IndexPath? {
      guard let row else { return nil }
      return try view.basePath(of: IndexPath(section: group, row: row))
    }
    func moved(_ number: Int) -> Int? {
      guard case .move(let source, _) = changes[rows.arrivals[number].change],
        source.section == group
      else { return nil }
      return source.row
    }
    let rank = rows.arrivals[number].indexAfter - number
    // Earlier arrivals in the same gap.
    let before = try (0..<number).lazy.reversed()
      .prefix { rows.arrivals[$0].indexAfter - $0 == rank }
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
    return try view.basePath(of: IndexPath(section: group, row: first))
  }
}

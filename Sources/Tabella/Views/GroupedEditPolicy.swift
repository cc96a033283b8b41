/// The rules for edits of a grouped view.
///
/// A move to another group sets a cell of the base row. A move within a group moves the base row. The sections are
/// groups and cannot be edited.
struct GroupedEditPolicy: EditPolicy {
  let view: GroupedSource

  private var grouping: Grouping { view.grouping }
  private func grouped() throws(TableError) -> GroupedSource.Index { try view.grouped() }

  var sectionRefusal: TableError? {
    let name =
      base.columns.indices.contains(grouping.column) ? base.columns[grouping.column].name : ""
    return TableError(
      .notSupported,
      "the sections are groups of rows by \(name) and cannot be edited; set \(name) in the rows instead"
    )
  }

  var hasGroups: Bool { true }

  /// Available if a row can be moved in the base, or if its cell can be set to the value of another group.
  var allowsMoves: Bool {
    base.editing != nil && (base.moving != nil || canSetColumn)
  }

  func movable(
    _ rows: Range<Int>, _ section: Int, elsewhere: Bool
  ) throws(TableError) -> [Bool] {
    var answers = try mayLeave(rows, group: section)
    if elsewhere || base.moving == nil { return answers }
    for (number, canMove) in try movableInBase(rows, section, elsewhere: false).enumerated()
    where canMove && !answers[number] {
      answers[number] = try hasNeighbour(rows.lowerBound + number, inGroup: section)
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
    guard index.baseStarts.indices.contains(target.section + 1) else { return proposed }
    let isBehind = target.section == source.section && target.row >= source.row
    // The first base row after the moved row.
    let next = index.number(target) + (isBehind ? 1 : 0)
    return IndexPath(
      section: proposed.section,
      row: index.place(ofNumber: next, inGroup: proposed.section)
        - (index.number(source) < next ? 1 : 0))
  }

  /// Adds the group's value to the cells. Throws if the cells have another value in that column.
  func baseCells(
    _ cells: [Int: Cell], insertedAt target: IndexPath
  ) throws(TableError) -> [Int: Cell] {
    let group = target.section
    if let own = cells[grouping.column] {
      let title = try grouped().groups.titles[group]
      guard try self.title(ofGroupWith: own) == title else {
        let name = base.columns[grouping.column].name
        throw TableError(
          .constraint,
          "a row with \(own) as \(name) does not belong to \(title.map { "\"\($0)\"" } ?? "the group without a value"): "
            + "leave \(name) out, or insert it into its own group", column: grouping.column)
      }
      return cells
    }
    guard let value = try value(ofGroup: group) else {
      let title = try grouped().groups.titles[group]
      throw TableError(
        .constraint,
        "a row of \"\(title ?? "")\" needs a value for \(base.columns[grouping.column].name)",
        column: grouping.column)
    }
    var cells = cells
    cells[grouping.column] = value
    return cells
  }

  /// The title of the group of a row with this cell, even if there is no such group yet.
  private func title(ofGroupWith cell: Cell) throws(TableError) -> String? {
    let builder = BatchBuilder([base.columns[grouping.column].type])
    guard cell == .missing || cell.type == builder.columns[0].type else {
      throw TableError(
        .invalidArgument,
        "\(base.columns[grouping.column].name) must be \(builder.columns[0].type.name), not \(cell)",
        column: grouping.column)
    }
    builder.columns[0].append(cell)
    var keys = try view.makeKeys()
    keys.append(builder.finish(rowCount: 1))
    return keys.finish().titles.first ?? nil
  }

  /// Whether the grouped column can be set.
  private var canSetColumn: Bool {
    guard let editing = base.editing, let columns = try? editing.editableColumns() else {
      return base.editing != nil
    }
    return columns.indices.contains(grouping.column) && columns[grouping.column]
  }

  /// The value that makes a row a member of a group; nil for a group with several values.
  private func value(ofGroup group: Int) throws(TableError) -> Cell? {
    let groups = try grouped().groups
    guard groups.cells.indices.contains(group) else { throw .noSection(group) }
    guard groups.cells[group] != .missing || groups.titles[group] == nil else { return nil }
    return groups.cells[group]
  }

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
  private func mayLeave(_ rows: Range<Int>, group: Int) throws(TableError) -> [Bool] {
    let groups = try grouped().groups
    let hasTarget =
      grouping.by == .value
      ? groups.counts.count > 1
      : groups.titles.last == .some(nil) && group + 1 < groups.titles.count
    guard hasTarget, canSetColumn, let editing = base.editing else {
      return rows.map { _ in false }
    }
    return try view.answers(for: rows, group, RowEditability()) {
      rows, section throws(TableError) in
      try editing.editability(ofRows: rows, inSection: section)
    }.map { $0.contains(.editable) }
  }

  /// Whether an adjacent row of the group is in the same base section, so that the two rows can be swapped.
  private func hasNeighbour(_ row: Int, inGroup group: Int) throws(TableError) -> Bool {
    let count = try grouped().groups.counts[group]
    let section = try baseSection(row, group)
    for other in [row - 1, row + 1] where 0..<count ~= other {
      if try baseSection(other, group) == section { return true }
    }
    return false
  }

  private func baseSection(_ row: Int, _ group: Int) throws(TableError) -> Int {
    try view.basePath(of: IndexPath(section: group, row: row)).section
  }

  /// The cells to set in a row that moves to another group.
  private func cells(moving source: IndexPath, toGroup group: Int) throws(TableError) -> [Int: Cell]
  {
    let name = base.columns[grouping.column].name
    guard let value = try value(ofGroup: group) else {
      throw TableError(
        .constraint,
        "\"\(try grouped().groups.titles[group] ?? "")\" contains rows with several values: set \(name) to one of "
          + "them instead of moving \(source.noun)", column: grouping.column)
    }
    let path = try view.basePath(of: source)
    let rows = path.row..<path.row + 1
    let editability = try base.editing?.editability(ofRows: rows, inSection: path.section)
    guard canSetColumn, editability?.first?.contains(.editable) == true else {
      throw TableError(
        .constraint, "\(source.noun) cannot be moved to another group: its \(name) cannot be set",
        column: grouping.column)
    }
    return [grouping.column: value]
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
    return try view.basePath(of: IndexPath(section: group, row: first))
  }
}

// Edits of joined tables, as edits of one of them.

extension JoinedSource: TableEditing, TableMoving {
  public func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    let place = try place(.section(section))
    guard let editing = source(place).editing else {
      return try none([], rows, place)
    }
    return try editing.editability(ofRows: rows, inSection: place.path.section)
  }

  public func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    let place = try place(.section(section))
    guard let moving = source(place).moving else {
      return try none(false, rows, place)
    }
    return try moving.movability(ofRows: rows, inSection: place.path.section)
  }

  /// The same answer for all rows of a table that has not the ability, if they are there.
  private func none<Answer>(
    _ answer: Answer, _ rows: Range<Int>, _ place: Place
  ) throws(TableError) -> [Answer] {
    let count = try source(place).numberOfRows(
      inSection: place.path.section, knowing: rows.upperBound
    ).value
    guard rows.lowerBound >= 0, rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: place.path.section, of: count)
    }
    return Array(repeating: answer, count: rows.count)
  }

  /// A column may be edited if some table has it and lets it.
  public func editableColumns() throws(TableError) -> [Bool]? {
    var answers = columns.map { _ in false }
    for part in parts {
      guard let editing = part.source.editing else { continue }
      let own = try editing.editableColumns()
      for (number, ownNumber) in part.ownColumns.enumerated() {
        if let ownNumber, own.map({ $0[ownNumber] }) ?? true { answers[number] = true }
      }
    }
    return answers
  }

  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    let (from, to) = (try place(source), try place(proposed))
    try requireSame(from.part, to.part)
    guard let moving = self.source(from).moving else {
      throw TableError(.constraint, "the rows of \(parts[from.part].name) cannot be moved")
    }
    return try path(
      Place(part: from.part, path: moving.target(ofMoveFrom: from.path, to: to.path)))
  }

  private func requireSame(_ from: Int, _ to: Int) throws(TableError) {
    guard from == to else {
      throw TableError(
        .constraint, "a row cannot move from \(parts[from].name) to \(parts[to].name)")
    }
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    let versions = try versions()
    if let wanted = batch.version, wanted != token(versions) {
      throw TableError(
        .conflict,
        "the tables are at version \(token(versions)?.token ?? "none"), not \(wanted)")
    }
    var touched: Int?
    var own = batch
    own.edits = try batch.edits.map { edit throws(TableError) in
      let (part, edit) = try ownEdit(edit)
      if let other = touched, other != part {
        throw TableError(
          .notSupported,
          "one batch cannot edit both \(parts[other].name) and \(parts[part].name); commit one each"
        )
      }
      touched = part
      return edit
    }
    guard let part = touched else {
      let version = token(versions)
      return EditResult(
        outcomes: [], changes: ChangeBatch(from: version, to: version, changes: []))
    }
    guard let editing = parts[part].source.editing else {
      throw TableError(.readOnly, "\(parts[part].name) is read-only")
    }
    if batch.version != nil { own.version = versions[part] }
    return followed(
      try editing.commit(own), part, versions, isDryRun: batch.isDryRun)
  }

  /// The edit as its table knows it.
  private func ownEdit(
    _ edit: EditBatch.Edit
  ) throws(TableError) -> (part: Int, edit: EditBatch.Edit) {
    switch edit {
    case .delete(let reference):
      let (part, reference) = try ownReference(reference)
      return (part, .delete(reference))
    case .set(let reference, let cells):
      let (part, reference) = try ownReference(reference)
      return (part, .set(reference, cells: try ownCells(cells, part)))
    case .insert(let target, let cells):
      let target = try place(target)
      return (target.part, .insert(at: target.path, cells: try ownCells(cells, target.part)))
    case .move(let reference, let target):
      let (part, reference) = try ownReference(reference)
      let target = try place(target)
      try requireSame(part, target.part)
      return (part, .move(reference, to: target.path))
    }
  }

  private func ownReference(
    _ reference: RowReference
  ) throws(TableError) -> (part: Int, reference: RowReference) {
    switch reference {
    case .path(let path):
      let place = try place(path)
      return (place.part, .path(place.path))
    case .id(let id):
      let (part, own) = try split(id)
      return (part, .id(own))
    }
  }

  private func ownCells(_ cells: [Int: Cell], _ part: Int) throws(TableError) -> [Int: Cell] {
    var own: [Int: Cell] = [:]
    for (number, cell) in cells {
      guard columns.indices.contains(number) else {
        throw TableError(.invalidArgument, "there is no column \(number)", column: number)
      }
      guard let ownNumber = parts[part].ownColumns[number] else {
        throw TableError(
          .constraint, "\(parts[part].name) has no column \(columns[number].name)",
          column: number)
      }
      own[ownNumber] = try ownCell(cell, number, parts[part].source.columns[ownNumber])
    }
    return own
  }

  /// A cell of a column whose type was united, as its table has it.
  private func ownCell(
    _ cell: Cell, _ number: Int, _ column: Column
  ) throws(TableError) -> Cell {
    guard case .text(let text) = cell, column.type != .text, columns[number].type == .text
    else { return cell }
    guard let converted = Cell(text, as: column.type) else {
      throw TableError(
        .constraint, "\(column.name) must be \(column.type.name), not \(cell)", column: number)
    }
    return converted
  }

  /// A table's result as the whole's: everything must be read again.
  private func followed(
    _ result: EditResult, _ part: Int, _ versions: [Version?], isDryRun: Bool
  ) -> EditResult {
    if !isDryRun { forget() }
    var (before, after) = (versions, versions)
    before[part] = result.changes.from
    after[part] = result.changes.to
    var result = result
    for index in result.outcomes.indices {
      result.outcomes[index].id = result.outcomes[index].id.map { "\(part)~\($0)" }
    }
    result.receipt = result.receipt.map { Array("\(part)~".utf8) + $0 }
    result.changes = ChangeBatch(from: token(before), to: token(after), changes: nil)
    return result
  }
}

extension JoinedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let split = receipt.split(
      separator: UInt8(ascii: "~"), maxSplits: 1, omittingEmptySubsequences: false)
    guard split.count == 2, let part = Int(String(decoding: split[0], as: UTF8.self)),
      parts.indices.contains(part), let undoing = parts[part].source.undoing
    else { throw TableError(.conflict, "the receipt is not one of these tables'") }
    let versions = try versions()
    return followed(
      try undoing.undo(Array(split[1]), isDryRun: isDryRun), part, versions, isDryRun: isDryRun)
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    for part in parts { try part.source.changes?.listen(notify) }
  }

  public func pull() throws(TableError) -> ChangeBatch {
    var (before, after) = (try versions(), [Version?]())
    for (number, part) in parts.enumerated() {
      after.append(before[number])
      guard let change = try part.source.changes?.pull() else { continue }
      (before[number], after[number]) = (change.from, change.to)
      if change.changes != [] || change.from != change.to {
        // Remembered, should another table fail.
        owesReload = true
        forget()
      }
    }
    defer { owesReload = false }
    return ChangeBatch(from: token(before), to: token(after), changes: owesReload ? nil : [])
  }
}

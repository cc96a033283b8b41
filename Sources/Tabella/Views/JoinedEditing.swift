// Edits of joined tables, translated to edits of one of the tables.

extension JoinedSource: TableEditing, TableSectionEditing, TableMoving {
  public func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    let partPath = try partPath(of: .section(section))
    guard let editing = source(partPath).editing else {
      return try none([], rows, partPath)
    }
    return try editing.editability(ofRows: rows, inSection: partPath.path.section)
  }

  public func editability(
    ofSections sections: Range<Int>
  ) throws(TableError) -> [SectionEditability] {
    var answers: [SectionEditability] = []
    for section in sections {
      let partPath = try partPath(of: .section(section))
      let own = partPath.path.section
      answers += try source(partPath).sectionEditing?.editability(ofSections: own..<own + 1) ?? [[]]
    }
    return answers
  }

  /// Whether a section can be inserted in at least one of the tables.
  public func canInsertSections() throws(TableError) -> Bool {
    for part in parts where try part.source.sectionEditing?.canInsertSections() == true {
      return true
    }
    return false
  }

  public func movability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [Bool] {
    let partPath = try partPath(of: .section(section))
    guard let moving = source(partPath).moving else {
      return try none(false, rows, partPath)
    }
    return try moving.movability(ofRows: rows, inSection: partPath.path.section)
  }

  /// The same answer for all rows of a table that lacks the ability. Throws if a row does not exist.
  private func none<Answer>(
    _ answer: Answer, _ rows: Range<Int>, _ partPath: PartPath
  ) throws(TableError) -> [Answer] {
    try source(partPath).check(rows: rows, inSection: partPath.path.section)
    return Array(repeating: answer, count: rows.count)
  }

  /// Whether cells of each column can be set in at least one of the tables.
  public func editableColumns() throws(TableError) -> [Bool]? {
    var answers = columns.map { _ in false }
    for part in parts {
      guard let editing = part.source.editing else { continue }
      let own = try editing.editableColumns()
      for (number, ownNumber) in part.ownColumns.enumerated() {
        guard let ownNumber else { continue }
        if own.map({ $0.indices.contains(ownNumber) && $0[ownNumber] }) ?? true {
          answers[number] = true
        }
      }
    }
    return answers
  }

  public func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    let (from, to) = (try partPath(of: source), try partPath(of: proposed))
    guard from.part == to.part else {
      throw .otherTable(parts[from.part].name, parts[to.part].name)
    }
    guard let moving = self.source(from).moving else {
      throw TableError(.constraint, "the rows of \(parts[from.part].name) cannot be moved")
    }
    return try path(
      PartPath(part: from.part, path: moving.target(ofMoveFrom: from.path, to: to.path)))
  }

  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    let versions = try versions()
    if let wanted = batch.version, wanted != token(versions) {
      throw TableError(
        .conflict,
        "the tables are at version \(token(versions)?.token ?? "none"), not \(wanted)")
    }
    guard let part = try touchedPart(batch.edits) else {
      let version = token(versions)
      return EditResult(
        outcomes: [], changes: ChangeBatch(from: version, to: version, changes: []))
    }
    let sections = try ownSections(part, after: batch.edits)
    var own = batch
    own.edits = try batch.edits.map { edit throws(TableError) in
      try ownEdit(edit, part, sections)
    }
    guard let editing = parts[part].source.editing else {
      throw TableError(.readOnly, "\(parts[part].name) is read-only")
    }
    if batch.version != nil { own.version = versions[part] }
    try parts[part].source.check(titlesIn: own)
    var result = try followed(part, versions, isDryRun: batch.isDryRun) {
      () throws(TableError) in try editing.commit(own)
    }
    let name = parts[part].name
    for (number, (edit, own)) in zip(batch.edits, own.edits).enumerated()
    where edit.givesTitle && edit.title == own.title && result.outcomes.indices.contains(number) {
      // The title is shown in another form than the user set.
      if result.outcomes[number].message == nil {
        result.outcomes[number].message =
          "the title begins with the table's name, \(name), which cannot be changed"
      }
    }
    return result
  }

  /// The number of the table that a batch edits; nil if the batch has no edits.
  private func touchedPart(_ edits: [EditBatch.Edit]) throws(TableError) -> Int? {
    var touched: Int?
    func touch(_ part: Int) throws(TableError) {
      if let touched, touched != part { throw .oneTableOnly(parts[touched].name, parts[part].name) }
      touched = part
    }
    for edit in edits {
      switch edit {
      case .delete(let reference), .set(let reference, _), .move(let reference, _):
        try touch(try ownReference(reference).part)
      case .insert: break
      }
    }
    if touched != nil { return touched }
    // The batch has only insertions. The lowest target is valid before the batch too, so it determines the table.
    let targets = edits.compactMap { edit in
      if case .insert(let target, _) = edit { target } else { nil }
    }
    guard let first = targets.min() else { return nil }
    let end = first.isSection ? try numberOfSections(knowing: first.section.advancedUp(by: 1)) : nil
    // A section can be appended to the last table.
    if let end, end == .exact(first.section), let last = parts.indices.last { return last }
    return try partPath(of: first).part
  }

  /// The numbers of a table's sections in the joined table after the edits; nil if the edits change no sections.
  private func ownSections(
    _ part: Int, after edits: [EditBatch.Edit]
  ) throws(TableError) -> Range<Int>? {
    var change: Int?
    for edit in edits {
      switch edit {
      case .insert(let target, _) where target.isSection: change = (change ?? 0) + 1
      case .delete(let reference) where reference.isSection: change = (change ?? 0) - 1
      case .move(let reference, _) where reference.isSection: change = change ?? 0
      default: break
      }
    }
    guard let change else { return nil }
    let start = try path(PartPath(part: part, path: .section(0))).section
    let count = try parts[part].source.numberOfSections(knowing: .max).value
    return start..<start + max(count + change, 0)
  }

  /// The edit in terms of its own table.
  private func ownEdit(
    _ edit: EditBatch.Edit, _ part: Int, _ sections: Range<Int>?
  ) throws(TableError) -> EditBatch.Edit {
    switch edit {
    case .delete(let reference): return .delete(try ownReference(reference).reference)
    case .set(let reference, let cells):
      return .set(try ownReference(reference).reference, cells: try ownCells(cells, part))
    case .insert(let target, let cells):
      let target = try ownTarget(target, part, sections) { part, other in
        .oneTableOnly(part, other)
      }
      return .insert(at: target, cells: try ownCells(cells, part))
    case .move(let reference, let target):
      return .move(
        try ownReference(reference).reference,
        to: try ownTarget(target, part, sections) { part, other in
          .otherTable(part, other)
        })
    }
  }

  /// The target in its own table. `sections` are the numbers of that table's sections after the batch, if it
  /// changes them.
  private func ownTarget(
    _ target: IndexPath, _ part: Int, _ sections: Range<Int>?,
    _ refusal: (_ part: String, _ other: String) -> TableError
  ) throws(TableError) -> IndexPath {
    guard let sections else {
      let partPath = try partPath(of: target)
      guard partPath.part == part else {
        throw refusal(parts[part].name, parts[partPath.part].name)
      }
      return partPath.path
    }
    if sections.contains(target.section) {
      return IndexPath(section: target.section - sections.lowerBound, row: target.row)
    }
    // After this table, section numbers are shifted by the sections that the batch inserts and deletes.
    let count = try parts[part].source.numberOfSections(knowing: .max).value
    let isBehind = target.section >= sections.upperBound
    let old = target.section - (isBehind ? sections.count - count : 0)
    throw refusal(parts[part].name, parts[try partPath(of: .section(old)).part].name)
  }

  private func ownReference(
    _ reference: RowReference
  ) throws(TableError) -> (part: Int, reference: RowReference) {
    switch reference {
    case .path(let path):
      let partPath = try partPath(of: path)
      return (partPath.part, .path(partPath.path))
    case .id(let id):
      let (part, own) = try split(id)
      return (part, .id(own))
    }
  }

  private func ownCells(_ cells: [Int: Cell], _ part: Int) throws(TableError) -> [Int: Cell] {
    var own: [Int: Cell] = [:]
    for (number, cell) in cells {
      guard number != EditBatch.sectionTitle else {
        own[number] = ownTitle(cell, part)
        continue
      }
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

  /// The title in terms of its own table, without the table's name. The user can include the name or omit it.
  private func ownTitle(_ title: Cell, _ part: Int) -> Cell {
    let prefix = Array("\(parts[part].name): ".utf8)
    guard case .text(let text) = title, text.starts(with: prefix) else { return title }
    return .text(Array(text.dropFirst(prefix.count)))
  }

  /// The cell in terms of its own table. The united column can have another type.
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

  /// Edits a table and moves on with it. Returns the result in terms of the joined table.
  func followed(
    _ part: Int, _ versions: [Version?], isDryRun: Bool,
    _ edit: () throws(TableError) -> EditResult
  ) throws(TableError) -> EditResult {
    func whole(_ receipt: [UInt8]?) -> [UInt8]? { receipt.map { Array("\(part)~".utf8) + $0 } }
    var result: EditResult
    do throws(TableError) { result = try edit() } catch {
      // All other errors mean that nothing was changed.
      if error.code == .misbehaved { lose() }
      var error = error
      error.receipt = whole(error.receipt)
      throw error
    }
    var (before, after) = (versions, versions)
    before[part] = result.changes.from
    after[part] = result.changes.to
    for index in result.outcomes.indices {
      result.outcomes[index].id = result.outcomes[index].id.map { "\(part)~\($0)" }
    }
    result.receipt = whole(result.receipt)
    let changes = changes(
      of: [part: result.changes], mapped: !owesReload && starts.indices.contains(part),
      isDryRun: isDryRun)
    if !isDryRun { owesReload = false }
    result.changes = ChangeBatch(from: token(before), to: token(after), changes: changes)
    return result
  }
}

extension TableError {
  fileprivate static func oneTableOnly(_ one: String, _ other: String) -> TableError {
    TableError(
      .notSupported, "one batch cannot edit both \(one) and \(other); use one batch for each")
  }

  fileprivate static func otherTable(_ one: String, _ other: String) -> TableError {
    TableError(.constraint, "a row cannot move from \(one) to \(other)")
  }
}

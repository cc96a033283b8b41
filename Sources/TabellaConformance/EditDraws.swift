import Tabella

// Random edits, valid and invalid.

/// The origin of a row that arrives in a table together with other edits.
private enum ArrivalKind: CaseIterable { case move, insert, none }

private enum SectionEditKind: CaseIterable { case insert, rename, move, delete }

extension Trial {
  /// A separate table to edit.
  func editedTable() throws -> EditedTable { try EditedTable(self, try scratch()) }

  /// Draws several batches and passes each to `body`. Skips the law if all of them are refused.
  func forEachCommit(
    _ body: (EditedTable, EditBatch) throws -> Result<EditResult, TableError>
  ) throws {
    let table = try editedTable()
    var done = 0
    for _ in 0..<repetitions(6, least: 2) {
      guard let batch = try drawBatch(table) else { break }
      if case .success = try body(table, batch) { done += 1 }
      _ = try table.reread()
    }
    if done == 0 { throw Skipped(reason: "no edit could be made") }
  }

  /// A batch of edits that the source declares possible; nil if there are none.
  func drawBatch(_ table: EditedTable) throws -> EditBatch? {
    var paths = table.rows.enumerated().flatMap { section, rows in
      rows.indices.map { IndexPath(section: section, row: $0) }
    }
    var edits: [EditBatch.Edit] = []
    for _ in 0..<draw(1..<4) {
      guard !paths.isEmpty else { break }
      let path = paths.remove(at: draw(0..<paths.count))
      let rows = path.row..<path.row + 1
      let id = table.rows[path.section][path.row].id
      let reference = draw(0..<2) == 0 ? id.map { RowReference.id($0) } ?? .path(path) : .path(path)
      let style = try table.editing.editability(ofRows: rows, inSection: path.section)[0]
      if draw(0..<3) == 0, style.contains(.delete) {
        edits.append(.delete(reference))
      } else if let (_, column, cell) = try drawSet(table, of: path) {
        edits.append(.set(reference, cells: [column: cell]))
      }
    }
    if let arrival = try drawArrival(table, paths, edits) { edits.append(arrival) }
    return edits.isEmpty ? nil : EditBatch(edits)
  }

  /// A move or an insertion to combine with other edits, or nil. Its target counts the rows that remain after the
  /// deletions.
  private func drawArrival(
    _ table: EditedTable, _ free: [IndexPath], _ edits: [EditBatch.Edit]
  ) throws -> EditBatch.Edit? {
    guard !table.rows.isEmpty else { return nil }
    let section = draw(0..<table.rows.count)
    var staying = table.rows[section].count
    for edit in edits {
      guard case .delete(let reference) = edit else { continue }
      let isHere =
        switch reference {
        case .path(let path): path.section == section
        case .id(let id): table.rows[section].contains { $0.id == id }
        }
      if isHere { staying -= 1 }
    }
    switch draw(ArrivalKind.self) {
    case .move:
      guard let moving = table.source.moving, !free.isEmpty else { return nil }
      let from = free[draw(0..<free.count)]
      let rows = from.row..<from.row + 1
      guard try moving.movability(ofRows: rows, inSection: from.section)[0] else { return nil }
      if from.section == section { staying -= 1 }
      var target = IndexPath(section: section, row: draw(0..<staying + 1))
      // With deletions, the answer of the source for the move alone would not apply.
      if edits.allSatisfy(\.isSet) {
        do throws(TableError) {
          target = try moving.target(ofMoveFrom: from, to: target)
        } catch {
          try require(error.code == .constraint, "a move is vetoed as \(error.code.name): \(error)")
          return nil
        }
      }
      return .move(.path(from), to: target)
    case .insert:
      guard let model = table.rows.joined().first else { return nil }
      let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
      var cells: [Int: Cell] = [:]
      for (column, cell) in model.cells.enumerated() where mayBeSet[column] && cell != .missing {
        cells[column] = cell
      }
      return .insert(at: IndexPath(section: section, row: draw(0..<staying + 1)), cells: cells)
    case .none: return nil
    }
  }

  /// A section edit, and whether the source declares it possible; nil if none can be drawn.
  func drawSectionEdit(
    _ table: EditedTable, _ titles: [String?], _ round: Int
  ) throws -> (edit: EditBatch.Edit, isAllowed: Bool)? {
    guard let editing = table.source.sectionEditing else { return nil }
    let editability = try editing.editability(ofSections: titles.indices)
    try require(
      editability.count == titles.count,
      "\(titles.count) sections have \(editability.count) answers about their edits")
    // A new title extends an existing one, because titles may have to be paths, for example.
    func newTitle(_ section: Int?) -> String {
      section.flatMap { titles[$0] }.map { "\($0)~\(round)" } ?? "title~\(round)"
    }
    let kind = draw(SectionEditKind.self)
    if kind == .insert {
      let model = titles.indices.filter { editability[$0].contains(.title) }
      let title = newTitle(model.isEmpty ? nil : model[draw(0..<model.count)])
      let edit = EditBatch.Edit.insertSection(at: draw(0..<titles.count + 1), title: title)
      return (edit, try editing.canInsertSections())
    }
    guard !titles.isEmpty else { return nil }
    let section = draw(0..<titles.count)
    switch kind {
    case .rename:
      let edit = EditBatch.Edit.renameSection(section, title: newTitle(section))
      return (edit, editability[section].contains(.title))
    case .move:
      let target = draw(0..<titles.count)
      if target == section { return nil }
      return (.moveSection(section, to: target), editability[section].contains(.move))
    case .delete, .insert: return (.deleteSection(section), editability[section].contains(.delete))
    }
  }

  /// A cell to set, with a value that some row has in that column.
  func drawSet(
    _ table: EditedTable, of wanted: IndexPath? = nil
  ) throws -> (path: IndexPath, column: Int, cell: Cell)? {
    let paths = table.rows.enumerated().flatMap { section, rows in
      rows.indices.map { IndexPath(section: section, row: $0) }
    }
    let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
    let columns = mayBeSet.indices.filter { mayBeSet[$0] }
    guard !paths.isEmpty, !columns.isEmpty else { return nil }
    for _ in 0..<10 {
      let path = wanted ?? paths[draw(0..<paths.count)]
      let editability = try table.editing.editability(
        ofRows: path.row..<path.row + 1, inSection: path.section)
      guard editability[0].contains(.editable) else { continue }
      let other = paths[draw(0..<paths.count)]
      let column = columns[draw(0..<columns.count)]
      let cell = table.rows[other.section][other.row].cells[column]
      if cell != .missing { return (path, column, cell) }
    }
    return nil
  }

  /// Edits that the source declares impossible.
  func forbiddenEdits(_ table: EditedTable) throws -> [EditBatch.Edit] {
    guard let section = table.rows.indices.first(where: { !table.rows[$0].isEmpty }) else {
      return []
    }
    let mayBeSet = try table.editing.editableColumns() ?? table.source.columns.map { _ in true }
    let styles = try table.editing.editability(
      ofRows: table.rows[section].indices, inSection: section)
    var edits: [EditBatch.Edit] = []
    func path(_ row: Int) -> RowReference { .path(IndexPath(section: section, row: row)) }
    if let column = mayBeSet.firstIndex(of: false) {
      edits.append(.set(path(0), cells: [column: table.rows[section][0].cells[column]]))
    }
    if let row = styles.firstIndex(where: { !$0.contains(.delete) }) {
      edits.append(.delete(path(row)))
    }
    if let row = styles.firstIndex(where: { !$0.contains(.editable) }),
      let column = mayBeSet.firstIndex(of: true)
    {
      edits.append(.set(path(row), cells: [column: table.rows[section][row].cells[column]]))
    }
    return edits
  }

  /// Batches that each break a rule.
  func badEdits(_ table: EditedTable) throws -> [[EditBatch.Edit]] {
    let end = IndexPath(section: 0, row: table.rows.first?.count ?? 0)
    var bad: [[EditBatch.Edit]] = [
      [.delete(.path(end))], [.set(.path(end), cells: [:])],
      [.delete(.path(IndexPath(section: table.rows.count, row: 0)))],
    ]
    if table.source.identity != nil { bad.append([.delete(.id("no-such-id"))]) }
    if let section = table.rows.firstIndex(where: { !$0.isEmpty }) {
      let row = RowReference.path(IndexPath(section: section, row: 0))
      bad.append([.delete(row), .delete(row)])
      bad.append([.set(row, cells: [:]), .delete(row)])
      bad.append([.set(row, cells: [table.source.columns.count: .missing])])
    }
    return bad
  }
}

extension EditBatch.Edit {
  /// The row that the edit names; nil for an insertion.
  var reference: RowReference? {
    switch self {
    case .insert: nil
    case .delete(let reference), .set(let reference, _), .move(let reference, _): reference
    }
  }

  var isDelete: Bool {
    if case .delete = self { true } else { false }
  }

  var isSet: Bool {
    if case .set = self { true } else { false }
  }
}

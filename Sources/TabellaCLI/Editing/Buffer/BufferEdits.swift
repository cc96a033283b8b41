import Tabella

/// The edits that lead from the rows of a buffer to its lines after the user has edited it.
struct BufferEdits {
  private let buffer: RowBuffer
  private let lines: EditedLines
  private let cells: CellArguments
  /// Whether sections can be inserted, deleted, renamed and moved.
  private let editsSections: Bool

  private(set) var edits: [PlannedEdit] = []

  /// Finds the edits. Throws an error with the number of the line that cannot be an edit.
  init(
    _ buffer: RowBuffer, _ lines: EditedLines, cells: CellArguments, editsSections: Bool
  ) throws(TableError) {
    self.buffer = buffer
    self.lines = lines
    self.cells = cells
    self.editsSections = editsSections
    let survivors = try addSections()
    try addDeletions(survivors)
    for (number, section) in lines.sections.enumerated() {
      if let old = section.section { try addRows(section, number, old) }
    }
  }

  private var source: any TableDataSource { buffer.table.source }

  /// Whether rows are named by their ids, because their order changes by itself.
  private var namesByID: Bool { source.hasVolatileOrder && buffer.ids != nil }

  // Sections

  /// Adds the edits of sections. Returns the sections that are not deleted.
  private mutating func addSections() throws(TableError) -> Set<Int> {
    let olds = lines.sections.compactMap(\.section)
    let survivors = Set(olds)
    for section in buffer.sections.indices where !survivors.contains(section) {
      try checkSections("section [\(section)] was removed")
      var edit = PlannedEdit(.delete, source: .section(buffer.sections[section].run.section))
      edit.label = title(section)
      edits.append(edit)
    }
    let isInOrder = ListMatching(
      partners: lines.sections.map { Int32(truncatingIfNeeded: $0.section ?? -1) }
    ).isInOrder
    for (number, section) in lines.sections.enumerated() {
      guard let old = section.section else {
        try checkSections("line \(section.line): a section was added")
        if let row = section.rows.first {
          throw .line(
            row.line, "a new section has no rows yet; add the rows in another edit")
        }
        let title = try title(of: section)
        var edit = PlannedEdit(.insert, target: .section(number), newTitle: title)
        edit.label = title
        edits.append(edit)
        continue
      }
      let path = IndexPath.section(buffer.sections[old].run.section)
      if section.title != buffer.sections[old].text {
        try checkSections("line \(section.line): the title was changed")
        var edit = PlannedEdit(.set, source: path, newTitle: try title(of: section))
        edit.label = title(old)
        edits.append(edit)
      }
      if !isInOrder[number] {
        try checkSections("line \(section.line): the section was moved")
        var edit = PlannedEdit(.move, source: path, target: .section(number))
        edit.label = title(old)
        edits.append(edit)
      }
    }
    return survivors
  }

  private func checkSections(_ what: String) throws(TableError) {
    if editsSections { return }
    throw TableError(
      .notSupported, "\(what), but these sections cannot be edited with these options")
  }

  private func title(_ section: Int) -> String { buffer.sections[section].title ?? "untitled" }

  private func title(of section: EditedLines.Section) throws(TableError) -> String? {
    guard let bytes = unescapedCell(section.title),
      let title = String(validating: bytes, as: UTF8.self)
    else { throw .line(section.line, "the title is not text with valid escapes") }
    return title.isEmpty ? nil : title
  }

  // Rows

  private mutating func addDeletions(_ survivors: Set<Int>) throws(TableError) {
    var isLeft = [Bool](repeating: false, count: buffer.rows.count)
    for section in lines.sections {
      for row in section.rows {
        guard let number = row.row else { continue }
        isLeft[number] = true
        let old = buffer.section(ofRow: number)
        guard survivors.contains(old) else {
          throw .line(
            row.line,
            "row \(number + 1) belongs to section [\(old)], which was removed; remove its rows, too, or keep the section"
          )
        }
      }
    }
    for row in buffer.rows.indices
    where !isLeft[row] && survivors.contains(buffer.section(ofRow: row)) {
      edits.append(edit(.delete, row))
    }
  }

  /// An edit of an existing row.
  private func edit(
    _ kind: RequestedEdit.Kind, _ row: Int, target: IndexPath? = nil, cells: [Int: Cell] = [:]
  ) -> PlannedEdit {
    PlannedEdit(
      kind, source: buffer.path(ofRow: row), target: target, cells: cells, id: buffer.ids?[row],
      refersByID: namesByID, namesPlaceByPosition: target != nil && !namesByID)
  }

  /// Adds the edits of the rows in a section of the lines. `old` is the section in the buffer.
  private mutating func addRows(
    _ section: EditedLines.Section, _ number: Int, _ old: Int
  ) throws(TableError) {
    let run = buffer.sections[old].run
    let isInOrder = ListMatching(
      partners: section.rows.map { row in
        let isOwn = row.row.map { buffer.section(ofRow: $0) == old } ?? false
        return isOwn ? Int32(truncatingIfNeeded: row.row!) : -1
      }
    ).isInOrder
    // Sections can be inserted, deleted and moved only if all are in the buffer. Otherwise they keep their numbers.
    let target = editsSections ? number : run.section
    var arrivals = isInOrder.count { $0 }
    for (index, row) in section.rows.enumerated() {
      if let existing = row.row {
        let cells = try changedCells(row, existing)
        if !cells.isEmpty { edits.append(edit(.set, existing, cells: cells)) }
        if isInOrder[index] { continue }
        if namesByID, buffer.section(ofRow: existing) == old {
          throw TableError(
            .notSupported,
            "line \(row.line): row \(existing + 1) was moved, but the table orders its rows itself; put the line back"
          )
        }
      }
      var path = IndexPath(section: target, row: run.rows.lowerBound + index)
      if namesByID {
        // The position does not count. It only must exist after the batch.
        path.row = arrivals
        arrivals += 1
      }
      var added =
        if let existing = row.row {
          edit(.move, existing, target: path)
        } else {
          PlannedEdit(
            .insert, target: path, cells: try newCells(row), namesPlaceByPosition: !namesByID)
        }
      added.asksForEnd = namesByID
      edits.append(added)
    }
  }

  // Cells

  /// The cells of an existing row that differ from the buffer.
  private func changedCells(
    _ row: EditedLines.Row, _ number: Int
  ) throws(TableError) -> [Int: Cell] {
    guard row.cells != buffer.rows[number] else { return [:] }
    let old = buffer.rows[number].split(separator: 9, omittingEmptySubsequences: false)
    let new = row.cells.split(separator: 9, omittingEmptySubsequences: false)
    // Some editors remove blanks and tabs at the ends of lines, and with them empty cells.
    let isStripped = new.count < old.count && old[new.count...].allSatisfy(\.isEmpty)
    guard new.count == max(1, old.count) || isStripped else {
      throw .line(
        row.line,
        "row \(number + 1) has \(counted(new.count, "cell")), but the table has \(counted(old.count, "column")); a tab inside a cell is \\t"
      )
    }
    var cells: [Int: Cell] = [:]
    for (index, pair) in zip(old, new).enumerated() where pair.0 != pair.1 {
      guard buffer.isEditable[index] else {
        throw .line(
          row.line, "column \(buffer.columns[index].name) cannot be changed")
      }
      cells[buffer.table.columns[index]] = try cell(pair.1, index, row.line)
    }
    return cells
  }

  /// The cells of a new row. Cells that cannot be changed are left out if they are empty.
  private func newCells(_ row: EditedLines.Row) throws(TableError) -> [Int: Cell] {
    guard row.hasCells else { return [:] }
    let texts = row.cells.split(separator: 9, omittingEmptySubsequences: false)
    guard texts.count <= max(1, buffer.columns.count) else {
      throw .line(
        row.line,
        "the new row has \(counted(texts.count, "cell")), but the table has \(counted(buffer.columns.count, "column")); a tab inside a cell is \\t"
      )
    }
    var cells: [Int: Cell] = [:]
    for (index, text) in texts.enumerated() where index < buffer.columns.count {
      if text.isEmpty, !buffer.isEditable[index] || buffer.columns[index].type != .text { continue }
      cells[buffer.table.columns[index]] = try cell(text, index, row.line)
    }
    return cells
  }

  private func cell(
    _ text: ArraySlice<UInt8>, _ index: Int, _ line: Int
  ) throws(TableError) -> Cell {
    if text.elementsEqual(Array("\\N".utf8)) { return .missing }
    guard let value = unescapedCell(text) else {
      throw .line(
        line,
        "column \(buffer.columns[index].name) has an unknown escape; write \\\\ for a backslash")
    }
    if buffer.columns[index].type == .binary {
      guard let bytes = bytes(base64: String(decoding: value, as: UTF8.self)) else {
        throw .line(line, "column \(buffer.columns[index].name) must be base64")
      }
      return .binary(bytes)
    }
    do throws(Failure) {
      return try cells.cell(value, buffer.table.columns[index])
    } catch {
      throw .line(line, error.text)
    }
  }
}

/// A number with its noun: `1 cell`, `2 cells`.
private func counted(_ number: Int, _ noun: String) -> String {
  "\(number) \(noun)\(number == 1 ? "" : "s")"
}

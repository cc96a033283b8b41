import Tabella

// Edits, changes and columns in the words of the contract, because the author of a provider may not know Swift.

extension DefaultStringInterpolation {
  mutating func appendInterpolation(_ edit: EditBatch.Edit) { appendLiteral(words(of: edit)) }

  mutating func appendInterpolation(_ edits: [EditBatch.Edit]) {
    appendLiteral(edits.map { words(of: $0) }.joined(separator: " and "))
  }

  mutating func appendInterpolation(_ changes: [ChangeBatch.Change]) {
    appendLiteral(changes.map { words(of: $0) }.joined(separator: ", "))
  }

  mutating func appendInterpolation(_ outcomes: [EditResult.Outcome]) {
    let words = outcomes.map { outcome in
      let message = outcome.message.map { " (\($0))" } ?? ""
      return "\(outcome.code?.name ?? "ok")\(message)"
    }
    appendLiteral(words.joined(separator: ", "))
  }

  mutating func appendInterpolation(_ columns: [Column]) {
    let words = columns.map { "\($0.name) \($0.type.name)" }
    appendLiteral("(\(words.joined(separator: ", ")))")
  }

  mutating func appendInterpolation(_ request: RowRequest) {
    appendLiteral(
      "rows of section \(request.section) with first \(request.first), count \(request.count), "
        + "columns \(request.columns)\(request.includesIDs ? " and ids" : "")")
  }

  mutating func appendInterpolation(_ row: EditedRow) {
    appendLiteral("\(row.cells)\(row.id.map { " with the id \($0)" } ?? "")")
  }

  mutating func appendInterpolation(_ row: EditedRow?) {
    appendLiteral(row.map { "\($0)" } ?? "no row")
  }

  mutating func appendInterpolation(_ cells: [Int: Cell]) { appendLiteral(words(of: cells)) }
}

/// `column 0 = Ada, column 1 = 1815`.
private func words(of cells: [Int: Cell]) -> String {
  if cells.isEmpty { return "no cells" }
  return cells.sorted { $0.key < $1.key }.map { column, cell in
    column == EditBatch.sectionTitle ? "the title = \(cell)" : "column \(column) = \(cell)"
  }.joined(separator: ", ")
}

private func words(of reference: RowReference) -> String {
  switch reference {
  case .path(let path): path.isSection ? "section \(path.section)" : "row \(path)"
  case .id(let id): "row id:\(id)"
  }
}

private func words(of path: IndexPath) -> String { words(of: .path(path)) }

private func words(of edit: EditBatch.Edit) -> String {
  switch edit {
  case .insert(let path, let cells): "insert \(words(of: path)) with \(words(of: cells))"
  case .delete(let row): "delete \(words(of: row))"
  case .set(let row, let cells): "set \(words(of: row)): \(words(of: cells))"
  case .move(let row, let path): "move \(words(of: row)) to \(words(of: path))"
  }
}

private func words(of change: ChangeBatch.Change) -> String {
  switch change {
  case .insert(let path): "insert \(words(of: path))"
  case .delete(let path): "delete \(words(of: path))"
  case .move(let from, let to): "move \(words(of: from)) to \(words(of: to))"
  case .reload(let path): "reload \(words(of: path))"
  case .reconfigure(let path): "reconfigure \(words(of: path))"
  }
}

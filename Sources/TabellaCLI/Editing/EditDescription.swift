import Tabella

extension PlannedEdit {
  /// The edit as text: `set row 0:1: born "1907" -> "1906"`.
  ///
  /// `before` is the current row. `place` is the new position of an inserted or moved row, if it is known.
  func description(_ columns: [Column], before: RowCells?, place: IndexPath?) -> String {
    func asked(_ word: String) -> String { target.map { " (requested \(word) \($0))" } ?? "" }
    switch kind {
    case .set where isOfSection: return "rename \(name) to \(newTitle ?? "")"
    case .insert where isOfSection: return "insert \(name)"
    case .set:
      let changes = cells.sorted { $0.key < $1.key }.map { column, cell in
        let old = before.map { cellJSON($0.cells[column]).text } ?? "?"
        return "\(columns[column].name) \(old) -> \(cellJSON(cell).text)"
      }
      return "set \(name): \(changes.joined(separator: ", "))"
    case .insert:
      let values = cells.sorted { $0.key < $1.key }.map {
        "\(columns[$0.key].name) \(cellJSON($0.value).text)"
      }
      let row = place.map { "row \($0)" } ?? "a row\(asked("at"))"
      return "insert \(row)\(values.isEmpty ? "" : ": \(values.joined(separator: ", "))")"
    case .delete: return "delete \(name)\(content(columns, before))"
    case .move:
      let target = place.map { " to \($0)" } ?? asked("to")
      return "move \(name)\(target)\(content(columns, before))"
    }
  }

  private func content(_ columns: [Column], _ row: RowCells?) -> String {
    guard let row else { return "" }
    let cells = columns.usualNumbers.map {
      "\(columns[$0].name) \(cellJSON(row.cells[$0]).text)"
    }
    return cells.isEmpty ? "" : ": \(cells.joined(separator: ", "))"
  }
}

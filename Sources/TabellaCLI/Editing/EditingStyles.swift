import Tabella

/// The largest number of rows in one question for their styles, and the largest gap between deleted rows that it
/// includes.
private let (mostAsked, gap) = (1 << 16, 64)

extension TableDataSource {
  /// Throws `.readOnly` if an edit deletes a placeholder for a new row. The message contains the command that inserts.
  func checkStyles(_ edits: [PlannedEdit], of subject: String) throws(TableError) {
    let deleted = edits.compactMap { $0.kind == .delete ? $0.source : nil }.filter { !$0.isSection }
    guard let editing, !deleted.isEmpty else { return }
    var rest = deleted.sorted()[...]
    // One call for rows that are close to each other, because a source may do as much for one row as for many.
    while let first = rest.first {
      var numbers: [Int] = []
      while let next = rest.first, next.section == first.section,
        next.row - (numbers.last ?? first.row) <= gap, next.row - first.row < mostAsked
      {
        numbers.append(next.row)
        rest.removeFirst()
      }
      let answers = try editing.editability(
        ofRows: first.row..<numbers.last! + 1, inSection: first.section)
      guard let new = numbers.first(where: { answers[$0 - first.row].style == .insert }) else {
        continue
      }
      let path = IndexPath(section: first.section, row: new)
      let name = try wholeRows(at: [path]).first?.id.map { "id:\($0)" } ?? "\(path)"
      throw TableError(
        .readOnly,
        "row \(name) is a placeholder for a new row and cannot be deleted; to insert a row there: "
          + "tabella insert \(subject) \(name) COLUMN=VALUE; nothing was done")
    }
  }
}

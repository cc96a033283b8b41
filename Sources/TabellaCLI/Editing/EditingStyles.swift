import Tabella

extension TableDataSource {
  /// Throws `.readOnly` if an edit deletes a placeholder for a new row. The message contains the command that inserts.
  func checkStyles(_ edits: [PlannedEdit], of subject: String) throws(TableError) {
    let deleted = edits.compactMap { $0.kind == .delete ? $0.source : nil }.filter { !$0.isSection }
    guard let editing, !deleted.isEmpty else { return }
    var rest = deleted.sorted()[...]
    // One call per run of rows.
    while let first = rest.first {
      var count = 1
      while count < rest.count, rest[rest.startIndex + count] == first.moved(by: count) {
        count += 1
      }
      rest.removeFirst(count)
      let answers = try editing.editability(
        ofRows: first.row..<first.row + count, inSection: first.section)
      guard let new = answers.firstIndex(where: { $0.style == .insert }) else { continue }
      let path = first.moved(by: new)
      let name = try wholeRows(at: [path]).first?.id.map { "id:\($0)" } ?? "\(path)"
      throw TableError(
        .readOnly,
        "row \(name) is a placeholder for a new row and cannot be deleted; to insert a row there: "
          + "tabella insert \(subject) \(name) COLUMN=VALUE; nothing was done")
    }
  }
}

extension IndexPath {
  /// The position that many rows further down.
  fileprivate func moved(by rows: Int) -> IndexPath {
    IndexPath(section: section, row: row + rows)
  }
}

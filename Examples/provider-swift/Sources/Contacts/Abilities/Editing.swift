import TabellaSDK

// Edits. UIKit's canEditRowAt, editingStyleForRowAt and commit editingStyle.
//
// A batch is all or nothing: the new file is planned as a whole, read again, and saved in one step.

extension ContactsSource: TableEditing {
  func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try check(rows: rows, inSection: section)
    return rows.map { row in
      guard book.fault == nil else { return [] }
      guard let number = cardNumber(at: IndexPath(section: section, row: row)) else {
        return .insert
      }
      return card(number).isEditable ? [.editable, .delete] : .delete
    }
  }

  func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    let from = version()
    guard batch.version == nil || batch.version == from else {
      throw TableError(.conflict, "was changed since version \(batch.version?.token ?? "none")")
    }
    if let fault = book.fault { throw TableError(.readOnly, "cannot be edited: \(fault)") }
    let draft = try Draft(batch, of: self)
    let after = try AddressBook(file.bytes(of: draft.pieces))
    try draft.check(after)
    let saved = try file.save(draft.pieces, isDryRun: batch.isDryRun)
    let changes = after.bytes == book.bytes ? [] : draft.changes(to: after)
    let ids = draft.idsAfter(in: after)
    if !batch.isDryRun { show(after) }
    let outcomes = ids.map { id in
      var outcome = saved.outcome
      outcome.id = id
      return outcome
    }
    return EditResult(
      outcomes: outcomes, changes: ChangeBatch(from: from, to: version(), changes: changes),
      receipt: saved.receipt)
  }
}

import TabellaSDK

// Undo. The receipt of a save restores the old bytes of the file, even in a later process.

extension ContactsSource: TableUndoing {
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    let from = version()
    let saved = try file.undo(receipt, isDryRun: isDryRun)
    // The old bytes were shown before, so they are vCards.
    if !isDryRun { show(try AddressBook(file.bytes)) }
    let isNothing = version() == from && !isDryRun
    return EditResult(
      outcomes: [saved.outcome],
      changes: ChangeBatch(from: from, to: version(), changes: isNothing ? [] : nil),
      receipt: saved.problem == nil ? saved.receipt : nil)
  }
}

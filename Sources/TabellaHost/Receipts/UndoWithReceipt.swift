import Tabella

/// The undo of an edit, in steps: read the receipt's bytes, open the table, undo.
package struct UndoWithReceipt {
  private let receipt: Receipt
  /// The bytes for the provider.
  private let bytes: [UInt8]
  private let store: ReceiptStore
  private let subject: String

  /// Reads the bytes of a receipt.
  ///
  /// Throws with ``ReceiptError/Kind/notUndoable(_:)`` if there are none, and if they cannot be read.
  init(_ receipt: Receipt, in store: ReceiptStore) throws(ReceiptError) {
    self.receipt = receipt
    self.store = store
    subject = receipt.location.description
    guard receipt.isUndoable else {
      throw ReceiptError(
        .notUndoable(receipt), subject,
        TableError(
          .notSupported,
          "receipt:\(receipt.id) (\(receipt)): provider \(receipt.provider) cannot undo this edit"))
    }
    bytes = try store.files.wayBack(of: receipt)
  }

  /// Opens the table as the edit opened it, but with these options. The host must run in the working directory of
  /// the edit if the location depends on it.
  package func open(
    by host: Host, options: [String: String]
  ) throws(ReceiptError) -> any TableDataSource {
    try ReceiptError.about(subject) { () throws(TableError) in
      try host.open(receipt.location, provider: receipt.provider, options: options).source
    }
  }

  /// Undoes the edit, and stores the receipt of the undo with these options.
  package func run(
    on source: any TableDataSource, options: [String: String], isDryRun: Bool,
    willCommit: () -> Void
  ) throws(ReceiptError) -> RecordedEdit {
    guard let undoing = source.undoing else {
      throw ReceiptError(
        .table, subject,
        TableError(
          .notSupported,
          "provider \(receipt.provider) cannot undo edits of this location; nothing was done"))
    }
    return try CommitWithReceipt(
      subject: ReceiptSubject(
        name: subject, provider: receipt.provider, place: receipt.place, options: options),
      source: source, folder: store.files, undoing: receipt, isDryRun: isDryRun
    ).run(
      willCommit: willCommit,
      commit: { () throws(TableError) in
        let result = try undoing.undo(bytes, isDryRun: isDryRun)
        if !isDryRun { try check(result, of: undoing) }
        return result
      },
      summary: { _ in receipt.summary }, remainder: { _ in receipt.remainder })
  }

  /// Throws ``TableError`` with `.misbehaved` if the undo was reported as done, and nothing was undone.
  ///
  /// That is suspected if the version changed with the edit and did not change with its undo. But the edit may have been
  /// made in a view, whose versions depend on more cells, and another program may have changed the table at the same
  /// time. So a dry run decides: a receipt cannot be used twice.
  private func check(
    _ result: EditResult, of undoing: any TableUndoing
  ) throws(TableError) {
    guard let from = receipt.from, receipt.to != from, result.outcomes.first?.code == nil,
      let now = result.changes.to, result.changes.from == now, now.token != from,
      let again = try? undoing.undo(bytes, isDryRun: true), again.outcomes.first?.code == nil
    else { return }
    try blaming(receipt.provider, for: "undo.undo") { () throws(TableError) in
      var error = TableError(
        .misbehaved, "reported that the edit was undone, but the version is still \(now)")
      error.receipt = result.receipt
      throw error
    }
  }
}

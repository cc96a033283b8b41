/// The edits that were made, according to their receipts.
struct History {
  private let store: ReceiptStore

  init(_ store: ReceiptStore) { self.store = store }

  /// Calls `visit` for the edits of a location, or for all edits, newest first. `visit` gets the receipt and whether
  /// the edit was undone, and returns whether to continue. `damaged` is called for a receipt that cannot be read,
  /// which may belong to any location, and returns the same.
  ///
  /// An edit is in force unless another edit in force undid it. A partial undo counts as an undo once the rest is
  /// undone, too.
  func walk(
    of place: Receipt.Location?, damaged: (Failure) -> Bool,
    visit: (_ receipt: Receipt, _ isTakenBack: Bool) -> Bool
  ) throws(Failure) {
    var takenBack: Set<ReceiptID> = []
    for id in try store.ids() {
      let receipt: Receipt
      do throws(Failure) {
        receipt = try store.receipt(id)
      } catch {
        // A new receipt may just have replaced it.
        guard error.code == "not-found" || damaged(error) else { return }
        continue
      }
      guard place?.isSame(as: receipt.place) ?? true else { continue }
      let isTakenBack = takenBack.contains(id)
      if isTakenBack == (receipt.trouble != nil), let old = receipt.undoes { takenBack.insert(old) }
      guard visit(receipt, isTakenBack) else { return }
    }
  }

  /// The edit that `undo` undoes: the newest edit of a location that is in force, or the rest of a partial undo; nil
  /// if there is none.
  ///
  /// Throws if a newer receipt cannot be read, or belongs to an edit with errors that cannot be undone. Continuing
  /// with an older edit would undo an edit that the user did not mean.
  func newestEdit(of place: Receipt.Location, named operand: String) throws(Failure) -> Receipt? {
    var found: Receipt?
    var obstacle: Failure?
    try walk(
      of: place,
      damaged: {
        obstacle = Failure(
          status: $0.status == .refused ? .refused : .failed, subject: operand, code: $0.code,
          message:
            "\($0.subject ?? "a receipt") may belong to the newest edit, but \($0.message); undo other edits by their receipts: tabella log"
        )
        return false
      },
      visit: { receipt, isTakenBack in
        if isTakenBack { return true }
        if let trouble = receipt.trouble, receipt.kind != .undo || receipt.wayBack == nil {
          obstacle = .partial(receipt, trouble, operand)
          return false
        }
        if receipt.kind == .undo, receipt.trouble == nil, let remainder = receipt.remainder {
          obstacle = .remaining(receipt, remainder, operand)
          return false
        }
        if receipt.kind != .undo || receipt.trouble != nil { found = receipt }
        return found == nil
      })
    if let obstacle { throw obstacle }
    return found
  }
}

extension Failure {
  /// The failure for an undo that left a part that cannot be undone. Older edits cannot be undone after it.
  fileprivate static func remaining(
    _ receipt: Receipt, _ remainder: String, _ operand: String
  ) -> Failure {
    Failure(
      status: .refused, subject: operand, code: "partial",
      message:
        "receipt:\(receipt.id) undid an edit in part; the rest cannot be undone: \(remainder); undo older edits by their receipts (tabella log)"
    )
  }

  /// The failure for a partial redo, or for a partial undo whose rest cannot be undone. Older edits cannot be undone
  /// before it.
  fileprivate static func partial(
    _ receipt: Receipt, _ trouble: String, _ operand: String
  ) -> Failure {
    let way =
      receipt.wayBack == nil
      ? "it cannot be undone: correct the data by hand, and undo older edits by their receipts (tabella log)"
      : "undo the rest first (tabella undo receipt:\(receipt.id)), then repeat this command; or undo older edits by their receipts (tabella log)"
    return Failure(
      status: .refused, subject: operand, code: "partial",
      message:
        "receipt:\(receipt.id), \(receipt.kind.rawValue): \(receipt.summary), was done in part: \(trouble); \(way)"
    )
  }
}

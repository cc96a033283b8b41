/// The edits that were done, by their receipts.
struct History {
  private let store: ReceiptStore

  init(_ store: ReceiptStore) { self.store = store }

  /// Goes through the edits of a place, or all, the newest first, until `visit` is content: it is told
  /// of each and whether that was taken back since, and says whether to go on. So does `damaged`, of a
  /// receipt that cannot be read and might be of any place.
  ///
  /// An edit is in force unless one in force took it back. One that took back a part did so once the rest
  /// is taken back as well.
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
        // It may just have given way to a new one.
        guard error.code == "not-found" || damaged(error) else { return }
        continue
      }
      guard place?.isSame(as: receipt.place) ?? true else { continue }
      let isTakenBack = takenBack.contains(id)
      if isTakenBack == (receipt.trouble != nil), let old = receipt.undoes { takenBack.insert(old) }
      guard visit(receipt, isTakenBack) else { return }
    }
  }

  /// The newest edit of a place that is in force, or what is left of it, which `undo` takes back; nil if
  /// there is none.
  ///
  /// Throws if something stands before it: a receipt that cannot be read, or what met with trouble and
  /// cannot be taken back. To go on to an older edit would take back what nobody named.
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
  /// A part that cannot be taken back stands in the way of older edits, also when the rest of its edit was.
  fileprivate static func remaining(
    _ receipt: Receipt, _ remainder: String, _ operand: String
  ) -> Failure {
    Failure(
      status: .refused, subject: operand, code: "partial",
      message:
        "receipt:\(receipt.id) undid an edit in part; the rest cannot be undone: \(remainder); undo older edits by their receipts (tabella log)"
    )
  }

  /// What was done again in part only, or taken back so without a way to the rest, stands in the way of
  /// older edits.
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

import Tabella

/// The edits that were made, according to their receipts.
struct History {
  private let folder: ReceiptFolder

  init(_ folder: ReceiptFolder) { self.folder = folder }

  /// Calls `visit` for the edits of a location, or for all edits, newest first. `visit` gets the receipt and whether
  /// the edit was undone, and returns whether to continue. `damaged` is called for a receipt that cannot be read,
  /// which may belong to any location, and returns the same.
  ///
  /// An edit is in force unless another edit in force undid it. A partial undo counts as an undo once the rest is
  /// undone, too.
  func walk(
    of place: Receipt.Place?, damaged: (ReceiptID, ReceiptError) -> Bool,
    visit: (_ receipt: Receipt, _ isTakenBack: Bool) -> Bool
  ) throws(ReceiptError) {
    var takenBack: Set<ReceiptID> = []
    for id in try folder.ids() {
      let receipt: Receipt
      do throws(ReceiptError) {
        receipt = try folder.receipt(id)
      } catch {
        // A new receipt may just have replaced it.
        guard error.code == .notFound || damaged(id, error) else { return }
        continue
      }
      guard place?.isSame(as: receipt.place) ?? true else { continue }
      let isTakenBack = takenBack.contains(id)
      if isTakenBack == (receipt.trouble != nil), let old = receipt.undoes { takenBack.insert(old) }
      guard visit(receipt, isTakenBack) else { return }
    }
  }

  /// The edit to undo next: the newest edit of a location that is in force, or the rest of a partial undo; nil if
  /// there is none. Errors are about `subject`.
  ///
  /// Throws if a newer receipt cannot be read, or belongs to an edit with errors that cannot be undone. Continuing
  /// with an older edit would undo an edit that the user did not mean.
  func newestEdit(
    of place: Receipt.Place, subject: String
  ) throws(ReceiptError) -> Receipt? {
    var found: Receipt?
    var earlier: [Receipt] = []
    var obstacle: ReceiptError?
    try walk(
      of: place,
      damaged: { id, error in
        if found == nil { obstacle = .unknownNewest(id, error, subject) }
        return false
      },
      visit: { receipt, isTakenBack in
        if let found {
          if !isTakenBack, receipt.isWholeEdit { earlier.append(receipt) }
          return receipt.id.isSoonBefore(found.id)
        }
        if isTakenBack { return true }
        if let trouble = receipt.trouble, receipt.kind != .undo || receipt.wayBack == nil {
          obstacle = .unfinished(receipt, trouble, subject)
          return false
        }
        if receipt.kind == .undo, receipt.trouble == nil, let remainder = receipt.remainder {
          obstacle = .remaining(receipt, remainder, subject)
          return false
        }
        if receipt.kind != .undo || receipt.trouble != nil { found = receipt }
        return true
      })
    if let obstacle { throw obstacle }
    return found.map { History.last(of: earlier, or: $0) }
  }

  /// The last of several edits by their versions. `newest` has the newest receipt, and the others follow from new to old.
  ///
  /// A receipt is stored after its edit. So if two programs edit a table at the same time, the receipt of the later edit
  /// can be the older one.
  private static func last(of earlier: [Receipt], or newest: Receipt) -> Receipt {
    guard newest.isWholeEdit else { return newest }
    var last = newest
    var rest = earlier
    while let version = last.to, let next = rest.firstIndex(where: { $0.from == version }) {
      last = rest.remove(at: next)
      // A version that returns, as that of a folder can, says nothing about the order.
      if last.to == newest.from { return newest }
    }
    return last
  }
}

extension Receipt {
  /// Whether it belongs to an edit, or a redo, of which everything was done.
  fileprivate var isWholeEdit: Bool { kind != .undo && trouble == nil }
}

extension ReceiptID {
  /// Whether the time is at most some seconds before another one, so that both edits could be made at the same time.
  fileprivate func isSoonBefore(_ other: ReceiptID) -> Bool {
    guard let time, let otherTime = other.time else { return false }
    return otherTime.nanoseconds - time.nanoseconds < 10_000_000_000
  }
}

extension ReceiptError {
  /// The error for a receipt that cannot be read. Its location is unknown.
  fileprivate static func unknownNewest(
    _ id: ReceiptID, _ error: ReceiptError, _ subject: String
  ) -> ReceiptError {
    ReceiptError(
      .unknownNewest(id), subject,
      TableError(
        error.code,
        "\(error.subject ?? "a receipt") may belong to the newest edit, but \(error.error)"))
  }

  /// The error for an undo that left a part that cannot be undone. Older edits cannot be undone after it.
  fileprivate static func remaining(
    _ receipt: Receipt, _ remainder: String, _ subject: String
  ) -> ReceiptError {
    ReceiptError(
      .remaining(receipt), subject,
      TableError(
        .invalidState,
        "receipt:\(receipt.id) undid an edit in part; the rest cannot be undone: \(remainder)"))
  }

  /// The error for a partial redo, or for a partial undo whose rest cannot be undone. Older edits cannot be undone
  /// before it.
  fileprivate static func unfinished(
    _ receipt: Receipt, _ trouble: String, _ subject: String
  ) -> ReceiptError {
    ReceiptError(
      .unfinished(receipt), subject,
      TableError(
        .invalidState,
        "receipt:\(receipt.id), \(receipt.kind.rawValue): \(receipt.summary), was done in part: \(trouble)"
      ))
  }
}

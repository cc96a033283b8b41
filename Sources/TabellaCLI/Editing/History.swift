/// The edits that were done, by their receipts.
struct History {
  private let store: ReceiptStore

  init(_ store: ReceiptStore) { self.store = store }

  /// Goes through the edits of a place, or all, the newest first, until `visit` is content: it is told
  /// of each and whether that was taken back since, and says whether to go on.
  ///
  /// An edit is in force unless one in force took it back.
  func walk(
    of place: Receipt.Place?, damaged: (Failure) -> Void,
    visit: (_ receipt: Receipt, _ isTakenBack: Bool) -> Bool
  ) throws(Failure) {
    var takenBack: Set<ReceiptID> = []
    for id in try store.ids() {
      let receipt: Receipt
      do throws(Failure) {
        receipt = try store.receipt(id)
      } catch {
        damaged(error)
        continue
      }
      guard place == nil || receipt.place.key == place?.key else { continue }
      let isTakenBack = takenBack.contains(id)
      if !isTakenBack, let old = receipt.undoes { takenBack.insert(old) }
      guard visit(receipt, isTakenBack) else { return }
    }
  }
}

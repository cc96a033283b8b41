/// The edits of one location, or of all locations, as a ``ReceiptStore`` read them.
public struct ReceiptLog: Sendable {
  /// One edit.
  public struct Entry: Sendable {
    /// The receipt of the edit.
    public let receipt: Receipt
    /// Whether the edit was undone completely. An undo counts as undone if the edit was made again.
    public let isUndone: Bool
  }

  /// The edits, newest first.
  public let entries: [Entry]
  /// The errors of receipts that cannot be read, newest first. Each of them may belong to any location.
  public let errors: [ReceiptError]

  /// Reads the log of a place, or of all places.
  init(_ history: History, of place: Receipt.Place?) throws(ReceiptError) {
    var entries: [Entry] = []
    var errors: [ReceiptError] = []
    try history.walk(
      of: place,
      damaged: {
        errors.append($1)
        return true
      },
      visit: {
        entries.append(Entry(receipt: $0, isUndone: $1))
        return true
      })
    (self.entries, self.errors) = (entries, errors)
  }
}

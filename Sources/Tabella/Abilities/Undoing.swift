/// Taking back a committed batch. The corresponding C table is `tabella_undo`.
public protocol TableUndoing: AnyObject {
  /// Takes back the batch that gave this receipt; one outcome. Throws `.conflict` if what it changed is
  /// no longer as it left it, and for a receipt that is damaged or of something else.
  ///
  /// An outcome with a code means that a part only of what the receipt takes back was taken back; a receipt
  /// beside it takes back the rest. Else the receipt does again all that was taken back. The outcome does not
  /// speak of edits that were ``EditResult/Outcome/isFinal``: who keeps the receipt knows of them. `receipt` may
  /// come from another opening of the source, or from an earlier process.
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult
}

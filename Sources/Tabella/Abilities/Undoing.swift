/// The ability to undo a committed batch. The corresponding C table is `tabella_undo`.
public protocol TableUndoing: AnyObject {
  /// Undoes the batch that returned this receipt. The result has one outcome.
  ///
  /// Throws ``TableError`` with `.conflict` if the edited data has changed since the batch, and for a receipt that
  /// is damaged or belongs to another source.
  ///
  /// If the outcome has a code, the source undid only some of the edits. The receipt in the result then undoes the
  /// rest. Otherwise that receipt redoes everything that was undone. The outcome does not mention edits that were
  /// ``EditResult/Outcome/isFinal``; the owner of the receipt knows them. `receipt` can come from another opening
  /// of the source, or from an earlier process.
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult
}

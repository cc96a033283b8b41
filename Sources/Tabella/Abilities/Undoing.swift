/// Taking back a committed batch. The corresponding C table is `tabella_undo`.
public protocol TableUndoing: AnyObject {
  /// Takes back the batch that gave this receipt; one outcome. Throws `.conflict` if the source is
  /// no longer at the version that the batch led to.
  func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult
}

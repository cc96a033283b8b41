import Tabella

/// The result of an edit whose receipt was stored.
public struct RecordedEdit: Sendable {
  /// The result of the source. Each outcome says whether its edit was done.
  public let result: EditResult
  /// The stored receipt; nil if nothing was changed, and for a dry run.
  public let receipt: Receipt?
}

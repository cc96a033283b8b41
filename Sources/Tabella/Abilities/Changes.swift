/// Moving on to newer versions of the data. The corresponding C table is `tabella_changes_table`.
public protocol TableChanges: AnyObject {
  /// Has `notify` called, from any thread, when there is something to pull; nil stops it.
  ///
  /// One listener a source. `notify` must not call the source.
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError)

  /// Moves the source to the newest version and returns what leads there.
  func pull() throws(TableError) -> ChangeBatch
}

/// What leads from one version of a source to the next.
///
/// UIKit's rules for indices, as ``EditBatch`` states them: what is deleted, moved away, reloaded or
/// reconfigured counts in the old version; what is inserted, and where rows move to, counts in the new
/// one. A section that is reloaded may have any rows afterwards, and no other change names any of them.
public struct ChangeBatch: Hashable, Sendable {
  public enum Change: Hashable, Sendable {
    case insert(IndexPath)
    case delete(IndexPath)
    case move(from: IndexPath, to: IndexPath)
    /// The row is another in effect.
    case reload(IndexPath)
    /// The row is the same, with the same id, but its cells differ.
    case reconfigure(IndexPath)
  }

  public var from: Version?
  public var to: Version?
  /// The changes; nil means that everything must be read again.
  public var changes: [Change]?

  public init(from: Version?, to: Version?, changes: [Change]?) {
    self.from = from
    self.to = to
    self.changes = changes
  }
}

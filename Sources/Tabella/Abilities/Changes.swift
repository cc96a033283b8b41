/// The ability to move on to newer versions of the data. The corresponding C table is `tabella_changes_table`.
public protocol TableChanges: AnyObject {
  /// Sets the function to call when a pull may find changes; nil removes it.
  ///
  /// A source has one listener. Any thread may call `notify`, and `notify` must not call the source. Between two pulls
  /// one call suffices, however much changes. Once a removal returns, the old listener no longer runs. A source may
  /// call without need, but not omit a call. A caller that pulls from time to time needs no listener.
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError)

  /// Moves the source to the newest version and returns the changes that lead to it.
  ///
  /// A pull looks at the data now, with or without a listener. If nothing changed, the batch is empty and both versions
  /// are the same. The columns can change, too; then the caller must read everything again. A source with an at-least
  /// count need not list changes of rows behind it that nobody has read.
  ///
  /// After an error the source still has its old version, and the caller may pull again. Throws ``TableError`` with
  /// `.notFound` if the data is gone.
  func pull() throws(TableError) -> ChangeBatch
}

/// The changes that lead from one version of a source to the next.
///
/// Indices follow UIKit's rules, which ``EditBatch`` states. Deleted, moved, reloaded and reconfigured elements are
/// numbered as in the old version. Inserted elements and targets of moves are numbered as in the new version. A
/// reloaded or inserted section can have any rows afterwards, and no other change names one of its rows.
public struct ChangeBatch: Hashable, Sendable {
  /// One change. Its path names a row or a section.
  public enum Change: Hashable, Sendable {
    case insert(IndexPath)
    case delete(IndexPath)
    case move(from: IndexPath, to: IndexPath)
    /// Another row, in effect, at the same path.
    case reload(IndexPath)
    /// The same row with the same id, but with other cells.
    case reconfigure(IndexPath)
  }

  /// The version before the changes, if the source has versions.
  public var from: Version?
  /// The version after the changes, if the source has versions.
  public var to: Version?
  /// The changes; nil means that the caller must read everything again.
  public var changes: [Change]?

  /// Creates a batch of changes.
  public init(from: Version?, to: Version?, changes: [Change]?) {
    self.from = from
    self.to = to
    self.changes = changes
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try call("changes.listen") { base throws(TableError) in
      try offered(base.changes).listen(notify)
    }
  }

  package func pull() throws(TableError) -> ChangeBatch {
    try call("changes.pull") { base throws(TableError) in
      let change = try offered(base.changes).pull().checked()
      try follow(change)
      return change
    }
  }
}

extension ChangeBatch {
  /// Returns the changes. Throws ``TableError`` with `.misbehaved` for an impossible path or an invalid version.
  func checked() throws(TableError) -> ChangeBatch {
    for change in changes ?? [] {
      switch change {
      case .insert(let path), .delete(let path), .reload(let path), .reconfigure(let path):
        _ = try path.checked(mayBeSection: true)
      case .move(let from, let to):
        _ = try from.checked(mayBeSection: true)
        _ = try to.checked(mayBeSection: true)
      }
    }
    return ChangeBatch(from: try from.checked(), to: try to.checked(), changes: changes)
  }
}

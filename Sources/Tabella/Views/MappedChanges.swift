// Changes of a view: the batches of its base, translated to its own rows and sections.

/// The state of a view before its base moves on.
private struct ViewState {
  /// The digest in the view's version; nil if it cannot be computed any more.
  var digest: String?
  var columns: [Column]
}

extension MappedSource: TableUndoing, TableChanges {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    try begin()
    guard let undoing = base.undoing else {
      throw TableError(.notSupported, "edits of this table cannot be undone")
    }
    return try moving(on: isDryRun) { () throws(TableError) in
      try undoing.undo(receipt, isDryRun: isDryRun)
    }
  }

  public func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    try base.changes?.listen(notify)
  }

  public func pull() throws(TableError) -> ChangeBatch {
    try begin()
    guard let changes = base.changes else {
      throw TableError(.notSupported, "the table does not change")
    }
    let state = try state()
    let change: ChangeBatch
    do throws(TableError) { change = try changes.pull() } catch {
      // A base without versions is trusted to be at its old version.
      if pin != nil, (try? base.version()) != pin { lose() }
      throw error
    }
    return follow(change, from: state)
  }

  /// Edits the base and moves on with it. The result lists the changes of the view.
  func moving(
    on isDryRun: Bool, _ edit: () throws(TableError) -> EditResult
  ) throws(TableError) -> EditResult {
    let state = try state()
    var result: EditResult
    do throws(TableError) { result = try edit() } catch {
      // All other errors mean that nothing was changed.
      if error.code == .misbehaved { lose() }
      throw error
    }
    let change = result.changes
    guard !isDryRun else {
      result.changes = ChangeBatch(
        from: token(change.from, state), to: (try? token(change.to)) ?? nil,
        changes: change.changes == [] ? [] : nil)
      return result
    }
    result.changes = follow(change, from: state)
    // An empty list without a receipt would say that nothing was done, but the edit can have touched hidden rows.
    if result.changes.changes == [], change.changes != [], result.receipt == nil {
      result.changes.changes = nil
    }
    return result
  }

  private func state() throws(TableError) -> ViewState {
    completeMapping()
    do throws(TableError) {
      return ViewState(digest: try viewDigest(), columns: base.columns)
    } catch {
      // The old rows cannot be read any more, so the pull must not depend on them.
      guard error.code == .conflict else { throw error }
      lose()
      return ViewState(columns: base.columns)
    }
  }

  private func token(_ version: Version?, _ state: ViewState) -> Version? {
    state.digest.flatMap { token(version, viewDigest: $0) }
  }

  /// Moves the view on with its base. Returns the change of the view.
  private func follow(_ change: ChangeBatch, from state: ViewState) -> ChangeBatch {
    let from = token(change.from, state)
    if pin != nil, pin != change.from { lose() }
    noteColumns()
    if change.changes == [], change.from == change.to, !owesReload {
      return ChangeBatch(from: from, to: from, changes: [])
    }
    let changes = translated(change, state)
    if changes == nil { forget() }
    unreturnedRows = (0, 0..<0)
    owesReload = false
    // The base has moved on. If it cannot be read now, the new version is unknown.
    return ChangeBatch(from: from, to: (try? token(change.to)) ?? nil, changes: changes)
  }

  /// The view's changes; nil if they are unknown. The mapping then is unusable.
  private func translated(_ change: ChangeBatch, _ state: ViewState) -> [ChangeBatch.Change]? {
    guard let list = change.changes, !owesReload, base.columns == state.columns else { return nil }
    do throws(TableError) {
      let changes = try BaseChanges(
        list, numberOfSections: mappedSectionCount, numberOfRows: mappedCount(ofBaseSection:))
      if pin != nil { pin = change.to }
      let own = try translate(changes)
      // The base can move on again while its rows are read.
      return try base.version() == change.to ? own : nil
    } catch {
      return nil
    }
  }

  /// Reads base rows at ascending paths. `body` receives batches and the index of each batch's first path.
  func readBase(
    at paths: [IndexPath], columns: [Int], _ body: (Batch, _ first: Int) throws(TableError) -> Void
  ) throws(TableError) {
    var done = 0
    while done < paths.count {
      let batch = try base.gather(
        Array(paths[done..<min(paths.count, done.advancedUp(by: MappedSource.gatherSize))]),
        columns: columns, includesIDs: false)
      try flag.check()
      try body(batch, done)
      done += batch.rowCount
    }
  }
}

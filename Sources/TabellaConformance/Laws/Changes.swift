import Tabella

// The law of pulled changes.

extension Law {
  static let pullsReplay = Law(
    "pulls-replay",
    "The changes of a pull lead from the old rows to the new rows, even if another program made them.",
    hint:
      "pull compares the shown rows with the current rows; if that is too expensive, return reload"
  ) { trial in
    let source = try trial.open()
    guard source.changes != nil else { throw Skipped(reason: "the source has no changes") }
    let watched = try WatchedTable(source, trial)
    for _ in 0..<3 { try watched.pull() }
    let open: () throws(TableError) -> any TableDataSource
    do { open = try trial.scratch() } catch is Skipped { return }
    let watching = try WatchedTable(try open(), trial)
    guard watching.source.editing != nil else { return }
    for _ in 0..<trial.repetitions(6, least: 2) {
      // A second opening of the same data makes the edit.
      let table = try EditedTable(trial, open)
      // If all openings are the same object, there is no second editor.
      guard table.source !== watching.source else { return }
      guard let batch = try trial.drawBatch(table), case .success = try table.attempt(batch) else {
        continue
      }
      try watching.pull()
      try require(
        same(watching.rows, try table.reopened()),
        "after \(batch.edits) by another opening and a pull, the rows are not those of the data")
      try watching.expectNothing()
    }
  }
}

/// A table that follows changes by others, with its rows from the last reading.
private final class WatchedTable {
  let source: any TableDataSource
  private let trial: Trial
  private(set) var rows: [[EditedRow]]

  init(_ source: any TableDataSource, _ trial: Trial) throws {
    self.source = source
    self.trial = trial
    rows = try EditedTable.read(source, trial)
  }

  /// Pulls, and compares the changes with the rows before and after.
  func pull() throws {
    guard let changes = source.changes else {
      throw LawBroken("the ability changes is missing in a second opening")
    }
    let (old, version) = (rows, try source.version())
    let batch = try changes.pull()
    rows = try EditedTable.read(source, trial)
    let now = try source.version()
    try require(
      batch.from == version && batch.to == now,
      "a pull led from \(batch.from?.token ?? "none") to \(batch.to?.token ?? "none"), not from "
        + "\(version?.token ?? "none") to \(now?.token ?? "none")")
    try require(
      areSameRows(old, rows) || now == nil || now != version || source.hasVolatileOrder,
      "a pull changed rows, but the version is still \(version?.token ?? "none")")
    try replay(batch, from: old, to: rows, fillsSections: true)
  }

  /// Whether a version may name both: the same rows by id in the same order, or the same cells without ids.
  private func areSameRows(_ old: [[EditedRow]], _ new: [[EditedRow]]) -> Bool {
    if source.identity == nil { return same(old, new) }
    return old.map { $0.map(\.id) } == new.map { $0.map(\.id) }
  }

  /// Pulls again, when nothing can have changed.
  func expectNothing() throws {
    guard let batch = try source.changes?.pull() else { return }
    try require(
      batch.from == batch.to && (batch.changes ?? []).isEmpty,
      "a pull without a change lists \((batch.changes ?? []) as [ChangeBatch.Change]) from \(batch.from?.token ?? "none") to "
        + "\(batch.to?.token ?? "none")")
  }
}

import Tabella
import TabellaHost

// The end of a transaction, and its savepoints.

extension LiveTable {
  func begin() {
    knownEditability = KnownEditability()
    staged = StagedEdits()
    savepoints = []
    receipt = nil
  }

  /// Commits all staged edits as one batch, in the first phase of SQLite's commit.
  ///
  /// If a later step of the transaction fails, ``rollback()`` undoes the batch.
  func sync() throws(TableError) {
    guard !staged.isEmpty else { return }
    let batch = try stagedBatch()
    // The table for reading has no permission to edit.
    let editable = try connection.open(arguments, for: .editing)
    let edit: RecordedEdit
    let store: ReceiptStore
    do throws(ReceiptError) {
      store = try ReceiptStore()
      edit = try store.commit(batch, to: editable)
    } catch {
      throw error.error
    }
    receipt = edit.receipt
    try checkOutcomes(edit)
    follow(editable)
  }

  /// Throws if the provider refused an edit. The others are undone, as far as possible.
  private func checkOutcomes(_ edit: RecordedEdit) throws(TableError) {
    guard let failed = edit.result.outcomes.first(where: { $0.code != nil }) else { return }
    let done = edit.result.outcomes.count { $0.code == nil }
    var message = failed.message ?? "the provider refused an edit"
    if done > 0, !undo() || edit.result.outcomes.contains(where: \.isFinal) {
      message +=
        "; \(done) other \(done == 1 ? "edit was" : "edits were") made and cannot be undone"
    }
    throw TableError(failed.code ?? .constraint, message)
  }

  /// Undoes the committed batch. Returns whether it is undone.
  private func undo() -> Bool {
    guard let receipt else { return false }
    self.receipt = nil
    let undo = try? ReceiptStore().undo(receipt, host: connection.host)
    return undo?.result.outcomes.allSatisfy { $0.code == nil } ?? false
  }

  /// Ends a transaction that was committed.
  func commit() {
    staged = StagedEdits()
    savepoints = []
    receipt = nil
  }

  /// Ends a transaction without its edits. If they are already committed, because another table of the transaction failed
  /// later, they are undone.
  func rollback() {
    if receipt != nil {
      _ = undo()
      follow(nil)
    }
    commit()
  }

  // Savepoints

  func addSavepoint(_ number: Int32) {
    releaseSavepoint(number)
    savepoints.append((number, staged.state))
  }

  func releaseSavepoint(_ number: Int32) { savepoints.removeAll { $0.number >= number } }

  /// Goes back to a savepoint. At a savepoint that is not known, this table had no edits: it joined the transaction later.
  func rollback(to number: Int32) {
    staged.goBack(to: savepoints.first { $0.number == number }?.state ?? 0)
    savepoints.removeAll { $0.number > number }
  }

  // The batch

  /// The staged edits as a batch. Rows are named by their ids, or by their paths if they have none.
  private func stagedBatch() throws(TableError) -> EditBatch {
    let paths = Array(Set(staged.cells.keys).union(staged.deleted)).sorted()
    let names = try references(to: paths)
    var edits: [EditBatch.Edit] = zip(paths, names).map { path, name in
      staged.deleted.contains(path)
        ? .delete(name) : .set(name, cells: staged.cells[path] ?? [:])
    }
    for (section, edited) in staged.sections.sorted(by: { $0.key < $1.key })
    where !edited.inserted.isEmpty {
      let first = try source.exactNumberOfRows(inSection: section) - edited.deleted.count
      for (place, number) in edited.inserted.enumerated() {
        edits.append(
          .insert(
            at: IndexPath(section: section, row: first + place),
            cells: staged.inserted[number]?.cells ?? [:]))
      }
    }
    // A list of processes always changes. There, the ids alone name the rows.
    let isVersioned = !source.hasVolatileOrder || source.identity == nil
    return EditBatch(edits, version: isVersioned ? try source.version() : nil)
  }

  /// The names of rows in a batch. `paths` are sorted.
  private func references(to paths: [IndexPath]) throws(TableError) -> [RowReference] {
    guard source.identity != nil else { return paths.map { .path($0) } }
    var names: [RowReference] = []
    while names.count < paths.count {
      let rest = paths[names.count...]
      guard let first = rest.first else { break }
      let run = rest.enumerated().prefix { place, path in
        path == IndexPath(section: first.section, row: first.row + place)
      }
      let batch = try source.rows(
        RowRequest(
          section: first.section, first: first.row, count: run.count, columns: [],
          includesIDs: true))
      guard batch.rowCount > 0 else {
        throw TableError(.conflict, "a row is gone", section: first.section, row: first.row)
      }
      for row in 0..<batch.rowCount { names.append(.id(batch.id(row) ?? "")) }
    }
    return names
  }
}

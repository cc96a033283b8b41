import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The table that a receipt is about.
package struct ReceiptSubject {
  /// The table's name in errors.
  package var name: String
  /// The id of the provider.
  package var provider: String
  /// The location, found before the edit.
  package var place: Receipt.Place
  /// The provider's options.
  package var options: [String: String]

  /// Creates a description of an open table.
  package init(
    name: String, provider: String, place: Receipt.Place, options: [String: String]
  ) {
    self.name = name
    self.provider = provider
    self.place = place
    self.options = options
  }
}

/// A commit together with its receipt.
///
/// It reserves room for the receipt before the commit, and stores the receipt afterwards.
struct CommitWithReceipt {
  let subject: ReceiptSubject
  let source: any TableDataSource
  let folder: ReceiptFolder
  /// The receipt of the edit to undo, if this is an undo.
  var undoing: Receipt?
  let isDryRun: Bool

  /// Commits. Returns the result of the source, and the receipt if anything was changed.
  ///
  /// `willCommit` runs after all preparations, right before the commit. It does not run for a dry run.
  /// `summary` describes the edits of a result for people. `remainder` describes the part that cannot be undone;
  /// nil if there is none.
  func run(
    willCommit: () -> Void, commit: () throws(TableError) -> EditResult,
    summary: (EditResult?) -> String, remainder: (EditResult) -> String?
  ) throws(ReceiptError) -> RecordedEdit {
    try judge()
    if isDryRun {
      try noRoom { () throws(TableError) in try folder.checkPlace() }
      return RecordedEdit(
        result: try ReceiptError.about(subject.name, .table, commit), receipt: nil)
    }
    let file = try noRoom { () throws(TableError) in try folder.reserve() }
    // The folder may have been created in the meantime.
    try judge(isMade: true)
    willCommit()
    let result: EditResult
    do throws(TableError) {
      result = try commit()
    } catch {
      throw try failure(of: error, file, summary(nil))
    }
    guard result.extent == .something else { return RecordedEdit(result: result, receipt: nil) }
    return RecordedEdit(
      result: result, receipt: try keep(result, file, summary(result), remainder(result)))
  }

  /// Throws if other users could forge this receipt.
  private func judge(isMade: Bool = false) throws(ReceiptError) {
    do throws(ReceiptError) {
      guard try folder.open() == nil, isMade else { return }
      throw ReceiptError(
        .folder, nil, TableError(.io, "\(folder.path) was removed at this moment; try again"))
    } catch {
      throw ReceiptError(.folder, subject.name, .notStored(error.error))
    }
  }

  private func noRoom<R>(_ body: () throws(TableError) -> R) throws(ReceiptError) -> R {
    do throws(TableError) {
      return try body()
    } catch {
      throw ReceiptError(.noRoom, subject.name, .notStored(error))
    }
  }

  /// The error of a commit. If the provider broke the contract, it may still have made the edit.
  private func failure(
    of error: TableError, _ file: DurableFile, _ summary: String
  ) throws(ReceiptError) -> ReceiptError {
    // If the provider ended, the error already says whether the edit was made.
    guard error.code == .misbehaved || error.code == .timeout, error.aftermath == nil else {
      return ReceiptError(.table, subject.name, error)
    }
    var kept: Receipt?
    // For an undo, the receipt would look like that of a partial undo. The receipt of the edit is still valid.
    if let receipt = error.receipt, undoing == nil {
      let changes = ChangeBatch(from: nil, to: nil, changes: nil)
      let result = EditResult(
        outcomes: [.init(code: error.code, message: error.message)], changes: changes,
        receipt: receipt)
      kept = try keep(result, file, summary, nil)
    }
    return ReceiptError(
      .perhapsDone(kept), subject.name,
      TableError(
        error.code, "\(error); the edit may have been made; read the table to find out"))
  }

  private func keep(
    _ result: EditResult, _ file: DurableFile, _ summary: String, _ remainder: String?
  ) throws(ReceiptError) -> Receipt {
    let bytes = source.undoing == nil ? nil : result.receipt
    let wayBack = Receipt.WayBack(to: bytes)
    let failed = result.outcomes.first { $0.code != nil }
    let receipt = Receipt(
      id: folder.newID(at: now()), provider: subject.provider, place: subject.place,
      options: subject.options, from: result.changes.from?.token, to: result.changes.to?.token,
      summary: summary, kind: undoing?.opposite ?? .edit, undoes: undoing?.id,
      trouble: undoing == nil ? nil : failed.map { $0.message ?? $0.code!.name },
      remainder: remainder, wayBack: wayBack)
    do throws(TableError) {
      try folder.keep(receipt, wayBack == nil ? [] : bytes ?? [], in: file)
    } catch {
      throw ReceiptError(
        .notKept, subject.name,
        TableError(
          error.code,
          "the edit was done (\(summary)), but perhaps it cannot be undone: its receipt \(error)"))
    }
    return receipt
  }
}

extension TableError {
  /// The error for a receipt that cannot be stored.
  fileprivate static func notStored(_ error: TableError) -> TableError {
    TableError(
      error.code, "the receipt cannot be stored, so nothing was done: \(error)")
  }
}

/// The current time.
private func now() -> Timestamp {
  let time = timespec(on: CLOCK_REALTIME)
  return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    ?? Timestamp(nanoseconds: 0)
}

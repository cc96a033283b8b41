import Glibc
import Tabella
import TabellaFiles

/// A commit together with its receipt.
///
/// It reserves room for the receipt before the commit, holds signals back until the result is reported, and stores
/// the receipt afterwards.
struct CommitWithReceipt {
  let subject: String
  let source: any TableDataSource
  let provider: String
  let place: Receipt.Location
  /// The provider's options.
  let options: [String: String]
  /// The receipt of the edit to undo, if this is an undo.
  var undoing: Receipt?
  let isDryRun: Bool

  /// Commits. Returns the result of the source, and the receipt if anything was changed.
  ///
  /// `summary` describes the edits of a result for people. `remainder` describes the part that cannot be undone;
  /// nil if there is none.
  func run(
    commit: () throws(TableError) -> EditResult, summary: (EditResult?) -> String,
    remainder: (EditResult) -> String?
  ) throws(Failure) -> (EditResult, Receipt?) {
    let store = try ReceiptStore()
    try judge(store)
    if isDryRun {
      try noPlace { () throws(TableError) in try store.checkPlace() }
      return (try Failure.about(subject, commit), nil)
    }
    let file = try noPlace { () throws(TableError) in try store.reserve() }
    // The folder may have been created in the meantime.
    try judge(store, isMade: true)
    holdSignals(cancelling: source)
    let result: EditResult
    do throws(TableError) {
      result = try commit()
    } catch {
      throw try failure(of: error, store, file, summary(nil))
    }
    guard result.extent == .something else { return (result, nil) }
    return (result, try keep(result, store, file, summary(result), remainder(result)))
  }

  /// Throws if other users could forge this receipt.
  private func judge(_ store: ReceiptStore, isMade: Bool = false) throws(Failure) {
    do throws(Failure) {
      guard try store.open() == nil, isMade else { return }
      throw .of(
        TableError(.io, "\(store.path) was removed at this moment; try again"), subject: nil)
    } catch {
      throw Failure(
        status: error.status, subject: subject, code: error.code,
        message: "the receipt cannot be stored, so nothing was done: \(error.message)")
    }
  }

  private func noPlace<R>(_ body: () throws(TableError) -> R) throws(Failure) -> R {
    do throws(TableError) {
      return try body()
    } catch {
      throw Failure(
        status: .failed, subject: subject, code: error.code.name,
        message: "the receipt cannot be stored, so nothing was done: \(error)")
    }
  }

  /// The failure of a commit. If the provider broke the contract, it may still have made the edit.
  private func failure(
    of error: TableError, _ store: ReceiptStore, _ file: DurableFile, _ summary: String
  ) throws(Failure) -> Failure {
    let failure = Failure.of(error, subject: subject)
    guard error.code == .misbehaved || error.code == .timeout else { return failure }
    // If the provider ended, the error already says whether the edit was made.
    guard error.aftermath == nil else { return failure }
    var message = "\(failure.message); the edit may have been made; read the table to find out"
    // For an undo, the receipt would look like that of a partial undo. The receipt of the edit is still valid.
    if let receipt = error.receipt, undoing == nil {
      let changes = ChangeBatch(from: nil, to: nil, changes: nil)
      let result = EditResult(
        outcomes: [.init(code: error.code, message: error.message)], changes: changes,
        receipt: receipt)
      let kept = try keep(result, store, file, summary, nil)
      message += ", or undo it with: tabella undo receipt:\(kept.id)"
    }
    return Failure(status: failure.status, subject: subject, code: failure.code, message: message)
  }

  private func keep(
    _ result: EditResult, _ store: ReceiptStore, _ file: DurableFile, _ summary: String,
    _ remainder: String?
  ) throws(Failure) -> Receipt {
    let bytes = source.undoing == nil ? nil : result.receipt
    let wayBack = Receipt.WayBack(to: bytes)
    let failed = result.outcomes.first { $0.code != nil }
    let receipt = Receipt(
      id: store.newID(at: now()), provider: provider, place: place, options: options,
      from: result.changes.from?.token, to: result.changes.to?.token, summary: summary,
      kind: undoing?.opposite ?? .edit, undoes: undoing?.id,
      trouble: undoing == nil ? nil : failed.map { $0.message ?? $0.code!.name },
      remainder: remainder, wayBack: wayBack)
    do throws(TableError) {
      try store.keep(receipt, wayBack == nil ? [] : bytes ?? [], in: file)
    } catch {
      throw Failure(
        status: .failed, subject: subject, code: error.code.name,
        message:
          "the edit was done (\(summary)), but perhaps it cannot be undone: its receipt \(error)"
      )
    }
    return receipt
  }
}

/// The current time.
private func now() -> Timestamp {
  var time = timespec()
  clock_gettime(CLOCK_REALTIME, &time)
  return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int64(time.tv_nsec))
    ?? Timestamp(nanoseconds: 0)
}

import Tabella
import TabellaHost

extension Failure {
  /// Runs `body`, and converts its error.
  static func ofReceipts<R>(_ body: () throws(ReceiptError) -> R) throws(Failure) -> R {
    do throws(ReceiptError) { return try body() } catch { throw .of(error) }
  }

  /// The failure for an error of receipts, with the commands that help.
  static func of(_ error: ReceiptError) -> Failure {
    let status = ExitStatus.of(error.error)
    func failure(_ status: ExitStatus, _ code: String, _ advice: String) -> Failure {
      Failure(
        status: status, subject: error.subject, code: code, message: "\(error.error.text)\(advice)",
        column: error.error.column)
    }
    let code = error.code.name
    return switch error.kind {
    case .folder, .unreadable, .table: failure(status, code, "")
    case .noRoom, .notKept: failure(.failed, code, "")
    case .noReceipt: failure(status, code, "; tabella log lists them")
    case .unknownNewest:
      failure(
        status == .refused ? .refused : .failed, code,
        "; undo other edits by their receipts: tabella log")
    case .unfinished(let receipt): failure(.refused, "partial", "; \(wayOn(from: receipt))")
    case .remaining:
      failure(.refused, "partial", "; undo older edits by their receipts (tabella log)")
    case .notUndoable:
      failure(status, code, ". `tabella log` lists the edits that can be undone")
    case .perhapsDone(let receipt):
      failure(
        status, code, receipt.map { ", or undo it with: tabella undo receipt:\($0.id)" } ?? "")
    }
  }

  /// The next step after an undo or a redo that was done in part.
  private static func wayOn(from receipt: Receipt) -> String {
    receipt.isUndoable
      ? "undo the rest first (tabella undo receipt:\(receipt.id)), then repeat this command; or undo older edits by their receipts (tabella log)"
      : "it cannot be undone: correct the data by hand, and undo older edits by their receipts (tabella log)"
  }
}

extension Receipt.Place {
  /// The place that an operand names, for any provider.
  init(_ operand: Argument) throws(Failure) {
    let manifests = Host().catalogue.entries.map(\.manifest)
    self = try Failure.about(operand.text) { () throws(TableError) in
      try Receipt.Place(operand.bytes, of: manifests)
    }
  }
}

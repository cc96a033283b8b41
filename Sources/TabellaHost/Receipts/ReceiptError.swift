import Tabella

/// An error of a ``ReceiptStore``. Callers decide by ``kind`` and ``code``; ``description`` is for people.
public struct ReceiptError: Error, Sendable, CustomStringConvertible {
  /// The cause of an error, and the state that it leaves.
  public indirect enum Kind: Sendable {
    /// The folder of receipts is not known, cannot be read, or others may have written to it. Nothing was done.
    case folder
    /// The receipt does not exist.
    case noReceipt(ReceiptID)
    /// The receipt is damaged, cannot be read, or others may have written it.
    case unreadable(ReceiptID)
    /// A receipt that is damaged, cannot be read, or may be written by others can belong to the newest edit.
    case unknownNewest(ReceiptID)
    /// This undo or redo was done in part. If its receipt is undoable, undo it before older edits.
    case unfinished(Receipt)
    /// This undo could not undo the ``Receipt/remainder`` of its edit. Undo older edits by their receipts.
    case remaining(Receipt)
    /// The provider cannot undo this edit.
    case notUndoable(Receipt)
    /// A receipt cannot be stored. Nothing was done.
    case noRoom
    /// The host or the source threw the error. Nothing was done, unless `TableError.aftermath` says otherwise.
    case table
    /// The provider failed, or reported something false. Perhaps the edit was made. The receipt undoes the edit; it
    /// is nil if there is none.
    case perhapsDone(Receipt?)
    /// The edit was made, but its receipt was not stored, or may be lost in a power failure.
    case notKept
  }

  /// The cause, and the state of the data.
  public let kind: Kind
  /// The location, folder or receipt that the error is about; nil if the message names it.
  public let subject: String?
  /// The code and the message, without the subject.
  public let error: TableError

  init(_ kind: Kind, _ subject: String?, _ error: TableError) {
    self.kind = kind
    self.subject = subject
    self.error = error
  }

  /// The code of ``error``.
  public var code: TableError.Code { error.code }

  /// One line with the subject and the message.
  public var description: String { (subject.map { "\($0): " } ?? "") + error.description }

  /// Runs `body`, and converts its error.
  static func about<R>(
    _ subject: String, _ kind: Kind = .table, _ body: () throws(TableError) -> R
  ) throws(ReceiptError) -> R {
    do throws(TableError) { return try body() } catch { throw ReceiptError(kind, subject, error) }
  }
}

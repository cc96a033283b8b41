import CTabellaSQLite
import Tabella
import TabellaHost

extension TableError {
  /// The result code of SQLite.
  ///
  /// A code such as `SQLITE_IOERR` or `SQLITE_BUSY` has effects on the transaction, so it is never used.
  var sqliteCode: Int32 {
    if self == .changedPlan { return TABELLA_SQLITE_SCHEMA }
    return switch code {
    case .readOnly: TABELLA_SQLITE_READONLY
    case .constraint: TABELLA_SQLITE_CONSTRAINT
    case .conflict: TABELLA_SQLITE_ABORT
    case .denied: TABELLA_SQLITE_AUTH
    case .cancelled: TABELLA_SQLITE_INTERRUPT
    default: TABELLA_SQLITE_ERROR
    }
  }

  /// The error for a plan that does not fit the present table. SQLite then makes a new plan.
  static let changedPlan = TableError(
    .conflict, "the table has changed; prepare the statement again")

  /// The message with the remedies, in one line.
  var line: String {
    var text = description
    for remedy in remedies {
      switch remedy {
      case .chooseProvider(let ids):
        text += "; name another provider in front of the path (\(ids.joined(separator: ", ")))"
      case .pinAgain(let provider):
        text += "; if you know why it changed: tabella providers --pin \(provider)"
      case .acceptWeakIsolation: break
      case .decompress(let command, _, _): text += "; decompress it first (\(command))"
      }
    }
    return String(text.map { $0.isNewline ? " " : $0 })
  }

  /// The error with a subject in front of its message.
  func about(_ subject: String) -> TableError {
    var error = self
    error.message = "\(subject): \(error.message)"
    return error
  }
}

/// Runs `body` for a callback of SQLite. After an error, `message` receives its line.
func answer(
  _ api: SQLite, _ message: inout UnsafeMutablePointer<CChar>?,
  _ body: () throws(TableError) -> Void
) -> Int32 {
  do throws(TableError) {
    try ProcessUse.check()
    try body()
    return TABELLA_SQLITE_OK
  } catch {
    if let old = message { api.pointee.free(old) }
    message = api.copy(error.line)
    return error.sqliteCode
  }
}

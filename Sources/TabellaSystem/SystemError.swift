@_exported import Glibc
import Tabella

extension TableError {
  /// The error for a failed system call: "cannot be opened: No such file or directory".
  package static func system(_ number: Int32, _ what: String) -> TableError {
    let code: Code =
      switch number {
      case ENOENT, ENOTDIR, ESRCH: .notFound
      case EACCES, EPERM: .denied
      case EROFS: .readOnly
      default: .io
      }
    return TableError(code, "\(what): \(errorText(number))")
  }
}

/// The system's text for an error number: "No space left on device".
package func errorText(_ number: Int32) -> String {
  let text = String(cString: strerror(number))
  // The limit is the only one that users meet because they name many files.
  return number == EMFILE
    ? "\(text); open fewer files at once, or raise the limit (ulimit -n)" : text
}

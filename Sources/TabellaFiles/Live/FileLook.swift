import Tabella
import TabellaSystem

/// The state of an open file, and of the path by which it was opened, at one moment.
struct FileLook: Hashable, Sendable {
  /// The file that the path names now.
  enum Path: Hashable, Sendable {
    case missing
    /// The open file.
    case same
    /// Another file.
    case other(isEmpty: Bool)
  }

  /// The fingerprint of the open file.
  var file: Fingerprint
  /// Whether the open file still has a name. A file that another one replaced has none.
  var hasName: Bool
  var path: Path

  /// The state of a file that was just opened.
  init(opened fingerprint: Fingerprint) {
    (file, hasName, path) = (fingerprint, true, .same)
  }

  /// Looks at an open file and its path.
  init(of descriptor: Int32, at path: [UInt8]) throws(TableError) {
    // The path comes first. A writer that has begun another file writes nothing more to this one.
    let there = stat(at: path)
    guard let status = stat(of: descriptor) else { throw .system(errno, "cannot be examined") }
    file = Fingerprint(status)
    hasName = status.st_nlink > 0
    self.path =
      switch there {
      case nil: .missing
      case .some(let there):
        there.isSameFile(as: status) ? .same : .other(isEmpty: there.st_size == 0)
      }
  }
}

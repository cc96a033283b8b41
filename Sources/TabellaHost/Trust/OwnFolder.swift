import Glibc
import Tabella
import TabellaSystem

/// A folder whose files only root and the user can have written, such as the folder of receipts.
///
/// It is judged like the file of pins, with every folder and link on the way. The last reference closes the folder.
public final class OwnFolder {
  private let walk: PathWalk
  private let trust: TrustCheck

  /// Judges the folder and opens it. Returns nil if it does not exist.
  ///
  /// `path` is absolute and may contain any bytes. Throws `TableError`: `.denied` with the refused path, the reason
  /// and the remedy, even if the folder itself does not exist, or the system's error if the folder cannot be opened.
  public init?(_ path: [UInt8]) throws(TableError) {
    let shown = String(decoding: path, as: UTF8.self)
    let trust = TrustCheck()
    let walk = try PathWalk(path, trust, subject: shown)
    (self.trust, self.walk) = (trust, walk)
    switch try walk.walkToEnd() {
    case .folder: break
    case .unreachable(let number):
      if number == ENOENT || number == ENOTDIR { return nil }
      throw .system(number, "\(shown): cannot be opened")
    case .file: throw TableError(.io, "\(shown): is a file, not a directory")
    }
    guard let shared = walk.shared else { return }
    throw untrusted(
      shown, "sticky",
      "\(shared.path) has mode \(octal(shared.mode)), so all users can create files in it; chmod go-w \(quoted(shared.path))"
    )
  }

  /// The descriptor of the folder, open only for looking up names (`O_PATH`). Valid during the lifetime of this object.
  public var descriptor: Int32 { walk.folder }

  /// Judges an open file with this name in the folder. Throws `TableError` with `.denied`, the reason and the remedy.
  public func judge(_ file: Int32, named name: String) throws(TableError) {
    guard let status = stat(of: file) else { throw .system(errno, "\(name) cannot be examined") }
    _ = try trust.judge(status, at: "\(walk.shown)/\(name)", of: "the file")
  }
}

import Glibc
import Tabella

/// A folder whose files count only if nobody but root and the user can have put them there, or can change them:
/// that of receipts. It is judged as the file of pins is, with every folder and link on the way.
///
/// Closes the folder with its last reference.
public final class OwnFolder {
  private let walk: PathWalk
  private let trust: TrustCheck

  /// Judges the folder and opens it; nil if it is not there.
  ///
  /// `path` is absolute, of any bytes. Throws ``TableError``: `.denied` with what was refused, why and what helps,
  /// be it on the way to a folder that is not there; and that of the system if the folder cannot be opened.
  public init?(_ path: [UInt8]) throws(TableError) {
    let shown = String(decoding: path, as: UTF8.self)
    let trust = TrustCheck()
    let walk = try PathWalk(path, trust, subject: shown)
    (self.trust, self.walk) = (trust, walk)
    switch try walk.end() {
    case .folder: break
    case .unreachable(ENOENT), .unreachable(ENOTDIR): return nil
    case .unreachable(let number): throw .system(number, "\(shown): cannot be opened")
    case .file(let descriptor, _):
      close(descriptor)
      throw TableError(.io, "\(shown): is a file, not a directory")
    }
    guard let shared = walk.shared else { return }
    throw untrusted(
      shown, "sticky",
      "\(shared.path) has mode \(octal(shared.mode)), so everybody may put files into it; chmod go-w \(quoted(shared.path))"
    )
  }

  /// The folder, open only for looking up names in it (`O_PATH`), as long as this object lives.
  public var descriptor: Int32 { walk.folder }

  /// Judges an open file that has this name in the folder.
  ///
  /// Throws ``TableError``: `.denied` with why it is refused and what helps.
  public func judge(_ file: Int32, named name: String) throws(TableError) {
    var status = stat()
    guard fstat(file, &status) == 0 else { throw .system(errno, "\(name) cannot be examined") }
    _ = try trust.judge(status, at: "\(walk.shown)/\(name)", of: "the file")
  }
}

import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// Opens files that only root and the user can have created and can change.
///
/// It judges every folder and link on the way before it continues. The file that it opens is the one that it judged.
/// docs/trust.md lists the checks in order.
struct TrustCheck: Sendable {
  /// The effective user of this process.
  var user = geteuid()
  /// The running program, whose weaker protection is accepted for its own folders. Nil accepts only root and the user.
  var program = RunningProgram.current
  /// The library that contains the host, whose weaker protection is accepted, too; nil if the program contains it.
  var library: RunningProgram?

  /// The purpose of opening a file.
  enum Purpose {
    case library
    /// A manifest or a configuration file.
    case settings
  }

  /// A trusted file, open for reading.
  struct File: ~Copyable {
    let descriptor: Descriptor
    /// The absolute path without links.
    let path: String
    let owner: UInt32
    let mode: UInt32

    /// All bytes of the file. Throws `TableError` with `.noProvider` if there are more than `limit`.
    func bytes(limit: Int) throws(TableError) -> [UInt8] {
      guard let (bytes, isAll) = readAll(descriptor.raw, upTo: limit + 1) else {
        throw .system(errno, "cannot be read")
      }
      guard isAll else { throw TableError(.noProvider, "is larger than \(limit >> 20) MiB") }
      return bytes
    }
  }

  /// Opens a file.
  ///
  /// Throws `TableError`: `.denied` with the refused path, the reason and the remedy; `.notFound` if the file does
  /// not exist; `.noProvider` if it is no regular file.
  func open(_ path: String, for purpose: Purpose) throws(TableError) -> File {
    let walk = try PathWalk(Array(path.utf8), self, subject: path)
    switch try walk.walkToEnd() {
    case .file(let descriptor, let status):
      let file = File(
        descriptor: descriptor, path: walk.shown, owner: status.st_uid, mode: status.st_mode)
      try check(file, status, path, purpose)
      return file
    case .folder: throw TableError(.noProvider, "\(path): is a directory, not a file")
    case .unreachable(let number): throw .system(number, "\(path): cannot be opened")
    }
  }

  private func check(
    _ file: borrowing File, _ status: stat, _ path: String, _ purpose: Purpose
  ) throws(TableError) {
    guard status.st_nlink > 0 else {
      throw untrusted(path, "removed", "\(file.path) was removed at this moment; try again")
    }
    guard purpose == .library else { return }
    let special = status.st_mode & 0o6000
    guard special == 0 else {
      throw untrusted(
        path, "setuid",
        "\(file.path) has mode \(octal(status.st_mode)), which a library does not need; chmod ug-s \(quoted(file.path))"
      )
    }
    guard !tabella_system_is_noexec(file.descriptor.raw) else {
      throw untrusted(
        path, "noexec",
        "\(file.path) is on a file system that is mounted noexec; move it to another one")
    }
  }

  /// Judges a path from which the dynamic loader takes further libraries: a folder, or the file of a library.
  ///
  /// If nothing exists there, nobody else may be able to create it. Messages begin with `subject`. Throws
  /// `TableError` with `.denied`.
  func checkNeeded(_ path: String, _ subject: String) throws(TableError) {
    let walk = try PathWalk(Array(path.utf8), self, subject: subject)
    switch try walk.walkToEnd() {
    case .file: return
    // The loader has no more access than this process.
    case .unreachable(let number): if number != ENOENT { return }
    case .folder: break
    }
    guard let shared = walk.shared else { return }
    throw untrusted(
      subject, "sticky",
      "\(shared.path) has mode \(octal(shared.mode)), so all users can create files in it; link the library with another path"
    )
  }

  // Judging

  /// Throws `TableError` with `.denied` if others own the file at `path` or may change it.
  ///
  /// Returns whether the file is a sticky folder. There, everybody may create files, but change only their own.
  func judge(_ status: stat, at path: String, of subject: String) throws(TableError) -> Bool {
    let kind = status.kind
    try judgeOwner(status, path, subject)
    // A link has no mode of its own. Its folder counts.
    if kind == S_IFLNK { return false }
    let writers = status.st_mode & 0o022 & ~accepted(group: status.st_gid)
    if writers == 0 { return false }
    if kind == S_IFDIR, status.st_mode & S_ISVTX != 0 { return true }
    if isExcused(status) { return false }
    var names = AccountNames(.group)
    let group = "its group \(text(names[status.st_gid]))"
    let who =
      writers & 0o002 == 0
      ? group : writers == 0o002 ? "all users" : "all users, not only \(group),"
    let letters = writers == 0o022 ? "go" : writers == 0o020 ? "g" : "o"
    throw untrusted(
      subject, "mode",
      "\(path) has mode \(octal(status.st_mode)), so \(who) can write to it; chmod \(letters)-w \(quoted(path))"
    )
  }

  private func judgeOwner(
    _ status: stat, _ path: String, _ subject: String
  ) throws(TableError) {
    let owner = status.st_uid
    if owner == 0 || owner == user || owner == program?.owner || owner == library?.owner
      || isExcused(status)
    {
      return
    }
    var names = AccountNames(.user)
    let others = user == 0 ? "not by root" : "neither by root nor by \(text(names[user])) (\(user))"
    throw untrusted(
      subject, "owner",
      "\(path) is owned by \(text(names[owner])) (\(owner)), \(others); chown \(user == 0 ? "root" : text(names[user])) \(quoted(path)), or use your own copy"
    )
  }

  /// Whether a folder is on the path to the program or to the library. This check comes last, because it needs a walk of
  /// its own.
  private func isExcused(_ status: stat) -> Bool {
    status.kind == S_IFDIR
      && (program?.isOnPath(of: status) == true || library?.isOnPath(of: status) == true)
  }

  /// The write bits that the program or the library has, too.
  private func accepted(group: UInt32) -> UInt32 {
    (program?.writers(group: group) ?? 0) | (library?.writers(group: group) ?? 0)
  }
}

extension TrustCheck {
  /// The check of a host in this program or library.
  init(installation: Installation) {
    self.init()
    library = RunningProgram(installation)
  }
}

/// The error for an untrusted path: the path, the name of the check and its finding.
func untrusted(_ subject: String, _ check: String, _ finding: String) -> TableError {
  TableError(.denied, "\(subject) is not trusted (\(check)): \(finding)")
}

/// A path quoted for a shell.
func quoted(_ path: String) -> String {
  let plain = path.utf8.allSatisfy { byte in
    0x61...0x7A ~= byte | 0x20 || 0x2B...0x3A ~= byte || byte == UInt8(ascii: "_")
  }
  if plain { return path }
  return "'"
    + path.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''")
    + "'"
}

private func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

import CTabellaSystem
import Tabella
import TabellaFiles

/// Opens files that nobody but root and the user can have put where they are, or can change.
///
/// Every folder on the way is judged, and every link, before it is gone through; what is open in the end is
/// what was judged. docs/trust.md lists the checks in their order.
struct TrustCheck: Sendable {
  /// Who runs this process: the effective user.
  var user = geteuid()
  /// Nil holds everything to root and the user alone.
  var program = RunningProgram.current

  /// What a file is opened for.
  enum Purpose {
    case library
    /// A manifest, or what the user has set.
    case settings
  }

  /// A file that may be trusted, open for reading. Closed by whoever has it.
  struct File {
    let descriptor: Int32
    /// The absolute path, without links.
    let path: String
    let owner: UInt32
    let mode: UInt32

    /// All its bytes. Throws ``TableError`` with `.noProvider` if there are more than `limit`.
    func bytes(limit: Int) throws(TableError) -> [UInt8] {
      var bytes = [UInt8](repeating: 0, count: limit + 1)
      var got = 0
      while got <= limit {
        let read = bytes.withUnsafeMutableBytes { buffer in
          pread(descriptor, buffer.baseAddress! + got, buffer.count - got, got)
        }
        if read < 0, errno == EINTR { continue }
        guard read >= 0 else { throw .system(errno, "cannot be read") }
        if read == 0 { return Array(bytes[..<got]) }
        got += read
      }
      throw TableError(.noProvider, "is larger than \(limit >> 20) MiB")
    }
  }

  /// Opens a file.
  ///
  /// Throws ``TableError``: `.denied` with what was refused, why and what helps; `.notFound` if nothing is
  /// there; `.noProvider` if it is no regular file.
  func open(_ path: String, for purpose: Purpose) throws(TableError) -> File {
    let walk = try PathWalk(Array(path.utf8), self, subject: path)
    switch try walk.end() {
    case .file(let descriptor, let status):
      let file = File(
        descriptor: descriptor, path: walk.shown, owner: status.st_uid, mode: status.st_mode)
      do throws(TableError) {
        try check(file, status, path, purpose)
      } catch {
        close(descriptor)
        throw error
      }
      return file
    case .folder: throw TableError(.noProvider, "\(path): is a directory, not a file")
    case .unreachable(let number): throw .system(number, "\(path): cannot be opened")
    }
  }

  private func check(
    _ file: File, _ status: stat, _ path: String, _ purpose: Purpose
  ) throws(TableError) {
    guard status.st_nlink > 0 else {
      throw untrusted(path, "removed", "\(file.path) was removed at this moment; try again")
    }
    guard purpose == .library else { return }
    let special = status.st_mode & 0o6000
    guard special == 0 else {
      throw untrusted(
        path, "setuid",
        "\(file.path) has mode \(octal(status.st_mode)), which no library needs; chmod ug-s \(quoted(file.path))"
      )
    }
    guard !tabella_system_is_noexec(file.descriptor) else {
      throw untrusted(
        path, "noexec",
        "\(file.path) lies on a file system that is mounted noexec; put it on another one")
    }
  }

  /// Judges a path from which the loader takes libraries for another one: a folder, or a library's file. If
  /// nothing is there, nobody else may be able to make it. `subject` is what messages begin with. Throws
  /// ``TableError`` with `.denied`.
  func checkNeeded(_ path: String, _ subject: String) throws(TableError) {
    let walk = try PathWalk(Array(path.utf8), self, subject: subject)
    switch try walk.end() {
    case .file(let descriptor, _): close(descriptor)
    // Where this process cannot look, the loader cannot either.
    case .unreachable(let number) where number != ENOENT: break
    case .folder, .unreachable:
      guard let shared = walk.shared else { return }
      throw untrusted(
        subject, "sticky",
        "\(shared.path) has mode \(octal(shared.mode)), so everybody may put files or folders into it; link the library with another path"
      )
    }
  }

  // Judging

  /// Throws ``TableError`` with `.denied` if what is at `path` belongs to others, or others may change it.
  /// Returns whether it is a sticky folder: everybody may put files into it, but change only their own.
  func judge(_ status: stat, at path: String, of subject: String) throws(TableError) -> Bool {
    let kind = status.st_mode & S_IFMT
    try judgeOwner(status, path, subject)
    // The mode of a link says nothing: it is its folder that counts.
    if kind == S_IFLNK { return false }
    let writers = status.st_mode & 0o022 & ~(program?.writers(group: status.st_gid) ?? 0)
    if writers == 0 { return false }
    if kind == S_IFDIR, status.st_mode & S_ISVTX != 0 { return true }
    if isExcused(status) { return false }
    var names = AccountNames(.group)
    let group = "its group \(text(names[status.st_gid]))"
    let who =
      writers & 0o002 == 0
      ? group : writers == 0o002 ? "everybody" : "everybody, not only \(group),"
    let letters = writers == 0o022 ? "go" : writers == 0o020 ? "g" : "o"
    throw untrusted(
      subject, "mode",
      "\(path) has mode \(octal(status.st_mode)), so \(who) may write to it; chmod \(letters)-w \(quoted(path))"
    )
  }

  private func judgeOwner(
    _ status: stat, _ path: String, _ subject: String
  ) throws(TableError) {
    let owner = status.st_uid
    if owner == 0 || owner == user || owner == program?.owner || isExcused(status) { return }
    var names = AccountNames(.user)
    let others = user == 0 ? "not by root" : "neither by root nor by \(text(names[user])) (\(user))"
    throw untrusted(
      subject, "owner",
      "\(path) is owned by \(text(names[owner])) (\(owner)), \(others); chown \(user == 0 ? "root" : text(names[user])) \(quoted(path)), or take a copy of your own"
    )
  }

  /// Whether this is a folder on the way to the program itself. Asked last: to know those is a walk of its
  /// own, which most folders do not need.
  private func isExcused(_ status: stat) -> Bool {
    status.st_mode & S_IFMT == S_IFDIR && program?.isMade(of: status) == true
  }
}

/// The error for something that is not trusted: which path, which check, and what it found.
func untrusted(_ subject: String, _ check: String, _ finding: String) -> TableError {
  TableError(.denied, "\(subject) is not trusted (\(check)): \(finding)")
}

/// A mode as people write it: 0755.
func octal(_ mode: UInt32) -> String {
  let digits = String(mode & 0o7777, radix: 8)
  return String(repeating: "0", count: max(0, 4 - digits.utf8.count)) + digits
}

/// A path as a shell takes it.
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

import CTabellaSystem
import Tabella
import TabellaFiles
import TabellaSystem

/// A walk along an absolute path, component by component and through links.
///
/// It judges each component before it opens the next one from the open folder. So nobody can exchange a component that
/// was already judged.
final class PathWalk {
  enum End: ~Copyable {
    /// A regular file, open for reading.
    case file(Descriptor, stat)
    case folder
    /// Nothing exists there, or this process has no access. The value is the `errno`.
    case unreachable(Int32)
  }

  /// The maximum number of links, which is the kernel's, too.
  private static let mostLinks = 40

  private let check: TrustCheck
  private let subject: String
  private var current: Descriptor
  private var names: [[UInt8]] = []
  /// The remaining components, in reverse order.
  private var rest: [[UInt8]]
  private var links = 0
  /// The current folder if it is sticky and everybody may create files in it.
  private(set) var shared: (path: String, mode: UInt32)?

  /// Starts at the root. Messages begin with `subject`.
  ///
  /// Throws `TableError` with `.denied` for a path that is not absolute.
  init(_ path: [UInt8], _ check: TrustCheck, subject: String) throws(TableError) {
    guard path.first == UInt8(ascii: "/") else {
      throw untrusted(
        subject, "path",
        "\"\(String(decoding: path, as: UTF8.self))\" is not absolute, so its meaning depends on the current directory; write an absolute path"
      )
    }
    guard !path.contains(0) else { throw untrusted(subject, "path", "it contains a NUL") }
    self.check = check
    self.subject = subject
    rest = PathWalk.steps(path)
    let root = tabella_system_open_entry(AT_FDCWD, "/")
    guard let opened = Descriptor(root) else {
      throw .system(-root, "\(subject): / cannot be opened")
    }
    current = opened
    try judgeFolder()
  }

  /// The descriptor of the current folder, valid until the next step.
  var folder: Int32 { current.raw }

  /// The current path, without links.
  var shown: String { PathWalk.text(names) }

  private static func text(_ names: [[UInt8]]) -> String {
    "/" + names.map { String(decoding: $0, as: UTF8.self) }.joined(separator: "/")
  }

  private static func steps(_ path: [UInt8]) -> [[UInt8]] {
    path.split(separator: UInt8(ascii: "/")).map { Array($0) }.filter { $0 != [46] }.reversed()
  }

  /// Walks to the end. Throws `TableError` with `.denied` for a refused component, and with the code of the system's
  /// error for a component that cannot be opened.
  func walkToEnd() throws(TableError) -> End {
    while let name = rest.popLast() {
      if name == Array("..".utf8) {
        names = names.dropLast()
        try enterFolder("..", of: folder)
        continue
      }
      let result = name.withCString { tabella_system_open_entry(folder, $0) }
      guard let entry = Descriptor(result) else { return .unreachable(-result) }
      guard let status = stat(of: entry.raw) else { throw failure(errno, name) }
      try refuseProc(entry.raw, name)
      switch status.kind {
      case S_IFDIR:
        names.append(name)
        try enter(entry)
      case S_IFLNK:
        guard links < PathWalk.mostLinks else { return .unreachable(ELOOP) }
        try follow(entry.raw, name, status)
      default:
        return rest.isEmpty ? try file(name, status) : .unreachable(ENOTDIR)
      }
    }
    return .folder
  }

  /// Opens a folder by its name in another one, judges it and makes it the current one.
  private func enterFolder(_ name: String, of other: Int32) throws(TableError) {
    let result = tabella_system_open_entry(other, name)
    guard let opened = Descriptor(result) else { throw failure(-result) }
    try enter(opened)
  }

  /// Makes a folder the current one and judges it.
  private func enter(_ opened: consuming Descriptor) throws(TableError) {
    current = opened
    try judgeFolder()
  }

  private func judgeFolder() throws(TableError) {
    guard let status = stat(of: folder) else { throw failure(errno) }
    let isShared = try check.judge(status, at: shown, of: subject)
    shared = isShared ? (shown, status.st_mode) : nil
  }

  private func follow(_ link: Int32, _ name: [UInt8], _ status: stat) throws(TableError) {
    let place = PathWalk.text(names + [name])
    try refuseShared("the link \(place)")
    _ = try check.judge(status, at: place, of: subject)
    links += 1
    var target = [UInt8](repeating: 0, count: Int(PATH_MAX))
    let count = target.withUnsafeMutableBytes { buffer in
      readlinkat(link, "", buffer.baseAddress!.assumingMemoryBound(to: CChar.self), buffer.count)
    }
    guard count >= 0 else { throw failure(errno, name) }
    target.removeLast(target.count - count)
    rest += PathWalk.steps(target)
    if target.first == UInt8(ascii: "/") {
      names = []
      try enterFolder("/", of: AT_FDCWD)
    }
  }

  private func file(_ name: [UInt8], _ seen: stat) throws(TableError) -> End {
    names.append(name)
    guard seen.kind == S_IFREG else {
      throw TableError(.noProvider, "\(subject): is not a regular file")
    }
    try refuseShared(shown)
    guard
      let file = Descriptor(
        opening: name, in: folder, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY),
      let status = stat(of: file.raw)
    else { throw failure(errno) }
    guard status.isSameFile(as: seen) else {
      throw untrusted(subject, "changed", "\(shown) was replaced at this moment; try again")
    }
    _ = try check.judge(status, at: shown, of: subject)
    return .file(file, status)
  }

  /// Throws if everybody may create files in the current folder. Such a file could be mistaken for this one, or this
  /// one could load it.
  private func refuseShared(_ what: String) throws(TableError) {
    guard let shared else { return }
    throw untrusted(
      subject, "sticky",
      "\(what) is in \(shared.path), which has mode \(octal(shared.mode)), so all users can create files beside it; move it into a folder of your own"
    )
  }

  /// Throws for an entry in `/proc`, whose paths mean different files in each process. `/proc/self/cwd`, for example,
  /// is the current directory, and such links do not lead to the path in their text.
  private func refuseProc(_ entry: Int32, _ name: [UInt8]) throws(TableError) {
    guard tabella_system_is_proc(entry) else { return }
    throw untrusted(
      subject, "path",
      "its path leads through \(PathWalk.text(names + [name])), so its meaning depends on the process (its current directory, its open files); write the real path"
    )
  }

  private func failure(_ number: Int32, _ name: [UInt8]? = nil) -> TableError {
    let place = PathWalk.text(names + (name.map { [$0] } ?? []))
    return .system(number, "\(subject): \(place) cannot be opened")
  }
}

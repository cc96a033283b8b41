import Tabella
import TabellaFiles
import TabellaSystem

/// A temporary folder that only this user can open. A provider may do anything in it. It is removed with the object.
final class PrivateFolder {
  let path: [UInt8]

  init() throws(TableError) {
    let parent = trustedVariable("TMPDIR").flatMap { $0.first == UInt8(ascii: "/") ? $0 : nil }
    var template = ((parent ?? Array("/tmp".utf8)) + Array("/tabella-check-XXXXXX".utf8))
      .map { CChar(bitPattern: $0) }
    template.append(0)
    guard mkdtemp(&template) != nil else {
      throw .system(errno, "a folder for samples cannot be created")
    }
    path = template.dropLast().map { UInt8(bitPattern: $0) }
  }

  deinit { removeTree(path) }

  func place(_ name: [UInt8]) -> [UInt8] { path + [UInt8(ascii: "/")] + name }

  func place(_ name: String) -> [UInt8] { place(Array(name.utf8)) }

  /// Creates a folder in it.
  func makeFolder(_ name: String) throws(TableError) -> [UInt8] {
    let folder = place(name)
    guard folder.withCString({ mkdir($0, 0o700) }) == 0 else {
      throw .system(errno, "\(shown(folder)) cannot be created")
    }
    return folder
  }

  @discardableResult
  func write(_ name: [UInt8], _ bytes: [UInt8]) throws(TableError) -> [UInt8] {
    let file = place(name)
    try TabellaChecking.write(bytes, to: file, mode: 0o600)
    return file
  }
}

/// A path as text for people.
func shown(_ path: [UInt8]) -> String { String(decoding: path, as: UTF8.self) }

/// Creates a new file with these bytes.
func write(_ bytes: [UInt8], to path: [UInt8], mode: mode_t) throws(TableError) {
  let file = try Descriptor(
    opening: path, O_WRONLY | O_CREAT | O_EXCL, mode: mode,
    errorPrefix: "\(shown(path)) cannot be created")
  var sent = 0
  while sent < bytes.count {
    let count = bytes.withUnsafeBytes {
      Glibc.write(file.raw, $0.baseAddress! + sent, $0.count - sent)
    }
    guard count > 0 else { throw .system(errno, "\(shown(path)) cannot be written") }
    sent += count
  }
}

/// The sorted names in a folder; nil if it cannot be read.
func names(in folder: [UInt8]) -> [[UInt8]]? {
  guard var entries = FolderEntries(of: folder) else { return nil }
  var names: [[UInt8]] = []
  while let name = entries.next() { names.append(Array(name)) }
  return names.sorted { $0.lexicographicallyPrecedes($1) }
}

/// Removes a file, or a folder with everything in it. Links are removed, not followed.
func removeTree(_ path: [UInt8]) {
  guard let status = stat(at: path, followsLink: false) else { return }
  if status.kind == S_IFDIR {
    // A provider may have removed the permissions.
    if status.st_mode & 0o700 != 0o700 { _ = path.withCString { chmod($0, 0o700) } }
    for name in names(in: path) ?? [] { removeTree(path + [UInt8(ascii: "/")] + name) }
    _ = path.withCString { rmdir($0) }
  } else {
    _ = path.withCString { unlink($0) }
  }
}

/// Copies a file or a folder for laws that edit it, up to a limit.
struct TreeCopy {
  /// The size limits. They are low, because each law that edits needs a copy.
  static let most = (bytes: 16 << 20, entries: 2000)

  private var bytes = 0
  private var entries = 0

  /// Copies a path. Links stay links. Throws if the data is too large or contains other kinds of files.
  static func make(_ from: [UInt8], _ to: [UInt8]) throws(TableError) {
    var copy = TreeCopy()
    try copy.add(from, to, isTop: true)
  }

  private mutating func add(_ from: [UInt8], _ to: [UInt8], isTop: Bool) throws(TableError) {
    guard let status = stat(at: from, followsLink: isTop) else {
      throw .system(errno, "\(shown(from)) cannot be copied")
    }
    entries += 1
    bytes += status.kind == S_IFREG ? Int(status.st_size) : 0
    guard bytes <= TreeCopy.most.bytes, entries <= TreeCopy.most.entries else {
      throw TableError(
        .notSupported,
        "a copy to be edited has more than \(TreeCopy.most.bytes >> 20) MiB or \(TreeCopy.most.entries) entries"
      )
    }
    switch status.kind {
    case S_IFREG:
      let file: any ByteSource
      do throws(TableError) { file = try OpenFile(path: from).bytes() } catch {
        throw TableError(error.code, "\(shown(from)) \(error.message)")
      }
      try write(
        try file.bytes(at: 0, count: Int(status.st_size)), to: to, mode: status.st_mode & 0o777)
    case S_IFDIR:
      guard to.withCString({ mkdir($0, 0o700) }) == 0 else {
        throw .system(errno, "\(shown(to)) cannot be created")
      }
      for name in names(in: from) ?? [] {
        let slash = [UInt8(ascii: "/")]
        try add(from + slash + name, to + slash + name, isTop: false)
      }
      _ = to.withCString { chmod($0, status.st_mode & 0o777) }
    case S_IFLNK:
      var target = [CChar](repeating: 0, count: 4096)
      let count = from.withCString { readlink($0, &target, target.count) }
      guard count > 0 else { throw .system(errno, "\(shown(from)) cannot be read") }
      let made = target[..<count].map { UInt8(bitPattern: $0) }.withCString { target in
        to.withCString { symlink(target, $0) }
      }
      guard made == 0 else { throw .system(errno, "\(shown(to)) cannot be created") }
    default:
      throw TableError(.notSupported, "\(shown(from)) is not a file, folder or link")
    }
  }
}

import CTabellaSystem
import Tabella

/// What a file has beside its bytes, and a save must keep: owner, mode, access control list and the
/// other extended attributes.
enum FileAttributes {
  /// Gives one open file what another has, and returns the owner and mode that were. Throws what could
  /// not be kept.
  @discardableResult
  static func copy(from old: Int32, to new: Int32) throws(TableError) -> stat {
    var (was, now) = (stat(), stat())
    guard fstat(old, &was) == 0, fstat(new, &now) == 0 else {
      throw .system(errno, "cannot be examined")
    }
    if was.st_uid != now.st_uid || was.st_gid != now.st_gid,
      fchown(new, was.st_uid, was.st_gid) != 0
    {
      throw kept("its owner and group (\(was.st_uid):\(was.st_gid))", errno)
    }
    try copyExtended(from: old, to: new)
    // Last: a change of owner takes setuid away, a list sets bits of the mode.
    guard fchmod(new, was.st_mode & 0o7777) == 0 else { throw kept("its mode", errno) }
    return was
  }

  private static func kept(_ what: String, _ number: Int32) -> TableError {
    TableError(
      number == EPERM || number == EACCES ? .denied : .readOnly,
      "\(what) cannot be kept: \(errorText(number)); nothing was changed (--in-place, -o in-place=true, rewrites it where it is)"
    )
  }

  private static func copyExtended(from old: Int32, to new: Int32) throws(TableError) {
    let wanted = try names(of: old)
    for name in try names(of: new) where !wanted.contains(name) {
      // What the folder gave the new file; labels are the system's to give.
      guard !name.starts(with: "security.".utf8CString.dropLast()) else { continue }
      let result = tabella_system_remove_attribute(new, name)
      guard result == 0 else { throw kept("that it has no \(name.shown)", -result) }
    }
    for name in wanted {
      let value = try self.value(of: name, old)
      if let there = try? self.value(of: name, new), there == value { continue }
      let result = value.withUnsafeBytes { bytes in
        var nothing: UInt8 = 0
        return withUnsafePointer(to: &nothing) {
          tabella_system_set_attribute(
            new, name, bytes.baseAddress ?? UnsafeRawPointer($0), bytes.count)
        }
      }
      guard result == 0 else { throw kept("its attribute \(name.shown)", -result) }
    }
  }

  private static func names(of file: Int32) throws(TableError) -> [[CChar]] {
    let list = try growing("its attributes cannot be listed") { buffer, size in
      tabella_system_list_attributes(file, buffer?.assumingMemoryBound(to: CChar.self), size)
    }
    return list.split(separator: 0).map { $0.map { CChar(bitPattern: $0) } + [0] }
  }

  private static func value(of name: [CChar], _ file: Int32) throws(TableError) -> [UInt8] {
    try growing("its attribute \(name.shown) cannot be read") {
      tabella_system_attribute(file, name, $0, $1)
    }
  }

  /// Asks for the size, then for the bytes, until they fit.
  private static func growing(
    _ what: String, _ ask: (UnsafeMutableRawPointer?, Int) -> Int64
  ) throws(TableError) -> [UInt8] {
    while true {
      let size = ask(nil, 0)
      // A file system without attributes has none.
      if size == -Int64(EOPNOTSUPP) || size == 0 { return [] }
      guard size > 0 else { throw .system(Int32(-size), what) }
      var bytes = [UInt8](repeating: 0, count: Int(size))
      let got = bytes.withUnsafeMutableBytes { ask($0.baseAddress, $0.count) }
      if got == -Int64(ERANGE) { continue }
      guard got >= 0 else { throw .system(Int32(-got), what) }
      return Array(bytes.prefix(Int(got)))
    }
  }
}

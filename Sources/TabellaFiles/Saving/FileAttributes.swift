import CTabellaSystem
import Tabella
import TabellaSystem

/// The attributes of a file: owner, mode, access control list, and the other extended attributes.
public enum FileAttributes {
  /// The purpose of the file that receives the attributes.
  public enum Role: Sendable {
    /// The file replaces the other one and must have all its attributes.
    case replacement
    /// The file is a copy at another path. The security module of the system chooses its label. It keeps the owner
    /// only if that is permitted.
    case copy
  }

  /// Copies the attributes of an open file to another one.
  ///
  /// Returns the original owner and mode, and whether the owner was kept. If the owner was not kept, the setuid and
  /// setgid bits are not copied either, because they would grant the rights of another user or group. Throws
  /// ``TableError`` that names the attribute that could not be copied. The file then has some of the attributes.
  @discardableResult
  public static func copy(
    from old: Int32, to new: Int32, as role: Role
  ) throws(TableError) -> (was: stat, keepsOwner: Bool) {
    guard let was = stat(of: old), let now = stat(of: new) else {
      throw .system(errno, "cannot be examined")
    }
    var keepsOwner = was.st_uid == now.st_uid && was.st_gid == now.st_gid
    if !keepsOwner {
      keepsOwner = fchown(new, was.st_uid, was.st_gid) == 0
      guard keepsOwner || role == .copy else {
        throw kept("its owner and group (\(was.st_uid):\(was.st_gid))", errno)
      }
    }
    try copyExtended(from: old, to: new, as: role)
    if role == .replacement {
      let result = tabella_system_copy_flags(old, new)
      guard result == 0 else { throw kept("its flags (lsattr)", -result) }
    }
    var mode = was.st_mode & 0o7777
    if !keepsOwner { mode &= ~(S_ISUID | S_ISGID) }
    // The mode is set last, because changing the owner clears setuid, and an access control list sets bits of the
    // mode.
    guard fchmod(new, mode) == 0 else { throw kept("its mode", errno) }
    return (was, keepsOwner)
  }

  private static func kept(_ what: String, _ number: Int32) -> TableError {
    let message = "\(what) cannot be kept"
    // The file system does not support the attribute.
    guard number == EOPNOTSUPP else { return .system(number, message) }
    return TableError(.readOnly, "\(message): \(errorText(number))")
  }

  private static func copyExtended(
    from old: Int32, to new: Int32, as role: Role
  ) throws(TableError) {
    let wanted = try names(of: old).filter {
      role == .replacement || $0 != Array("security.selinux".utf8CString)
    }
    for name in try names(of: new) where !wanted.contains(name) {
      // The folder gave the new file this attribute. Labels are left to the system.
      guard !name.starts(with: "security.".utf8CString.dropLast()) else { continue }
      let result = tabella_system_remove_attribute(new, name)
      guard result == 0 else { throw kept("the absence of \(name.shown)", -result) }
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

  /// Calls `ask` for the size and then for the bytes, until the bytes fit.
  private static func growing(
    _ what: String, _ ask: (UnsafeMutableRawPointer?, Int) -> Int64
  ) throws(TableError) -> [UInt8] {
    while true {
      let size = ask(nil, 0)
      // A file system without extended attributes has none.
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

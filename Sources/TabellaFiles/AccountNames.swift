import Glibc

/// A cache of the names of users or groups. It looks up each name once.
public struct AccountNames {
  /// The kind of accounts.
  public enum Kind { case user, group }

  private static let largestEntry = 1 << 20

  private let kind: Kind
  private var names: [UInt32: [UInt8]] = [:]

  /// Creates an empty cache.
  public init(_ kind: Kind) { self.kind = kind }

  /// The name of the account with this number, or the number itself if the account has no name.
  public subscript(number: UInt32) -> [UInt8] {
    mutating get {
      if let name = names[number] { return name }
      let found = kind == .user ? AccountNames.user(number) : AccountNames.group(number)
      let name = found ?? Array(String(number).utf8)
      names[number] = name
      return name
    }
  }

  private static func user(_ number: UInt32) -> [UInt8]? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    return lookUp { buffer, size in
      let result = getpwuid_r(number, &entry, buffer, size, &found)
      return (result, found == nil ? nil : entry.pw_name)
    }
  }

  private static func group(_ number: UInt32) -> [UInt8]? {
    var entry = Glibc.group()
    var found: UnsafeMutablePointer<Glibc.group>?
    return lookUp { buffer, size in
      let result = getgrgid_r(number, &entry, buffer, size, &found)
      return (result, found == nil ? nil : entry.gr_name)
    }
  }

  /// Calls `find` with larger and larger buffers until one suffices.
  private static func lookUp(
    _ find: (UnsafeMutablePointer<CChar>, Int) -> (Int32, UnsafeMutablePointer<CChar>?)
  ) -> [UInt8]? {
    var size = 1024
    while size <= largestEntry {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      let (result, name) = find(buffer, size)
      if result == ERANGE {
        size *= 2
        continue
      }
      guard result == 0, let name, name[0] != 0 else { return nil }
      return Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
    }
    return nil
  }
}

import Glibc

/// Names of users, each looked up once.
struct UserNames {
  private static let largestEntry = 1 << 20

  private var names: [uid_t: [UInt8]] = [:]

  /// The user's name, or the number if there is none.
  subscript(user: uid_t) -> [UInt8] {
    mutating get {
      if let name = names[user] { return name }
      let name = UserNames.lookUp(user) ?? Array(String(user).utf8)
      names[user] = name
      return name
    }
  }

  private static func lookUp(_ user: uid_t) -> [UInt8]? {
    var entry = passwd()
    var found: UnsafeMutablePointer<passwd>?
    var size = 1024
    while size <= largestEntry {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: size)
      defer { buffer.deallocate() }
      let result = getpwuid_r(user, &entry, buffer, size, &found)
      if result == ERANGE {
        size *= 2
        continue
      }
      guard result == 0, found != nil, let name = entry.pw_name, name[0] != 0 else { return nil }
      return Array(UnsafeRawBufferPointer(start: name, count: strlen(name)))
    }
    return nil
  }
}

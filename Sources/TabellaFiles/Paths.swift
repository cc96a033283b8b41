import Tabella

// Paths are bytes, which need not be UTF-8.

extension Array where Element == UInt8 {
  /// Calls `body` with the bytes, which have no NUL, as a C string.
  public func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
    cString.withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  /// The bytes, which have no NUL, as a C string.
  var cString: [CChar] { map { CChar(bitPattern: $0) } + [0] }

  /// A path, for a message.
  var shown: String { String(decoding: self, as: UTF8.self) }
}

extension Array where Element == CChar {
  /// A C string, for a message.
  var shown: String { String(decoding: dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self) }
}

/// The absolute path of what is there, without links and dots; nil with `errno` set if that cannot be had.
public func realPath(_ path: [UInt8]) -> [UInt8]? {
  guard let found = path.withCString({ realpath($0, nil) }) else { return nil }
  defer { free(found) }
  return Array(UnsafeRawBufferPointer(start: found, count: strlen(found)))
}

/// Whether two paths lead to the same file, whatever they are called.
public func isSameFile(_ left: String, _ right: String) -> Bool {
  var (first, second) = (stat(), stat())
  return stat(left, &first) == 0 && stat(right, &second) == 0
    && first.st_dev == second.st_dev && first.st_ino == second.st_ino
}

// Paths are bytes. They need not be UTF-8.

extension Array where Element == UInt8 {
  /// Calls `body` with the bytes as a C string. The bytes contain no NUL.
  package func withCString<R>(_ body: (UnsafePointer<CChar>) -> R) -> R {
    cString.withUnsafeBufferPointer { body($0.baseAddress!) }
  }

  /// The bytes as a C string. They contain no NUL.
  package var cString: [CChar] { map { CChar(bitPattern: $0) } + [0] }

  /// The path as text for messages.
  package var shown: String { String(decoding: self, as: UTF8.self) }
}

extension Array where Element == CChar {
  /// The C string as text for messages.
  package var shown: String {
    String(decoding: dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// The absolute path of an existing file, without symbolic links and dots. Returns nil with `errno` set on failure.
package func realPath(_ path: [UInt8]) -> [UInt8]? {
  guard let found = path.withCString({ realpath($0, nil) }) else { return nil }
  defer { free(found) }
  return Array(UnsafeRawBufferPointer(start: found, count: strlen(found)))
}

/// Whether two paths lead to the same file.
package func isSameFile(_ left: String, _ right: String) -> Bool {
  guard let first = stat(at: left), let second = stat(at: right) else { return false }
  return first.isSameFile(as: second)
}

import Glibc
import Tabella

/// The absolute path for a path that may be relative to the working directory.
package func absolutePath(_ path: [UInt8]) throws(TableError) -> [UInt8] {
  path.first == UInt8(ascii: "/")
    ? path : try workingDirectory() + [UInt8(ascii: "/")] + path
}

/// The working directory, without links and dots.
///
/// Throws ``TableError`` with `.io` if it no longer exists.
package func workingDirectory() throws(TableError) -> [UInt8] {
  guard let path = getcwd(nil, 0) else {
    throw TableError(.io, "the working directory no longer exists; use an absolute path")
  }
  defer { free(path) }
  return UnsafeRawBufferPointer(start: path, count: strlen(path)).map { $0 }
}

import Glibc
import Tabella
import TabellaSystem

/// The working directory at one moment, so that relative paths keep their meaning after the program has changed it.
package struct WorkingFolder: Sendable {
  /// Its path at that moment.
  private let path: [UInt8]
  private let folder: stat

  /// The present working directory; nil if it no longer exists.
  package static var current: WorkingFolder? {
    guard let folder = stat(at: "."), let path = try? workingDirectory() else { return nil }
    return WorkingFolder(path: path, folder: folder)
  }

  /// Whether it is the working directory. It can have been renamed.
  private var isCurrent: Bool { stat(at: ".")?.isSameFile(as: folder) == true }

  /// The path for a system call at this moment, of a path that is absolute or relative to the folder.
  ///
  /// It is the given path while the folder is the working directory. A relative path costs one system call.
  package func resolve(_ path: [UInt8]) -> [UInt8] {
    path.first == UInt8(ascii: "/") || isCurrent
      ? path : self.path + [UInt8(ascii: "/")] + path
  }

  /// The folder's path at this moment. Throws ``TableError`` with `.io` if the folder no longer exists.
  package func presentPath() throws(TableError) -> [UInt8] {
    isCurrent ? try workingDirectory() : path
  }
}

/// A path that leads to the same file after the program has changed its working directory.
package struct LastingPath: Sendable {
  /// The path as it was given.
  package let given: [UInt8]
  private let folder: WorkingFolder?

  /// A path that is absolute or relative to the present working directory.
  package init(_ path: [UInt8]) {
    given = path
    folder = path.first == UInt8(ascii: "/") ? nil : .current
  }

  /// The path for a system call at this moment.
  package var current: [UInt8] { folder?.resolve(given) ?? given }
}

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

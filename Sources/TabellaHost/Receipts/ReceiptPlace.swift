import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

extension Receipt {
  /// The location of a table, independent of the current folder.
  package struct Place: Hashable, Sendable {
    /// The scheme, if the location has one.
    var scheme: String?
    /// The real path, without links and dots. If the location has a scheme and is not a path, the text after the
    /// scheme.
    var rest: [UInt8]
    /// The current folder of the edit, if the location may depend on it.
    package var folder: [UInt8]?

    /// The location to open.
    package var location: [UInt8] { (scheme.map { Array("\($0):".utf8) } ?? []) + rest }

    /// Whether both name the same table. A path is the same with and without a scheme.
    func isSame(as other: Place) -> Bool {
      // A real path does not begin with two slashes, as the rest of `https://` does.
      let isPath = rest.first == UInt8(ascii: "/") && !rest.starts(with: "//".utf8)
      return isPath ? rest == other.rest : self == other
    }
  }
}

extension Receipt.Place {
  /// The location for one of these providers. `opening` is the working directory in which it was opened; nil if it is
  /// opened now.
  ///
  /// Throws `TableError` with `.io` if the path cannot be resolved.
  package init(
    _ location: [UInt8], of manifests: [Manifest], in opening: WorkingFolder? = nil
  ) throws(TableError) {
    func resolve(_ path: [UInt8]) -> [UInt8] { opening?.resolve(path) ?? path }
    let start = location.prefix { $0 != UInt8(ascii: ":") }
    let claims =
      start.count < location.count
      ? manifests.first { $0.schemes.contains { $0.utf8.elementsEqual(start) } } : nil
    guard let claims else {
      let path = resolve(location)
      if let real = try real(path) { rest = real } else { rest = try absolutePath(path) }
      return
    }
    scheme = String(decoding: start, as: UTF8.self)
    rest = Array(location[(start.count + 1)...])
    // For a provider of folders an empty rest means the current folder.
    let path = resolve(
      rest.isEmpty && claims.accepts.contains(.directory) ? [UInt8(ascii: ".")] : rest)
    if let kind = pathKind(path), claims.accepts.contains(kind), let real = try real(path) {
      rest = real
    } else if !rest.isEmpty, rest.first != UInt8(ascii: "/") {
      folder = if let opening { try opening.presentPath() } else { try workingDirectory() }
    }
  }
}

/// The kind of a path; nil if nothing exists there.
private func pathKind(_ path: [UInt8]) -> Manifest.PathKind? {
  guard !path.isEmpty, let status = stat(at: path) else { return nil }
  return status.kind == S_IFDIR ? .directory : .file
}

/// The path without links and dots; nil if it does not exist.
private func real(_ path: [UInt8]) throws(TableError) -> [UInt8]? {
  if let found = realPath(path) { return found }
  // With another path the receipt would not be found again.
  guard [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else {
    throw .system(errno, "its absolute path cannot be found")
  }
  return nil
}

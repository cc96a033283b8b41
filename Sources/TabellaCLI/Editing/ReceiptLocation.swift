import Glibc
import Tabella
import TabellaFiles
import TabellaHost

extension Receipt {
  /// Where a table was, so that it is found again from any folder.
  struct Location: Hashable {
    /// The scheme, if the location was given with one.
    var scheme: String?
    /// The real path, without links and dots; of a location with a scheme that is no path what stands
    /// behind the scheme.
    var rest: [UInt8]
    /// The folder in which that was given, if it may depend on it.
    var folder: [UInt8]?

    /// What is opened.
    var location: [UInt8] { (scheme.map { Array("\($0):".utf8) } ?? []) + rest }

    /// Whether both name the same: a path is the same with a scheme and without.
    func isSame(as other: Location) -> Bool {
      // A real path does not begin as `https://` goes on.
      let isPath = rest.first == UInt8(ascii: "/") && !rest.starts(with: "//".utf8)
      return isPath ? rest == other.rest : self == other
    }
  }
}

extension Receipt.Location {
  /// The place that an operand names, whichever provider it was edited by.
  init(_ operand: Argument) throws(Failure) {
    let manifests = Host().catalogue.entries.map(\.manifest)
    self = try Failure.about(operand.text) { () throws(TableError) in
      try Receipt.Location(operand.bytes, of: manifests)
    }
  }

  /// Where a location is that one of these providers opens.
  ///
  /// Throws ``TableError`` with `.io` if it cannot be found out.
  init(_ location: [UInt8], of manifests: [Manifest]) throws(TableError) {
    let start = location.prefix { $0 != UInt8(ascii: ":") }
    let claims =
      start.count < location.count
      ? manifests.first { $0.schemes.contains { $0.utf8.elementsEqual(start) } } : nil
    guard let claims else {
      if let real = try real(location) { rest = real } else { rest = try absolute(location) }
      return
    }
    scheme = String(decoding: start, as: UTF8.self)
    rest = Array(location[(start.count + 1)...])
    // A folder's provider takes nothing for the folder that one is in.
    let path = rest.isEmpty && claims.accepts.contains(.directory) ? [UInt8(ascii: ".")] : rest
    if let kind = pathKind(path), claims.accepts.contains(kind), let real = try real(path) {
      rest = real
    } else if !rest.isEmpty, rest.first != UInt8(ascii: "/") {
      folder = try workingDirectory()
    }
  }
}

/// What kind of path it is, if it is one and something is there.
private func pathKind(_ path: [UInt8]) -> Manifest.PathKind? {
  var status = stat()
  guard !path.isEmpty, path.withCString({ stat($0, &status) }) == 0 else { return nil }
  return status.st_mode & S_IFMT == S_IFDIR ? .directory : .file
}

/// A path from the root on, for one that may be from the working directory on.
func absolute(_ path: [UInt8]) throws(TableError) -> [UInt8] {
  path.first == UInt8(ascii: "/")
    ? path : try workingDirectory() + [UInt8(ascii: "/")] + path
}

private func workingDirectory() throws(TableError) -> [UInt8] {
  guard let path = getcwd(nil, 0) else {
    throw TableError(.io, "the working directory no longer exists; use an absolute path")
  }
  defer { free(path) }
  return UnsafeRawBufferPointer(start: path, count: strlen(path)).map { $0 }
}

/// The path without links and dots; nil if nothing is there.
private func real(_ path: [UInt8]) throws(TableError) -> [UInt8]? {
  if let found = realPath(path) { return found }
  // Under another path the receipt would not be found again.
  guard [ENOENT, ENOTDIR, ENAMETOOLONG].contains(errno) else {
    throw .system(errno, "its absolute path cannot be found")
  }
  return nil
}

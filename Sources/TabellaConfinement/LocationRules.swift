import Tabella
import TabellaFiles
import TabellaSystem

extension WorkerRules {
  /// The rules for a provider that opens one location. The host computes them before it starts a worker.
  ///
  /// `location` is a path, or the rest after `SCHEME:`. A rest grants something only if a file with that path exists.
  /// All symbolic links are resolved. `library` is the file of the provider, and `otherLibraries` are files and folders
  /// of libraries that it needs.
  ///
  /// - Reading grants the file or folder itself.
  /// - Editing a folder grants everything below it.
  /// - Editing a file, even a missing one, grants its folder, because a save creates a new file there and renames it.
  ///
  /// A worker that reads cannot create or extend any file. Throws ``TableError`` with `.conflict` if somebody replaces
  /// the location at the same time.
  package static func forLocation(
    _ location: [UInt8], isPath: Bool, isEditing: Bool, library: [UInt8],
    otherLibraries: [[UInt8]] = [], permissions: GrantedPermissions = GrantedPermissions()
  ) throws(TableError) -> WorkerRules {
    var rules = WorkerRules()
    if isEditing {
      try rules.grantEditing(location, isPath: isPath)
      rules.writable += permissions.write.map(Grant.init(finding:))
      rules.links = permissions.links
      rules.signals = permissions.signals
    } else {
      rules.fileSize = 0
      if let place = ResolvedPath(location) { rules.readable.append(Grant(place, location)) }
    }
    rules.readable += permissions.read.map(Grant.init(finding:))
    if permissions.processes { rules.readable.append(Grant(finding: Array("/proc".utf8))) }
    rules.network = permissions.network
    rules.libraries = ([library] + librariesBeside(library) + otherLibraries)
      .map(Grant.init(finding:))
    return rules
  }

  private mutating func grantEditing(_ location: [UInt8], isPath: Bool) throws(TableError) {
    if let place = ResolvedPath(location) {
      guard place.kind == S_IFREG else {
        writable.append(Grant(place, location))
        return
      }
      guard let folder = place.folder else { throw Confinement.replaced(place.path) }
      saving.append(Grant(folder, folder.path))
    } else if isPath, !location.isEmpty, let folder = ResolvedPath(parent(of: location)) {
      saving.append(Grant(folder, folder.path))
    }
  }

  /// The libraries in the folder of a library. It finds libraries that came with it there, and cannot read other files.
  private static func librariesBeside(_ library: [UInt8]) -> [[UInt8]] {
    let folder = parent(of: library)
    guard var entries = FolderEntries(of: folder) else { return [] }
    var found: [[UInt8]] = []
    while let name = entries.next().map({ Array($0) }) {
      if isLibraryName(name[...]) { found.append(folder + [UInt8(ascii: "/")] + name) }
    }
    return found.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

/// The folder part of a path; `.` for a name alone.
func parent(of path: [UInt8]) -> [UInt8] {
  guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return [UInt8(ascii: ".")] }
  return slash == 0 ? [UInt8(ascii: "/")] : Array(path[..<slash])
}

/// Whether a file name is that of a shared library: `libx.so`, `libx.so.1`.
func isLibraryName(_ name: ArraySlice<UInt8>) -> Bool {
  let mark = Array(".so".utf8)
  return name.indices.contains { start in
    guard name[start...].starts(with: mark) else { return false }
    let rest = name[(start + mark.count)...]
    return rest.isEmpty || rest.first == UInt8(ascii: ".")
  }
}

import Tabella
import TabellaFiles

extension Rules {
  /// The rules for a provider that opens one location; computed where the location is typed, before there is
  /// a worker.
  ///
  /// `location` is what the provider is given: a path, or what stands behind `SCHEME:`, which grants
  /// something only if it is the path of something that is there. A path means what it leads to, behind all
  /// links. To read, that and no more; to edit a folder, everything beneath it; to edit a file, also one that
  /// is not there yet, the folder that it is in, since saving makes a new file there and lets it take the
  /// name. `library` is the provider's file, `otherLibraries` are folders and files of libraries that it needs.
  ///
  /// A worker that reads cannot make or grow any file. Throws ``TableError`` with `.conflict` if somebody
  /// replaces the location meanwhile.
  public static func forLocation(
    _ location: [UInt8], isPath: Bool, isEditing: Bool, library: [UInt8],
    otherLibraries: [[UInt8]] = [], permissions: GrantedPermissions = GrantedPermissions()
  ) throws(TableError) -> Rules {
    var rules = Rules()
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

  /// A library finds those that came with it in its own folder; whatever else lies there stays unread.
  private static func librariesBeside(_ library: [UInt8]) -> [[UInt8]] {
    let folder = parent(of: library)
    guard let list = folder.withCString({ opendir($0) }) else { return [] }
    defer { closedir(list) }
    var found: [[UInt8]] = []
    while let entry = readdir(list) {
      let name = withUnsafePointer(to: &entry.pointee.d_name) {
        $0.withMemoryRebound(to: UInt8.self, capacity: 256) {
          Array(UnsafeBufferPointer(start: $0, count: strnlen($0, 256)))
        }
      }
      if isLibraryName(name[...]) { found.append(folder + [UInt8(ascii: "/")] + name) }
    }
    return found.sorted { $0.lexicographicallyPrecedes($1) }
  }
}

/// The folder that a path's last name is in: `.` for a name alone.
func parent(of path: [UInt8]) -> [UInt8] {
  guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return [UInt8(ascii: ".")] }
  return slash == 0 ? [UInt8(ascii: "/")] : Array(path[..<slash])
}

/// Whether a file is called as the loader's files are: `libx.so`, `libx.so.1`.
func isLibraryName(_ name: ArraySlice<UInt8>) -> Bool {
  let mark = Array(".so".utf8)
  return name.indices.contains { start in
    guard name[start...].starts(with: mark) else { return false }
    let rest = name[(start + mark.count)...]
    return rest.isEmpty || rest.first == UInt8(ascii: ".")
  }
}

import Tabella

/// Where Tabella keeps what must outlive it: `$XDG_STATE_HOME/tabella`, else
/// `$HOME/.local/state/tabella` (XDG Base Directory Specification); nil if neither is absolute.
public func stateFolder() -> [UInt8]? {
  func absolute(_ variable: String) -> [UInt8]? {
    guard let value = getenv(variable), value[0] == CChar(UInt8(ascii: "/")) else { return nil }
    return Array(UnsafeRawBufferPointer(start: value, count: strlen(value)))
  }
  let state =
    absolute("XDG_STATE_HOME") ?? absolute("HOME").map { $0 + Array("/.local/state".utf8) }
  return state.map { $0 + Array("/tabella".utf8) }
}

/// Makes the folders of a path that are not there yet, for their owner only, and their names durable.
public func makeFolders(_ path: [UInt8]) throws(TableError) {
  for end in path.indices.dropFirst() + [path.count]
  where end == path.count || path[end] == UInt8(ascii: "/") {
    let folder = Array(path[..<end])
    if folder.withCString({ mkdir($0, 0o700) }) == 0 {
      try synchronizeParent(of: folder)
      continue
    }
    let number = errno
    if number == EEXIST { continue }
    // One that is there may be told otherwise where nothing can be made.
    guard folder.withCString({ access($0, F_OK) }) != 0 else { continue }
    throw .system(number, "\(folder.shown) cannot be made")
  }
}

/// Makes a name durable in its folder.
private func synchronizeParent(of path: [UInt8]) throws(TableError) {
  let end = path.lastIndex(of: UInt8(ascii: "/")) ?? 0
  let parent = Array(path[..<max(1, end)])
  let descriptor = parent.withCString { open($0, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
  guard descriptor >= 0 else {
    throw .system(errno, "\(parent.shown) cannot be opened")
  }
  defer { close(descriptor) }
  guard fsync(descriptor) == 0 else {
    throw .system(errno, "\(path.shown) was made, but cannot be made durable")
  }
}

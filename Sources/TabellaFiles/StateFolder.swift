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

/// Makes the folders of a path that are not there yet, for their owner only.
public func makeFolders(_ path: [UInt8]) throws(TableError) {
  for end in path.indices.dropFirst() + [path.count]
  where end == path.count || path[end] == UInt8(ascii: "/") {
    let folder = Array(path[..<end])
    guard folder.withCString({ mkdir($0, 0o700) }) != 0, errno != EEXIST else { continue }
    let number = errno
    // One that is there may be told otherwise where nothing can be made.
    guard folder.withCString({ access($0, F_OK) }) != 0 else { continue }
    throw .system(number, "\(String(decoding: folder, as: UTF8.self)) cannot be made")
  }
}

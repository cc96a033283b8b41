import TabellaTerminal

/// The colours of file names, as `ls` chooses them: from LS_COLORS (`di=01;34:*.tar=01;31`), or the defaults of `ls`.
struct FileColours {
  /// The colours by the codes of `ls`, such as `di` for directories.
  private var codes: [String: Rendition] = [:]
  /// The colours by the ends of names. A later entry precedes an earlier one.
  private var ends: [(text: [UInt8], rendition: Rendition?)] = []

  /// The colours of `ls` if LS_COLORS is not set.
  private static let defaults =
    "di=01;34:ln=01;36:pi=33:so=01;35:bd=01;33:cd=01;33:ex=01;32:su=37;41:sg=30;43:st=37;44:ow=34;42:tw=30;42"

  /// Creates the colours of a value of LS_COLORS. Entries that are not understood are ignored.
  init(_ setting: String?) {
    adopt(FileColours.defaults)
    if let setting { adopt(setting) }
  }

  private mutating func adopt(_ setting: String) {
    for entry in setting.split(separator: ":") {
      let parts = entry.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      let rendition = Rendition(parts[1])
      if parts[0].hasPrefix("*") {
        ends.append((Array(parts[0].dropFirst().utf8), rendition))
      } else {
        codes[String(parts[0])] = rendition
      }
    }
  }

  /// The colour of a name. `kind` is the kind of the file (``ColumnRole/fileKind``) and `mode` its permissions
  /// (``ColumnRole/fileMode``); both are empty if they are unknown.
  func rendition(
    _ name: UnsafeRawBufferPointer, kind: UnsafeRawBufferPointer, mode: UnsafeRawBufferPointer
  ) -> Rendition? {
    /// Whether a letter of the mode is one of some letters.
    func has(_ index: Int, _ letters: StaticString) -> Bool {
      guard mode.count == 9 else { return false }
      return (0..<letters.utf8CodeUnitCount).contains { letters.utf8Start[$0] == mode[index] }
    }
    switch String(decoding: kind, as: UTF8.self) {
    case "directory":
      let (isSticky, isWritable) = (has(8, "tT"), has(7, "w"))
      if isSticky, isWritable, let found = codes["tw"] { return found }
      if isWritable, let found = codes["ow"] { return found }
      if isSticky, let found = codes["st"] { return found }
      return codes["di"]
    case "link": return codes["ln"]
    case "fifo": return codes["pi"]
    case "socket": return codes["so"]
    case "block": return codes["bd"]
    case "character": return codes["cd"]
    default: break
    }
    if has(2, "sS"), let found = codes["su"] { return found }
    if has(5, "sS"), let found = codes["sg"] { return found }
    if has(2, "xs") || has(5, "xs") || has(8, "xt"), let found = codes["ex"] { return found }
    let end = ends.last { end in
      name.count >= end.text.count && name.suffix(end.text.count).elementsEqual(end.text)
    }
    return end.map { $0.rendition } ?? codes["fi"]
  }
}

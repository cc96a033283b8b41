import Tabella
import TabellaHost
import TabellaSystem

/// The file that a mistyped path could mean.
enum NearbyFile {
  /// The number of names in a folder that are compared.
  private static let limit = 10_000

  /// `; did you mean PATH?` if the path leads to no file, and a file in the same folder has nearly its name. Otherwise
  /// nothing.
  static func hint(_ path: [UInt8]) -> String {
    guard !path.contains(0), stat(at: path, followsLink: false) == nil else { return "" }
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    let folder = Array(path[..<start])
    let word = String(decoding: path[start...], as: UTF8.self)
    guard let meant = Suggestion.nearest(to: word, among: names(in: folder)) else { return "" }
    let near = folder.shown + meant
    return "; did you mean \(near)?"
  }

  /// The names in a folder that are text, as far as ``limit``. None if the folder cannot be read.
  private static func names(in folder: [UInt8]) -> [String] {
    guard var entries = FolderEntries(of: folder.isEmpty ? [UInt8(ascii: ".")] : folder) else {
      return []
    }
    var names: [String] = []
    while names.count < limit, let name = entries.next() {
      if let name = String(validating: name, as: UTF8.self) { names.append(name) }
    }
    // The order of a folder is arbitrary.
    return names.sorted()
  }
}

import Tabella
import TabellaFiles
import TabellaHost
import TabellaSystem

/// The file of the manifest next to a library.
struct ManifestFile: Sendable {
  /// The manifest; nil if it has a fault.
  let manifest: Manifest?
  /// The fault, which names the wrong member; nil if there is none.
  let fault: String?
  /// The members that hosts ignore.
  let ignoredMembers: [String]

  /// Finds the manifest in the folder of a library that names the library. Nil if there is none.
  ///
  /// A manifest with a fault may not name its library. It then belongs to the library with the same name.
  init?(of library: String) {
    let slash = UInt8(ascii: "/")
    let path = Array(library.utf8)
    let start = path.lastIndex(of: slash).map { $0 + 1 } ?? 0
    let folder = start == 0 ? Array("./".utf8) : Array(path[..<start])
    let suffix = ".tabella.json"
    for name in names(in: folder) ?? [] where shown(name).hasSuffix(suffix) {
      guard let text = try? OpenFile(path: folder + name).bytes().bytes(at: 0, count: 1 << 20)
      else { continue }
      let named = (try? JSONValue(parsing: text))?["library"]?.string
      let stem = shown(name).dropLast(suffix.count) + "."
      guard
        named.map({ isSameFile($0.hasPrefix("/") ? $0 : shown(folder) + $0, library) })
          ?? shown(Array(path[start...])).hasPrefix(stem)
      else { continue }
      do throws(TableError) {
        manifest = try Manifest(parsing: text)
        fault = nil
      } catch {
        manifest = nil
        fault = error.message
      }
      ignoredMembers = Manifest.ignoredMembers(of: text)
      return
    }
    return nil
  }
}

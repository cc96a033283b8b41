import Tabella
import TabellaFiles
import TabellaHost
import TabellaSystem

/// The file of the manifest next to a library.
struct ManifestFile: Sendable {
  /// The name of the file.
  let name: String
  /// The manifest; nil if it has a fault.
  let manifest: Manifest?
  /// The fault, which names the wrong member; nil if there is none.
  let fault: String?
  /// The members and words that hosts ignore.
  let ignored: [String]
  /// The library that the manifest names, if that is another file. Nil if it names the checked library, or none.
  let otherLibrary: String?

  /// Finds the manifest of a library in the folder of the library. Nil if there is none.
  ///
  /// A manifest that names the library comes first. Otherwise, a manifest with the name of the library belongs to it,
  /// and so does the only manifest of the folder if its own library does not exist.
  init?(of library: String) {
    let folder = Folder(of: library)
    let files = folder.manifests()
    let own =
      files.first { file in file.library.map { isSameFile($0, library) } ?? false }
      ?? files.first { folder.hasNameOfLibrary($0.name) }
      ?? (files.count == 1 ? files.first { $0.isOfMissingLibrary } : nil)
    guard let own else { return nil }
    name = own.name
    ignored = Manifest.ignored(in: own.text)
    otherLibrary = own.library.flatMap { isSameFile($0, library) ? nil : own.named }
    do throws(TableError) {
      manifest = try Manifest(parsing: own.text)
      fault = nil
    } catch {
      manifest = nil
      fault = error.message
    }
  }
}

/// The folder of a library.
private struct Folder {
  /// A manifest in the folder.
  struct File {
    let name: String
    let text: [UInt8]
    /// The member `library`, which may be missing.
    let named: String?
    /// The path of the library that the member names.
    let library: String?

    var isOfMissingLibrary: Bool { library.map { stat(at: $0) == nil } ?? false }
  }

  private static let suffix = ".tabella.json"
  private let path: [UInt8]
  private let library: String

  init(of library: String) {
    let path = Array(library.utf8)
    let start = path.lastIndex(of: UInt8(ascii: "/")).map { $0 + 1 } ?? 0
    self.path = start == 0 ? Array("./".utf8) : Array(path[..<start])
    self.library = shown(Array(path[start...]))
  }

  /// All manifests in the folder, sorted by name.
  func manifests() -> [File] {
    (names(in: path) ?? []).filter { shown($0).hasSuffix(Folder.suffix) }.compactMap { name in
      guard let text = try? OpenFile(path: path + name).bytes().bytes(at: 0, count: 1 << 20)
      else { return nil }
      let named = (try? JSONValue(parsing: text))?["library"]?.string
      return File(
        name: shown(name), text: text, named: named,
        library: named.map { $0.hasPrefix("/") ? $0 : shown(path) + $0 })
    }
  }

  /// Whether a manifest has the name of the library: `planets.tabella.json` has the name of `planets.so` and of
  /// `libplanets.so`.
  func hasNameOfLibrary(_ manifest: String) -> Bool {
    let stem = manifest.dropLast(Folder.suffix.count) + "."
    return library.hasPrefix(stem) || library.hasPrefix("lib" + stem)
  }
}

import Glibc
import Synchronization
import TabellaFiles
import TabellaSystem

/// The last catalogue of this process that contains only shipped providers. A program can make a host for each of its
/// connections, and then reads the folders only once.
///
/// A catalogue with other providers is not kept, because it also depends on the contents of their manifests.
struct KeptCatalogue {
  private let searchPath: SearchPath
  private let catalogue: Catalogue
  /// The folders of the search path; nil for one that does not exist.
  private let folders: [Fingerprint?]

  private static let last = Mutex<KeptCatalogue?>(nil)

  /// The catalogue of a search path.
  static func catalogue(_ searchPath: SearchPath) -> Catalogue {
    var isSettled = true
    let folders = searchPath.directories.map { folder in
      let status = stat(at: folder)
      isSettled = isSettled && status?.isSettled ?? true
      return status.map { Fingerprint($0) }
    }
    let known = last.withLock { $0 }
    if let known, known.searchPath == searchPath, known.folders == folders {
      return known.catalogue
    }
    let catalogue = Catalogue(searchPath)
    if isSettled, catalogue.refusals.isEmpty, catalogue.entries.allSatisfy(\.isShipped) {
      let kept = KeptCatalogue(searchPath: searchPath, catalogue: catalogue, folders: folders)
      last.withLock { $0 = kept }
    }
    return catalogue
  }
}

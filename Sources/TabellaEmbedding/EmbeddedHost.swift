import CTabella
import CTabellaEmbed
import Tabella
import TabellaBridge
import TabellaHost
import TabellaSystem
import TabellaThreads

/// A host with its lock, behind a `tabella_embed_host`. Everything that belongs to a host is used only by the thread
/// that holds its lock.
final class EmbeddedHost {
  let lock = Lock()
  let host: Host
  /// The folder of receipts; nil for the folder of the user.
  private let receipts: [UInt8]?

  /// The place of this library.
  private static let installation = Installation(ofLibraryContaining: #dsohandle) ?? .program

  init(_ settings: tabella_embed_settings) throws(TableError) {
    let folders = try settings.provider_path.argument("the provider path")
    let path =
      folders.map { path in
        let text = String(decoding: path, as: UTF8.self)
        return SearchPath(
          text.split(separator: ":").map(String.init), for: EmbeddedHost.installation)
      } ?? .standard(for: EmbeddedHost.installation)
    receipts = try settings.receipts.argument("the folder of receipts")
    if let receipts, receipts.first != UInt8(ascii: "/") {
      throw TableError(.invalidArgument, "the folder of receipts is not an absolute path")
    }
    host = Host(searchPath: path)
    host.workerProgram = try settings.worker.argument("the worker").map {
      String(decoding: $0, as: UTF8.self)
    }
    host.acceptsWeakIsolation = settings.flags & TABELLA_EMBED_WEAK_ISOLATION != 0
    host.isolation =
      switch settings.isolation {
      case TABELLA_EMBED_ISOLATION_AUTOMATIC: .automatic
      case TABELLA_EMBED_ISOLATION_ALWAYS: .always
      case TABELLA_EMBED_ISOLATION_NEVER: .never
      default: throw TableError(.invalidArgument, "there is no isolation \(settings.isolation)")
      }
    try settings.flags.check(onlyBits: TABELLA_EMBED_WEAK_ISOLATION)
  }

  /// The store of receipts. Throws ``ReceiptError`` if no folder is known.
  func store() throws(ReceiptError) -> ReceiptStore {
    if let receipts { return ReceiptStore(folder: receipts) }
    return try ReceiptStore()
  }
}

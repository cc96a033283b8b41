import Glibc
import Tabella
import TabellaFiles
import TabellaSystem

/// The reason why an operation on a folder or an entry failed: an `errno` value.
struct Failure: Error, Hashable {
  let number: Int32
  /// Whether the operation succeeded but may not be durable.
  let isOfSync: Bool
  /// A description that replaces ``reason`` if the failure concerns something else than the requested entry.
  let detail: String?

  init(_ number: Int32, isOfSync: Bool = false, detail: String? = nil) {
    self.number = number
    self.isOfSync = isOfSync
    self.detail = detail
  }

  static let vanished = Failure(ENOENT)
  static let loop = Failure(ELOOP)
  static let cancelled = Failure(ECANCELED)

  /// Whether the failure is independent of the folder or entry, so that the whole call must fail.
  var isOfCall: Bool { [EMFILE, ENFILE, ENOMEM, ECANCELED].contains(number) }

  /// The reason as text for people, for a folder or entry that was listed before.
  var reason: String {
    if let detail { return detail }
    return switch number {
    case ENOENT, ENOTDIR: "has vanished"
    case ELOOP: "leads back to a parent folder"
    default: errorText(number)
    }
  }

  func error(_ what: String) -> TableError {
    if self == .cancelled { return TableError(.cancelled, "cancelled") }
    var error = TableError.system(number, what)
    error.isRetryable = isOfCall
    return error
  }

  /// The error of an edit whose system call failed: "a cannot be renamed to b: …".
  func error(of text: String, _ what: String) -> TableError {
    switch number {
    case ENOENT, ENOTDIR, ELOOP:
      TableError(.conflict, "\(text) was replaced or has vanished")
    case EEXIST: TableError(.conflict, "\(text) \(what): something has that name now")
    case ENOTEMPTY: TableError(.constraint, "\(text) \(what): it is not empty")
    default: error("\(text) \(what)")
    }
  }
}

/// Diagnostics about entries that still are rows: one per reason, with a count.
struct ListingDiagnostics {
  private struct Kind: Hashable {
    /// The sentence without its number, such as "1 folder could not be read".
    var what: What
    var reason: String
  }

  enum What {
    case unreadFolder, unexaminedEntry, uncountedFolder, uncountedEntry

    func text(_ count: Int) -> String {
      switch self {
      case .uncountedFolder:
        count == 1
          ? "1 folder could not be read, so a total lacks its content"
          : "\(count) folders could not be read, so totals lack their content"
      case .uncountedEntry:
        count == 1
          ? "1 entry could not be examined, so a total lacks its size"
          : "\(count) entries could not be examined, so totals lack their sizes"
      case .unreadFolder:
        count == 1 ? "1 folder could not be read" : "\(count) folders could not be read"
      case .unexaminedEntry:
        count == 1 ? "1 entry could not be examined" : "\(count) entries could not be examined"
      }
    }
  }

  private var counts: [Kind: Int] = [:]
  /// The kinds in order of appearance, with the path of the first entry.
  private var firsts: [(kind: Kind, path: [UInt8])] = []
  /// Digests of the paths that were counted, because rows can be requested again, and folders listed again.
  private var seen: [What: Set<UInt64>] = [:]

  /// Counts a problem of an entry, unless it was counted before.
  mutating func note(_ what: What, _ entry: Int, _ failure: Failure, in listing: Listing) {
    let path = listing.path(of: entry)
    let digest = path.withUnsafeBytes { digest64($0) }
    guard seen[what, default: []].insert(digest).inserted else { return }
    note(what, failure, path: path)
  }

  /// Counts a problem of an entry with this path.
  mutating func note(_ what: What, _ failure: Failure, path: @autoclosure () -> [UInt8]) {
    let kind = Kind(what: what, reason: failure.reason)
    if counts[kind] == nil { firsts.append((kind, path())) }
    counts[kind, default: 0] += 1
  }

  /// Removes and returns the oldest diagnostic.
  mutating func next() -> Diagnostic? {
    if firsts.isEmpty { return nil }
    let (kind, path) = firsts.removeFirst()
    guard let count = counts.removeValue(forKey: kind) else { return nil }
    let name = readable(path)
    let rest = count == 1 ? name : "; the first: \(name)"
    return Diagnostic(
      .warning, kind.what.text(count) + (count == 1 ? ": " : "") + "\(rest): \(kind.reason)")
  }
}

import Glibc
import Tabella
import TabellaFiles

/// Why a folder or an entry is not known: the number of a system call's error.
struct Failure: Error, Hashable {
  let number: Int32
  /// Whether something was done, but may not be durable.
  let isOfSync: Bool
  /// What it is about and why, where that is not what was asked for.
  let detail: String?

  init(_ number: Int32, isOfSync: Bool = false, detail: String? = nil) {
    self.number = number
    self.isOfSync = isOfSync
    self.detail = detail
  }

  static let vanished = Failure(ENOENT)
  static let loop = Failure(ELOOP)
  static let cancelled = Failure(ECANCELED)

  /// Whether it says nothing about the folder or entry, so that the whole call must fail.
  var isOfCall: Bool { [EMFILE, ENFILE, ENOMEM, ECANCELED].contains(number) }

  /// For people, about a folder or entry that was listed before.
  var reason: String {
    if let detail { return detail }
    return switch number {
    case ENOENT, ENOTDIR: "has vanished"
    case ELOOP: "leads back to a folder that it is in"
    default: String(cString: strerror(number))
    }
  }

  func error(_ what: String) -> TableError {
    if self == .cancelled { return TableError(.cancelled, "cancelled") }
    var error = TableError.system(number, what)
    error.isRetryable = isOfCall
    return error
  }

  /// The error of an edit for what a system call failed on: "a cannot be renamed to b: …".
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

/// What went wrong with entries that are rows all the same: one remark for each reason.
struct ListingDiagnostics {
  private struct Kind: Hashable {
    /// "1 folder could not be read", but for the number.
    var what: What
    var reason: String
  }

  enum What {
    case unreadFolder, unexaminedEntry

    func text(_ count: Int) -> String {
      switch self {
      case .unreadFolder:
        count == 1 ? "1 folder could not be read" : "\(count) folders could not be read"
      case .unexaminedEntry:
        count == 1 ? "1 entry could not be examined" : "\(count) entries could not be examined"
      }
    }
  }

  private var counts: [Kind: Int] = [:]
  /// The kinds in the order in which they came, with the path of the first entry.
  private var firsts: [(kind: Kind, path: [UInt8])] = []
  /// The entries that were counted as not examined, since rows may be asked for again.
  private var seen: Set<UInt32> = []

  /// Notes what happened to an entry, unless that is known already.
  mutating func note(_ what: What, _ entry: Int, _ failure: Failure, in listing: Listing) {
    if what == .unexaminedEntry, !seen.insert(UInt32(truncatingIfNeeded: entry)).inserted { return }
    let kind = Kind(what: what, reason: failure.reason)
    if counts[kind] == nil { firsts.append((kind, listing.path(of: entry))) }
    counts[kind, default: 0] += 1
  }

  /// Entries are numbered anew.
  mutating func forgetEntries() { seen = [] }

  /// Takes the oldest.
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

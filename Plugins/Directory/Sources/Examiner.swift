import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles
import TabellaSystem
import TabellaThreads

/// The status of an entry, or the reason why it has none.
struct Examined {
  var status = tabella_status()
  /// The kind from the listing or, once it is examined, from the status.
  var kind = EntryKind.unknown
  /// The number of a ``Failure``; 0 for success.
  var error: Int32 = 0

  var isGood: Bool { error == 0 }
}

/// Examines many entries of a listing at once, on all cores.
struct Examiner {
  /// The number of entries that justifies one more thread.
  private static let share = 1024
  /// The number of entries between two checks for cancellation.
  private static let stride = 64

  let root: Int32
  let listing: Listing
  let cancel: CancelFlag

  /// The results in the order of `entries`. Unwanted entries contain only their listed kind.
  ///
  /// An entry has vanished if its name belongs to another file now. Throws if the whole call must end.
  func examine(
    _ entries: [Int], where isWanted: (EntryKind) -> Bool = { _ in true }
  ) throws(Failure) -> [Examined] {
    var results = [Examined](repeating: Examined(), count: entries.count)
    let threads = min(Cores.count, max(1, entries.count / Examiner.share))
    results.withUnsafeMutableBufferPointer { results in
      nonisolated(unsafe) let results = results
      inParallel(threads) { thread in
        let from = entries.count * thread / threads
        let upTo = entries.count * (thread + 1) / threads
        examine(entries, from..<upTo, into: results, where: isWanted)
      }
    }
    if let failure = results.lazy.map({ Failure($0.error) }).first(where: \.isOfCall) {
      throw failure
    }
    return results
  }

  private func examine(
    _ entries: [Int], _ range: Range<Int>, into results: UnsafeMutableBufferPointer<Examined>,
    where isWanted: (EntryKind) -> Bool
  ) {
    let opener = FolderOpener(root: root, listing)
    var (number, folder) = (0, listing.folders[0])
    var directory: Result<Int32, Failure> = .success(root)
    for index in range {
      listing.prefetch(entries[min(index + 16, range.upperBound - 1)])
      let entry = entries[index]
      results[index].kind = listing.kind(entry)
      guard isWanted(results[index].kind) else { continue }
      if index % Examiner.stride == 0, cancel.isSet {
        results[index].error = Failure.cancelled.number
        return
      }
      if !folder.entries.contains(entry) {
        number = listing.folder(of: entry)
        folder = listing.folders[number]
        directory = Result { () throws(Failure) in try opener.descriptor(number) }
      }
      switch directory {
      case .success(let descriptor): examine(entry, folder, descriptor, &results[index])
      case .failure(let failure): results[index].error = failure.number
      }
    }
  }

  private func examine(
    _ entry: Int, _ folder: Listing.Folder, _ descriptor: Int32, _ examined: inout Examined
  ) {
    let result = listing.withCName(entry) {
      tabella_system_status(descriptor, $0, &examined.status)
    }
    examined.error = -result
    if result < 0 { return }
    guard listing.isListed(entry, in: folder, examined.status) else {
      examined.error = Failure.vanished.number
      return
    }
    examined.kind = EntryKind(mode: examined.status.mode)
  }
}

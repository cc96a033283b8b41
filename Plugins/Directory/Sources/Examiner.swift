import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// What was found out about an entry: its status, or why it has none.
struct Examined {
  var status = tabella_status()
  /// What it is, as the listing says or else its status.
  var kind = EntryKind.unknown
  /// The number of ``Failure``; 0 if there is none.
  var error: Int32 = 0

  var isGood: Bool { error == 0 }
}

/// Examines entries of a listing, many at once on all cores.
struct Examiner {
  /// So many are worth another thread.
  private static let share = 1024
  /// After how many it looks whether to stop.
  private static let stride = 64

  let root: Int32
  let listing: Listing
  let cancel: CancelFlag

  /// What is known of each entry, in the order given; of those that are not wanted nothing is.
  ///
  /// An entry whose name is now another's has vanished. Throws if it cannot go on.
  func examine(
    _ entries: [Int], where isWanted: (EntryKind) -> Bool = { _ in true }
  ) throws(Failure) -> [Examined] {
    var results = [Examined](repeating: Examined(), count: entries.count)
    let threads = min(coreCount, max(1, entries.count / Examiner.share))
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

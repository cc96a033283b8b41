import CTabellaSystem
import Glibc
import Tabella
import TabellaFiles

/// What was found out about an entry: its status, or why it has none.
struct Examined {
  var status = tabella_status()
  /// The error's number; 0 if there is none.
  var error: Int32 = 0
  var isGood: Bool { error == 0 }
}

/// Examines entries of a listing, many at once on all cores.
struct Examiner {
  /// So many are worth another thread.
  private static let share = 1024

  let root: Int32
  let listing: Listing

  /// What is known of each entry, in the order given.
  func examine(_ entries: [Int]) -> [Examined] {
    var results = [Examined](repeating: Examined(), count: entries.count)
    let threads = min(coreCount, max(1, entries.count / Examiner.share))
    results.withUnsafeMutableBufferPointer { results in
      nonisolated(unsafe) let results = results
      inParallel(threads) { thread in
        let from = entries.count * thread / threads
        let upTo = entries.count * (thread + 1) / threads
        examine(entries, from..<upTo, into: results)
      }
    }
    return results
  }

  private func examine(
    _ entries: [Int], _ range: Range<Int>, into results: UnsafeMutableBufferPointer<Examined>
  ) {
    let opener = FolderOpener(root: root, listing)
    var folder = -1
    var directory: Result<Int32, TableError> = .success(root)
    for index in range {
      let entry = entries[index]
      if folder < 0 || !listing.folders[folder].entries.contains(entry) {
        folder = listing.folder(of: entry)
        directory = Result { () throws(TableError) in try opener.descriptor(folder) }
      }
      results[index] = examine(entry, in: directory)
    }
  }

  private func examine(_ entry: Int, in directory: Result<Int32, TableError>) -> Examined {
    var examined = Examined()
    guard case .success(let descriptor) = directory else {
      examined.error = ENOENT
      return examined
    }
    let result = listing.withName(entry) {
      tabella_system_status(
        descriptor, $0.baseAddress!.assumingMemoryBound(to: CChar.self), &examined.status)
    }
    examined.error = -result
    return examined
  }
}

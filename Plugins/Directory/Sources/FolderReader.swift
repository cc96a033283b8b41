import Glibc
import Tabella

/// Adds folders to a listing. It copies a folder that did not change from the listing before. Other folders are read,
/// after a watch is set if changes are watched, so that nothing between is lost.
final class FolderReader {
  let listing: Listing
  private var watcher: FolderWatcher?
  private var succession: Succession?
  /// The watch of each folder; -1 if it is not watched.
  private(set) var watches: [Int32] = []
  /// The watches of folders that are rows of a table of one folder, by the watch, and those without a watch. The status
  /// of a folder changes with its content, which the table does not list.
  private(set) var entryWatches: [Int32: [UInt8]] = [:]
  private(set) var unwatchedEntries: Set<[UInt8]> = []

  init(_ listing: Listing, _ watcher: FolderWatcher?, after succession: Succession? = nil) {
    self.listing = listing
    self.watcher = watcher
    self.succession = succession
  }

  /// All watches in use.
  var allWatches: [Int32] { watches + entryWatches.keys }

  /// Whether some folders must be compared, because they are not watched.
  var hasUnwatched: Bool { !unwatchedEntries.isEmpty || watches.contains(-1) }

  /// Forgets the watcher, which has ended.
  func forgetWatcher() { watcher = nil }
  /// Forgets the old listing once it has been compared.
  func forgetSuccession() { succession = nil }

  /// Adds the root from its descriptor, which is at its start.
  func addRoot(_ descriptor: Int32, isRecursive: Bool) throws(Failure) {
    if let old = succession?.unchanged(folder: 0) {
      try copy(old, parent: nil, entry: nil)
    } else {
      _ = try read(descriptor, parent: nil, entry: nil)
    }
    if !isRecursive { watchEntries(of: descriptor) }
  }

  /// Adds the folder of an entry. Returns its number.
  func add(
    _ entry: Int, in folder: Int, _ opener: FolderOpener, _ cancel: CancelFlag
  ) throws(Failure) -> Int {
    if let old = succession?.unchangedFolder(ofEntry: entry) {
      try copy(old, parent: folder, entry: entry)
      return listing.folders.count - 1
    }
    let opened = try opener.open(entry, in: opener.descriptor(folder))
    let child = try read(opened.raw, parent: folder, entry: entry, cancel)
    opener.keep(child, opened)
    return child
  }

  private func read(
    _ descriptor: Int32, parent: Int?, entry: Int?, _ cancel: CancelFlag? = nil
  ) throws(Failure) -> Int {
    let watch = watcher?.watch(descriptor) ?? -1
    let number = try listing.add(descriptor, parent: parent, entry: entry, cancel)
    watches.append(watch)
    succession?.join(number)
    return number
  }

  private func copy(_ old: Int, parent: Int?, entry: Int?) throws(Failure) {
    guard let succession else { return }
    let number = try listing.add(old, of: succession.old, parent: parent, entry: entry)
    watches.append(succession.oldWatches[old])
    succession.join(number, copied: old)
  }

  private func watchEntries(of root: Int32) {
    guard let watcher else { return }
    for entry in listing.folders[0].entries where listing.kind(entry) == .directory {
      let watch = listing.withCName(entry) { watcher.watch($0, in: root) }
      let name = listing.withName(entry) { Array($0) }
      if watch < 0 { unwatchedEntries.insert(name) } else { entryWatches[watch] = name }
    }
  }
}

import CTabellaSystem
import Glibc
import Tabella
import TabellaSystem

/// The ability to follow a folder: a pull lists again what changed, and compares.
extension DirectorySource: TableChanges {
  func listen(_ notify: (@Sendable () -> Void)?) throws(TableError) {
    watcher?.stop()
    watcher = nil
    // Folders listed from now on have no watch, until a pull lists everything again.
    reader.forgetWatcher()
    guard let notify else { return }
    watcher = try FolderWatcher(
      path: lastingPath, root: try rootStatus(), showsHidden: showsHidden, notify)
  }

  func pull() throws(TableError) -> ChangeBatch {
    cancel.begin()
    let start = now()
    let news = watcher?.takeNews() ?? FolderWatcher.News(isAll: true)
    if let batch = try batchOfMissingRoot() { return batch }
    do throws(TableError) {
      let old = listing
      let batch = try pull(news)
      watcher?.rearm(
        root: try rootStatus(), watches: listing === old ? nil : reader.allWatches,
        isComparing: reader.hasUnwatched, cost: now() - start)
      if let limit = watcher?.takeLimit() { warnOfComparisons(limit) }
      return batch
    } catch {
      watcher?.rearmAfterFailure()
      throw error
    }
  }

  /// An empty batch while the path leads to no folder for less than a second; nil otherwise. A program that replaces a
  /// folder removes its name for a moment.
  private func batchOfMissingRoot() throws(TableError) -> ChangeBatch? {
    guard let watcher, stat(at: lastingPath.current)?.kind != S_IFDIR else {
      missingSince = nil
      return nil
    }
    let since = missingSince ?? now()
    missingSince = since
    guard now() - since < patience else { return nil }
    watcher.rearmAfterFailure()
    let version = try knownVersion()
    return ChangeBatch(from: version, to: version, changes: [])
  }

  private func pull(_ news: FolderWatcher.News) throws(TableError) -> ChangeBatch {
    let before = try knownVersion()
    let hasNews = !news.isEmpty || reader.hasUnwatched || !cells.seen.ambiguousEntries.isEmpty
    guard hasNews else { return ChangeBatch(from: before, to: before, changes: []) }
    forgetStatuses()
    let isDirty = dirtyFolders(news)
    if isDirty.contains(true) { return try pullListing(news, isDirty, before) }
    var cells = self.cells
    let concern = concern(of: news) { $0 }
    let changed = try cells.update(
      concern.entries(in: listing), totals: concern.totals(in: listing), listing, self)
    self.cells = cells
    var paths: [IndexPath] = []
    for entry in changed { if let path = try rowPath(of: entry) { paths.append(path) } }
    return ChangeBatch(from: before, to: before, changes: paths.sorted().map { .reconfigure($0) })
  }

  /// Lists again the folders that changed, and compares.
  private func pullListing(
    _ news: FolderWatcher.News, _ isDirty: [Bool], _ before: Version?
  ) throws(TableError) -> ChangeBatch {
    let opened = try openRoot()
    let isOtherRoot = try !rootStatus().isSameFile(as: status(of: opened))
    let fresh = Listing(showsHidden: showsHidden)
    let succession = Succession(
      old: listing, watches: reader.watches, new: fresh,
      isDirty: isOtherRoot ? isDirty.map { _ in true } : isDirty)
    let freshReader = FolderReader(fresh, watcher, after: succession)
    do throws(Failure) {
      try freshReader.addRoot(opened.raw, isRecursive: isRecursive)
    } catch {
      throw error.error("cannot be read")
    }
    var freshTraversal = Traversal(
      freshReader, root: opened.raw, isRecursive: isRecursive, traversal.listingDiagnostics)
    try go(&freshTraversal, asFarAs: traversal)
    var carried = ShownCells()
    carried.take(cells, succession, fresh)
    let concern =
      isOtherRoot
      ? FolderConcern(isAll: true) : concern(of: news, succession.newFolder)
    let changed = try carried.update(
      concern.entries(in: fresh), totals: concern.totals(in: fresh), fresh, self, root: opened.raw
    ).union(succession.otherKinds)
    let difference = FolderDifference(
      old: FolderDifference.Shown(traversal, listing),
      new: FolderDifference.Shown(freshTraversal, fresh), succession: succession, changed: changed)
    let changes = hasSections ? difference.sectionChanges() : difference.rowChanges()
    freshReader.forgetSuccession()
    show(opened, freshReader, freshTraversal, carried)
    return ChangeBatch(from: before, to: try knownVersion(), changes: changes)
  }

  /// Lists a tree as far as another traversal of it went.
  private func go(
    _ fresh: inout Traversal, asFarAs old: Traversal
  ) throws(TableError) {
    if old.isComplete { return try fresh.go(cancel) { _ in false } }
    guard let last = old.order.last else { return }
    let path = listing.path(of: Int(last))
    let freshListing = fresh.listing
    try fresh.go(cancel) { traversal in
      traversal.order.last.map { !isBefore(freshListing.path(of: Int($0)), path) } ?? false
    }
  }

  // News

  /// Whether each folder must be listed again.
  private func dirtyFolders(_ news: FolderWatcher.News) -> [Bool] {
    reader.watches.map { watch in
      watch < 0 || news.isAll || news.folders[watch]?.isDirty == true
    }
  }

  /// The entries that the news concern. `number` turns the number of a folder into that of the new listing.
  private func concern(
    of news: FolderWatcher.News, _ number: (Int) -> Int?
  ) -> FolderConcern {
    var concern = FolderConcern(isAll: news.isAll)
    if news.isAll { return concern }
    for (folder, watch) in reader.watches.enumerated() {
      guard watch < 0 || news.folders[watch] != nil, let number = number(folder) else { continue }
      concern.folders.append((number, watch < 0 ? nil : news.folders[watch]?.names ?? []))
    }
    var names = reader.unwatchedEntries
    for (watch, name) in reader.entryWatches where news.folders[watch] != nil { names.insert(name) }
    if !names.isEmpty, let root = number(0) { concern.folders.append((root, names)) }
    return concern
  }

  private func warnOfComparisons(_ limit: Int32) {
    let setting = limit == EMFILE ? "max_user_instances" : "max_user_watches"
    listingWarnings.append(
      Diagnostic(
        .warning,
        "the limit fs.inotify.\(setting) is reached, so some folders are compared once a second"))
  }

  // The root

  private func openRoot() throws(TableError) -> Descriptor {
    let result = lastingPath.current.withCString { tabella_system_open_directory(AT_FDCWD, $0, 1) }
    if let opened = Descriptor(result) { return opened }
    throw [-ENOENT, -ENOTDIR].contains(result)
      ? TableError(.notFound, "the folder was removed, renamed or replaced")
      : .system(-result, "cannot be opened")
  }

  private func status(of folder: borrowing Descriptor) throws(TableError) -> stat {
    guard let status = stat(of: folder.raw) else { throw .system(errno, "cannot be examined") }
    return status
  }

  private func rootStatus() throws(TableError) -> stat {
    guard let status = stat(of: root) else { throw .system(errno, "cannot be examined") }
    return status
  }
}

/// The folders and entries that news concern, by their numbers in a listing.
struct FolderConcern {
  var isAll = false
  /// The folders, and the names of their entries that may have other cells; nil for all entries.
  var folders: [(number: Int, names: Set<[UInt8]>?)] = []

  /// The entries that may have other cells; nil for all.
  func entries(in listing: Listing) -> Set<Int>? {
    if isAll { return nil }
    var entries: Set<Int> = []
    for (number, names) in folders {
      // The times and links of the folder itself change with its content.
      if let entry = listing.folders[number].entry { entries.insert(entry) }
      if let names {
        entries.formUnion(names.lazy.compactMap { listing.entry(named: $0, in: number) })
      } else {
        entries.formUnion(listing.folders[number].entries)
      }
    }
    return entries
  }

  /// The folders whose totals may differ, by their entries; nil for all.
  func totals(in listing: Listing) -> Set<Int>? {
    guard var entries = entries(in: listing) else { return nil }
    for (number, _) in folders {
      var folder = number
      while let entry = listing.folders[folder].entry {
        entries.insert(entry)
        folder = listing.folders[folder].parent
      }
    }
    return entries
  }
}

/// Whether a path comes before another one in the order of rows.
private func isBefore(_ path: [UInt8], _ other: [UInt8]) -> Bool {
  // A folder comes before its content, and its content before names that begin like the folder's name.
  func key(_ path: [UInt8]) -> some Sequence<UInt8> {
    path.lazy.map { $0 == UInt8(ascii: "/") ? 0 : $0 }
  }
  return key(path).lexicographicallyPrecedes(key(other))
}

import Glibc
import Tabella
import TabellaFiles

/// Goes through a tree, depth first and a folder before its entries, as far as is needed.
struct Traversal {
  /// The entries in the order in which they are rows.
  private(set) var order: [UInt32] = []
  /// The folders that have entries, in the same order.
  private(set) var folders: [Int] = []
  private(set) var isComplete = false
  /// Folders that could not be read: how many, and the first with the reason.
  private var unreadable: (count: Int, path: [UInt8], reason: String)?

  private let listing: Listing
  private let opener: FolderOpener
  private let isRecursive: Bool
  /// The entries that come next, of each folder on the way down.
  private var stack: [(folder: Int, rest: Range<Int>)]

  /// Begins at a root that is listed already.
  init(_ listing: Listing, root: Int32, isRecursive: Bool) {
    self.listing = listing
    self.isRecursive = isRecursive
    opener = FolderOpener(root: root, listing)
    stack = [(0, listing.folders[0].entries)]
    if !listing.folders[0].entries.isEmpty { folders.append(0) }
    guard !isRecursive else { return }
    order = listing.folders[0].entries.map { UInt32(truncatingIfNeeded: $0) }
    isComplete = true
  }

  /// Tells of the folders that could not be read, once.
  mutating func takeUnreadable() -> (count: Int, path: [UInt8], reason: String)? {
    defer { unreadable = nil }
    return unreadable
  }

  /// Goes on until `isEnough` or all is listed.
  mutating func go(
    _ cancel: CancelFlag, until isEnough: (Traversal) -> Bool
  ) throws(TableError) {
    while !isComplete, !isEnough(self) {
      try cancel.check()
      try step()
    }
  }

  /// Takes the entries up to the next folder, and lists that.
  private mutating func step() throws(TableError) {
    guard let (folder, entries) = stack.popLast() else {
      isComplete = true
      return
    }
    var rest = entries
    while let entry = rest.popFirst() {
      order.append(UInt32(truncatingIfNeeded: entry))
      let kind = listing.kind(entry)
      guard kind == .directory || kind == .unknown else { continue }
      stack.append((folder, rest))
      try descend(entry, folder)
      return
    }
  }

  private mutating func descend(_ entry: Int, _ folder: Int) throws(TableError) {
    do throws(TableError) {
      let parent = try opener.descriptor(folder)
      let descriptor = try opener.open(entry, in: parent)
      let child: Int
      do throws(TableError) {
        child = try listing.add(descriptor, parent: folder, entry: entry)
      } catch {
        close(descriptor)
        throw error
      }
      opener.keep(child, descriptor)
      let entries = listing.folders[child].entries
      if !entries.isEmpty {
        folders.append(child)
        stack.append((child, entries))
      }
    } catch {
      // What may be a folder, and is none, is no trouble.
      if listing.kind(entry) == .unknown { return }
      if unreadable == nil { unreadable = (0, listing.path(of: entry), error.message) }
      unreadable?.count += 1
    }
  }
}

import Glibc
import Tabella

/// Lists a tree depth first, each folder in front of its entries, as far as needed.
struct Traversal {
  /// The entries in the order of the rows.
  private(set) var order: [UInt32] = []
  /// The numbers of the readable folders, in the same order.
  private(set) var folders: [Int] = []
  private(set) var isComplete = false
  /// The folders that could not be read.
  var listingDiagnostics: ListingDiagnostics

  let listing: Listing
  private let reader: FolderReader
  private let opener: FolderOpener
  /// The remaining entries of each folder on the way down.
  private var stack: [(folder: Int, rest: Range<Int>)]

  /// Starts at a root that the reader has already added. `diagnostics` continues those of an earlier traversal.
  init(
    _ reader: FolderReader, root: Int32, isRecursive: Bool,
    _ diagnostics: ListingDiagnostics = ListingDiagnostics()
  ) {
    self.reader = reader
    listing = reader.listing
    listingDiagnostics = diagnostics
    opener = FolderOpener(root: root, listing)
    stack = [(0, listing.folders[0].entries)]
    folders.append(0)
    guard !isRecursive else { return }
    order = listing.folders[0].entries.map { UInt32(truncatingIfNeeded: $0) }
    isComplete = true
  }

  /// Continues until `isEnough` returns true or the tree is complete. After an error, a later call can continue.
  mutating func go(
    _ cancel: CancelFlag, until isEnough: (borrowing Traversal) -> Bool
  ) throws(TableError) {
    while !isComplete, !isEnough(self) {
      do throws(Failure) {
        try step(cancel)
      } catch {
        throw error.error("a folder cannot be read")
      }
    }
  }

  /// Takes the entries up to the next folder, and lists that folder.
  private mutating func step(_ cancel: CancelFlag) throws(Failure) {
    guard let (folder, entries) = stack.last else {
      isComplete = true
      return
    }
    for entry in entries {
      let kind = listing.kind(entry)
      guard kind == .directory || kind == .unknown else {
        order.append(UInt32(truncatingIfNeeded: entry))
        continue
      }
      let top = stack.count - 1
      stack[top].rest = entry..<entries.upperBound
      let child = try list(entry, in: folder, cancel)
      order.append(UInt32(truncatingIfNeeded: entry))
      stack[top].rest = (entry + 1)..<entries.upperBound
      if let child {
        folders.append(child)
        stack.append((child, listing.folders[child].entries))
      }
      return
    }
    stack.removeLast()
  }

  /// Lists the folder of an entry. Returns nil if the entry is no folder or cannot be read.
  private mutating func list(
    _ entry: Int, in folder: Int, _ cancel: CancelFlag
  ) throws(Failure) -> Int? {
    do throws(Failure) {
      return try reader.add(entry, in: folder, opener, cancel)
    } catch {
      if error.isOfCall { throw error }
      // The kind was unknown, and the entry turned out to be no folder.
      if listing.kind(entry) == .unknown, error.number == ENOTDIR { return nil }
      listingDiagnostics.note(.unreadFolder, entry, error, in: listing)
      return nil
    }
  }
}

import Tabella

/// An index of a complete listing: rows by inode, folders by entry.
struct EntryIndex {
  private let listing: Listing
  /// The rows sorted by inode.
  private let rows: [UInt32]
  private let order: [UInt32]
  private let folders: [Int: Int]

  /// Indexes the rows of a finished traversal.
  init(_ listing: Listing, _ order: [UInt32]) {
    self.listing = listing
    self.order = order
    var inodes = order.map { listing.inode(Int($0)) }
    var rows = order.indices.map { UInt32(truncatingIfNeeded: $0) }
    radixSort(&inodes, &rows)
    self.rows = rows
    var folders: [Int: Int] = [:]
    for (number, folder) in listing.folders.enumerated() {
      if let entry = folder.entry { folders[entry] = number }
    }
    self.folders = folders
  }

  /// The rows with an inode, in ascending order. Hard links produce several.
  func rows(withInode inode: UInt64) -> [Int] {
    let first = rows.partitioningIndex { self.inode($0) >= inode }
    return rows[first...].prefix { self.inode($0) == inode }.map { Int($0) }
  }

  private func inode(_ row: UInt32) -> UInt64 { listing.inode(Int(order[Int(row)])) }

  /// The number of the folder for an entry; nil if that folder was not listed.
  func folder(of entry: Int) -> Int? { folders[entry] }
}

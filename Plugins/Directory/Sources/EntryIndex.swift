import Tabella

/// Finds rows by inode and folders by entry, in a listing that is complete.
struct EntryIndex {
  private let listing: Listing
  /// The rows in the order of their inodes.
  private let rows: [UInt32]
  private let order: [UInt32]
  private let folders: [Int: Int]

  /// For the rows that a traversal has found, all of them.
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

  /// The rows with an inode, in their order: several if it has several names.
  func rows(withInode inode: UInt64) -> [Int] {
    let first = rows.partitioningIndex { self.inode($0) >= inode }
    return rows[first...].prefix { self.inode($0) == inode }.map { Int($0) }
  }

  private func inode(_ row: UInt32) -> UInt64 { listing.inode(Int(order[Int(row)])) }

  /// The number of the folder that an entry is, if that was listed.
  func folder(of entry: Int) -> Int? { folders[entry] }
}

import Tabella

/// The cells that callers have seen, as far as a pull compares them.
struct ShownCells {
  var seen = SeenCells()
  /// The totals of folders, by entry. Counting one again could take minutes, and contradict an earlier cell.
  var totals: [Int: Int64?] = [:]

  /// Takes over the cells of rows that are in both listings.
  mutating func take(_ other: ShownCells, _ succession: Succession, _ listing: Listing) {
    for entry in 0..<listing.count {
      guard let origin = succession.origin(of: entry), succession.isSame(entry, origin) else {
        continue
      }
      seen.take(entry, from: other.seen, origin)
      if !other.totals.isEmpty, let total = other.totals[origin] { totals[entry] = .some(total) }
    }
  }

  /// Reads again the cells of some entries that callers have seen; nil stands for all entries. Returns the entries that
  /// have other cells now.
  mutating func update(
    _ entries: Set<Int>?, totals folders: Set<Int>?, _ listing: Listing, _ source: DirectorySource,
    root: Int32? = nil
  ) throws(TableError) -> Set<Int> {
    let suspects =
      entries.map { $0.union(seen.ambiguousEntries).sorted() } ?? Array(0..<listing.count)
    let wanted = suspects.filter { seen.has($0) }
    var changed: Set<Int> = []
    if !wanted.isEmpty {
      let examined = try source.examine(wanted, of: listing, root: root)
      for (entry, one) in zip(wanted, examined) where seen.differs(entry, one) {
        changed.insert(entry)
        seen.replace(entry, one)
      }
    }
    let counted = totals.keys.filter { folders?.contains($0) ?? true }.sorted()
    for (entry, total) in zip(counted, try source.count(counted, of: listing, root: root)) {
      if totals[entry] != .some(total) { changed.insert(entry) }
      totals[entry] = .some(total)
    }
    return changed
  }
}

import Tabella

/// The changes from one listing of a tree to the next.
///
/// Rows are sorted by their paths, and sections by the paths of their folders, so nothing ever moves.
struct FolderDifference {
  /// The rows and sections of a listing.
  struct Shown {
    var listing: Listing
    var order: [UInt32]
    var folders: [Int]
    /// Whether these are all rows and sections. If not, later ones are unknown to callers.
    var isComplete: Bool

    init(_ traversal: Traversal, _ listing: Listing) {
      self.listing = listing
      (order, folders) = (traversal.order, traversal.folders)
      isComplete = traversal.isComplete
    }
  }

  let old: Shown
  let new: Shown
  let succession: Succession
  /// The new entries with other cells.
  let changed: Set<Int>

  /// The changes of rows in a table without sections.
  func rowChanges() -> [ChangeBatch.Change] {
    // Entries of listed folders can lie behind the last row.
    var isRow = old.isComplete ? [] : [Bool](repeating: false, count: old.listing.count)
    if !old.isComplete { for entry in old.order { isRow[Int(entry)] = true } }
    return rowChanges(
      old.order.lazy.map { Int($0) }, in: 0, new.order.lazy.map { Int($0) }, in: 0,
      isComplete: old.isComplete, isRow: { isRow.isEmpty || isRow[$0] })
  }

  /// The changes of sections and their rows.
  func sectionChanges() -> [ChangeBatch.Change] {
    var changes: [ChangeBatch.Change] = []
    var arrivals: [Int] = []
    var section = 0
    for (number, folder) in new.folders.enumerated() {
      guard let origin = succession.oldFolder(of: folder) else {
        arrivals.append(number)
        continue
      }
      while section < old.folders.count, old.folders[section] < origin {
        changes.append(.delete(.section(section)))
        section += 1
      }
      guard section < old.folders.count, old.folders[section] == origin else { break }
      changes += arrivals.map { .insert(.section($0)) }
      arrivals = []
      changes += rowChanges(
        old.listing.folders[origin].entries, in: section, new.listing.folders[folder].entries,
        in: number)
      section += 1
    }
    changes += (section..<max(section, old.folders.count)).map { .delete(.section($0)) }
    if old.isComplete { changes += arrivals.map { .insert(.section($0)) } }
    return changes
  }

  /// The changes from the old rows of a section to the new ones. If the old ones are not complete, new rows behind them
  /// are left out.
  private func rowChanges(
    _ oldRows: some RandomAccessCollection<Int>, in oldSection: Int,
    _ newRows: some RandomAccessCollection<Int>, in newSection: Int,
    isComplete: Bool = true, isRow: (Int) -> Bool = { _ in true }
  ) -> [ChangeBatch.Change] {
    var changes: [ChangeBatch.Change] = []
    var arrivals: [Int] = []
    var oldRow = 0
    var next = oldRows.startIndex
    func path(_ row: Int) -> IndexPath { IndexPath(section: oldSection, row: row) }
    func insert() {
      for row in arrivals { changes.append(.insert(IndexPath(section: newSection, row: row))) }
      arrivals.removeAll(keepingCapacity: true)
    }
    for (row, entry) in newRows.enumerated() {
      guard let origin = succession.origin(of: entry) else {
        arrivals.append(row)
        continue
      }
      if !isRow(origin) { break }
      while next < oldRows.endIndex, oldRows[next] != origin {
        changes.append(.delete(path(oldRow)))
        oldRows.formIndex(after: &next)
        oldRow += 1
      }
      if next == oldRows.endIndex { break }
      insert()
      if !succession.isSame(entry, origin) {
        changes.append(.reload(path(oldRow)))
      } else if changed.contains(entry) {
        changes.append(.reconfigure(path(oldRow)))
      }
      oldRows.formIndex(after: &next)
      oldRow += 1
    }
    while next < oldRows.endIndex {
      changes.append(.delete(path(oldRow)))
      oldRows.formIndex(after: &next)
      oldRow += 1
    }
    if isComplete { insert() }
    return changes
  }
}

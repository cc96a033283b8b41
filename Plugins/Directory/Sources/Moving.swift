import Tabella

/// Moves of rows to the sections of other folders. Within a section, names decide the order.
extension DirectorySource: TableMoving {
  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool] {
    try check(rows: rows, inSection: section)
    return [Bool](repeating: hasSections, count: rows.count)
  }

  /// The index path that the row will have in the other section, according to its name.
  func target(
    ofMoveFrom path: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    let entry = try entry(.path(path))
    let folder = try folder(ofSection: proposed.section)
    if proposed.section == path.section {
      guard proposed == path else { throw DirectorySource.orderIsByName }
      return path
    }
    if isFolder(folder, insideOf: entry) {
      throw TableError(.constraint, "\(text(entry)) cannot be moved into itself")
    }
    let name = listing.withName(entry) { Array($0) }
    if let there = listing.entry(named: name, in: folder) {
      throw TableError(.constraint, "\(text(entry)): there is \(text(there)) already")
    }
    let row =
      listing.insertionIndex(ofName: name, in: folder) - listing.folders[folder].entries.lowerBound
    return IndexPath(section: proposed.section, row: row)
  }

  private func isFolder(_ folder: Int, insideOf entry: Int) -> Bool {
    var folder = folder
    while let own = listing.folders[folder].entry {
      if own == entry { return true }
      folder = listing.folders[folder].parent
    }
    return false
  }
}

import TabellaSDK

// Ids, which stay valid when rows move. A card with a UID keeps its id when it is edited.

extension ContactsSource: TableIdentity {
  func indexPath(forID id: String) throws(TableError) -> IndexPath {
    if let path = book.path(ofID: id) { return path }
    for section in book.sections.indices where hasPlaceholders {
      let path = IndexPath(section: section, row: book.sections[section].cards.count)
      if self.id(at: path) == id { return path }
    }
    throw TableError(.notFound, "there is no contact with the id \(id)")
  }

  /// The id of a row, which must exist. A placeholder is named by its letter.
  func id(at path: IndexPath) -> String {
    cardNumber(at: path).map { book.entries[$0].id }
      ?? "new.\(book.sections[path.section].letter.title)"
  }
}

extension ContactsSource: TableGathering {
  func rows(
    at paths: consuming [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    let paths = paths
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    for path in paths { try check(path) }
    return try batch(of: paths, columns: columns, includesIDs: includesIDs)
  }
}

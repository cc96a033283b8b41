import TabellaSDK

// Reordering. UIKit's canMoveRowAt and targetIndexPathForMoveFromRowAt.
//
// The order of a section is the order of the file. So a contact can move within its section. Its letter depends on its
// name: no move can change the letter.

extension ContactsSource: TableMoving {
  func movability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError) -> [Bool] {
    try check(rows: rows, inSection: section)
    return rows.map {
      book.fault == nil && cardNumber(at: IndexPath(section: section, row: $0)) != nil
    }
  }

  /// The nearest position in the section of the contact, in front of the placeholder.
  func target(
    ofMoveFrom source: IndexPath, to proposed: IndexPath
  ) throws(TableError) -> IndexPath {
    try check(source)
    guard cardNumber(at: source) != nil else { throw ContactsSource.isPlaceholder(source) }
    let last = try cards(ofSection: source.section).count - 1
    guard proposed.section == source.section else {
      return IndexPath(section: source.section, row: proposed.section < source.section ? 0 : last)
    }
    return IndexPath(section: source.section, row: max(0, min(proposed.row, last)))
  }

  /// Throws the reason against a move to another section.
  func checkMove(from source: IndexPath, to target: IndexPath) throws(TableError) {
    guard target.section != source.section, let number = cardNumber(at: source) else { return }
    let (name, letter) = (card(number).sortName, book.entries[number].letter.title)
    throw TableError(
      .constraint,
      "\(name) belongs to section \(letter); a move cannot change that, but another name can",
      section: source.section, row: source.row)
  }

  static func isPlaceholder(_ path: IndexPath) -> TableError {
    TableError(
      .readOnly, "is not a contact: it stands for a new one; insert a row there",
      section: path.section, row: path.row)
  }
}

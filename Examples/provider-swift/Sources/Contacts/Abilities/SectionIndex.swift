import TabellaSDK

// The index beside the table, as a contact list has it. UIKit's sectionIndexTitles and sectionForSectionIndexTitle.

extension ContactsSource: TableSectionIndex {
  /// All letters, whether or not a contact has them.
  func sectionIndexTitles() -> [String] { Letter.titles }

  /// A letter without contacts leads to the next section, and to the last section if there is no next one.
  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath {
    guard Letter.titles.indices.contains(index), Letter.titles[index] == title else {
      throw TableError(.notFound, "there is no index title \(title) at \(index)")
    }
    let next = book.sections.firstIndex { $0.letter.number >= index }
    return .section(next ?? book.sections.count - 1)
  }
}

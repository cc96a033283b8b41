/// The ability to offer a short list of titles to jump to, such as A to Z.
///
/// UIKit's `sectionIndexTitles` and a collection's `indexPath(forIndexTitle:at:)`. The corresponding C table is
/// `tabella_section_index`.
public protocol TableSectionIndex: AnyObject {
  /// Returns the titles, in the order of display.
  func sectionIndexTitles() throws(TableError) -> [String]

  /// Returns the row or section that a title leads to. Throws ``TableError`` with `.notFound` if there is no such
  /// title.
  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func sectionIndexTitles() throws(TableError) -> [String] {
    try call("section-index.titles") { base throws(TableError) in
      try offered(base.sectionIndex).sectionIndexTitles()
    }
  }

  package func indexPath(
    forIndexTitle title: String, at index: Int
  ) throws(TableError) -> IndexPath {
    try call("section-index.path") { base throws(TableError) in
      let path = try offered(base.sectionIndex).indexPath(forIndexTitle: title, at: index)
        .checked(mayBeSection: true)
      try checkExists(path)
      return path
    }
  }
}

/// A short list of titles to jump by (A to Z), and where each leads.
///
/// UIKit's `sectionIndexTitles` and a collection's `indexPath(forIndexTitle:at:)`. The corresponding
/// C table is `tabella_section_index`.
public protocol TableSectionIndex: AnyObject {
  /// Returns the titles, in order.
  func sectionIndexTitles() throws(TableError) -> [String]

  /// Returns where a title leads: a row, or a section as such. Throws ``TableError`` with `.notFound`
  /// if there is no such title.
  func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
}

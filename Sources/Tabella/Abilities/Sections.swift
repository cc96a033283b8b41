/// The ability to have several sections, each with titles. The corresponding C table is `tabella_sections`.
public protocol TableSections: AnyObject {
  /// Returns the number of sections. `minimum` is as in ``TableDataSource/numberOfRows(inSection:knowing:)``.
  func numberOfSections(knowing minimum: Int) throws(TableError) -> Count

  /// Returns the title above (header) or below (footer) a section; nil if it has none.
  ///
  /// Throws ``TableError`` with `.notFound` if there is no such section.
  func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String?
}

/// The position of a section's title: above or below its rows.
public enum TitlePlace: Int32, Hashable, Sendable, CaseIterable {
  case header = 0
  case footer = 1
}

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

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func numberOfSections(knowing minimum: Int) throws(TableError) -> Count {
    try call("sections.count") { base throws(TableError) in
      try offered(base.sections).numberOfSections(knowing: minimum)
        .checked(knowing: minimum, limit: TableLimits.sections)
    }
  }

  package func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    try call("sections.title") { base throws(TableError) in
      try offered(base.sections).title(place, ofSection: section)
    }
  }
}

/// One section of a table: its number, its title and its rows.
///
/// It belongs to the thread of its source, and is valid until the source moves to another version.
public struct TableSection {
  /// The number of the section.
  public let number: Int
  /// The title above the section; nil if it has none.
  public let title: String?
  private let source: any TableDataSource

  init(_ number: Int, of source: any TableDataSource) throws(TableError) {
    self.number = number
    self.source = source
    title = try source.sections?.title(.header, ofSection: number)
  }

  /// The exact number of rows, at any cost. Throws the errors of the source.
  public func numberOfRows() throws(TableError) -> Int {
    try source.exactNumberOfRows(inSection: number)
  }

  /// A cursor for the rows of the section; see ``TableDataSource/rows(columns:inSection:forEditing:)``.
  public func rows(
    columns: [String]? = nil, forEditing: Bool = false
  ) throws(TableError) -> RowCursor {
    try source.rows(columns: columns, inSection: number, forEditing: forEditing)
  }

  /// Decodes the rows of the section; see ``TableDataSource/decode(_:columns:inSection:)``.
  public func decode<T: Decodable>(
    _ type: T.Type, columns: [String]? = nil
  ) throws(TableError) -> [T] {
    try source.decode(type, columns: columns, inSection: number)
  }
}

extension TableDataSource {
  /// All sections, in order. A table without sections has one section without a title.
  ///
  /// Throws the errors of the source.
  /// - Complexity: that of counting the sections, plus a title per section. Rows are neither read nor counted, unless
  ///   the source finds its sections by its rows.
  public func allSections() throws(TableError) -> [TableSection] {
    var sections: [TableSection] = []
    for number in 0..<(try numberOfSections(knowing: .max).value) {
      sections.append(try TableSection(number, of: self))
    }
    return sections
  }
}

/// A title of a section index, and the position to which it leads.
public struct SectionIndexEntry: Hashable, Sendable {
  /// The title, such as a letter or a heading.
  public let title: String
  /// The path of a row, or of a section.
  public let path: IndexPath
}

extension TableDataSource {
  /// The section index: the titles to jump to, in the order of display. Empty if the table has none.
  ///
  /// Throws the errors of the source.
  /// - Complexity: that of finding each title, which can read the table.
  public func sectionIndexEntries() throws(TableError) -> [SectionIndexEntry] {
    guard let sectionIndex else { return [] }
    var entries: [SectionIndexEntry] = []
    for (number, title) in try sectionIndex.sectionIndexTitles().enumerated() {
      let path = try sectionIndex.indexPath(forIndexTitle: title, at: number)
      entries.append(SectionIndexEntry(title: title, path: path))
    }
    return entries
  }
}

@_exported import Tabella
import TabellaFiles

/// An open location: its table, or a view of it, and everything that a receipt needs.
///
/// ```swift
/// let table = try host.open("sales.csv").shaped(filter: "amount > 300", sectionBy: "city")
/// for section in try table.allSections() { print(section.title ?? "", try section.numberOfRows()) }
/// ```
///
/// It belongs to the thread of its host.
public struct OpenedTable {
  /// The table, or the view that ``shaped(filter:search:sectionBy:sort:sectionsBy:dates:)`` made. Sources in workers and
  /// in this process behave in the same way.
  public let source: any TableDataSource
  /// The manifest of the provider.
  public let manifest: Manifest
  /// The location that was opened.
  public let location: Location
  /// The working directory in which it was opened; nil if that no longer existed.
  package let folder: WorkingFolder?
  /// The provider's options that were passed.
  public let options: [String: String]
  /// The purpose for which the location was opened. A ``ReceiptStore`` refuses edits of a table for reading.
  public let access: Host.Access
  /// The worker of the source; nil if the source lives in this process.
  public let worker: WorkerStatus?
}

extension OpenedTable {
  /// The same location with a view of its source, shaped by texts that name columns, as in the command line. Edits of
  /// the view change the location, and their receipts are those of the location.
  ///
  /// See `TableDataSource.shaped` for the parameters and the errors. A shape of a shape works, too.
  public func shaped(
    filter: String..., search: String? = nil, sectionBy: String? = nil, sort: String? = nil,
    sectionsBy: String? = nil, dates: DateContext = .utc
  ) throws(TableError) -> OpenedTable {
    try shaped(
      by: TableShape(
        filters: filter, search: search, sectionBy: sectionBy, sort: sort, sectionsBy: sectionsBy,
        ColumnNames(columns)), dates: dates)
  }

  /// The same location with a view of its source in a shape. See `TableDataSource.shaped(by:)`.
  public func shaped(
    by shape: TableShape, dates: DateContext = .utc
  ) throws(TableError) -> OpenedTable {
    OpenedTable(
      source: try source.shaped(by: shape, dates: dates), manifest: manifest, location: location,
      folder: folder, options: options, access: access, worker: worker)
  }

  // The reading and editing of the source

  /// The columns of the table.
  public var columns: [Column] { source.columns }

  /// The exact number of rows in all sections, at any cost. Throws the errors of the source.
  public func numberOfRows() throws(TableError) -> Int { try source.exactNumberOfRows() }

  /// All sections. See `TableDataSource.allSections()`.
  public func allSections() throws(TableError) -> [TableSection] { try source.allSections() }

  /// The section index. See `TableDataSource.sectionIndexEntries()`.
  public func sectionIndexEntries() throws(TableError) -> [SectionIndexEntry] {
    try source.sectionIndexEntries()
  }

  /// A cursor for the rows. See `TableDataSource.rows(columns:inSection:forEditing:)`.
  public func rows(
    columns: [String]? = nil, inSection section: Int? = nil, forEditing: Bool = false
  ) throws(TableError) -> RowCursor {
    try source.rows(columns: columns, inSection: section, forEditing: forEditing)
  }

  /// Calls `body` with each row. See `TableDataSource.forEachRow`.
  public func forEachRow(
    columns: [String]? = nil, inSection section: Int? = nil, forEditing: Bool = false,
    _ body: (TableRow) throws -> Void
  ) throws {
    try source.forEachRow(
      columns: columns, inSection: section, forEditing: forEditing, body)
  }

  /// Decodes all rows into values. See `TableDataSource.decode(_:columns:inSection:)`.
  public func decode<T: Decodable>(
    _ type: T.Type, columns: [String]? = nil, inSection section: Int? = nil
  ) throws(TableError) -> [T] {
    try source.decode(type, columns: columns, inSection: section)
  }

  /// A collection of edits, for ``ReceiptStore/commit(_:to:isDryRun:willCommit:)``. `version` is the version that the
  /// user has seen; see `TableEdits`.
  public func edits(version: Version? = nil) -> TableEdits {
    TableEdits(of: source, version: version)
  }
}

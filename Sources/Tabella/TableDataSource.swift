/// A sectioned table: sections of rows of typed cells.
///
/// Everything in Tabella makes, wraps, transfers or shows data sources. The vocabulary is UIKit's, without the UI.
///
/// A source shows one version of its data until an edit or ``TableChanges/pull()`` moves it to another one. Within
/// a version the columns are the same, an exact count never changes, and an at-least count never falls. A row that
/// is requested twice is the same row with the same cells. If a source can no longer guarantee this, for example
/// because its file changed, it throws ``TableError`` with `.conflict`.
///
/// A source is synchronous and belongs to one thread at a time. Only ``cancellation`` may be used from other
/// threads. Optional features are abilities: properties that are nil if a source lacks them. A wrapper can thus
/// have exactly the abilities of its base.
///
/// Implement the three requirements without a default. The laws in `TabellaConformance` test an implementation. The
/// corresponding C type is `tabella_source`.
public protocol TableDataSource: AnyObject {
  /// The columns, fixed for a version.
  var columns: [Column] { get }

  /// Returns the number of rows in a section.
  ///
  /// `minimum` is the number of rows that the caller needs to know about. The result is exact, or at least
  /// `minimum`. With 0, the source returns what it knows without work. With `.max`, the result is exact, at any
  /// cost. Throws ``TableError`` with `.notFound` if there is no such section.
  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count

  /// Returns consecutive rows: at least one unless `first` is the section's end, and at most as many as requested.
  ///
  /// The source may return fewer rows than requested, for example if rows are large; the caller then asks for the
  /// rest. An empty batch means that the section ends at `first`.
  ///
  /// Throws ``TableError`` with `.notFound` if there is no such section, or if `first` is beyond its end. Throws
  /// `.invalidArgument` if a column does not exist or a number is negative. Throws `.notSupported` if the request
  /// asks for ids and the source has none.
  func rows(_ request: RowRequest) throws(TableError) -> Batch

  /// Returns an opaque token of the rows and their order; nil if the source has no versions.
  ///
  /// Equal tokens mean the same rows in the same order. A token has at most 1024 printable ASCII characters.
  /// Computing it can be expensive, so callers ask only if they need it.
  func version() throws(TableError) -> Version?

  /// Whether the order of rows can differ at the next opening without an edit, as in a directory or a process list.
  ///
  /// A position alone must then not be used to delete a row. The default is false.
  var hasVolatileOrder: Bool { get }

  /// Whether the effect of an edit outlasts this object. The default is true.
  ///
  /// A source that returns false is read-only across the contract, because there an edit that is done must be
  /// stored.
  var storesEdits: Bool { get }

  /// A function that stops the running call of this source soon; that call throws `.cancelled`.
  ///
  /// Any thread may call the function. The default is nil: calls cannot be cancelled.
  var cancellation: (@Sendable () -> Void)? { get }

  // The abilities. Each is nil by default.

  /// The ability to have several sections with titles. Without it, a source has one section without a title.
  var sections: (any TableSections)? { get }
  /// The ability to offer titles to jump to.
  var sectionIndex: (any TableSectionIndex)? { get }
  /// The ability to name rows by ids. Without it, rows have no ids.
  var identity: (any TableIdentity)? { get }
  /// The ability to return rows from any positions in one call. Without it, each run of rows needs one call.
  var gathering: (any TableGathering)? { get }
  /// The ability to move on to newer versions of the data.
  var changes: (any TableChanges)? { get }
  /// The ability to commit edits. Without it, the source is read-only.
  var editing: (any TableEditing)? { get }
  /// The ability to edit the titles of sections. It requires ``editing``, because titles are edited in its batches.
  var sectionEditing: (any TableSectionEditing)? { get }
  /// The ability to reorder rows. It requires ``editing``, because moves are edits in its batches.
  var moving: (any TableMoving)? { get }
  /// The ability to undo committed batches.
  var undoing: (any TableUndoing)? { get }
  /// The ability to have elements beside the cells.
  var supplementary: (any TableSupplementary)? { get }
  /// The ability to name the location that a row leads to.
  var accessories: (any TableAccessories)? { get }
  /// The ability to receive notices about the rows on display.
  var display: (any TableDisplay)? { get }
  /// The ability to receive advice about the rows that will be needed.
  var prefetching: (any TablePrefetching)? { get }
  /// The ability to report diagnostics of the data.
  var diagnostics: (any TableDiagnostics)? { get }
}

extension TableDataSource {
  public func version() throws(TableError) -> Version? { nil }
  public var hasVolatileOrder: Bool { false }
  public var storesEdits: Bool { true }
  public var cancellation: (@Sendable () -> Void)? { nil }
  public var sections: (any TableSections)? { nil }
  public var sectionIndex: (any TableSectionIndex)? { nil }
  public var identity: (any TableIdentity)? { nil }
  public var gathering: (any TableGathering)? { nil }
  public var changes: (any TableChanges)? { nil }
  public var editing: (any TableEditing)? { nil }
  public var sectionEditing: (any TableSectionEditing)? { nil }
  public var moving: (any TableMoving)? { nil }
  public var undoing: (any TableUndoing)? { nil }
  public var supplementary: (any TableSupplementary)? { nil }
  public var accessories: (any TableAccessories)? { nil }
  public var display: (any TableDisplay)? { nil }
  public var prefetching: (any TablePrefetching)? { nil }
  public var diagnostics: (any TableDiagnostics)? { nil }
}

extension TableDataSource {
  /// The number of sections; 1 without the ability ``sections``.
  public func numberOfSections(knowing minimum: Int = 0) throws(TableError) -> Count {
    guard let sections else { return .exact(1) }
    return try sections.numberOfSections(knowing: minimum)
  }

  /// The exact number of rows in a section, at any cost.
  public func exactNumberOfRows(inSection section: Int) throws(TableError) -> Int {
    try numberOfRows(inSection: section, knowing: .max).value
  }

  /// The exact number of rows in all sections, at any cost.
  public func exactNumberOfRows() throws(TableError) -> Int {
    var sum = 0
    for section in 0..<(try numberOfSections(knowing: .max).value) {
      sum += try exactNumberOfRows(inSection: section)
    }
    return sum
  }

  /// Throws the errors that ``rows(_:)`` promises for a request that is invalid in every section. Implementations
  /// call this method first.
  public func check(_ request: RowRequest) throws(TableError) {
    guard request.section >= 0, request.first >= 0 else {
      throw TableError(
        .invalidArgument, "section \(request.section), row \(request.first) cannot be requested")
    }
    guard request.count >= 1 else {
      throw TableError(.invalidArgument, "\(request.count) rows cannot be requested")
    }
    for column in request.columns where !columns.indices.contains(column) {
      throw TableError(
        .invalidArgument, "there is no column \(column); there are \(columns.count)",
        column: column)
    }
    if request.includesIDs, identity == nil {
      throw TableError(.notSupported, "the rows have no ids")
    }
  }

  /// Throws ``TableError`` with `.notFound` unless all rows of a range exist. Counts only as far as necessary.
  public func check(rows: Range<Int>, inSection section: Int) throws(TableError) {
    let count = try numberOfRows(inSection: section, knowing: rows.upperBound).value
    guard rows.lowerBound >= 0, rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: section, of: count)
    }
  }
}

/// A request for consecutive rows of one section, with some columns, and with or without ids.
public struct RowRequest: Hashable, Sendable {
  /// The number of the section.
  public var section: Int
  /// The number of the first row.
  public var first: Int
  /// The maximum number of rows, at least 1.
  public var count: Int
  /// The numbers of the requested columns, in this order, without repetition.
  public var columns: [Int]
  /// Whether the request asks for ids.
  public var includesIDs: Bool

  /// Creates a request.
  public init(
    section: Int = 0, first: Int, count: Int, columns: [Int], includesIDs: Bool = false
  ) {
    self.section = section
    self.first = first
    self.count = count
    self.columns = columns
    self.includesIDs = includesIDs
  }
}

/// An opaque token of the rows of a source and their order.
public struct Version: Hashable, Sendable, CustomStringConvertible {
  /// The maximum length of a token in bytes.
  public static let maximumLength = 1024

  /// The token: printable ASCII characters.
  public var token: String

  /// Creates a version from a token.
  public init(_ token: String) { self.token = token }

  public var description: String { token }
}

extension TableError {
  /// The error for a section that does not exist.
  public static func noSection(_ section: Int) -> TableError {
    TableError(.notFound, "there is no section \(section)")
  }

  /// The error for a row beyond the end of a section.
  public static func noRow(_ row: Int, inSection section: Int, of count: Int) -> TableError {
    TableError(
      .notFound,
      section == 0
        ? "there is no row \(row); there are \(count)"
        : "there is no row \(row) in section \(section); there are \(count)")
  }
}

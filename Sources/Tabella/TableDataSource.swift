/// A sectioned table: sections of rows of typed cells.
///
/// Everything in Tabella is a data source, makes one, wraps one, carries one or shows one. The
/// vocabulary is UIKit's, without the UI.
///
/// A source shows one version of its data until an edit or ``TableChanges/pull()`` moves it to
/// another. Within a version the columns are the same, an exact count never changes, an at-least
/// count never falls, and a row asked for twice is the same row with the same cells. When a source
/// can no longer hold that (its file changed), it throws ``TableError`` with `.conflict`.
///
/// A source is synchronous and belongs to one thread at a time; only ``cancellation`` may be used
/// from elsewhere. What is optional is an ability: a property that is nil where a source cannot do
/// it, so that a wrapper can have an ability exactly when its base has.
///
/// Implement the three requirements without a default; the laws in `TabellaConformance` say whether
/// the result is right. The corresponding C type is `tabella_source`.
public protocol TableDataSource: AnyObject {
  /// The columns, fixed for a version.
  var columns: [Column] { get }

  /// Returns the number of rows in a section.
  ///
  /// `minimum` is how many the caller needs to know about: the answer is exact, or at least that
  /// many. 0 means whatever is known now; `.max` means the exact number, whatever it costs. Throws
  /// ``TableError`` with `.notFound` if there is no such section.
  func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError) -> Count

  /// Returns rows: at least one unless `first` is the section's end, at most as many as asked.
  ///
  /// It may return fewer than asked (large rows); the caller goes on from there. An empty batch
  /// means that the section ends at `first`. Throws ``TableError`` with `.notFound` if there is no
  /// such section or `first` is beyond its end, with `.invalidArgument` if a column does not exist
  /// or a number is negative, and with `.notSupported` if ids are asked for and there are none.
  func rows(_ request: RowRequest) throws(TableError) -> Batch

  /// Returns an opaque token for the data as it is; nil if the source has no versions.
  ///
  /// Equal tokens mean the same rows in the same places. At most 1024 printable ASCII characters.
  /// It may be dear: ask only when it is needed.
  func version() throws(TableError) -> Version?

  /// Whether rows may stand elsewhere at the next opening though nobody edited (a directory, a
  /// process list), so that a position alone must not be used to delete. The default is no.
  var hasVolatileOrder: Bool { get }

  /// Whether an edit that is done outlasts this object. The default is yes; a source that says no is
  /// read-only across the contract, where done means stored.
  var storesEdits: Bool { get }

  /// Makes a call that is running on this source stop soon and throw `.cancelled`; may be called
  /// from any thread. The default is nil: calls cannot be cancelled.
  var cancellation: (@Sendable () -> Void)? { get }

  // Abilities, each nil by default.

  /// Several sections and their titles; without it a source has one section, untitled.
  var sections: (any TableSections)? { get }
  var sectionIndex: (any TableSectionIndex)? { get }
  /// Ids of rows; without it rows have none.
  var identity: (any TableIdentity)? { get }
  /// Rows from anywhere in one call; without it each run of rows is a call.
  var gathering: (any TableGathering)? { get }
  var changes: (any TableChanges)? { get }
  /// Editing; without it the source is read-only.
  var editing: (any TableEditing)? { get }
  /// Editing the titles of sections; needs ``editing``, whose batches carry them.
  var sectionEditing: (any TableSectionEditing)? { get }
  /// Reordering; needs ``editing``, whose batches carry the moves.
  var moving: (any TableMoving)? { get }
  var undoing: (any TableUndoing)? { get }
  var supplementary: (any TableSupplementary)? { get }
  var accessories: (any TableAccessories)? { get }
  var display: (any TableDisplay)? { get }
  var prefetching: (any TablePrefetching)? { get }
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
  /// The number of sections: what ``sections`` says, else one.
  public func numberOfSections(knowing minimum: Int = 0) throws(TableError) -> Count {
    guard let sections else { return .exact(1) }
    return try sections.numberOfSections(knowing: minimum)
  }

  /// The exact number of rows in a section, whatever it costs.
  public func exactNumberOfRows(inSection section: Int) throws(TableError) -> Int {
    try numberOfRows(inSection: section, knowing: .max).value
  }

  /// Throws what ``rows(_:)`` promises for a request that no section could answer: call it first.
  public func check(_ request: RowRequest) throws(TableError) {
    guard request.section >= 0, request.first >= 0 else {
      throw TableError(
        .invalidArgument, "asked for section \(request.section), row \(request.first)")
    }
    guard request.count >= 1 else {
      throw TableError(.invalidArgument, "asked for \(request.count) rows")
    }
    for column in request.columns where !columns.indices.contains(column) {
      throw TableError(
        .invalidArgument, "there is no column \(column); there are \(columns.count)",
        column: column)
    }
    if request.includesIDs, identity == nil {
      throw TableError(.notSupported, "rows have no ids here")
    }
  }

  /// Throws `.notFound` unless all rows of a range are there, which is counted as far as that takes.
  public func check(rows: Range<Int>, inSection section: Int) throws(TableError) {
    let count = try numberOfRows(inSection: section, knowing: rows.upperBound).value
    guard rows.lowerBound >= 0, rows.upperBound <= count else {
      throw .noRow(rows.upperBound - 1, inSection: section, of: count)
    }
  }
}

/// What a caller wants of one section: a run of rows, some columns, ids or not.
public struct RowRequest: Hashable, Sendable {
  public var section: Int
  /// The first row.
  public var first: Int
  /// How many rows, at most; at least 1.
  public var count: Int
  /// The columns wanted, by number and in this order; none twice.
  public var columns: [Int]
  public var includesIDs: Bool

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

/// An opaque token for a state of the data.
public struct Version: Hashable, Sendable, CustomStringConvertible {
  public static let maximumLength = 1024

  public var token: String

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

/// The ability to commit edits, and to say which edits are allowed. The corresponding C table is `tabella_editing`.
public protocol TableEditing: AnyObject {
  /// Returns, for each row of a range, whether the row can be edited and its editing style.
  ///
  /// The default is UIKit's: every row can be edited, and its style is delete. UIKit's `canEditRowAt` and
  /// `editingStyleForRowAt`.
  func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]

  /// Returns, for each column, whether any of its cells can be set. Nil, the default, means all columns.
  func editableColumns() throws(TableError) -> [Bool]?

  /// Applies the edits together, moves the source to the new version, and returns the outcome of each edit.
  ///
  /// If the method throws, no edit was applied. Throws ``TableError`` with `.conflict` if the batch names another
  /// version than the source's. Throws `.notFound` or `.invalidArgument` for a batch that breaks the rules of
  /// ``EditBatch``. ``BatchPlan`` checks these rules and computes all new positions.
  func commit(_ batch: EditBatch) throws(TableError) -> EditResult
}

extension TableEditing {
  /// Returns nil: all columns can be set.
  public func editableColumns() throws(TableError) -> [Bool]? { nil }
}

extension TableEditing where Self: TableDataSource {
  /// Returns that every row can be edited and deleted.
  public func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]
  {
    try check(rows: rows, inSection: section)
    return rows.map { _ in [.editable, .delete] }
  }
}

extension TableDataSource {
  /// Checks the cells that an edit sets in a row.
  ///
  /// Throws ``TableError`` with `.invalidArgument` for a column that does not exist, and with `.constraint` for a
  /// value whose type is not the column's.
  public func check(setting cells: [Int: Cell]) throws(TableError) {
    for (column, cell) in cells {
      guard column != EditBatch.sectionTitle else { throw .titleOfRow }
      guard columns.indices.contains(column) else {
        throw TableError(.invalidArgument, "there is no column \(column)", column: column)
      }
      guard cell.type == nil || cell.type == columns[column].type else {
        throw TableError(
          .constraint, "\(columns[column].name) must be \(columns[column].type.name)",
          column: column)
      }
    }
  }
}

/// The edits that a row allows.
public struct RowEditability: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The cells of the row can be set, in the columns that allow it.
  public static let editable = RowEditability(rawValue: 1)
  /// The editing style of the row is delete.
  public static let delete = RowEditability(rawValue: 2)
  /// The editing style of the row is insert: the row is a placeholder for a new row. It cannot be deleted. To
  /// commit it, insert a row at its path.
  public static let insert = RowEditability(rawValue: 4)

  /// UIKit's `editingStyleForRowAt`.
  public enum Style: String, Hashable, Sendable {
    case none, delete, insert
  }

  /// The effect of committing the row. A row with both styles is a placeholder for a new row.
  public var style: Style {
    contains(.insert) ? .insert : contains(.delete) ? .delete : .none
  }
}

/// The name of a row in an edit.
public enum RowReference: Hashable, Sendable {
  /// A position, counted before the batch.
  case path(IndexPath)
  /// An id, at whatever position the row is.
  case id(String)

  /// Whether the reference names a section by its path rather than a row.
  public var isSection: Bool {
    if case .path(let path) = self { path.isSection } else { false }
  }
}

/// Edits that a source commits together.
///
/// Positions follow UIKit's rules. The order of the edits does not matter.
///
/// - Deleted, set and moved elements are numbered as before the batch. Insertions and targets of moves are numbered
///   as after the batch. All other elements keep their order around them.
/// - A batch may delete, set or move a row once. Only a set and a move may name the same row. No two edits have the
///   same target.
/// - ``IndexPath/section(_:)`` names a section, to insert, delete or move it with its rows. A new section is empty.
///   No edit names a row of a deleted section, or a target in an inserted section. In a moved section, rows are
///   named by the old section number and targets by the new one.
/// - A section has one cell, its title, under the column number ``sectionTitle``. Only a source with
///   ``TableSectionEditing`` takes titles. A new section without that cell has no title.
/// - A batch that breaks a rule, or names an element or target that does not exist, is an error. The source then
///   applies none of its edits.
///
/// docs/editing.md has an example with every kind of edit.
public struct EditBatch: Hashable, Sendable {
  /// One edit.
  public enum Edit: Hashable, Sendable {
    /// Inserts a row with these cells, so that it is at the path after the batch. The path of a section inserts a
    /// section.
    case insert(at: IndexPath, cells: [Int: Cell])
    /// Deletes a row. The path of a section deletes the section with all its rows.
    case delete(RowReference)
    /// Sets some cells of a row.
    case set(RowReference, cells: [Int: Cell])
    /// Moves a row or a section, so that it is at the path after the batch.
    case move(RowReference, to: IndexPath)

    /// The edit that commits a row in its style; UIKit's `commit editingStyle forRowAt`.
    ///
    /// The style `delete` deletes the row. The style `insert` inserts a row with these cells at the path, in front
    /// of the placeholder. The result is nil for a row without a style.
    public static func commit(
      _ style: RowEditability.Style, forRowAt path: IndexPath, cells: [Int: Cell] = [:]
    ) -> Edit? {
      switch style {
      case .none: nil
      case .delete: .delete(.path(path))
      case .insert: .insert(at: path, cells: cells)
      }
    }
  }

  /// The column number of a section's title in the cells of a section's edit.
  public static let sectionTitle = -1

  /// The version in which the positions were read. If it is nil, the source does not check the version.
  public var version: Version?
  /// The edits, in any order.
  public var edits: [Edit]
  /// Whether the source only returns the result that the edits would have, and changes nothing.
  public var isDryRun: Bool

  /// Creates a batch of edits.
  public init(_ edits: [Edit], version: Version? = nil, isDryRun: Bool = false) {
    self.edits = edits
    self.version = version
    self.isDryRun = isDryRun
  }
}

/// The result of a batch of edits.
public struct EditResult: Hashable, Sendable {
  /// The outcome of one edit.
  public struct Outcome: Hashable, Sendable {
    /// The reason why the edit was not applied; nil if it was applied.
    public var code: TableError.Code?
    /// The reason in words, or a note about an edit that was applied.
    public var message: String?
    /// The row's id after the batch, if it has one.
    public var id: String?
    /// Whether the edit had an effect that the receipt cannot undo, for example a permanent deletion or a signal
    /// that was sent. It can also be set beside a code. For a dry run, whether the edit would have such an effect.
    public var isFinal: Bool

    /// Creates an outcome. Without arguments: the edit was applied.
    public init(
      code: TableError.Code? = nil, message: String? = nil, id: String? = nil, isFinal: Bool = false
    ) {
      self.code = code
      self.message = message
      self.id = id
      self.isFinal = isFinal
    }
  }

  /// One outcome for each edit, in the order of the edits.
  public var outcomes: [Outcome]
  /// The changes that lead from the old version to the new one.
  public var changes: ChangeBatch
  /// The data for ``TableUndoing/undo(_:isDryRun:)``; nil if nothing can be undone.
  ///
  /// An undo covers the whole batch, except for edits that are ``Outcome/isFinal``.
  public var receipt: [UInt8]?

  /// Creates a result.
  public init(outcomes: [Outcome], changes: ChangeBatch, receipt: [UInt8]? = nil) {
    self.outcomes = outcomes
    self.changes = changes
    self.receipt = receipt
  }
}

// The checks of an untrusted source's answers.

extension CheckedSource {
  package func editability(
    ofRows rows: Range<Int>, inSection section: Int
  ) throws(TableError) -> [RowEditability] {
    try check(asked: rows)
    return try call("editing.editable") { base throws(TableError) in
      try offered(base.editing).editability(ofRows: rows, inSection: section)
        .answering(rows).map { RowEditability(rawValue: $0.rawValue & 7) }
    }
  }

  package func editableColumns() throws(TableError) -> [Bool]? {
    try call("editing.editable_columns") { base throws(TableError) in
      try offered(base.editing).editableColumns()?.answering(columns.indices)
    }
  }
}

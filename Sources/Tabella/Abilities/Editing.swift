/// Editing: what may be edited, and committing edits. The corresponding C table is `tabella_editing`.
public protocol TableEditing: AnyObject {
  /// Returns, for each row of a range at once, whether it may be edited and how it is styled.
  ///
  /// UIKit's `canEditRowAt` and `editingStyleForRowAt`.
  func editability(ofRows rows: Range<Int>, inSection section: Int) throws(TableError)
    -> [RowEditability]

  /// Returns, for each column, whether its cells may be set at all. The default is all.
  func editableColumns() throws(TableError) -> [Bool]?

  /// Does the edits together, moves the source to the new version, and says what became of each.
  ///
  /// Throwing means that nothing was done: ``TableError`` with `.conflict` for a version that is named
  /// and is not the source's, with `.notFound` or `.invalidArgument` for a batch that breaks the rules
  /// of ``EditBatch``. ``BatchPlan`` judges that, and computes where everything ends up.
  func commit(_ batch: EditBatch) throws(TableError) -> EditResult
}

extension TableEditing {
  public func editableColumns() throws(TableError) -> [Bool]? { nil }
}

extension TableDataSource {
  /// Throws what is wrong with cells that a row is to have: `.invalidArgument` for a column that does
  /// not exist, `.constraint` for a value of another type than its column's.
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

/// Whether and how a row may be edited.
public struct RowEditability: OptionSet, Hashable, Sendable {
  public var rawValue: UInt8

  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Its cells may be set, as far as their columns may.
  public static let editable = RowEditability(rawValue: 1)
  /// Its editing style is delete.
  public static let delete = RowEditability(rawValue: 2)
  /// Its editing style is insert: it stands for a new row. It is not deleted; to commit it is to insert a
  /// row at its place.
  public static let insert = RowEditability(rawValue: 4)

  /// UIKit's `editingStyleForRowAt`.
  public enum Style: String, Hashable, Sendable {
    case none, delete, insert
  }

  /// The effect of committing the row. A row that claims both styles stands for a new one.
  public var style: Style {
    contains(.insert) ? .insert : contains(.delete) ? .delete : .none
  }
}

/// How an edit names the row that it is about.
public enum RowReference: Hashable, Sendable {
  /// By position, counted before the batch.
  case path(IndexPath)
  /// By id, wherever it is now.
  case id(String)

  /// Whether it names a section by its path, not a row.
  public var isSection: Bool {
    if case .path(let path) = self { path.isSection } else { false }
  }
}

/// Edits that are committed together.
///
/// Positions follow UIKit's rules, and the order of the edits does not matter:
///
/// - What is deleted, set or moved is named as it stood before the batch; insertions and the targets
///   of moves count as they stand after it. What is not named keeps its order around them.
/// - A row is deleted, set or moved once; only to set and to move the same row go together. No two
///   edits have the same target.
/// - Sections are inserted, deleted and moved by ``IndexPath/section(_:)``, with their rows. A new one
///   is empty. No edit names a row of a section that is deleted, nor a place in one that
///   is inserted. Of a section that is moved, rows are named by its old number, targets by its new one.
/// - A section has one cell, its title, under the column number ``sectionTitle``. Only a source with
///   ``TableSectionEditing`` takes titles. A new section without that cell is untitled.
/// - A batch that breaks a rule, names what is not there or has a target that is no place afterwards
///   is an error, and nothing of it is done.
///
/// docs/editing.md has an example with every kind of edit.
public struct EditBatch: Hashable, Sendable {
  public enum Edit: Hashable, Sendable {
    /// A new row (or section, by a section's path) that ends up at the path.
    case insert(at: IndexPath, cells: [Int: Cell])
    case delete(RowReference)
    /// New values for some columns of a row.
    case set(RowReference, cells: [Int: Cell])
    case move(RowReference, to: IndexPath)

    /// The edit that commits a row in its style, UIKit's `commit editingStyle forRowAt`: it is deleted, or a
    /// new row with these cells comes to its place and it stands behind that. Nil for a row without a style.
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

  /// The version that the positions were read at; nil leaves it unchecked.
  public var version: Version?
  public var edits: [Edit]
  /// Answer as if, but change nothing.
  public var isDryRun: Bool

  public init(_ edits: [Edit], version: Version? = nil, isDryRun: Bool = false) {
    self.edits = edits
    self.version = version
    self.isDryRun = isDryRun
  }
}

/// What became of a batch of edits.
public struct EditResult: Hashable, Sendable {
  public struct Outcome: Hashable, Sendable {
    /// Why it was not done; nil if it was.
    public var code: TableError.Code?
    /// Why not, or a remark on what was done.
    public var message: String?
    /// The row's id afterwards, if it has one.
    public var id: String?
    /// Whether the edit did something that the receipt does not take back, be it beside a code: something was
    /// deleted for good, a signal was sent. Of a dry run, whether it would.
    public var isFinal: Bool

    public init(
      code: TableError.Code? = nil, message: String? = nil, id: String? = nil, isFinal: Bool = false
    ) {
      self.code = code
      self.message = message
      self.id = id
      self.isFinal = isFinal
    }
  }

  /// One for each edit, in order.
  public var outcomes: [Outcome]
  /// What leads from the old version to the new.
  public var changes: ChangeBatch
  /// What ``TableUndoing/undo(_:isDryRun:)`` takes. It takes back the whole batch but for what is
  /// ``Outcome/isFinal``; nil if nothing can be taken back.
  public var receipt: [UInt8]?

  public init(outcomes: [Outcome], changes: ChangeBatch, receipt: [UInt8]? = nil) {
    self.outcomes = outcomes
    self.changes = changes
    self.receipt = receipt
  }
}

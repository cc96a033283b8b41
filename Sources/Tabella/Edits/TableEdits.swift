/// Collects edits of a table by the names of its columns, and makes one ``EditBatch`` of them.
///
/// ```swift
/// var edits = TableEdits(of: source)
/// try edits.set(where: "name = Ada", to: ["born": 1815])
/// try edits.insert(["name": "Grace", "born": 1906])
/// let result = try edits.commit()
/// ```
///
/// Rows are named by a ``TableRow`` that was read for editing, by a ``RowReference``, or by a condition. The positions of
/// deleted, set and moved rows are those before the edits. The positions of inserted rows, and the targets of moves, are
/// those after all edits; see ``EditBatch``.
///
/// A batch that names a row by its position has the version of the table in which the position was read. The commit
/// throws ``TableError`` with `.conflict` if the table has another version by then. A row with an id needs no version.
///
/// Values are cells: literals, or `.integer(value)` and so on. A column takes each value that it can store: a column of
/// text stores numbers as their text, and a column of numbers takes text that reads as a number.
///
/// The collection belongs to the thread of its source. It changes nothing before the commit.
public struct TableEdits {
  /// The table to edit, which can be a view.
  public let source: any TableDataSource
  /// The number of edits so far.
  public var count: Int { edits.count }
  /// The version in which positions were read; nil if the batch is valid in any version.
  public private(set) var version: Version?

  private let columns: [Column]
  private let names: ColumnNames
  private var edits: [EditBatch.Edit] = []
  /// The numbers of the edits that insert a row at the end of a section.
  private var appends: [Int] = []

  /// Collects edits of a table. `version` is the version that the user has seen; with nil, the version at the first
  /// edit that names a position.
  public init(of source: any TableDataSource, version: Version? = nil) {
    self.source = source
    self.version = version
    columns = source.columns
    names = ColumnNames(columns)
  }

  // Set

  /// Sets cells of a row that was read for editing.
  ///
  /// Throws ``TableError``: `.invalidArgument` for an unknown column and for a row that was not read for editing,
  /// `.constraint` for a value that the column cannot store, `.conflict` if rows of different versions are edited.
  public mutating func set(_ row: TableRow, to values: [String: Cell]) throws(TableError) {
    try set(try reference(to: row), to: values)
  }

  /// Sets cells of a row. Throws ``TableError`` as ``set(_:to:)-(TableRow,_)`` does.
  public mutating func set(
    _ row: RowReference, to values: [String: Cell]
  ) throws(TableError) {
    let cells = try cells(values)
    try pin(row)
    edits.append(.set(row, cells: cells))
  }

  /// Sets cells of each row that meets all conditions, and returns the number of these rows.
  ///
  /// Throws ``TableError`` as ``set(_:to:)-(TableRow,_)`` does, `.invalidArgument` for a wrong condition, and the errors
  /// of the source.
  /// - Complexity: O(rows).
  @discardableResult
  public mutating func set(
    where conditions: String..., to values: [String: Cell], dates: DateContext = .utc
  ) throws(TableError) -> Int {
    let cells = try cells(values)
    let rows = try rows(where: conditions, dates)
    for row in rows { edits.append(.set(row, cells: cells)) }
    return rows.count
  }

  // Insert

  /// Inserts a row at the end of a section, whose number is that before the edits. Cells that are not named are missing.
  ///
  /// Throws ``TableError`` as ``set(_:to:)-(TableRow,_)`` does.
  public mutating func insert(
    _ values: [String: Cell], inSection section: Int = 0
  ) throws(TableError) {
    let cells = try cells(values)
    if !source.hasVolatileOrder { try pin() }
    appends.append(edits.count)
    edits.append(.insert(at: IndexPath(section: section, row: 0), cells: cells))
  }

  /// Inserts a row so that it is at the path after all edits. Otherwise like ``insert(_:inSection:)``.
  public mutating func insert(
    _ values: [String: Cell], at path: IndexPath
  ) throws(TableError) {
    let cells = try cells(values)
    try pin()
    edits.append(.insert(at: path, cells: cells))
  }

  // Delete

  /// Deletes a row that was read for editing. Throws ``TableError`` as ``set(_:to:)-(TableRow,_)`` does.
  public mutating func delete(_ row: TableRow) throws(TableError) {
    try delete(try reference(to: row))
  }

  /// Deletes a row. Throws the errors of ``TableDataSource/version()``.
  public mutating func delete(_ row: RowReference) throws(TableError) {
    try pin(row)
    edits.append(.delete(row))
  }

  /// Deletes each row that meets all conditions, and returns the number of these rows. Otherwise like
  /// ``set(where:to:dates:)``.
  @discardableResult
  public mutating func delete(
    where conditions: String..., dates: DateContext = .utc
  ) throws(TableError) -> Int {
    let rows = try rows(where: conditions, dates)
    for row in rows { edits.append(.delete(row)) }
    return rows.count
  }

  // Move

  /// Moves a row that was read for editing, so that it is at the path after all edits. Throws ``TableError`` as
  /// ``set(_:to:)-(TableRow,_)`` does.
  public mutating func move(_ row: TableRow, to path: IndexPath) throws(TableError) {
    try move(try reference(to: row), to: path)
  }

  /// Moves a row, so that it is at the path after all edits. Throws the errors of ``TableDataSource/version()``.
  public mutating func move(_ row: RowReference, to path: IndexPath) throws(TableError) {
    try pin()
    edits.append(.move(row, to: path))
  }

  // Commit

  /// The batch of all edits so far. With `isDryRun`, a source only returns the result that the edits would have.
  ///
  /// Throws the errors of the source, and ``TableError`` with `.invalidArgument` if rows are inserted at the end of a
  /// section that another edit deletes.
  /// - Complexity: O(edits). If rows are inserted at the end of a section, its rows are counted.
  public func batch(isDryRun: Bool = false) throws(TableError) -> EditBatch {
    var edits = edits
    guard !appends.isEmpty else {
      return EditBatch(edits, version: version, isDryRun: isDryRun)
    }
    let sections = try SectionRenumbering(edits.compactMap(\.sectionChange), of: source)
    let added = try rowsAdded(sections)
    var next: [Int: Int] = [:]
    for number in appends {
      guard case .insert(let path, let cells) = edits[number] else { continue }
      let section = try sections.after(path.section)
      if next[section] == nil {
        let count = try source.exactNumberOfRows(inSection: path.section)
        next[section] = max(0, count + added[section, default: 0])
      }
      let row = next[section] ?? 0
      next[section] = row + 1
      edits[number] = .insert(at: IndexPath(section: section, row: row), cells: cells)
    }
    return EditBatch(edits, version: version, isDryRun: isDryRun)
  }

  /// Commits the edits to the source. No receipt is kept; `ReceiptStore` of `TabellaHost` keeps receipts.
  ///
  /// Throws the errors of ``TableEditing/commit(_:)``, and ``TableError`` with `.readOnly` if the table cannot be edited.
  @discardableResult
  public func commit(isDryRun: Bool = false) throws(TableError) -> EditResult {
    guard let editing = source.editing else {
      throw TableError(.readOnly, "the table is read-only")
    }
    return try editing.commit(try batch(isDryRun: isDryRun))
  }

  // Steps

  /// The number of rows that the edits add to each section, except at its end, by its number after the edits.
  private func rowsAdded(_ sections: SectionRenumbering) throws(TableError) -> [Int: Int] {
    var added: [Int: Int] = [:]
    func remove(_ row: RowReference) throws(TableError) {
      guard let old = try section(of: row), let section = sections.survivor(old) else { return }
      added[section, default: 0] -= 1
    }
    let appended = Set(appends)
    for (number, edit) in edits.enumerated() where edit.sectionChange == nil {
      switch edit {
      case .insert(let path, _):
        if !appended.contains(number) { added[path.section, default: 0] += 1 }
      case .delete(let row): try remove(row)
      case .move(let row, let target):
        try remove(row)
        added[target.section, default: 0] += 1
      case .set: break
      }
    }
    return added
  }

  /// The section of a row; nil for a section itself, and for a row that is gone.
  private func section(of row: RowReference) throws(TableError) -> Int? {
    switch row {
    case .path(let path): return path.isSection ? nil : path.section
    case .id(let id):
      do throws(TableError) { return try source.identity?.indexPath(forID: id).section } catch {
        guard error.code == .notFound else { throw error }
        return nil
      }
    }
  }

  private mutating func pin() throws(TableError) {
    if version == nil { version = try source.version() }
  }

  private mutating func pin(_ row: RowReference) throws(TableError) {
    if case .path = row { try pin() }
  }

  private mutating func reference(to row: TableRow) throws(TableError) -> RowReference {
    guard row.rows.isForEditing else {
      throw TableError(
        .invalidArgument, "the row was not read for editing; use rows(forEditing: true)",
        section: row.path.section, row: row.path.row)
    }
    if let id = row.id { return .id(id) }
    guard version == nil || row.rows.version == version else {
      throw TableError(
        .conflict,
        "the row was read at version \(row.rows.version?.token ?? "unknown"); read it again",
        section: row.path.section, row: row.path.row)
    }
    version = row.rows.version
    return .path(row.path)
  }

  /// The rows that meet all conditions, in order. In a table whose order changes by itself they are named by ids.
  private mutating func rows(
    where texts: [String], _ dates: DateContext
  ) throws(TableError) -> [RowReference] {
    guard !texts.isEmpty else {
      throw TableError(.invalidArgument, "a condition is missing; no condition would mean all rows")
    }
    let needsIDs = source.hasVolatileOrder && source.identity != nil
    if !needsIDs { try pin() }
    let conditions = try texts.map { text throws(TableError) in
      try Condition(Array(text.utf8), names)
    }
    let view = try source.filtered(by: conditions, dates: dates)
    var cursor = try RowCursor(view, numbers: [], section: nil, forEditing: needsIDs)
    var rows: [RowReference] = []
    while let row = try cursor.next() {
      if let id = row.id {
        rows.append(.id(id))
      } else {
        rows.append(.path(try view.originalPath(of: row.path)))
      }
    }
    return rows
  }

  /// The cells that store values, by the numbers of their columns.
  private func cells(_ values: [String: Cell]) throws(TableError) -> [Int: Cell] {
    var cells: [Int: Cell] = [:]
    for (name, value) in values {
      let number = try names.number(name)
      cells[number] = try columns[number].storing(value, name: name, number: number)
    }
    return cells
  }
}

extension EditBatch.Edit {
  /// The edit as a change, if it inserts, deletes or moves a section.
  fileprivate var sectionChange: ChangeBatch.Change? {
    switch self {
    case .insert(let path, _) where path.isSection: .insert(path)
    case .delete(.path(let path)) where path.isSection: .delete(path)
    case .move(.path(let path), let target) where path.isSection: .move(from: path, to: target)
    default: nil
    }
  }
}

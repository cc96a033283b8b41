/// A table in memory: the reference implementation of a data source, and a source for tests and small tables.
///
/// It has every ability that makes sense in memory. Rows keep the ids that they were created with, and new rows get
/// new ids. Name the rows by keys of your data if you can: by default, ids count the rows of a new table. The version is a digest of the content: titles, ids and cells.
///
/// Edits are lost with the object. A provider that returns such a table, or a view of it, therefore shows it
/// read-only, unless ``Persistence`` says otherwise. A provider that stores edits has its own class. The `commit`
/// of that class edits such a table, writes it, and only then returns.
public final class InMemorySource: TableDataSource {
  /// The lifetime of edits of a table in memory.
  public enum Persistence: Sendable {
    /// Edits are lost with the object. The program that made the object can edit it. Across the contract it is
    /// read-only.
    case none
    /// The author guarantees that the next opening shows all edits that are reported as done.
    ///
    /// This is true if every opening returns the same object, and if the object lives as long as all its users, in
    /// one program.
    case byAuthor
  }

  private struct Row {
    var id: String
    var cells: [Cell]
    /// The location that the row leads to, for ``TableAccessories``.
    var location: [UInt8]?
    /// The supplementary elements by kind.
    var elements: [String: SupplementaryElement] = [:]
  }

  private struct Section {
    var header: String?
    var footer: String?
    var indexTitle: String?
    /// The supplementary elements by kind.
    var elements: [String: SupplementaryElement] = [:]
    var rows: [Row]
  }

  /// The columns, which never change.
  public let columns: [Column]
  private var content: [Section]
  private let persistence: Persistence
  private var revision = 0
  /// The version of the content, computed on demand.
  private var known: Version?
  private var nextID = 0
  /// The content before the last commit or undo.
  private var previous: [Section]?
  private var pending: [Diagnostic]
  private let kinds: [String]
  private let hasLocations: Bool
  /// The ids that the author has chosen.
  private let chosenIDs: Set<String>

  /// Creates a table of sections. Every row has a cell for each column, of the column's type or missing.
  ///
  /// The ids must differ. A row without an id gets one.
  public init(
    _ columns: [Column],
    sections: [(header: String?, footer: String?, indexTitle: String?, rows: [[Cell]])],
    elements: [String: [IndexPath: SupplementaryElement]] = [:],
    locations: [IndexPath: [UInt8]] = [:],
    ids: [IndexPath: String] = [:],
    diagnostics: [Diagnostic] = [],
    persistence: Persistence = .none
  ) {
    self.columns = columns
    self.persistence = persistence
    kinds = elements.keys.sorted()
    hasLocations = !locations.isEmpty
    let chosen = Set(ids.values)
    precondition(chosen.count == ids.count, "the ids of two rows differ")
    chosenIDs = chosen
    func own(_ path: IndexPath) -> [String: SupplementaryElement] {
      elements.compactMapValues { $0[path] }
    }
    pending = diagnostics
    var next = 0
    content = sections.enumerated().map { number, section in
      Section(
        header: section.header, footer: section.footer, indexTitle: section.indexTitle,
        elements: own(.section(number)),
        rows: section.rows.enumerated().map { row, cells in
          precondition(
            cells.count == columns.count
              && zip(cells, columns).allSatisfy { $0.type == nil || $0.type == $1.type },
            "row \(number):\(row) has the cells \(cells); pass one cell for each of the columns, of its type or missing: \(columns.map { "\($0.name) \($0.type.name)" })"
          )
          let path = IndexPath(section: number, row: row)
          return Row(
            id: ids[path] ?? InMemorySource.newID(&next, chosen), cells: cells,
            location: locations[path], elements: own(path))
        })
    }
    nextID = next
  }

  /// Creates a table of one section without titles. `ids` has an id for each row, or is nil.
  public convenience init(
    _ columns: [Column], rows: [[Cell]], ids: [String]? = nil, persistence: Persistence = .none
  ) {
    precondition(
      ids == nil || ids?.count == rows.count,
      "the table has \(ids?.count ?? 0) ids for \(rows.count) rows: pass one id for each row, or nil"
    )
    let named = (ids ?? []).enumerated().map { (IndexPath(section: 0, row: $0), $1) }
    self.init(
      columns, sections: [(nil, nil, nil, rows)], ids: Dictionary(uniqueKeysWithValues: named),
      persistence: persistence)
  }

  /// An id that no row has. `last` is the number of the last one.
  private static func newID(_ last: inout Int, _ chosen: Set<String>) -> String {
    repeat { last += 1 } while chosen.contains("r\(last)")
    return "r\(last)"
  }

  public var storesEdits: Bool { persistence == .byAuthor }

  public var sections: (any TableSections)? { self }
  public var sectionIndex: (any TableSectionIndex)? {
    content.contains { $0.indexTitle != nil } ? self : nil
  }
  public var identity: (any TableIdentity)? { self }
  public var gathering: (any TableGathering)? { self }
  public var editing: (any TableEditing)? { self }
  public var sectionEditing: (any TableSectionEditing)? { self }
  public var moving: (any TableMoving)? { self }
  public var undoing: (any TableUndoing)? { self }
  public var supplementary: (any TableSupplementary)? { kinds.isEmpty ? nil : self }
  public var accessories: (any TableAccessories)? { hasLocations ? self : nil }
  public var diagnostics: (any TableDiagnostics)? { self }

  /// A digest of the whole content.
  /// - Complexity: O(cells) once after each edit, otherwise O(1).
  public func version() -> Version? {
    if let known { return known }
    var bytes: [UInt8] = []
    func append(_ number: Int) { withUnsafeBytes(of: number) { bytes += $0 } }
    func append(_ text: some Collection<UInt8>) {
      append(text.count)
      bytes += text
    }
    func append(_ title: String?) {
      append(title == nil ? 0 : 1)
      append((title ?? "").utf8)
    }
    func append(_ cell: Cell) {
      append(Int(cell.type?.rawValue ?? 0))
      switch cell {
      case .missing: break
      case .text(let value), .binary(let value): append(value)
      case .integer(let value): append(Int(value))
      case .real(let value): append(Int(bitPattern: UInt(value.bitPattern)))
      case .boolean(let value): append(value ? 1 : 0)
      case .date(let value): append(Int(value.nanoseconds))
      }
    }
    append(columns.count)
    for column in columns {
      append(column.name.utf8)
      append(Int(column.type.rawValue))
    }
    for section in content {
      append(section.header)
      append(section.footer)
      append(section.indexTitle)
      append(section.rows.count)
      for row in section.rows {
        append(row.id.utf8)
        for cell in row.cells { append(cell) }
      }
    }
    known = Version("m" + String(bytes.withUnsafeBytes { digest64($0) }, radix: 16))
    return known
  }

  public func numberOfRows(inSection section: Int, knowing minimum: Int) throws(TableError)
    -> Count
  { .exact(try rows(ofSection: section).count) }

  public func rows(_ request: RowRequest) throws(TableError) -> Batch {
    try check(request)
    let rows = try rows(ofSection: request.section)
    guard request.first <= rows.count else {
      throw .noRow(request.first, inSection: request.section, of: rows.count)
    }
    let builder = BatchBuilder(for: request, of: columns)
    let range = request.first..<request.first + min(request.count, rows.count - request.first)
    for row in rows[range] {
      for (builder, column) in zip(builder.columns, request.columns) {
        builder.append(row.cells[column])
      }
      builder.ids?.append(row.id)
    }
    return builder.finish(rowCount: range.count)
  }

  private func rows(ofSection section: Int) throws(TableError) -> [Row] {
    guard content.indices.contains(section) else { throw .noSection(section) }
    return content[section].rows
  }
}

extension InMemorySource: TableSections {
  public func numberOfSections(knowing minimum: Int) -> Count { .exact(content.count) }

  public func title(_ place: TitlePlace, ofSection section: Int) throws(TableError) -> String? {
    guard content.indices.contains(section) else { throw .noSection(section) }
    return place == .header ? content[section].header : content[section].footer
  }
}

extension InMemorySource: TableSectionIndex {
  public func sectionIndexTitles() -> [String] { content.compactMap(\.indexTitle) }

  public func indexPath(forIndexTitle title: String, at index: Int) throws(TableError) -> IndexPath
  {
    let titled = content.indices.filter { content[$0].indexTitle != nil }
    guard titled.indices.contains(index), content[titled[index]].indexTitle == title else {
      throw TableError(.notFound, "there is no index title \(title) at \(index)")
    }
    return .section(titled[index])
  }
}

extension InMemorySource: TableIdentity {
  public func indexPath(forID id: String) throws(TableError) -> IndexPath {
    for (section, content) in content.enumerated() {
      if let row = content.rows.firstIndex(where: { $0.id == id }) {
        return IndexPath(section: section, row: row)
      }
    }
    throw TableError(.notFound, "there is no row with the id \(id)")
  }
}

extension InMemorySource: TableGathering {
  public func rows(
    at paths: [IndexPath], columns: [Int], includesIDs: Bool
  ) throws(TableError) -> Batch {
    try check(gathering: paths, columns: columns, includesIDs: includesIDs)
    let builder = BatchBuilder(columns.map { self.columns[$0].type }, ids: includesIDs)
    for path in paths {
      let rows = try rows(ofSection: path.section)
      guard path.row < rows.count else {
        throw .noRow(path.row, inSection: path.section, of: rows.count)
      }
      for (builder, column) in zip(builder.columns, columns) {
        builder.append(rows[path.row].cells[column])
      }
      builder.ids?.append(rows[path.row].id)
    }
    return builder.finish(rowCount: paths.count)
  }
}

extension InMemorySource: TableEditing, TableMoving {
  public func commit(_ batch: EditBatch) throws(TableError) -> EditResult {
    if let version = batch.version, version != self.version() {
      throw TableError(
        .conflict, "the table is at version \(self.version()?.token ?? "none"), not \(version)")
    }
    let changes = try batch.changes(takingTitles: true) { id throws(TableError) in
      try indexPath(forID: id)
    }
    let plan = try BatchPlan(changes, of: self)
    var edited = content
    var next = nextID
    var inserted: [Int: Row] = [:]
    for (number, edit) in batch.edits.enumerated() {
      switch (edit, changes[number]) {
      case (.set, .reconfigure(let path)) where path.isSection:
        edited[path.section].header = edit.title
      case (.set(_, let cells), .reconfigure(let path)):
        try apply(cells, to: &edited[path.section].rows[path.row])
      case (.insert(let target, let cells), _) where !target.isSection:
        var row = Row(
          id: InMemorySource.newID(&next, chosenIDs), cells: columns.map { _ in .missing })
        try apply(cells, to: &row)
        inserted[number] = row
      default: break
      }
    }
    let outcomes = changes.enumerated().map { number, change in
      EditResult.Outcome(id: inserted[number]?.id ?? survivor(of: change)?.id)
    }
    // For rows that are set and moved, the new cells move along.
    let set = edited
    for (section, rows) in plan.rows {
      edited[section].rows = rows.applied(to: set[section].rows) { arrival in
        if case .move(let from, _) = changes[arrival.change] {
          return set[from.section].rows[from.row]
        }
        return inserted[arrival.change] ?? Row(id: "", cells: [])
      }
    }
    if let sections = plan.sections {
      let whole = edited
      edited = sections.applied(to: whole) { arrival in
        if case .move(let from, _) = changes[arrival.change] { return whole[from.section] }
        return Section(header: batch.edits[arrival.change].title, rows: [])
      }
    }
    return finish(edited, next, outcomes, changes, isDryRun: batch.isDryRun)
  }

  /// The row that a change names and keeps in the table.
  private func survivor(of change: ChangeBatch.Change) -> Row? {
    switch change {
    case .reconfigure(let path) where !path.isSection,
      .move(let path, _) where !path.isSection:
      content[path.section].rows[path.row]
    default: nil
    }
  }

  private func apply(_ cells: [Int: Cell], to row: inout Row) throws(TableError) {
    try check(setting: cells)
    for (column, cell) in cells { row.cells[column] = cell }
  }

  private func finish(
    _ edited: [Section], _ next: Int, _ outcomes: [EditResult.Outcome],
    _ changes: [ChangeBatch.Change]?, isDryRun: Bool
  ) -> EditResult {
    let old = version()
    if !isDryRun {
      previous = content
      content = edited
      nextID = next
      revision += 1
      known = nil
    }
    return EditResult(
      outcomes: outcomes,
      changes: ChangeBatch(from: old, to: version(), changes: changes),
      receipt: isDryRun ? nil : Array("\(revision)".utf8))
  }
}

extension InMemorySource: TableSectionEditing {
  public func editability(ofSections sections: Range<Int>) throws(TableError)
    -> [SectionEditability]
  {
    if let missing = sections.first(where: { !content.indices.contains($0) }) {
      throw .noSection(missing)
    }
    return sections.map { _ in [.title, .delete, .move] }
  }

  public func canInsertSections() -> Bool { true }
}

extension InMemorySource: TableUndoing {
  public func undo(_ receipt: [UInt8], isDryRun: Bool) throws(TableError) -> EditResult {
    guard receipt == Array("\(revision)".utf8), let previous else {
      throw TableError(.conflict, "the table no longer has the version of the receipt")
    }
    return finish(previous, nextID, [.init()], nil, isDryRun: isDryRun)
  }
}

extension InMemorySource: TableSupplementary, TableAccessories, TableDiagnostics {
  public func supplementaryKinds() -> [String] { kinds }

  public func supplementaryElement(ofKind kind: String, at path: IndexPath) -> SupplementaryElement?
  {
    guard content.indices.contains(path.section) else { return nil }
    let section = content[path.section]
    if path.isSection { return section.elements[kind] }
    return section.rows.indices.contains(path.row) ? section.rows[path.row].elements[kind] : nil
  }

  public func location(forRowAt path: IndexPath) -> [UInt8]? {
    guard content.indices.contains(path.section),
      content[path.section].rows.indices.contains(path.row)
    else { return nil }
    return content[path.section].rows[path.row].location
  }

  public func nextDiagnostic() -> Diagnostic? { pending.isEmpty ? nil : pending.removeFirst() }
}

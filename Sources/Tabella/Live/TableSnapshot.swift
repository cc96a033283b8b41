/// Digests of the ids and cells of all rows of a table at one version.
///
/// Two snapshots of a table give the changes between them, even if the source lists none. A row is known by its id. In
/// a table without ids, a row is known by its cells.
///
/// Memory: 24 bytes per row, and its id if the snapshot keeps ids.
public struct TableSnapshot: Sendable {
  /// The digests of a row.
  struct Row: Sendable {
    /// The digest of the id, or of the cells in a table without ids.
    var key: RowDigest
    /// The digest of the cells.
    var cells: UInt64
  }

  struct Section: Sendable {
    var title: String?
    var rows: [Row] = []
    /// The ids of the rows; empty if the snapshot does not keep ids.
    var ids: [String] = []

    fileprivate mutating func append(_ row: Int, of other: Section) {
      rows.append(other.rows[row])
      if !other.ids.isEmpty { ids.append(other.ids[row]) }
    }
  }

  private(set) var sections: [Section] = []
  private let columns: [Int]
  private let hasIDs: Bool
  private let keepsIDs: Bool

  /// The number of rows per request.
  private static let chunk = 1 << 14

  /// Reads all rows of a table, with some columns. The snapshot keeps the ids if `keepsIDs` is true and rows have ids.
  ///
  /// Throws the errors of the source.
  /// - Complexity: O(cells)
  public init(
    of source: any TableDataSource, columns: [Int], keepsIDs: Bool = false
  ) throws(TableError) {
    self.columns = columns
    hasIDs = source.identity != nil
    self.keepsIDs = keepsIDs && hasIDs
    for number in 0..<(try source.numberOfSections(knowing: .max).value) {
      sections.append(try section(number, of: source))
    }
  }

  /// The number of rows of each section.
  public var rowCounts: [Int] { sections.map(\.rows.count) }

  /// The id of a row; nil if the snapshot keeps no ids or has no such row.
  public func id(at path: IndexPath) -> String? {
    guard sections.indices.contains(path.section) else { return nil }
    let ids = sections[path.section].ids
    return ids.indices.contains(path.row) ? ids[path.row] : nil
  }

  /// The digest of the cells of a row.
  func cells(at path: IndexPath) -> UInt64 { sections[path.section].rows[path.row].cells }

  /// Whether the snapshot has a row at a path.
  func hasRow(at path: IndexPath) -> Bool {
    sections.indices.contains(path.section)
      && sections[path.section].rows.indices.contains(path.row)
  }

  // Reading

  /// Reads a section of a table to its end.
  private func section(
    _ number: Int, of source: any TableDataSource
  ) throws(TableError) -> Section {
    var section = Section(title: try source.sections?.title(.header, ofSection: number))
    while true {
      let batch = try source.rows(
        RowRequest(
          section: number, first: section.rows.count, count: Self.chunk, columns: columns,
          includesIDs: hasIDs))
      if batch.rowCount == 0 { return section }
      append(batch, to: &section)
    }
  }

  private func append(_ batch: Batch, to section: inout Section) {
    var digests = [RowDigest](repeating: .empty, count: batch.rowCount)
    for column in batch.columns { column.add(to: &digests, asText: false) }
    var keys = digests
    if let ids = batch.ids {
      keys = Array(repeating: .empty, count: batch.rowCount)
      ids.add(to: &keys, asText: false)
      if keepsIDs { for row in 0..<batch.rowCount { section.ids.append(batch.id(row) ?? "") } }
    }
    for (key, cells) in zip(keys, digests) {
      section.rows.append(Row(key: key, cells: cells.first))
    }
  }

  // Moving on

  /// Applies the changes of a pull. Reads only the inserted and changed rows.
  ///
  /// `source` already shows the version after the changes. Throws ``TableError`` with `.misbehaved` for changes that
  /// this table cannot have, and the errors of the source. After an error, the snapshot is as before.
  /// - Complexity: O(k log k) for k changes, of which k rows are read. Unless rows are only appended, also O(n) moves of
  ///   digests in the changed sections.
  public mutating func apply(
    _ changes: [ChangeBatch.Change], from source: any TableDataSource
  ) throws(TableError) {
    let plan = try plan(of: changes)
    let arrivals = try arrivals(changes, plan, from: source)
    for (number, change) in changes.enumerated() {
      if let path = change.source, let row = arrivals.row(ofChange: number) {
        set(arrivals.rows, row, at: path)
      }
    }
    for (number, section) in arrivals.reloadedSections { sections[number] = section }
    for (number, title) in arrivals.titles { sections[number].title = title }
    let old = changes.contains(where: \.isMove) ? sections : []
    for (number, rows) in plan.rows {
      var arriving = Section()
      for arrival in rows.arrivals {
        if case .move(let from, _) = changes[arrival.change] {
          arriving.append(from.row, of: old[from.section])
        } else if let row = arrivals.row(ofChange: arrival.change) {
          arriving.append(row, of: arrivals.rows)
        }
      }
      apply(rows, toSection: number, arriving)
    }
    guard let list = plan.sections else { return }
    let moved = sections
    sections = list.applied(to: moved) { arrival in
      if case .move(let from, _) = changes[arrival.change] { return moved[from.section] }
      return arrivals.insertedSections[arrival.change] ?? Section()
    }
  }

  /// Makes the plan of changes. Throws ``TableError`` with `.misbehaved` if this table cannot have them.
  func plan(of changes: [ChangeBatch.Change]) throws(TableError) -> BatchPlan {
    do throws(TableError) {
      return try BatchPlan(
        changes, numberOfSections: { _ in .exact(sections.count) },
        numberOfRows: { section, _ throws(TableError) in
          guard sections.indices.contains(section) else { throw .noSection(section) }
          return .exact(sections[section].rows.count)
        })
    } catch {
      throw TableError(.misbehaved, "the changes are not consistent: \(error.message)")
    }
  }

  private mutating func set(_ content: Section, _ row: Int, at path: IndexPath) {
    sections[path.section].rows[path.row] = content.rows[row]
    if keepsIDs { sections[path.section].ids[path.row] = content.ids[row] }
  }

  private mutating func apply(_ plan: ListPlan, toSection number: Int, _ arriving: Section) {
    if plan.departed.isEmpty, plan.arrivals.first?.nextSurvivor == plan.count.value {
      sections[number].rows += arriving.rows
      sections[number].ids += arriving.ids
      return
    }
    var rows = arriving.rows.makeIterator()
    sections[number].rows = plan.applied(to: sections[number].rows) { _ in rows.next()! }
    guard keepsIDs else { return }
    var ids = arriving.ids.makeIterator()
    sections[number].ids = plan.applied(to: sections[number].ids) { _ in ids.next()! }
  }

  /// The rows and sections that changes bring or change.
  private struct Arrivals {
    /// The inserted, reloaded and reconfigured rows, in the order of their paths after the changes.
    var rows = Section()
    /// For each change, the number of its row in `rows`; -1 if it has none.
    var numbers: [Int32]
    /// The inserted sections, by the index of their change.
    var insertedSections: [Int: Section] = [:]
    /// The reloaded sections, by their number before the changes.
    var reloadedSections: [Int: Section] = [:]
    /// The titles of reconfigured sections, by the number of the section before the changes.
    var titles: [Int: String?] = [:]

    /// The number of the row of a change in `rows`.
    func row(ofChange change: Int) -> Int? {
      numbers[change] < 0 ? nil : Int(numbers[change])
    }
  }

  /// Reads the rows and sections that changes bring or change, from a source that shows the version after them.
  private func arrivals(
    _ changes: [ChangeBatch.Change], _ plan: BatchPlan, from source: any TableDataSource
  ) throws(TableError) -> Arrivals {
    var arrivals = Arrivals(numbers: Array(repeating: -1, count: changes.count))
    var rows: [(path: IndexPath, change: Int)] = []
    for (number, change) in changes.enumerated() {
      switch change {
      case .insert(let path) where path.isSection:
        arrivals.insertedSections[number] = try section(path.section, of: source)
      case .insert(let path): rows.append((path, number))
      case .reload(let path) where path.isSection:
        guard let now = plan.sectionAfter(of: path.section) else { continue }
        arrivals.reloadedSections[path.section] = try section(now, of: source)
      case .reconfigure(let path) where path.isSection:
        guard let now = plan.sectionAfter(of: path.section) else { continue }
        arrivals.titles[path.section] = .some(try source.sections?.title(.header, ofSection: now))
      case .reload(let path), .reconfigure(let path):
        if let now = plan.path(of: path) { rows.append((now, number)) }
      case .delete, .move: break
      }
    }
    rows.sort { $0.path < $1.path }
    for (index, row) in rows.enumerated() { arrivals.numbers[row.change] = Int32(index) }
    var rest = rows[...]
    while !rest.isEmpty {
      let batch = try source.gather(
        rest.prefix(Self.chunk).map(\.path), columns: columns, includesIDs: hasIDs)
      append(batch, to: &arrivals.rows)
      rest.removeFirst(batch.rowCount)
    }
    return arrivals
  }
}

extension ChangeBatch.Change {
  fileprivate var isMove: Bool { if case .move = self { true } else { false } }
}
